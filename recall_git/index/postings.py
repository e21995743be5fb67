"""Postings of a segment as a prompt asks for them: every term once, with its frequency in each field.

Whoosh keeps a list for each field, for its query language. A prompt asks for all fields of some sixty terms at
once; from these arrays they are found with one look-up and scored with a few calls of numpy (docs/adr/0004).
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

POSTING = np.dtype([("document", "<u4"), ("body", "<u2"), ("title", "u1"), ("tag", "u1")])
"""A document of the segment, and how often it has the term in each field; larger numbers count as the largest."""
Packed = npt.NDArray[np.uint64]
"""POSTING as whole numbers: they are copied faster than records, and the fields of one document are joined by OR."""
_FILES = ("term_keys", "term_ends", "postings")


@lru_cache(maxsize=1 << 16)
def term_key(term: str) -> int:
    """Return the 64-bit key of a term."""
    return _key(term.encode("utf-8", "replace"))


def _key(name: bytes) -> int:
    return int.from_bytes(blake2b(name, digest_size=8).digest(), "little")


@dataclass(frozen=True, slots=True)
class Column:
    """All postings of one field: *names* of its terms, *sizes* how many documents have each, and those, end to end."""

    field: str
    names: Sequence[bytes]
    sizes: npt.NDArray[np.int64]
    documents: npt.NDArray[np.uint32]
    counts: npt.NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class TermTable:
    """The postings of one segment: those of a term lie together, by document; terms in the order of their keys."""

    keys: npt.NDArray[np.uint64]
    """(terms,) ascending."""
    ends: npt.NDArray[np.uint32]
    """(terms,) where the postings of each end."""
    postings: Packed

    @classmethod
    def load(cls, folder: Path) -> TermTable:
        """Open the table in *folder*, memory-mapped."""
        return cls(*(np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r")) for name in _FILES))

    def rest(self) -> None:
        """Let go of what was read; see ``rest``."""
        for array in (self.keys, self.ends, self.postings):
            rest(array)

    def save(self, folder: Path) -> None:
        """Write the table into *folder*."""
        arrays: tuple[npt.NDArray[Any], ...] = (self.keys, self.ends, self.postings)
        for name, values in zip(_FILES, arrays, strict=True):
            np.save(folder / f"{name}.npy", values)

    @classmethod
    def build(cls, columns: Iterable[Column]) -> TermTable:
        """Return the table of a segment's *columns*."""
        parts = []
        keys = []
        for column in columns:
            named = np.fromiter(map(_key, column.names), np.uint64, len(column.names))
            keys.append(np.repeat(named, column.sizes))
            part = np.zeros(len(column.documents), POSTING)
            part["document"] = column.documents
            part[column.field] = np.minimum(column.counts, np.iinfo(POSTING[column.field]).max)
            parts.append(part.view(np.uint64))
        return cls._grouped(keys, parts)

    @classmethod
    def merge(cls, parts: Iterable[tuple[TermTable, npt.NDArray[np.int64]]]) -> TermTable:
        """Return one table of several; each comes with the new numbers of its documents, -1 for those left out."""
        keys, postings = [], []
        for table, to in parts:
            moved = to[_documents(table.postings)]
            kept = moved >= 0
            keys.append(np.repeat(table.keys, np.diff(np.append(0, table.ends)).astype(np.int64))[kept])
            again = table.postings[kept]
            again.view(POSTING)["document"] = moved[kept]
            postings.append(again)
        return cls._grouped(keys, postings)

    @classmethod
    def _grouped(cls, keys: Sequence[npt.NDArray[np.uint64]], parts: Sequence[Packed]) -> TermTable:
        """Return the table of postings with a key each, where those of one term and document become one."""
        every, postings = np.concatenate([np.zeros(0, np.uint64), *keys]), np.concatenate([_NONE, *parts])
        distinct, rank = np.unique(every, return_inverse=True)
        order = np.argsort(rank.astype(np.uint64) << np.uint64(32) | _documents(postings))
        rank, postings = rank[order], postings[order]
        fresh = np.ones(len(rank), bool)
        np.logical_or(rank[1:] != rank[:-1], _documents(postings)[1:] != _documents(postings)[:-1], out=fresh[1:])
        first = np.flatnonzero(fresh)  # of each term and document; its fields stand in bits of their own
        sizes = np.bincount(rank[first], minlength=len(distinct))
        return cls(distinct, np.cumsum(sizes).astype(np.uint32), np.bitwise_or.reduceat(postings, first))

    def find(self, keys: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.intp], list[Packed]]:
        """Return which of *keys* the segment has (their places, ascending), and the postings of each."""
        if not len(self.keys):
            return np.zeros(0, np.intp), []
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        has = np.flatnonzero(self.keys[at] == keys)
        found = at[has]
        lasts, firsts = self.ends[found].tolist(), np.where(found > 0, self.ends[found - 1], 0).tolist()
        return has, [self.postings[first:last] for first, last in zip(firsts, lasts, strict=True)]


def rest(array: npt.NDArray[Any]) -> None:
    """Let go of the pages of a mapped *array* that were read: they stay in the system's cache, not in our memory.

    Each page that is read brings its neighbours, so after some prompts a process would hold most of a file of which
    a prompt needs little.
    """
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


_NONE: Packed = np.zeros(0, np.uint64)


def _documents(postings: Packed) -> npt.NDArray[np.uint32]:
    found: npt.NDArray[np.uint32] = postings.view(POSTING)["document"]
    return found
