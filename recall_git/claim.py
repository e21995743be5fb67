"""Is the evidence enough to say anything? The absolute gate, after ranking: wrong injection is worse than none.

Pure. A logistic model over features that exist for any query and any number of notes (``search.Weighed``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp
from typing import Any

BIAS = -11.43
COEFFICIENTS: Mapping[str, float] = {
    "coverage": 2.75,  # share of the query's rarity (in the language at large) that the best section has
    "evidence": 2.12,  # log(1 + that rarity): two rare words say more than one
    "rarest": 1.09,  # rarity of the rarest word that the best section has
    "size": -0.61,  # log(1 + terms of that section): a long one has many words by chance
    "cosine": 6.60,  # best cosine
    "nearness": 3.32,  # how near the query's pieces come to those of a section, at best
}
"""Fitted by tools/fit_gate.py on samples of benchmarks/gate.py; docs/adr/0006 has the run."""

THRESHOLDS: Mapping[str, tuple[float, float]] = {"strict": (0.97, 0.93), "normal": (0.93, 0.81), "open": (0.4, 0.2)}
"""``recall.gate`` → (probability for entries, probability for a pointer line)."""

LEAST: Mapping[str, float] = {"strict": 0.8, "normal": 0.6, "open": 0.1}
"""``recall.gate`` → probability that a hit needs of its own. Lower than the claim's: the claim takes the best of each
feature, and no single section need have them all."""


@dataclass(frozen=True, slots=True)
class Claim:
    """How strong the case for the best hit is."""

    probability: float
    level: str
    """``entries``, ``pointer`` or ``none``."""


def probability(features: Mapping[str, float]) -> float:
    """Return how likely it is, 0…1, that the notes answer a query with these features."""
    return likely(log_odds(features))


def likely(odds: float) -> float:
    """Return the probability of odds that are given as their logarithm; of NaN, as good as none."""
    return 1 / (1 + exp(-max(-30.0, min(odds, 30.0))))  # in this order: NaN is neither less nor more


def log_odds(features: Mapping[str, Any]) -> Any:
    """Return the logarithm of the odds that ``probability`` gives; of arrays of features, an array."""
    return BIAS + sum(weight * features[name] for name, weight in COEFFICIENTS.items())


def judge(features: Mapping[str, float], gate: str) -> Claim:
    """Return the claim that *features* support under ``recall.gate`` = *gate*."""
    likely = probability(features)
    entries, pointer = THRESHOLDS[gate]
    return Claim(likely, "entries" if likely >= entries else "pointer" if likely >= pointer else "none")


def least(gate: str) -> float:
    """Return the probability that a hit needs of its own to be injected once the claim stands."""
    return LEAST[gate]
