"""The inverted index: the only user of Whoosh, which stores it and serves the query language.

A segment is written once, with Whoosh's codec, and never changed. Two things differ from a Whoosh
index as its writer makes it. Postings of a term lie in one block of plain arrays (ids, frequencies,
positions) so that a long prompt is scored with numpy, without Whoosh's matchers (docs/adr/0004);
and there is no TOC: what it would hold stands in our manifest, so opening an index unpickles no
segment list and no schema.
"""

from __future__ import annotations

import re
import shutil
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import Any

import numpy as np
import numpy.typing as npt
from whoosh import fields, formats, query, scoring
from whoosh.analysis import Analyzer, Token
from whoosh.codec.whoosh3 import WHOOSH3_HEADER_MAGIC, W3Codec, W3LeafMatcher, W3Segment, W3TermInfo, W3TermsReader
from whoosh.filedb.filestore import FileStorage
from whoosh.matching import ListMatcher, NullMatcher
from whoosh.qparser import GtLtPlugin, MultifieldParser
from whoosh.reading import SegmentReader
from whoosh.searching import Searcher
from whoosh.system import pack_ushort
from whoosh.util.numeric import byte_to_length, length_to_byte

from recall_git import analysis

FIELDS = ("title", "tag", "body")
"""Analysed fields, in the order of the columns of a segment's length table."""
BOOSTS = (3.0, 2.0, 1.0)
"""Weights of the fields (DESIGN F2)."""
K1, B = 1.5, 0.75
"""BM25 parameters (DESIGN F2); benchmarks/quality.py measures them."""

_SEGMENT_ID = "notes"
_INDEX_NAME = "RECALL"
_TERM_INFO: Struct = W3TermInfo._struct
_EXTENT = Struct("!qi")

Ints = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float32]


# ---------------------------------------------------------------- Whoosh's side: analyzer, format, codec


class _NoteAnalyzer(Analyzer):  # type: ignore[misc]
    """Whoosh's view of ``analysis.analyse``; in a query each position keeps only its most exact term."""

    def __call__(self, value: str, mode: str = "", **_: object) -> Iterator[Token]:
        terms, positions = analysis.analyse(value)
        rows = _exact(terms, positions) if mode == "query" else list(zip(terms, positions, strict=True))
        token = Token(positions=True, chars=False, removestops=False, mode=mode)
        for text, position in rows:
            token.text, token.pos, token.boost, token.stopped = text, position, 1.0, False
            yield token


def _exact(terms: list[str], positions: list[int]) -> list[tuple[str, int]]:
    """Of terms that share a position keep the last (part of an identifier, bigram); drop a bigram's tail unigram."""
    last = dict(zip(positions, terms, strict=True))
    return [
        (term, position)
        for position, term in last.items()
        if not (len(term) == 1 and not term.isascii() and len(last.get(position - 1, "")) == 2
                and last[position - 1].endswith(term))
    ]  # fmt: skip


class _RawPositions(formats.Positions):  # type: ignore[misc]
    """Positions as little-endian uint16 instead of a pickled list."""

    def decode_positions(self, valuestring: bytes) -> list[int]:
        found: list[int] = np.frombuffer(valuestring, "<u2").tolist()
        return found


def _text() -> fields.TEXT:
    field = fields.TEXT(analyzer=_NoteAnalyzer(), phrase=True)
    field.format = _RawPositions()
    return field


SCHEMA = fields.Schema(
    title=_text(),
    tag=_text(),
    body=_text(),
    type=fields.ID(),
    path=_text(),
    date=fields.DATETIME(),
)
"""``date`` is never stored: it belongs to the view, and is put into a query as a set of documents."""

_INDEXED = (*FIELDS, "path", "type")


_HEADER = Struct("<4sIIfBB")
"""Magic, number of postings, last id, highest frequency, shortest and longest field (Whoosh's length bytes)."""


@dataclass(frozen=True, slots=True)
class Postings:
    """A term's postings in one field of one segment; ``ids`` ascend, ``positions`` lie end to end."""

    ids: Ints
    counts: npt.NDArray[np.uint16]
    positions: npt.NDArray[np.uint16]

    def to_bytes(self, shortest: int, longest: int) -> bytes:
        """Return the block as it lies on disk; lengths are numbers of terms."""
        head = _HEADER.pack(
            WHOOSH3_HEADER_MAGIC, len(self.ids), int(self.ids[-1]), float(self.counts.max()),
            length_to_byte(shortest), length_to_byte(longest),
        )  # fmt: skip
        arrays = (self.ids.astype("<u4"), self.counts.astype("<u2"), self.positions.astype("<u2"))
        return head + b"".join(part.tobytes() for part in arrays)

    @classmethod
    def from_bytes(cls, block: bytes) -> Postings:
        """Read what ``to_bytes`` wrote; the arrays are views of *block*."""
        count, start = _HEADER.unpack_from(block)[1], _HEADER.size
        return cls(
            np.frombuffer(block, "<u4", count, start),
            np.frombuffer(block, "<u2", count, start + 4 * count),
            np.frombuffer(block, "<u2", -1, start + 6 * count),
        )


class _Matcher(W3LeafMatcher):  # type: ignore[misc]
    """Whoosh's matcher over one block of plain arrays."""

    def _read_header(self) -> None:
        self._baseoffset = self._startoffset

    def _goto(self, position: int) -> None:
        block = self._postfile.get(position, self._length)
        _, self._blocklength, self._maxid, self._maxweight, shortest, longest = _HEADER.unpack_from(block)
        self._minlength, self._maxlength = byte_to_length(shortest), byte_to_length(longest)
        self._compression, self._lastblock, self._nextoffset = 0, True, position + self._length
        self._data = Postings.from_bytes(block)
        self._ids = self._data.ids.tolist()
        self._weights: list[float] | None = None
        self._values: list[bytes] | None = None
        self._i = 0

    def _read_weights(self) -> None:
        self._weights = self._data.counts.astype(float).tolist()

    def _read_values(self) -> None:
        ends, counts = np.cumsum(self._data.counts, dtype=np.int64).tolist(), self._data.counts.tolist()
        flat = self._data.positions
        self._values = [flat[end - count : end].tobytes() for end, count in zip(ends, counts, strict=True)]


class _Terms(W3TermsReader):  # type: ignore[misc]
    """Whoosh's term dictionary, with a short way to a term's postings."""

    def postings(self, field: str, term: str) -> Postings | None:
        number = self._fieldmap.get(field)
        if number is None:
            return None
        try:
            row = self._tindex[pack_ushort(number) + term.encode("utf-8", "replace")]
        except KeyError:
            return None
        return Postings.from_bytes(self._postfile.get(*_EXTENT.unpack_from(row, _TERM_INFO.size)))


class NotesCodec(W3Codec):  # type: ignore[misc]
    """Whoosh's codec with posting lists of one plain block each."""

    def postings_reader(
        self, dbfile: Any, terminfo: Any, format_: Any, term: Any = None, scorer: Any = None
    ) -> _Matcher:
        offset, length = terminfo.extent()
        return _Matcher(dbfile, offset, length, format_, term=term, scorer=scorer)

    def terms_reader(self, storage: Any, segment: Any) -> _Terms:
        name = segment.make_filename(self.TERMS_EXT)
        postings = segment.open_file(storage, self.POSTS_EXT)
        return _Terms(self, storage.open_file(name), storage.file_length(name), postings)


# ---------------------------------------------------------------- write


@dataclass(frozen=True, slots=True)
class FieldTexts:
    """What one document gives to the inverted index."""

    title: str
    tag: str
    body: str
    path: str
    type: str


class _Field:
    """Collects (term, document, position) of one field as arrays, and groups them by term at the end."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.terms, self.positions = array("I"), array("H")
        self.lengths: list[int] = []

    def add(self, terms: Sequence[str], positions: Sequence[int]) -> None:
        numbers = self.numbers
        self.terms.extend([numbers.setdefault(term, len(numbers)) for term in terms])
        self.positions.extend([min(position, 0xFFFF) for position in positions])
        self.lengths.append(len(terms))

    def groups(self) -> Iterator[tuple[bytes, Postings]]:
        """Yield (term, postings) in the order of the terms' bytes."""
        terms, positions = np.frombuffer(self.terms, np.uint32), np.frombuffer(self.positions, np.uint16)
        documents = np.repeat(np.arange(len(self.lengths), dtype=np.uint32), self.lengths)
        order = np.argsort(terms, kind="stable")
        terms, documents, positions = terms[order], documents[order], positions[order]
        yield from _group(terms, documents, positions, sorted((t.encode(), n) for t, n in self.numbers.items()))


def _group(
    terms: Ints, documents: Ints, positions: npt.NDArray[np.uint16], names: Sequence[tuple[bytes, int]]
) -> Iterator[tuple[bytes, Postings]]:
    """Cut arrays that are sorted by (term, document, position) into the postings of the terms in *names*."""
    starts = np.searchsorted(terms, np.arange(len(names) + 1))
    fresh = np.empty(len(terms), bool)  # the first row of each (term, document)
    if len(terms):
        fresh[0] = True
        np.logical_or(terms[1:] != terms[:-1], documents[1:] != documents[:-1], out=fresh[1:])
    rows = np.flatnonzero(fresh)
    counts = np.minimum(np.diff(np.append(rows, len(terms))), 0xFFFF)
    row_starts = np.searchsorted(rows, starts)
    ids = documents[rows]
    for name, number in names:
        first, last = row_starts[number], row_starts[number + 1]
        flat = positions[starts[number] : starts[number + 1]]
        yield name, Postings(ids[first:last], counts[first:last].astype(np.uint16), flat)


def write(folder: Path, documents: Sequence[FieldTexts]) -> npt.NDArray[np.uint32]:
    """Write a new segment of *documents* into the empty *folder*.

    Returns the number of terms by document and field, (n, len(FIELDS)) uint32. Touches *folder* only.
    """
    collected = {name: _Field() for name in _INDEXED}
    for document in documents:
        for name in _INDEXED:
            text = getattr(document, name)
            terms = ([text] if text else [], [0] if text else []) if name == "type" else analysis.analyse(text)
            collected[name].add(*terms)
    postings = {name: field.groups() for name, field in collected.items()}
    columns = np.array([collected[name].lengths for name in FIELDS], np.uint32)
    lengths: npt.NDArray[np.uint32] = columns.T.reshape(len(documents), len(FIELDS))
    _write_whoosh(folder, lengths, postings)
    return lengths


def _write_whoosh(
    folder: Path, lengths: npt.NDArray[np.uint32], postings: dict[str, Iterator[tuple[bytes, Postings]]]
) -> None:
    codec, storage = NotesCodec(), FileStorage(str(folder))
    segment = W3Segment(codec, _INDEX_NAME, doccount=len(lengths), segid=_SEGMENT_ID)
    documents = codec.per_document_writer(storage, segment)
    for number, row in enumerate(lengths.tolist()):
        documents.start_doc(number)
        for name, length in zip(FIELDS, row, strict=True):
            documents.add_field(name, SCHEMA[name], None, length)
        documents.finish_doc()
    documents.close()
    terms = codec.field_writer(storage, segment)
    for name in sorted(_INDEXED):
        column = lengths[:, FIELDS.index(name)] if name in FIELDS else None
        terms.start_field(name, SCHEMA[name])
        for term, found in postings[name]:
            _write_term(terms, term, found, column)
        terms.finish_field()
    terms.close()
    shutil.rmtree(folder / f"{_INDEX_NAME}.tmp", ignore_errors=True)  # Whoosh leaves its folder behind


def _write_term(writer: Any, term: bytes, found: Postings, column: npt.NDArray[np.uint32] | None) -> None:
    lengths = column[found.ids] if column is not None else found.counts
    shortest, longest = int(lengths.min()), int(lengths.max())
    info = W3TermInfo(
        weight=float(found.counts.sum()), df=len(found.ids), minlength=shortest, maxlength=longest,
        maxweight=float(found.counts.max()), minid=int(found.ids[0]), maxid=int(found.ids[-1]),
    )  # fmt: skip
    block = found.to_bytes(shortest, longest)
    info.set_extent(writer._postfile.tell(), len(block))
    writer._postfile.write(block)
    writer._tindex.add(pack_ushort(writer._fieldid) + term, info.to_bytes())


def merge(folder: Path, parts: Sequence[tuple[LexicalSegment, npt.NDArray[np.bool_]]]) -> npt.NDArray[np.uint32]:
    """Write the documents that are True in each part's mask into the empty *folder*, in order; return their lengths.

    Nothing is analysed again. Numbers of documents are dense and follow the parts.
    """
    maps, base = [], 0
    for _, keep in parts:
        maps.append(np.where(keep, np.cumsum(keep) - 1 + base, -1).astype(np.int64))
        base += int(keep.sum())
    lengths = np.concatenate([part.lengths[keep] for part, keep in parts])
    postings = {name: _merged_terms(name, [part for part, _ in parts], maps) for name in _INDEXED}
    _write_whoosh(folder, lengths, postings)
    return lengths


def _merged_terms(
    field: str, segments: Sequence[LexicalSegment], maps: Sequence[npt.NDArray[np.int64]]
) -> Iterator[tuple[bytes, Postings]]:
    names = sorted({term for segment in segments for term in segment.terms(field)})
    for name in names:
        found = [
            _remap(postings, to)
            for segment, to in zip(segments, maps, strict=True)
            if (postings := segment.postings(field, name.decode())) is not None
        ]
        ids = np.concatenate([postings.ids for postings in found])
        if len(ids):
            yield (
                name,
                Postings(
                    ids,
                    np.concatenate([postings.counts for postings in found]),
                    np.concatenate([postings.positions for postings in found]),
                ),
            )


def _remap(postings: Postings, to: npt.NDArray[np.int64]) -> Postings:
    ids = to[postings.ids]
    kept = ids >= 0
    if kept.all():
        return Postings(ids.astype(np.uint32), postings.counts, postings.positions)
    return Postings(
        ids[kept].astype(np.uint32), postings.counts[kept], postings.positions[np.repeat(kept, postings.counts)]
    )


# ---------------------------------------------------------------- read


class LexicalSegment:
    """One segment, open for reading. *lengths* is what ``write`` returned for it."""

    def __init__(self, folder: Path, lengths: npt.NDArray[np.uint32]) -> None:
        self.lengths = lengths
        segment = W3Segment(NotesCodec(), _INDEX_NAME, doccount=len(lengths), segid=_SEGMENT_ID)
        totals = lengths.sum(axis=0, dtype=np.int64).tolist()
        segment._fieldlengths = dict(zip(FIELDS, totals, strict=True))
        self.reader = SegmentReader(FileStorage(str(folder)), SCHEMA, segment)

    def postings(self, field: str, term: str) -> Postings | None:
        """Return the postings of *term*, None when the segment has none."""
        found: Postings | None = self.reader._terms.postings(field, term)
        return found

    def terms(self, field: str) -> Iterator[bytes]:
        """Yield all terms of *field*, in the order of their bytes."""
        for name, term in self.reader._terms.terms_from(field, b""):
            if name != field:
                return
            yield term

    def close(self) -> None:
        """Give the files back."""
        self.reader.close()


_LANGUAGE = re.compile(
    r"""(?:^|[\s(])(?:title|tag|type|path|date|body):\S | \S\s+(?:AND|OR|NOT|ANDNOT)\s+\S | ^NOT\s
    | (?:^|\s)"[^"]+\s[^"]*"(?:\s|$) | \w\*(?:\s|$) | \w\?\w""",
    re.VERBOSE,
)
"""What makes a text a query of Whoosh's language rather than a sentence."""


def speaks_query_language(text: str) -> bool:
    """Whether *text* uses fields, phrases of several words, upper-case operators or wildcards."""
    return _LANGUAGE.search(text) is not None


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed query: Whoosh's tree, and the words that rank what it matches."""

    tree: Any
    words: tuple[str, ...]


def parse(text: str) -> Parsed:
    """Parse Whoosh's query language over title, tag and body; never raises on odd input."""
    parser = MultifieldParser(list(FIELDS), SCHEMA)
    parser.add_plugin(GtLtPlugin())
    tree = parser.parse(text).normalize().accept(_fold)
    words = dict.fromkeys(term for field, term in tree.iter_all_terms() if field in FIELDS)
    return Parsed(tree, tuple(word if isinstance(word, str) else word.decode() for word in words))


def _fold(node: Any) -> Any:
    """Case-fold what Whoosh leaves as it was typed: patterns and types."""
    if isinstance(node, query.PatternQuery | query.Prefix) or (
        isinstance(node, query.Term) and node.fieldname == "type"
    ):
        return type(node)(node.fieldname, str(node.text).lower(), boost=node.boost)
    return node


class _Documents(query.Query):  # type: ignore[misc]
    """A node that matches given documents of the segment."""

    def __init__(self, ids: list[int]) -> None:
        self.ids = ids

    def matcher(self, searcher: Any, context: Any = None) -> Any:
        return ListMatcher(self.ids) if self.ids else NullMatcher()

    def field(self) -> None:
        return None


def matching(segment: LexicalSegment, parsed: Parsed, days: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Return which documents of *segment* match, (n,) bool.

    *days* is each document's date in days since 1970-01-01, -1 for unknown (never in a range).
    """

    def place_dates(node: Any) -> Any:
        if getattr(node, "fieldname", "") != "date":
            return node
        low, high = _day_range(node)
        return _Documents(np.flatnonzero((days >= max(low, 0)) & (days <= high)).tolist())

    found = np.zeros(len(segment.lengths), bool)
    tree = parsed.tree.accept(place_dates)
    found[list(tree.docs(Searcher(segment.reader)))] = True
    return found


def _day_range(node: Any) -> tuple[int, int]:
    """Return the first and last day that a node on ``date`` allows."""
    low, high = getattr(node, "startdate", None), getattr(node, "enddate", None)
    if low is None and high is None and isinstance(node, query.Term):
        stamp = SCHEMA["date"].from_bytes(node.text) if isinstance(node.text, bytes) else node.text
        low = high = stamp if hasattr(stamp, "toordinal") else None
        if low is None:
            return 1, 0
    epoch = 719163  # ordinal of 1970-01-01
    return (low.toordinal() - epoch if low else 0), (high.toordinal() - epoch if high else 1 << 30)


def quantised(lengths: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Return *lengths* as Whoosh's length bytes give them back; for comparing scores with ``whoosh_scores``."""
    table = {length: byte_to_length(length_to_byte(length)) for length in np.unique(lengths).tolist()}
    rounded: npt.NDArray[np.uint32] = np.vectorize(table.__getitem__, otypes=[np.uint32])(lengths)
    return rounded


def whoosh_scores(segment: LexicalSegment, terms: Sequence[str], limit: int) -> list[tuple[int, float]]:
    """Rank *segment* by Whoosh's own matchers and BM25F: (document, score), best first. Slow; the reference."""
    words = [query.Term(name, term, boost=boost) for term in terms for name, boost in zip(FIELDS, BOOSTS, strict=True)]
    with Searcher(segment.reader, weighting=scoring.BM25F(B=B, K1=K1), closereader=False) as searcher:
        results = searcher.search(query.Or(words), limit=limit, optimize=False)
        return [(hit.docnum, hit.score) for hit in results]
