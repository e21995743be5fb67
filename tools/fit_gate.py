"""Fit the claim's logistic model: samples of benchmarks/gate.py → coefficients for recall_git/claim.py.

usage: fit_gate.py SAMPLES.jsonl

Every (set, kind) counts the same, on-topic and off-topic count the same. Prints the coefficients, the fire
rates at each threshold, and what a model gives on a set that was left out of its fit. Needs numpy only.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Row = dict[str, object]

NAMES = ("coverage", "evidence", "rarest", "size", "cosine", "nearness")
SHARE = {"cross": 3.0, "smalltalk": 0.3, "requests": 1.5}
"""Weight of a kind of off-topic sample beside 1: trigger rules meet most small talk before the claim does, and a
question about the same sort of thing is the hard case."""
RIDGE = 1e-3
"""Weight of the squared, standardised coefficients; keeps correlated features apart."""


def matrix(rows: list[Row]) -> Floats:
    """Return (rows, features)."""
    return np.array([[row["features"][name] for name in NAMES] for row in rows], float)  # type: ignore[index]


def weights(rows: list[Row]) -> Floats:
    """Return each row's weight: every (set, kind) the same, both classes the same."""
    count = Counter((row["set"], row["kind"]) for row in rows)
    found = np.array([SHARE.get(str(row["kind"]), 1.0) / count[row["set"], row["kind"]] for row in rows])
    on = np.array([bool(row["on"]) for row in rows])
    for group in (on, ~on):
        found[group] /= found[group].sum()
    return found


def fit(rows: list[Row]) -> Floats:
    """Return (1 + features) coefficients, the bias first: weighted ridge logistic regression by Newton's method."""
    data, share = matrix(rows), weights(rows)
    on = np.array([bool(row["on"]) for row in rows], float)
    mean, spread = data.mean(axis=0), data.std(axis=0) + 1e-9
    design = np.c_[np.ones(len(data)), (data - mean) / spread]
    found = np.zeros(design.shape[1])
    penalty = RIDGE * np.r_[0, np.ones(len(NAMES))]
    for _ in range(60):
        likely = 1 / (1 + np.exp(-design @ found))
        slope = design.T @ (share * (likely - on)) + penalty * found
        curve = (design * (share * likely * (1 - likely))[:, None]).T @ design + np.diag(penalty + 1e-9)
        found -= np.linalg.solve(curve, slope)
    plain = found[1:] / spread
    return np.r_[found[0] - plain @ mean, plain]


def likely(coefficients: Floats, rows: list[Row]) -> Floats:
    """Return each row's probability."""
    return 1 / (1 + np.exp(-(coefficients[0] + matrix(rows) @ coefficients[1:])))


def show(title: str, coefficients: Floats, rows: list[Row]) -> None:
    """Print the rates by set and kind at a few thresholds."""
    print(f"== {title}")
    for key in sorted({(str(row["set"]), str(row["kind"])) for row in rows}):
        chosen = [row for row in rows if (row["set"], row["kind"]) == key]
        values = likely(coefficients, chosen)
        cells = "  ".join(
            f"{threshold}: {(values >= threshold).mean():.3f}" for threshold in (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
        )
        print(f"  {key[0]:16}{key[1]:14} n={len(chosen):<5}{cells}")


def main() -> int:
    """Fit on everything, then on everything but one family, and print both."""
    rows = [json.loads(line) for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["features"]]
    whole = fit(rows)
    print("BIAS", round(float(whole[0]), 2))
    for name, value in zip(NAMES, whole[1:].tolist(), strict=True):
        print(f'    "{name}": {value:.2f},')
    show("fitted on all", whole, rows)
    for family in sorted({str(row["set"]).partition("-")[0] for row in rows}):
        rest = [row for row in rows if not str(row["set"]).startswith(family)]
        show(f"{family}, fitted without it", fit(rest), [row for row in rows if str(row["set"]).startswith(family)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
