"""Measures of a ranking against relevance judgements. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2

MEASURES = ("ndcg10", "recall5", "recall10", "mrr10", "hit1", "hit5", "hit10")


def measure(hits: Sequence[str], relevant: Mapping[str, float]) -> tuple[float, ...]:
    """Return the ``MEASURES`` of one ranking, 0…1 each.

    *hits* best first, repeats count once; *relevant* maps documents to gains above 0. nDCG has linear gains
    and a log2 discount (Järvelin and Kekäläinen, TOIS 2002).
    """
    top = list(dict.fromkeys(hits))[:10]
    gains = [relevant.get(hit, 0.0) for hit in top]
    ideal = sorted(relevant.values(), reverse=True)[:10]
    best = sum(gain / log2(rank + 2) for rank, gain in enumerate(ideal))
    first = next((rank for rank, gain in enumerate(gains) if gain), len(gains))
    found = first < len(gains)
    return (
        sum(gain / log2(rank + 2) for rank, gain in enumerate(gains)) / best if best else 0.0,
        sum(gain > 0 for gain in gains[:5]) / max(1, len(relevant)),
        sum(gain > 0 for gain in gains) / max(1, len(relevant)),
        1 / (first + 1) if found else 0.0,
        *(float(found and first < cut) for cut in (1, 5, 10)),
    )
