"""How common a term is in the language at large: a table that travels in the bundled model's folder.

In a small repository every word is rare; only the language at large tells that 'what' says nothing and
'terraform' says much. ``tools/background.py`` counts the table; it holds numbers, no text.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from recall_git.index.postings import term_key
from recall_git.index.vectors import BUNDLED

STEPS = 25
"""Stored values are Zipf frequencies (log10 of occurrences in a billion terms) times this."""
COMMON = 8.0
"""Zipf frequency at which a term says nothing at all."""


@lru_cache(maxsize=1)
def _table() -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint8], float]:
    with np.load(BUNDLED / "background.npz", allow_pickle=False) as table:
        return table["hash"], table["zipf"], float(table["default"])


@lru_cache(maxsize=16384)
def rarity(term: str) -> float:
    """Return how much *term* says, from 0 (in every sentence) to about 6 (the table does not have it)."""
    hashes, zipf, unknown = _table()
    key = np.uint32(term_key(term) & 0xFFFFFFFF)
    at = int(np.searchsorted(hashes, key))
    found = float(zipf[at]) if at < len(hashes) and hashes[at] == key else unknown
    return max(0.0, COMMON - found / STEPS)
