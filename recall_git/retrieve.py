"""Ask both legs for a view: BM25F over its postings and cosine over its vectors, with numpy.

All statistics (number of documents, document frequencies, average lengths) are those of the view, so an
index that has grown over thousands of commits ranks like one that was built from the last.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from recall_git import bm25, nearness
from recall_git.index import lexical
from recall_git.index.lexical import FIELDS, Postings
from recall_git.index.store import Segment, Snapshot
from recall_git.index.table import Question
from recall_git.types import Document

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Evidence:
    """What the legs say about every document of the index."""

    words: bm25.Scored
    meant: nearness.Meant
    dense: Floats
    """Cosine, -1…1; -1 outside the view."""
    note_dense: Floats
    """Cosine with the mean of a note's sections."""

    @property
    def lexical(self) -> Floats:
        """BM25F; 0 outside the view."""
        return self.words.documents

    @property
    def note_lexical(self) -> Floats:
        """BM25F of every note of the view, over all its sections."""
        return self.words.notes

    @property
    def frequencies(self) -> tuple[int, ...]:
        """Document frequency in the view of each term asked."""
        return self.words.frequencies


@dataclass(frozen=True, slots=True)
class Fusion:
    """What each kind of evidence is worth; all of it is a share of what is possible, 1 at most (notes: about 1)."""

    lexical: float
    """BM25F of the section, as a share of what a section with every word could reach."""
    note_lexical: float
    """The same of its note."""
    dense: float
    """Cosine of the section."""
    note_dense: float
    """Cosine of the note's mean vector."""
    nearness: float = 0.0
    """How near the query's pieces come to pieces of the section; for candidates only."""


_BLOCK = 512
"""Rows of vectors that are made float32 at a time: they stay in the processor's cache (with 4,096: 3 times slower)."""


class View:
    """The documents of one tree, ready to be scored. Documents are numbered through all segments of the snapshot."""

    def __init__(self, snapshot: Snapshot, rows: npt.NDArray[np.void]) -> None:
        self.snapshot = snapshot
        self.segments: tuple[Segment, ...] = snapshot.segments
        self.bases = np.cumsum([0, *map(len, self.segments)])
        total = int(self.bases[-1])
        self.live = np.zeros(total, bool)
        self.note = np.full(total, -1, np.int32)
        """Number of the note (row of the view) that a document belongs to."""
        self.time = np.zeros(total, np.int64)
        """Author time of the commit that last changed the note."""
        taken = np.zeros(len(rows), bool)
        for segment, base in zip(self.segments, self._starts, strict=False):
            has, found = segment.find(rows["key"])
            fresh = ~taken[has]
            places = np.flatnonzero(has)[fresh]
            files = segment.files[found[fresh]]
            taken |= has
            documents, owners = _spread(files["first"], files["count"], places)
            self.live[documents + base] = True
            self.note[documents + base] = owners
            self.time[documents + base] = rows["time"][owners]
        self.rows = rows
        self.notes = len(rows)
        self.complete = bool(taken.all())
        self.count = int(self.live.sum())

    @cached_property
    def lengths(self) -> Floats:
        """(total, fields): number of terms."""
        parts = [segment.lengths for segment in self.segments]
        return np.concatenate(parts).astype(np.float32) if parts else np.zeros((0, len(FIELDS)), np.float32)

    @cached_property
    def scorer(self) -> bm25.Scorer:
        """BM25F with the view's statistics."""
        tables = [(base, segment.terms) for segment, base in zip(self.segments, self._starts, strict=False)]
        return bm25.Scorer(tables, self.live, self.note, self.notes, self.lengths)

    @cached_property
    def note_spans(self) -> Floats:
        """(notes,): length of the sum of a note's vectors; what turns summed cosines into the mean's cosine."""
        summed = np.zeros((self.notes, self.segments[0].vectors.shape[1]) if self.segments else (0, 1), np.float32)
        for segment, base in zip(self.segments, self._starts, strict=False):
            inside = np.flatnonzero(self.live[base : base + len(segment)])
            for first in range(0, len(inside), _BLOCK):
                rows = inside[first : first + _BLOCK]
                np.add.at(summed, self.note[base + rows], segment.vectors[rows] * segment.scales[rows, None])
        spans: Floats = np.linalg.norm(summed, axis=1)
        spans[spans == 0] = 1
        return spans

    def locate(self, document: int) -> tuple[Segment, int]:
        """Return the segment of *document* and its number there."""
        at = bisect_right(self._starts, document) - 1
        return self.segments[at], document - self._starts[at]

    @cached_property
    def _starts(self) -> list[int]:
        """``bases`` as Python's numbers, which one document after the other is looked up in faster."""
        starts: list[int] = self.bases.tolist()
        return starts

    def postings(self, field: str, term: str) -> list[tuple[int, Postings]]:
        """Return (base, postings) of *term* for each segment that has it."""
        found = []
        for segment, base in zip(self.segments, self._starts, strict=False):
            postings = segment.postings(field, term)
            if postings is not None:
                found.append((base, postings))
        return found

    @cached_property
    def documents(self) -> dict[int, Document]:
        """Documents that were read, by number; for whoever reads them."""
        return {}

    def cosines(self, vector: Floats) -> Floats:
        """Return the cosine of *vector* (dim,) with every document, -1 outside the view."""
        found = np.empty(len(self.live), np.float32)
        for segment, base in zip(self.segments, self._starts, strict=False):
            _cosines(segment.vectors, segment.scales, vector, found[base : base + len(segment)])
        found[~self.live] = -1
        return found

    @cached_property
    def piece_counts(self) -> Ints:
        """How many sections of the view have each piece of the model; pieces beyond the end are in none."""
        spans = zip(self.segments, self._starts, strict=False)
        return nearness.counts([segment.pieces_of(self.live[base : base + len(segment)])[1] for segment, base in spans])

    def ask(self, terms: Sequence[str], question: Question) -> Evidence:
        """Ask both legs."""
        words = self.scorer.score(terms)
        meant = nearness.weigh(question, self.piece_counts, self.count)
        cosines = self.cosines(meant.vector)
        summed = np.bincount(self.note[self.live], cosines[self.live], self.notes).astype(np.float32)
        return Evidence(words, meant, cosines, summed / self.note_spans)

    def nearness(self, evidence: Evidence, documents: Sequence[int], cosines: nearness.Cosines) -> Floats:
        """Return (len(documents),): how near what was meant comes to pieces of each section, 1 at most."""
        found = [segment.pieces(local) for segment, local in map(self.locate, documents)]
        return nearness.nearness(evidence.meant, found, cosines)

    def reachable(self, frequencies: Sequence[int]) -> float:
        """Return the BM25F that a section would come near to if every term of a query stood in it often."""
        return max((lexical.K1 + 1) * sum(bm25.idf(self.count, frequency) for frequency in frequencies), 1e-9)

    def fuse(self, evidence: Evidence, fusion: Fusion) -> Floats:
        """Return the weighted sum of the scores of every document, -inf outside the view.

        BM25F counts as a share of what the query could reach, and cosines as they are: words decide where the
        notes have the query's words, meaning where they do not (docs/adr/0011). A section also gets the scores
        of its note.
        """
        share = 1 / self.reachable(evidence.frequencies)
        fused: Floats = np.float32(fusion.lexical * share) * evidence.lexical
        fused += np.float32(fusion.dense) * evidence.dense
        if self.notes:
            whole = np.float32(fusion.note_lexical * share) * evidence.note_lexical
            whole += np.float32(fusion.note_dense) * evidence.note_dense
            fused += whole[self.note]
        fused[~self.live] = -np.inf
        return fused

    def best(self, scores: Floats, limit: int) -> list[int]:
        """Return at most *limit* documents of the view by *scores*, best first; equal scores in the index's order."""
        limit = min(limit, self.count)
        if not limit:
            return []
        top = np.argpartition(-scores, limit - 1)[:limit]
        return [int(document) for document in top[np.lexsort((top, -scores[top]))]]

    def __contains__(self, content_hash: object) -> bool:
        """Whether a document of the view has this content hash (16 hexadecimal digits)."""
        return isinstance(content_hash, str) and int(content_hash, 16) in self._hashes

    @cached_property
    def _hashes(self) -> frozenset[int]:
        parts = [segment.docs["hash"] for segment in self.segments]
        return frozenset(np.concatenate(parts)[self.live].tolist()) if parts else frozenset()

    def flagged(self, flags: int) -> list[int]:
        """Return the documents of the view that have any of *flags*, in the index's order."""
        parts = [segment.docs["flags"] for segment in self.segments]
        if not parts:
            return []
        found: list[int] = np.flatnonzero(((np.concatenate(parts) & flags) != 0) & self.live).tolist()
        return found

    def matching(self, parsed: lexical.Parsed) -> Mask:
        """Return which documents of the view match a parsed query, by the view's dates."""
        found = np.zeros(len(self.live), bool)
        for segment, base in zip(self.segments, self._starts, strict=False):
            span = slice(base, base + len(segment))
            written = segment.docs["day"]
            days = np.where(written >= 0, written, self.time[span] // 86400).astype(np.int32)
            found[span] = lexical.matching(segment.lexical, parsed, days)
        return found & self.live


def _spread(
    first: npt.NDArray[np.uint32], count: npt.NDArray[np.uint32], owners: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the documents of files (``first … first + count - 1``) end to end, and each one's owner."""
    ends = np.cumsum(count, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    starts = np.repeat(first.astype(np.int64) - (ends - count), count)
    return starts + np.arange(total), np.repeat(owners, count).astype(np.int64)


def _cosines(vectors: npt.NDArray[np.int8], scales: Floats, vector: Floats, out: Floats) -> None:
    """Write ``vectors * scales @ vector`` into *out*, with a few float32 rows at a time in memory."""
    block = np.empty((_BLOCK, vectors.shape[1]), np.float32)
    flat = np.asarray(vectors)
    for start in range(0, len(flat), _BLOCK):
        rows = flat[start : start + _BLOCK]
        part = block[: len(rows)]
        part[...] = rows
        np.dot(part, vector, out=out[start : start + _BLOCK])
    out *= scales
