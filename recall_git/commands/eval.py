"""``git recall eval QUERIES QRELS``: measure retrieval on your own questions."""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser
from pathlib import Path
from statistics import fmean

from recall_git.errors import EXIT_OK, UsageError


def run(argv: list[str]) -> int:
    """Ask each query and print nDCG@10, recall, MRR and hit rates, and how often recall would have spoken."""
    parser = ArgumentParser(
        "git recall eval",
        description="QUERIES: a JSON object a line, {\"id\", \"text\"}. QRELS: query, path (with or without its "
        "extension) and relevance, tab-separated.",
    )  # fmt: skip
    parser.add_argument("queries", type=Path)
    parser.add_argument("qrels", type=Path)
    parser.add_argument("--legs", choices=("hybrid", "lexical", "dense"), default="hybrid", help="what ranks")
    parser.add_argument("--at", default="", metavar="REV", help="as of this commit, tag or branch")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    queries, relevant = _read(args.queries, args.qrels)

    from recall_git.engine import Engine
    from recall_git.measures import MEASURES, measure
    from recall_git.search import search

    engine = Engine()
    memory = engine.open(engine.repository(Path.cwd(), os.environ), revision=args.at, environ=os.environ).memory
    scores, fired = [], 0
    for name, text in queries.items():
        if name in relevant:
            found = search(memory, text, limit=30, legs=args.legs)
            wanted = relevant[name]
            paths = [path if (path := hit.document.path) in wanted else path.rpartition(".")[0] for hit in found.hits]
            scores.append(measure(paths, wanted))
            fired += found.inject
    if not scores:
        raise UsageError("no query has a judgement; the ids of both files must be the same")
    row = dict(zip(MEASURES, map(fmean, zip(*scores, strict=True)), strict=True))
    row |= {"fired": fired / len(scores), "queries": float(len(scores))}
    if args.json:
        print(json.dumps(row))
    else:
        print("  ".join(f"{name} {value:.3f}" for name, value in row.items()))
    return EXIT_OK


def _read(queries: Path, qrels: Path) -> tuple[dict[str, str], dict[str, dict[str, float]]]:
    texts: dict[str, str] = {}
    relevant: dict[str, dict[str, float]] = {}
    try:
        for line in queries.read_text(encoding="utf-8").splitlines():
            if line.strip():
                row = json.loads(line)
                texts[str(row["id"])] = str(row["text"])
        for line in qrels.read_text(encoding="utf-8").splitlines():
            if line.strip():
                query, path, gain = line.split("\t")
                if float(gain) > 0:
                    relevant.setdefault(query, {})[path] = float(gain)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"the files cannot be read ({error}); see 'git recall eval -h' for their form") from error
    return texts, relevant
