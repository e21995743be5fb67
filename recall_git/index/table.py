"""The table of a static model: a vector for each piece of text, whoever cuts the text into pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

_BLOCK = 256
"""Rows that are made float32 at a time: they stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query as a model sees it."""

    pieces: npt.NDArray[np.intp]
    """(n,) its pieces (rows of the model's table) in order; one that comes twice stands twice."""
    vectors: Floats
    """(n, dim) a vector for each, as long as the piece says much in the language at large."""


class Table:
    """*rows* (n, dim) hold directions; *weights* and *mapping*, if any, have a factor and a row for each token.

    Tokens that mean the same share a row. A token's vector is as long as the token says much. Raises ValueError unless
    each of so many *tokens* has a row and a weight.
    """

    def __init__(
        self,
        rows: npt.NDArray[Any],
        weights: npt.NDArray[Any] | None = None,
        mapping: npt.NDArray[Any] | None = None,
        *,
        tokens: int,
    ) -> None:
        _check(tokens, rows, weights, mapping)
        self._rows, self._weights, self._mapping = rows, weights, mapping
        self.dim = int(rows.shape[1])
        self.dtype = np.uint16 if len(rows) <= 1 << 16 else np.uint32
        """Type of row numbers; the smallest that the index can keep them in."""

    def pieces(self, tokens: Sequence[int]) -> npt.NDArray[np.intp]:
        """Return the rows of *tokens*, in order."""
        found = np.array(tokens, np.intp)
        return found if self._mapping is None else self._mapping[found].astype(np.intp)

    def vectors(self, tokens: Sequence[int]) -> Floats:
        """Return (len(tokens), dim) float32, each as long as its token says much."""
        found: Floats = self._rows[self.pieces(tokens)].astype(np.float32)
        return found if self._weights is None else found * self._weights[tokens][:, None].astype(np.float32)

    def means(self, found: Sequence[Sequence[int]]) -> Floats:
        """Return (len(found), dim) float32, the mean of each text's tokens; zeros for a text without any."""
        means = np.zeros((len(found), self.dim), np.float32)
        for row, tokens in enumerate(found):
            if tokens:
                means[row] = self.vectors(tokens).mean(axis=0)
        return means

    def ask(self, tokens: Sequence[int]) -> Question:
        """Return a query of *tokens*."""
        return Question(self.pieces(tokens), self.vectors(tokens))

    def cosines(self, pieces: npt.NDArray[Any], vectors: Floats) -> Floats:
        """Return (len(pieces), len(vectors)): cosines of the rows *pieces* with *vectors* of unit length."""
        found = np.zeros((len(pieces), len(vectors)), np.float32)
        for start in range(0, len(pieces), _BLOCK):
            rows = self._rows[pieces[start : start + _BLOCK]].astype(np.float32)
            spans = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
            np.divide(rows @ vectors.T, spans, out=found[start : start + _BLOCK], where=spans > 0)
        return found


def _check(
    tokens: int, rows: npt.NDArray[Any], weights: npt.NDArray[Any] | None, mapping: npt.NDArray[Any] | None
) -> None:
    named = np.arange(len(rows)) if mapping is None else mapping
    factors = np.ones(len(named)) if weights is None else weights
    shaped = (rows.ndim, named.ndim, factors.ndim) == (2, 1, 1) and rows.size and named.dtype.kind in "iu"
    if not (shaped and min(len(named), len(factors)) >= tokens and 0 <= named.min() <= named.max() < len(rows)):
        raise ValueError("its tables do not fit its tokenizer")


def unit(vectors: Floats) -> Floats:
    """Return the rows of *vectors* with unit length; a row of zeros stays so."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    found: Floats = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
    return found
