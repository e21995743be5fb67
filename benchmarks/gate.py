"""How often recall speaks when the notes hold an answer, and when they do not.

usage: gate.py --data DIR [--work DIR] [--per-set N] [--json FILE] [--save-samples FILE]

On-topic: a set's questions put to its own notes. Off-topic: a group's question put to another group's notes
(cross-paired), one set's questions to another set's notes of the same language, small talk, machine prompts
and everyday requests put to every set. All of it goes through ``gate.judge`` and ``search.search`` as a
prompt does. ``--save-samples`` keeps the features for tools/fit_gate.py.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import memories
from corpora import Corpus, Query, load, path_of
from smalltalk import MACHINE, REQUESTS, SMALL_TALK

from recall_git import claim, gate
from recall_git.engine import Engine
from recall_git.search import Memory, search

LANGUAGES = {"zh": "zh", "ja": "ja", "jsquad": "ja"}
"""Language of a set by the end or the whole of its name; English else."""
SIZES = (5, 20, 100)
"""Sizes of the small repositories that are cut from a set's notes."""


def language(name: str) -> str:
    """Return the language of the set called *name*."""
    return LANGUAGES.get(name) or LANGUAGES.get(name.rsplit("-", 1)[-1], "en")


def family(name: str) -> str:
    """Return what two sets share that have the same texts."""
    return name.partition("-")[0]


def samples(data: Path, work: Path, per_set: int) -> Iterator[dict[str, object]]:
    """Yield {set, kind, on, text, features, inject, level} for every question asked."""
    engine, rng = Engine(), random.Random(7)
    corpora = {folder.name: load(folder) for folder in sorted(data.iterdir()) if (folder / "qrels.tsv").is_file()}
    opened = {
        (name, group): memories.open_group(engine, corpus, group, work)
        for name, corpus in corpora.items()
        for group in corpus.groups
    }
    for name, corpus in corpora.items():
        asked = [query for query in corpus.queries if query.id in corpus.qrels]
        asked = rng.sample(asked, min(per_set, len(asked)))
        for number, query in enumerate(asked):
            memory = opened[name, query.group]
            yield _sample(name, "on", query.text, memory, True)
            if len(corpus.groups) > 1:
                other = rng.choice([group for group in corpus.groups if group != query.group])
                yield _sample(name, "cross", query.text, opened[name, other], False)
            if number % 4 == 0:
                yield _small(name, corpus, query, memory, rng)
        for other, foreign in corpora.items():
            if language(other) == language(name) and family(other) != family(name):
                for number, query in enumerate(rng.sample(foreign.queries, min(per_set // 5, len(foreign.queries)))):
                    memory = opened[name, rng.choice(corpus.groups)]
                    yield _sample(name, "foreign", query.text, memory, False)
                    if number % 2 == 0:
                        small = memories.smaller(memory, rng.choice(SIZES), set(), rng.randrange(1 << 30))
                        yield _sample(name, "small-foreign", query.text, small, False)
        memory = opened[name, corpus.groups[0]]
        for kind, texts in (("smalltalk", SMALL_TALK), ("machine", MACHINE), ("requests", REQUESTS)):
            for text in texts:
                yield _sample(name, kind, text, memory, False)


def _small(name: str, corpus: Corpus, query: Query, memory: Memory, rng: random.Random) -> dict[str, object]:
    """Return the question put to a few notes, the answer among them."""
    keep = {path_of(document) for document in corpus.qrels[query.id]}
    small = memories.smaller(memory, rng.choice(SIZES), keep, rng.randrange(1 << 30))
    return _sample(name, "small", query.text, small, True)


def _sample(name: str, kind: str, text: str, memory: Memory, on: bool) -> dict[str, object]:
    verdict = gate.judge(text)
    row: dict[str, object] = {"set": name, "kind": kind, "on": on, "text": text, "gate": verdict.open}
    if verdict.open:
        found = search(memory, verdict.query)
        row |= {"features": dict(found.features), "inject": found.inject, "level": found.level}
    else:
        row |= {"features": {}, "inject": False, "level": "none"}
    return row


def report(rows: list[dict[str, object]]) -> dict[str, object]:
    """Print fire rates by set and kind, and the curve; return them."""
    by: dict[tuple[str, str], list[dict[str, object]]] = defaultdict(list)
    for row in rows:
        by[str(row["set"]), str(row["kind"])].append(row)
    kinds = ("on", "cross", "foreign", "small", "small-foreign", "smalltalk", "machine", "requests")
    table: dict[str, dict[str, float]] = {}
    print(f"{'set':16}" + "".join(f"{kind:>15}" for kind in kinds))
    for name in (*dict.fromkeys(str(row["set"]) for row in rows), "all"):
        cells = {}
        for kind in kinds:
            chosen = [row for key, group in by.items() if key[1] == kind and name in (key[0], "all") for row in group]
            if chosen:
                cells[kind] = sum(bool(row["inject"]) for row in chosen) / len(chosen)
        table[name] = cells
        print(f"{name:16}" + "".join(f"{cells[kind]:>15.3f}" if kind in cells else f"{'':>15}" for kind in kinds))
    curve = []
    for threshold in (0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.8, 0.9):
        point: dict[str, float] = {"threshold": threshold}
        for name in ("locomo-session", "locomo-turn"):
            for kind in ("on", "cross"):
                likely = [_likely(row) for row in by.get((name, kind), [])]
                if likely:
                    point[f"{name} {kind}"] = sum(value >= threshold for value in likely) / len(likely)
        curve.append(point)
        print("  ".join(f"{key} {value:.3f}" for key, value in point.items()))
    return {"fire_rate": table, "curve": curve}


def _likely(row: dict[str, object]) -> float:
    features = row["features"]
    return claim.probability(features) if isinstance(features, dict) and features else 0.0


def main() -> int:
    """Measure, print, and keep the result."""
    parser = argparse.ArgumentParser(description="Fire rates on-topic and off-topic.")
    parser.add_argument("--data", type=Path, required=True, help="folder of retrieval sets")
    parser.add_argument("--work", type=Path, default=Path("/tmp/recall-bench"), help="where the repositories are made")
    parser.add_argument("--per-set", type=int, default=300, help="questions of each set")
    parser.add_argument("--json", type=Path, help="write the result, with the commit, here")
    parser.add_argument("--save-samples", type=Path, help="write every sample's features here, a line each")
    args = parser.parse_args()
    rows = list(samples(args.data, args.work, args.per_set))
    if args.save_samples:
        args.save_samples.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    result = report(rows)
    if args.json:
        commit = subprocess.run(
            ("git", "rev-parse", "HEAD"), capture_output=True, text=True, check=False
        ).stdout.strip()
        args.json.write_text(json.dumps({"commit": commit, **result}, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
