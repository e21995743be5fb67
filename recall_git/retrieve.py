"""Ask both legs for a view: BM25F over Whoosh's postings and cosine over its vectors, with numpy.

All statistics (number of documents, document frequencies, average lengths) are those of the view, so an
index that has grown over thousands of commits ranks like one that was built from the last.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log1p

import numpy as np
import numpy.typing as npt

from recall_git.index import lexical
from recall_git.index.lexical import BOOSTS, FIELDS, K1, B, Postings
from recall_git.index.store import Segment, Snapshot
from recall_git.types import Document

Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Evidence:
    """What the legs say about every document of the index."""

    lexical: Floats
    """BM25F; 0 outside the view."""
    dense: Floats
    """Cosine, -1…1; -1 outside the view."""
    note_lexical: Floats
    """BM25F of every note of the view, over all its sections."""
    note_dense: Floats
    """Cosine with the mean of a note's sections."""
    frequencies: tuple[int, ...]
    """Document frequency in the view of each term asked."""


@dataclass(frozen=True, slots=True)
class Fusion:
    """Weights of the four standardised scores."""

    lexical: float
    note_lexical: float
    dense: float
    note_dense: float
    ceiling: float = float("inf")
    """Standardised cosines above this count as this: words tell apart what meaning finds equally near."""


KEPT_BYTES, KEPT_BYTES_A_DOCUMENT = 4 << 20, 300
"""Memory for the terms that were asked lately, at least and by size of the view; all prompts repeat common words."""
_DENSE = 3
"""A term in more than a third of the documents is kept as a score for every document: added faster, and smaller."""
_BLOCK = 512
"""Rows of vectors that are made float32 at a time: they stay in the processor's cache (with 4,096: 3 times slower)."""


@dataclass(frozen=True, slots=True)
class Term:
    """What one term adds to the scores of a view."""

    frequency: int
    """Documents of the view that have it."""
    documents: npt.NDArray[np.int64] | None
    """Those documents, ascending; None when ``scores`` counts for every document."""
    scores: Floats
    notes: npt.NDArray[np.int64]
    """Notes of the view that have it, ascending."""
    note_scores: Floats

    @property
    def nbytes(self) -> int:
        arrays = (self.scores, self.notes, self.note_scores)
        return 400 + sum(array.nbytes for array in arrays) + (0 if self.documents is None else self.documents.nbytes)


class View:
    """The documents of one tree, ready to be scored. Documents are numbered through all segments of the snapshot."""

    _terms_bytes = 0

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
        for segment, base in zip(self.segments, self.bases.tolist(), strict=False):
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
    def norms(self) -> Floats:
        """(fields, total): ``boost / (1 - B + B * length / average length)`` with the view's averages."""
        return _norms(self.lengths, self.lengths[self.live])

    @cached_property
    def note_norms(self) -> Floats:
        """(fields, notes): the same for whole notes."""
        owners, inside = self.note[self.live], self.lengths[self.live]
        lengths = np.stack([np.bincount(owners, column, self.notes) for column in inside.T], axis=1)
        return _norms(lengths.astype(np.float32), lengths.astype(np.float32))

    @cached_property
    def note_spans(self) -> Floats:
        """(notes,): length of the sum of a note's vectors; what turns summed cosines into the mean's cosine."""
        summed = np.zeros((self.notes, self.segments[0].vectors.shape[1]) if self.segments else (0, 1), np.float32)
        for segment, base in zip(self.segments, self.bases.tolist(), strict=False):
            inside = np.flatnonzero(self.live[base : base + len(segment)])
            for first in range(0, len(inside), _BLOCK):
                rows = inside[first : first + _BLOCK]
                np.add.at(summed, self.note[base + rows], segment.vectors[rows] * segment.scales[rows, None])
        spans: Floats = np.linalg.norm(summed, axis=1)
        spans[spans == 0] = 1
        return spans

    def locate(self, document: int) -> tuple[Segment, int]:
        """Return the segment of *document* and its number there."""
        at = int(np.searchsorted(self.bases, document, side="right")) - 1
        return self.segments[at], document - int(self.bases[at])

    def postings(self, field: str, term: str) -> list[tuple[int, Postings]]:
        """Return (base, postings) of *term* for each segment that has it."""
        found = []
        for segment, base in zip(self.segments, self.bases.tolist(), strict=False):
            postings = segment.postings(field, term)
            if postings is not None:
                found.append((base, postings))
        return found

    def score_terms(self, terms: Sequence[str]) -> tuple[Floats, Floats, tuple[int, ...]]:
        """Return BM25F of every document, of every note, and the document frequency of every term.

        BM25F as Robertson, Zaragoza and Taylor (CIKM 2004): a term's frequencies in the fields are added,
        each with its boost and length norm, before they saturate; idf is ``ln(1 + (N - df + .5) / (df + .5))``
        with df counting documents that have the term in any field. Against a sum of per-field BM25, as
        Whoosh and fuyao score, this gains .09 nDCG@10 on scifact and .04 on jsquad (docs/adr/0005).
        """
        scores, note_scores = np.zeros(len(self.live), np.float32), np.zeros(self.notes, np.float32)
        weighed = [self.term(term) for term in terms]
        for term in weighed:
            note_scores[term.notes] += term.note_scores
            if term.documents is None:
                scores += term.scores
            else:
                scores[term.documents] += term.scores
        return scores, note_scores, tuple(term.frequency for term in weighed)

    def idf(self, frequency: int) -> float:
        """Return the weight of a term that *frequency* documents of the view have."""
        return _idf(self.count, frequency)

    def term(self, term: str) -> Term:
        """Return what *term* gives to the scores; it depends on the view alone, so it is kept."""
        kept = self._terms.get(term)
        if kept is not None:
            self._terms.move_to_end(term)
            return kept
        kept = self._terms[term] = self._weigh(term)
        self._terms_bytes += kept.nbytes
        most = max(KEPT_BYTES, KEPT_BYTES_A_DOCUMENT * len(self.live))
        while self._terms_bytes > most and len(self._terms) > 1:
            self._terms_bytes -= self._terms.popitem(last=False)[1].nbytes
        return kept

    def _weigh(self, term: str) -> Term:
        places: list[npt.NDArray[np.int64]] = []
        weights: list[Floats] = []
        owners: list[npt.NDArray[np.int64]] = []
        note_weights: list[Floats] = []
        for field, norm, note_norm in zip(FIELDS, self.norms, self.note_norms, strict=True):
            for base, postings in self.postings(field, term):
                ids, tf = _live(base, postings, None if self.count == len(self.live) else self.live)
                places.append(ids)
                weights.append(tf * norm[ids])
                owners.append(self.note[ids].astype(np.int64))
                note_weights.append(tf * note_norm[owners[-1]])
        documents, scores = self._saturated(places, weights, self.count)
        notes, note_scores = self._saturated(owners, note_weights, self.notes)
        if len(documents) * _DENSE < len(self.live):
            return Term(len(documents), documents, scores, notes, note_scores)
        whole = np.zeros(len(self.live), np.float32)
        whole[documents] = scores
        return Term(len(documents), None, whole, notes, note_scores)

    @staticmethod
    def _saturated(
        places: list[npt.NDArray[np.int64]], weights: list[Floats], count: int
    ) -> tuple[npt.NDArray[np.int64], Floats]:
        """Return the places ascending, each once, and the BM25F of a term there; *count* places there are in all."""
        if not places:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        found, frequencies = _summed(np.concatenate(places), np.concatenate(weights))
        factor = np.float32(_idf(count, len(found)) * (K1 + 1))
        return found, factor * frequencies / (frequencies + np.float32(K1))

    @cached_property
    def documents(self) -> dict[int, Document]:
        """Documents that were read, by number; for whoever reads them."""
        return {}

    @cached_property
    def _terms(self) -> OrderedDict[str, Term]:
        return OrderedDict()

    def cosines(self, vector: Floats) -> Floats:
        """Return the cosine of *vector* (dim,) with every document, -1 outside the view."""
        found = np.empty(len(self.live), np.float32)
        for segment, base in zip(self.segments, self.bases.tolist(), strict=False):
            _cosines(segment.vectors, segment.scales, vector, found[base : base + len(segment)])
        found[~self.live] = -1
        return found

    def ask(self, terms: Sequence[str], vector: Floats) -> Evidence:
        """Ask both legs."""
        scores, note_scores, frequencies = self.score_terms(terms)
        cosines = self.cosines(vector)
        summed = np.bincount(self.note[self.live], cosines[self.live], self.notes).astype(np.float32)
        return Evidence(scores, cosines, note_scores, summed / self.note_spans, frequencies)

    def matched(self, terms: Sequence[str], documents: Sequence[int]) -> Mask:
        """Return (terms, documents) bool: which of *documents* of the view have which term, in any field."""
        asked = np.array(documents, np.int64)
        found = np.zeros((len(terms), len(asked)), bool)
        for row, term in enumerate(map(self.term, terms)):
            if term.documents is None:
                found[row] = term.scores[asked] > 0
            elif term.frequency:
                at = np.minimum(np.searchsorted(term.documents, asked), term.frequency - 1)
                found[row] = term.documents[at] == asked
        return found

    def fuse(self, evidence: Evidence, fusion: Fusion) -> Floats:
        """Return the weighted sum of the standardised scores of every document, -inf outside the view.

        Standardised over the view, so both legs count in units of what is usual there; a rank fusion
        loses here (DESIGN section 4). A section also gets the scores of its note.
        """
        fused: Floats = np.float32(fusion.lexical) * _standard(evidence.lexical, self.live)
        fused += np.float32(fusion.dense) * np.minimum(_standard(evidence.dense, self.live), fusion.ceiling)
        if self.notes:
            every = np.ones(self.notes, bool)
            whole = np.float32(fusion.note_lexical) * _standard(evidence.note_lexical, every)
            whole += np.float32(fusion.note_dense) * np.minimum(_standard(evidence.note_dense, every), fusion.ceiling)
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
        for segment, base in zip(self.segments, self.bases.tolist(), strict=False):
            span = slice(base, base + len(segment))
            written = segment.docs["day"]
            days = np.where(written >= 0, written, self.time[span] // 86400).astype(np.int32)
            found[span] = lexical.matching(segment.lexical, parsed, days)
        return found & self.live


def _idf(count: int, frequency: int) -> float:
    return log1p((count - frequency + 0.5) / (frequency + 0.5))


def _norms(lengths: Floats, counted: Floats) -> Floats:
    """Return ``boost / (1 - B + B * length / average)``, (fields, rows), with the averages of *counted*."""
    average = counted.mean(axis=0) if len(counted) else np.ones(len(FIELDS), np.float32)
    average[average == 0] = 1
    factors = np.array(BOOSTS, np.float32) / (1 - B + B * lengths / average)
    norms: Floats = np.ascontiguousarray(factors.T.astype(np.float32))
    return norms


def _spread(
    first: npt.NDArray[np.uint32], count: npt.NDArray[np.uint32], owners: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the documents of files (``first … first + count - 1``) end to end, and each one's owner."""
    ends = np.cumsum(count, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    starts = np.repeat(first.astype(np.int64) - (ends - count), count)
    return starts + np.arange(total), np.repeat(owners, count).astype(np.int64)


def _live(base: int, postings: Postings, live: Mask | None) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return the numbers and frequencies of those postings that are in the view (all: *live* is None)."""
    ids = postings.ids.astype(np.int64)
    ids += base
    if live is None:
        return ids, postings.counts.astype(np.float32)
    kept = live[ids]
    if kept.all():
        return ids, postings.counts.astype(np.float32)
    return ids[kept], postings.counts[kept].astype(np.float32)


def _summed(documents: npt.NDArray[np.int64], values: Floats) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return *documents* ascending, each once, with the sum of its values in their order."""
    if not len(documents):
        return documents, values
    fresh = np.ones(len(documents), bool)
    np.greater(documents[1:], documents[:-1], out=fresh[1:])
    if fresh.all():  # one field of one segment: nothing to sort, nothing to add
        return documents, values
    order = np.argsort(documents, kind="stable")
    documents, values = documents[order], values[order]
    np.not_equal(documents[1:], documents[:-1], out=fresh[1:])
    first = np.flatnonzero(fresh)
    return documents[first], np.add.reduceat(values, first)


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


def _standard(values: Floats, live: Mask) -> Floats:
    inside = values[live]
    if not len(inside):
        return np.zeros_like(values)
    spread = float(inside.std(dtype=np.float64))
    centred: Floats = values - np.float32(inside.mean(dtype=np.float64))
    centred /= np.float32(spread or 1)
    return centred
