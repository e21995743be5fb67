"""Whoosh's own BM25F against our reading of its postings, scored with numpy: the same ranking, how much faster.

usage: parity.py REPOSITORY [--queries N]

The repository must be opted in and indexed (``git recall init``). Queries are sentences of its own notes.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]  # run from a checkout without installing

import numpy as np
import numpy.typing as npt

from recall_git import analysis
from recall_git.index import lexical
from recall_git.index.lexical import BOOSTS, FIELDS, K1, B, LexicalSegment


def field_sum(segment: LexicalSegment, terms: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return Whoosh's BM25F of every document: the sum over terms and fields of each field's own BM25."""
    count = len(segment.lengths)
    lengths = lexical.quantised(segment.lengths)
    average = segment.lengths.sum(axis=0) / count
    scores = np.zeros(count)
    for term in terms:
        for column, field in enumerate(FIELDS):
            postings = segment.postings(field, term)
            if postings is None:
                continue
            idf = np.log(count / (len(postings.ids) + 1)) + 1
            tf = postings.counts.astype(float)
            norm = 1 - B + B * lengths[postings.ids, column] / (average[column] or 1)
            scores[postings.ids] += BOOSTS[column] * idf * tf * (K1 + 1) / (tf + K1 * norm)
    return scores


def main() -> int:
    """Compare both on every segment and print the differences and the times."""
    parser = argparse.ArgumentParser(description="Whoosh's BM25F against the vectorised one.")
    parser.add_argument("repository", type=Path)
    parser.add_argument("--queries", type=int, default=200)
    args = parser.parse_args()
    from recall_git.engine import Engine

    engine = Engine()
    memory = engine.open(engine.repository(args.repository)).memory
    segment = max(memory.view.segments, key=len)
    rng = random.Random(3)
    rows = [segment.document(number) for number in rng.sample(range(len(segment)), min(args.queries, len(segment)))]
    same, worst, slow, fast = 0, 0.0, [], []
    for row in rows:
        terms = analysis.query_terms(f"{row.title} {row.summary}")
        began = perf_counter()
        reference = lexical.whoosh_scores(segment.lexical, terms, 10)
        slow.append(perf_counter() - began)
        began = perf_counter()
        ours = field_sum(segment.lexical, terms)
        top = np.lexsort((np.arange(len(ours)), -ours))[: len(reference)]
        fast.append(perf_counter() - began)
        worst = max([worst, *(abs(score - ours[number]) / score for number, score in reference)])
        same += all(
            abs(ours[number] - score) <= 1e-4 * score for number, (_, score) in zip(top, reference, strict=True)
        )
    print(
        f"{len(rows)} queries over {len(segment)} sections: the same ranking in {same}, largest difference {worst:.1e}"
    )
    print(f"median {1000 * median(slow):.1f} ms by Whoosh, {1000 * median(fast):.1f} ms vectorised")
    return 0 if same == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
