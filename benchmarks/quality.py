"""Retrieval quality through the product: ``git recall query --stdin --json`` on repositories made from sets.

usage: quality.py --data DIR [--work DIR] [--sets A,B] [--sample N] [--json FILE]

For each set and for lexical, dense, hybrid, and hybrid behind the gate: nDCG@10, recall@5 and @10, MRR@10,
hit@1/5/10 by note, and a paired bootstrap of hybrid against lexical (difference of nDCG@10, 95 % interval).
``--sets A:B`` asks the questions of A of the notes of B, a set with the same ids in another language.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import memories
import numpy as np
from corpora import Corpus, id_of, load

from recall_git.engine import Engine
from recall_git.measures import MEASURES, measure

LEGS = ("lexical", "dense", "hybrid")
CLI = (sys.executable, "-c", f"import sys; sys.path[:] = [{sys.path[0]!r}] + [p for p in sys.path if p]; "
       "from recall_git.cli import main; sys.exit(main())")  # fmt: skip


def ask(folder: Path, queries: list[tuple[str, str]], legs: str) -> dict[str, tuple[list[str], list[str]]]:
    """Return, for each query id, the notes found and the notes that would be injected, best first."""
    lines = "".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in queries)
    command = (*CLI, "query", "--stdin", "--json", "-n", "30", "--legs", legs)
    done = subprocess.run(command, cwd=folder, input=lines.encode(), stdout=subprocess.PIPE, check=True)
    found = {}
    for line in done.stdout.decode("utf-8").splitlines():
        row = json.loads(line)
        hits = [(id_of(hit["path"]), hit["inject"]) for hit in row["hits"]]
        found[row["id"]] = ([name for name, _ in hits], [name for name, inject in hits if inject])
    return found


def run(corpus: Corpus, work: Path, sample: int) -> dict[str, dict[str, float]]:
    """Return the measures of each way of asking."""
    engine = Engine()
    asked = [query for query in corpus.queries if query.id in corpus.qrels]
    asked = asked[:: max(1, len(asked) // sample)] if sample else asked
    scores: dict[str, list[tuple[float, ...]]] = {name: [] for name in (*LEGS, "gated")}
    for group in corpus.groups:
        memories.open_group(engine, corpus, group, work)
        folder = work / corpus.name / (group or "all")
        queries = [(query.id, query.text) for query in asked if query.group == group]
        for legs in LEGS:
            found = ask(folder, queries, legs)
            for name, _ in queries:
                scores[legs].append(measure(found[name][0], corpus.qrels[name]))
                if legs == "hybrid":
                    scores["gated"].append(measure(found[name][1], corpus.qrels[name]))
    table = {way: dict(zip(MEASURES, np.mean(rows, axis=0).tolist(), strict=True)) for way, rows in scores.items()}
    gain = np.array(scores["hybrid"])[:, 0] - np.array(scores["lexical"])[:, 0]
    draws = np.random.default_rng(1).integers(0, len(gain), (2000, len(gain)))
    low, high = np.quantile(gain[draws].mean(axis=1), (0.025, 0.975)).tolist()
    table["hybrid - lexical"] = {"ndcg10": float(gain.mean()), "low": low, "high": high, "queries": float(len(gain))}
    return table


def main() -> int:
    """Measure every set, print a table, and keep the result."""
    parser = argparse.ArgumentParser(description="Retrieval quality through the product.")
    parser.add_argument("--data", type=Path, required=True, help="folder of retrieval sets")
    parser.add_argument("--work", type=Path, default=Path("/tmp/recall-bench"), help="where the repositories are made")
    parser.add_argument("--sets", default="", help="only these, comma-separated")
    parser.add_argument("--sample", type=int, default=0, help="at most about this many questions of a set")
    parser.add_argument("--json", type=Path, help="write the result, with the commit, here")
    args = parser.parse_args()
    names = args.sets.split(",") if args.sets else sorted(path.parent.name for path in args.data.glob("*/qrels.tsv"))
    result = {}
    for name in names:
        asked, _, notes = name.partition(":")
        corpus = load(args.data / asked)
        if notes:
            corpus = replace(load(args.data / notes), queries=corpus.queries, qrels=corpus.qrels)
        table = result[name] = run(corpus, args.work, args.sample)
        for way, row in table.items():
            print(f"{name:16} {way:18}" + "  ".join(f"{key} {value:.3f}" for key, value in row.items()), flush=True)
    if args.json:
        commit = subprocess.run(("git", "rev-parse", "HEAD"), capture_output=True, text=True, check=False).stdout
        args.json.write_text(json.dumps({"commit": commit.strip(), "sets": result}, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
