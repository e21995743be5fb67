"""How near a query comes to a section piece by piece: late interaction with the static vectors of pieces.

The mean of a section's pieces forgets what stands in it; here each piece of the query looks for the piece of the
section that means most the same, so `photograph` finds `photo` in a section on many other things. The sum of these
maxima is that of ColBERT (Khattab and Zaharia, SIGIR 2020), weighed by how much each piece says. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from recall_git.index.table import Floats, Question, unit

Ints = npt.NDArray[np.int64]
Cosines = Callable[[npt.NDArray[Any], Floats], Floats]
"""Returns (pieces, vectors) the cosines of pieces with vectors of unit length."""

MOST_PIECES = 16
"""Pieces of a query that are looked for, those that say most; a question has about ten. With 32 or 24, four sets that
ask longer questions rank the same to three digits."""
_BLOCK = 1 << 18
"""Pieces that are counted at a time: counting makes them eight bytes each."""


@dataclass(frozen=True, slots=True)
class Meant:
    """A query, its pieces weighed by how rare they are in a view."""

    vector: Floats
    """(dim,) the mean of its pieces, of unit length; zeros without a known piece."""
    directions: Floats
    """(n, dim) rows of unit length: the pieces that say most."""
    weights: Floats
    """(n,) what each of them says, 1 together."""


def counts(parts: Sequence[npt.NDArray[Any]]) -> Ints:
    """Return how often each piece stands in *parts*, up to the greatest there."""
    size = 1 + max((int(part.max()) for part in parts if len(part)), default=-1)
    found = np.zeros(size, np.int64)
    for part in parts:
        for start in range(0, len(part), _BLOCK):
            found += np.bincount(part[start : start + _BLOCK], minlength=size)
    return found


def weigh(question: Question, counted: Ints, count: int) -> Meant:
    """Return *question* as it is to be understood where *counted* of *count* sections have each piece.

    A piece weighs its idf, as a term does in BM25, and the square of its vector's length, which is how much it says
    in the language at large (docs/adr/0016).
    """
    pieces, vectors = question.pieces, question.vectors
    frequency = np.zeros(len(pieces))
    known = pieces < len(counted)
    frequency[known] = counted[pieces[known]]
    says = np.einsum("ij,ij->i", vectors, vectors)
    weights = np.log1p((count - frequency + 0.5) / (frequency + 0.5)).astype(np.float32) * says
    kept = np.sort(np.argsort(-weights, kind="stable")[:MOST_PIECES])
    kept = kept[weights[kept] > 0]
    directions = vectors[kept] / np.sqrt(says[kept])[:, None]
    return Meant(unit(vectors.sum(axis=0)[None])[0], directions, weights[kept] / weights[kept].sum())


def nearness(meant: Meant, sections: Sequence[npt.NDArray[Any]], cosines: Cosines) -> Floats:
    """Return (len(sections),) -1…1: the mean over the pieces *meant* of the best cosine with a piece of each section.

    0 for a section without pieces, and for all of them when nothing known is meant.
    """
    found = np.zeros(len(sections), np.float32)
    filled = [place for place, pieces in enumerate(sections) if len(pieces)]
    if filled and len(meant.weights):
        pieces = np.concatenate([sections[place] for place in filled])
        starts = np.cumsum([0, *(len(sections[place]) for place in filled)])[:-1]
        different, rows = _different(pieces)
        nearest = np.maximum.reduceat(cosines(different, meant.directions)[rows], starts, axis=0)
        found[filled] = nearest @ meant.weights
    return found


def _different(pieces: npt.NDArray[Any]) -> tuple[Ints, Ints]:
    """Return the different *pieces*, ascending, and the place among them of each; several times as fast as a sort."""
    seen = np.zeros(int(pieces.max()) + 1, bool)
    seen[pieces] = True
    different = np.flatnonzero(seen)
    places = np.empty(len(seen), np.int64)
    places[different] = np.arange(len(different))
    return different, places[pieces]
