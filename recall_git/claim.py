"""Is the evidence enough to say anything? The absolute gate, after ranking: wrong injection is worse than none.

Pure. The features exist for any query and any number of notes; the coefficients stand below with the run
that gave them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp

COEFFICIENTS: Mapping[str, float] = {
    "bias": -7.0,
    "coverage": 9.0,
    "share": 2.0,
    "ratio": 1.0,
    "cosine": 2.5,
}
"""First values, set by hand: replaced by a fit (benchmarks/gate.py)."""

THRESHOLDS: Mapping[str, tuple[float, float]] = {"strict": (0.8, 0.7), "normal": (0.6, 0.45), "open": (0.25, 0.1)}
"""``recall.gate`` → (probability for entries, probability for a pointer line)."""


@dataclass(frozen=True, slots=True)
class Claim:
    """How strong the case for the best hit is."""

    probability: float
    level: str
    """``entries``, ``pointer`` or ``none``."""


def judge(features: Mapping[str, float], gate: str) -> Claim:
    """Return the claim that *features* support under ``recall.gate`` = *gate*."""
    total = COEFFICIENTS["bias"] + sum(
        COEFFICIENTS[name] * features.get(name, 0.0) for name in COEFFICIENTS if name != "bias"
    )
    probability = 1 / (1 + exp(-max(-30.0, min(30.0, total))))
    entries, pointer = THRESHOLDS[gate]
    level = "entries" if probability >= entries else "pointer" if probability >= pointer else "none"
    return Claim(probability, level)
