"""The inverted index: the only user of Whoosh, which stores it and serves the query language.

A segment is written once, with Whoosh's codec, and never changed. Two things differ from a Whoosh
index as its writer makes it. Postings of a term lie in one block of plain arrays (ids, frequencies,
positions) that are read with numpy, without Whoosh's matchers, and stand once more in a ``TermTable``,
which is what a prompt is scored from (docs/adr/0004); and there is no TOC: what it would hold stands in
our manifest, so opening an index unpickles no segment list and no schema.
"""

from __future__ import annotations

import mmap
import os
import re
import shutil
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from struct import Struct
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
from whoosh import fields, formats, query, scoring
from whoosh.analysis import Analyzer, Token
from whoosh.codec.whoosh3 import (
    LENGTHS_COLUMN,
    WHOOSH3_HEADER_MAGIC,
    W3Codec,
    W3FieldWriter,
    W3LeafMatcher,
    W3Segment,
    W3TermInfo,
    W3TermsReader,
)
from whoosh.filedb.filestore import FileStorage
from whoosh.filedb.filetables import HashWriter, OrderedHashWriter
from whoosh.matching import ListMatcher, NullMatcher
from whoosh.qparser import GtLtPlugin, MultifieldParser
from whoosh.reading import SegmentReader
from whoosh.searching import Searcher
from whoosh.system import pack_ushort
from whoosh.util.numeric import byte_to_length, length_to_byte
from whoosh.util.numlists import GrowableArray

from recall_git import analysis
from recall_git.index.postings import Column, TermTable

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
_SIZES, _POINTER = Struct("!ii"), Struct("!Iq")
"""Whoosh's hash file: sizes before a key and its value; a slot of a hash table."""
_SLOT = np.dtype([("hash", ">u4"), ("start", ">i8")])

Ints = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float32]


# ---------------------------------------------------------------- Whoosh's side: analyzer, format, codec


class _NoteAnalyzer(Analyzer):  # type: ignore[misc]
    """Whoosh's view of ``analysis.analyse``; in a query each position keeps only its most exact term."""

    def __call__(self, value: str, mode: str = "", tokenize: bool = True, **_: object) -> Iterator[Token]:
        # a pattern (wild*, d?g) is compared with terms as it is written
        terms, positions = analysis.analyse(value) if tokenize else ([value.casefold()], [0])
        rows = _exact(terms, positions) if mode == "query" else list(zip(terms, positions, strict=True))
        token = Token(positions=True, chars=False, removestops=False, mode=mode)
        for text, position in rows:
            token.text, token.pos, token.boost, token.stopped = text, position, 1.0, False
            token.startchar, token.endchar = position, position + 1  # in order is all that the parser asks
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


class _Day(fields.ID):  # type: ignore[misc]
    """The field ``date`` of the query language: a day, month or year, or a range of them."""

    def self_parsing(self) -> bool:
        return True

    def parse_query(self, fieldname: str, qstring: str, boost: float = 1.0) -> query.Query:
        return _Days(*_span(qstring))

    def parse_range(
        self, fieldname: str, start: str | None, end: str | None, startexcl: bool, endexcl: bool, boost: float = 1.0
    ) -> query.Query:
        first, last = _span(start) if start else (0, 0), _span(end) if end else (FOREVER, FOREVER)
        return _Days(first[1] + 1 if startexcl else first[0], last[0] - 1 if endexcl else last[1])


class _Days(query.Query):  # type: ignore[misc]
    """The documents dated from *first* to *last* (days since 1970); replaced by ``_Documents`` before it is asked."""

    boost = 1.0  # Whoosh asks for it when it puts this into an explicit AND or OR

    def __init__(self, first: int, last: int) -> None:
        self.first, self.last = first, last

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Days) and (self.first, self.last) == (other.first, other.last)

    def __hash__(self) -> int:
        return hash((self.first, self.last))

    def field(self) -> None:
        return None


FOREVER = 1 << 30
_DATE = re.compile(r"(\d{4})(?:[-/.]?(\d{1,2})(?:[-/.]?(\d{1,2}))?)?")


def _span(text: str) -> tuple[int, int]:
    """Return the first and last day of ``YYYY``, ``YYYY-MM`` or ``YYYY-MM-DD``; an empty span for anything else."""
    found = _DATE.fullmatch(text.strip())
    try:
        year, month, day = (int(part) if part else 0 for part in found.groups()) if found else (0, 0, 0)
        first = date(year, month or 1, day or 1)
        after = first if day else date(year + (month or 12) // 12, (month or 12) % 12 + 1, 1)
    except ValueError:
        return 1, 0
    low, high = first.toordinal() - EPOCH, after.toordinal() - EPOCH
    return low, high if day else high - 1


EPOCH = date(1970, 1, 1).toordinal()

SCHEMA = fields.Schema(
    title=_text(),
    tag=_text(),
    body=_text(),
    type=fields.ID(),
    path=_text(),
    date=_Day(),
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

    @classmethod
    def from_bytes(cls, data: mmap.mmap | bytes, offset: int, size: int) -> Postings:
        """Read the block of one term; the arrays are views of *data*."""
        count, start = _HEADER.unpack_from(data, offset)[1], offset + _HEADER.size
        return cls(
            np.frombuffer(data, "<u4", count, start),
            np.frombuffer(data, "<u2", count, start + 4 * count),
            np.frombuffer(data, "<u2", (offset + size - start) // 2 - 3 * count, start + 6 * count),
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
        self._data = Postings.from_bytes(block, 0, self._length)
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

    def __init__(self, codec: Any, dbfile: Any, length: int, postfile: Any) -> None:
        super().__init__(codec, dbfile, length, postfile)
        self._dictionary, self._blocks = _mapped(dbfile), _mapped(postfile)

    def postings(self, field: str, term: str) -> Postings | None:
        number = self._fieldmap.get(field)
        if number is None:
            return None
        row = self._find(pack_ushort(number) + term.encode("utf-8", "replace"))
        if not row:
            return None
        offset, size = _EXTENT.unpack_from(self._dictionary, row + _TERM_INFO.size)
        return Postings.from_bytes(self._blocks, offset, size)

    def _find(self, key: bytes) -> int:
        """Return where the value of *key* lies, 0 when there is none: Whoosh's look-up, without its file objects."""
        data, hashed = self._dictionary, self._tindex.hashfn(key)
        table, slots = self._tindex.tables[hashed & 255]
        for probe in range(slots):
            found, start = _POINTER.unpack_from(data, table + _POINTER.size * (((hashed >> 8) + probe) % slots))
            if not start:
                return 0
            if found == hashed and _SIZES.unpack_from(data, start)[0] == len(key):
                value: int = start + _SIZES.size + len(key)
                if data[value - len(key) : value] == key:
                    return value
        return 0


def _mapped(file: Any) -> mmap.mmap | bytes:
    """Return a file's bytes, mapped into memory. The map lives as long as any array on it."""
    if not os.fstat(file.fileno()).st_size:
        return b""
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class NotesCodec(W3Codec):  # type: ignore[misc]
    """Whoosh's codec with posting lists of one plain block each."""

    def postings_reader(
        self, dbfile: Any, terminfo: Any, format_: Any, term: Any = None, scorer: Any = None
    ) -> _Matcher:
        offset, length = terminfo.extent()
        if isinstance(length, tuple):  # Whoosh 3.54 does not unpack what it reads
            (length,) = length
        return _Matcher(dbfile, offset, length, format_, term=term, scorer=scorer)

    def field_writer(self, storage: Any, segment: Any) -> W3FieldWriter:
        writer = W3FieldWriter(self, storage, segment)
        file = writer._tindex.dbfile
        file.seek(0)  # our dictionary starts the file anew
        writer._tindex = _Dictionary(file)
        writer._tindex.extras["fieldmap"] = writer._fieldmap
        return writer

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


class _Numbers(dict[str, int]):
    """Numbers terms in the order in which they are first asked for."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number


@dataclass(frozen=True, slots=True)
class _Table:
    """All postings of one field: those of a term lie together, terms in the order of their bytes."""

    names: list[bytes]
    sizes: npt.NDArray[np.int64]
    """(terms,) number of documents; at least 1."""
    ids: Ints
    counts: npt.NDArray[np.uint16]
    positions: npt.NDArray[np.uint16]


class _Field:
    """Collects (term, document, position) of one field as arrays, and groups them by term at the end."""

    def __init__(self) -> None:
        self.numbers = _Numbers()
        self.terms, self.positions = array("I"), array("I")
        self.lengths: list[int] = []

    def add(self, terms: Sequence[str], positions: Sequence[int]) -> None:
        self.terms.extend(map(self.numbers.__getitem__, terms))
        self.positions.extend(positions)
        self.lengths.append(len(terms))

    def table(self) -> _Table:
        """Return what was collected, sorted by (term, document, position)."""
        names = [term.encode() for term in self.numbers]
        order = sorted(range(len(names)), key=names.__getitem__)
        place = np.empty(len(names), np.uint32)
        place[order] = np.arange(len(names), dtype=np.uint32)
        terms = place[np.frombuffer(self.terms, np.uint32)]
        by_term = np.argsort(terms, kind="stable")
        terms = terms[by_term]
        documents = np.repeat(np.arange(len(self.lengths), dtype=np.uint32), self.lengths)[by_term]
        positions = np.minimum(np.frombuffer(self.positions, np.uint32)[by_term], 0xFFFF).astype(np.uint16)
        fresh = np.ones(len(terms), bool)  # the first row of each (term, document)
        np.logical_or(terms[1:] != terms[:-1], documents[1:] != documents[:-1], out=fresh[1:])
        rows = np.flatnonzero(fresh)
        counts = np.minimum(np.diff(np.append(rows, len(terms))), 0xFFFF).astype(np.uint16)
        sizes = np.bincount(terms[rows], minlength=len(names))
        return _Table([names[number] for number in order], sizes, documents[rows], counts, positions)


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
    columns = np.array([collected[name].lengths for name in FIELDS], np.uint32)
    lengths: npt.NDArray[np.uint32] = columns.T.reshape(len(documents), len(FIELDS))
    tables = {name: field.table() for name, field in collected.items()}
    _write_whoosh(folder, lengths, tables)
    TermTable.build(
        Column(name, table.names, table.sizes, table.ids, table.counts)
        for name, table in tables.items()
        if name in FIELDS
    ).save(folder)
    return lengths


def _write_whoosh(folder: Path, lengths: npt.NDArray[np.uint32], tables: Mapping[str, _Table]) -> None:
    codec, storage = NotesCodec(), FileStorage(str(folder))
    segment = W3Segment(codec, _INDEX_NAME, doccount=len(lengths), segid=_SEGMENT_ID)
    documents = codec.per_document_writer(storage, segment)
    for name, column in zip(FIELDS, lengths.T, strict=True):
        if column.any():
            documents._create_column(f"_{name}_len", LENGTHS_COLUMN)
            writer = documents._get_column(f"_{name}_len")
            for number, byte in enumerate(_length_bytes(column).tolist()):
                writer.add(number, byte)
    documents._doccount = len(lengths)
    documents.close()
    terms = codec.field_writer(storage, segment)
    for name in sorted(_INDEXED):
        column = lengths[:, FIELDS.index(name)] if name in FIELDS else None
        terms.start_field(name, SCHEMA[name])
        _write_table(terms, tables[name], column)
        terms.finish_field()
    terms.close()
    shutil.rmtree(folder / f"{_INDEX_NAME}.tmp", ignore_errors=True)  # Whoosh leaves its folder behind


_LENGTH_STEPS = np.array([byte_to_length(byte) for byte in range(256)])


def _length_bytes(lengths: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return Whoosh's one-byte form of *lengths* (``length_to_byte`` of each)."""
    return np.minimum(np.searchsorted(_LENGTH_STEPS, lengths), 255).astype(np.uint8)


_INFO = np.dtype(
    [("inlined", "u1"), ("weight", ">f4"), ("df", ">u4"), ("shortest", "u1"), ("longest", "u1"),
     ("max_weight", ">f4"), ("first", ">u4"), ("last", ">u4"), ("offset", ">i8"), ("size", ">i4")]
)  # fmt: skip
"""Whoosh's W3TermInfo with the extent of the postings, as it lies on disk."""
_HEAD = np.dtype(
    [("magic", "S4"), ("df", "<u4"), ("last", "<u4"), ("max_weight", "<f4"), ("shortest", "u1"), ("longest", "u1")]
)
assert _HEAD.itemsize == _HEADER.size
assert _INFO.itemsize == _TERM_INFO.size + _EXTENT.size


def _write_table(writer: Any, table: _Table, column: npt.NDArray[np.uint32] | None) -> None:
    """Append the postings of one field and its part of the term dictionary, all terms at once."""
    if not table.names:
        return
    first = np.cumsum(table.sizes) - table.sizes  # of each term, in ids
    flat = np.cumsum(np.append(0, table.counts.astype(np.int64)))  # of each posting, in positions
    lengths = _length_bytes(column[table.ids] if column is not None else table.counts)
    head = np.zeros(len(table.names), _HEAD)
    head["magic"], head["df"] = WHOOSH3_HEADER_MAGIC, table.sizes
    head["last"] = table.ids[first + table.sizes - 1]
    head["max_weight"] = np.maximum.reduceat(table.counts, first)
    head["shortest"], head["longest"] = np.minimum.reduceat(lengths, first), np.maximum.reduceat(lengths, first)
    begins = flat[first]
    places = np.append(begins, flat[-1])[1:] - begins  # number of positions of each term
    sizes = _HEAD.itemsize + 6 * table.sizes + 2 * places
    offsets = np.cumsum(sizes) - sizes
    info = np.zeros(len(table.names), _INFO)
    for name in ("df", "shortest", "longest", "max_weight", "last"):
        info[name] = head[name]
    info["first"], info["size"], info["offset"] = table.ids[first], sizes, offsets + writer._postfile.tell()
    info["weight"] = np.add.reduceat(table.counts, first, dtype=np.float64)
    writer._postfile.write(_blocks(table, head, offsets // 2, int(sizes.sum()) // 2, begins, first, places))
    field = pack_ushort(writer._fieldid)
    writer._tindex.add_sorted([field + name for name in table.names], info)


def _blocks(
    table: _Table,
    head: npt.NDArray[Any],
    offsets: npt.NDArray[np.int64],
    total: int,
    begins: npt.NDArray[np.int64],
    first: npt.NDArray[np.int64],
    places: npt.NDArray[np.int64],
) -> bytes:
    """Return the blocks (header, ids, counts, positions) of all terms end to end; every part is whole 16-bit words."""
    words = np.zeros(total, "<u2")
    heads = head.view("<u2").reshape(len(head), -1)
    words[offsets[:, None] + np.arange(heads.shape[1])] = heads
    at = np.repeat(offsets + heads.shape[1], table.sizes)
    inside = np.arange(len(table.ids)) - np.repeat(first, table.sizes)
    ids = table.ids.astype("<u4").view("<u2").reshape(-1, 2)
    words[(at + 2 * inside)[:, None] + np.arange(2)] = ids
    words[at + 2 * np.repeat(table.sizes, table.sizes) + inside] = table.counts
    starts = offsets + heads.shape[1] + 3 * table.sizes
    words[np.repeat(starts - begins, places) + np.arange(len(table.positions))] = table.positions
    return words.tobytes()


class _Dictionary(OrderedHashWriter):  # type: ignore[misc]
    """Whoosh's ordered hash file, written many keys at once."""

    def __init__(self, dbfile: Any) -> None:
        HashWriter.__init__(self, dbfile, hashtype=1)  # CRC-32; MD5 is six times slower for the same table
        self.index = GrowableArray("q")
        self.lastkey = b""

    def add_sorted(self, keys: Sequence[bytes], values: npt.NDArray[Any]) -> None:
        """Add ascending *keys* with *values* of one width."""
        assert keys[0] > self.lastkey
        self.lastkey = keys[-1]
        width, whole = values.dtype.itemsize, values.tobytes()
        sizes = np.fromiter(map(len, keys), np.int64, len(keys))
        starts = self.dbfile.tell() + np.append(0, np.cumsum(sizes + width + _SIZES.size))[:-1]
        rows = zip(keys, range(0, len(whole), width), strict=True)
        pack = _SIZES.pack
        parts = [pack(len(key), width) + key + whole[at : at + width] for key, at in rows]
        self.dbfile.write(b"".join(parts))
        for key, start in zip(keys, starts.tolist(), strict=True):
            hashed = crc32(key)
            self.buckets[hashed & 255].append((hashed, start))
            self.index.append(start)

    def _write_hashes(self) -> None:
        for entries in self.buckets:
            count = 2 * len(entries)
            self.directory.append((self.dbfile.tell(), count))
            hashes, places = [0] * count, [0] * count
            for hashed, start in entries:
                slot = (hashed >> 8) % count
                while places[slot]:
                    slot = (slot + 1) % count
                hashes[slot], places[slot] = hashed, start
            slots = np.zeros(count, _SLOT)
            slots["hash"], slots["start"] = hashes, places
            self.dbfile.write(slots.tobytes())


def merge(folder: Path, parts: Sequence[tuple[LexicalSegment, npt.NDArray[np.bool_]]]) -> npt.NDArray[np.uint32]:
    """Write the documents that are True in each part's mask into the empty *folder*, in order; return their lengths.

    Nothing is analysed again. Numbers of documents are dense and follow the parts.
    """
    maps, base = [], 0
    for _, keep in parts:
        maps.append(np.where(keep, np.cumsum(keep) - 1 + base, -1).astype(np.int64))
        base += int(keep.sum())
    lengths = np.concatenate([part.lengths[keep] for part, keep in parts])
    segments = [part for part, _ in parts]
    _write_whoosh(folder, lengths, {name: _merged_table(name, segments, maps) for name in _INDEXED})
    TermTable.merge((part.table, to) for part, to in zip(segments, maps, strict=True)).save(folder)
    return lengths


def _merged_table(field: str, segments: Sequence[LexicalSegment], maps: Sequence[npt.NDArray[np.int64]]) -> _Table:
    names: list[bytes] = []
    sizes: list[int] = []
    found: list[Postings] = []
    for name in sorted({term for segment in segments for term in segment.terms(field)}):
        size = 0
        for segment, to in zip(segments, maps, strict=True):
            postings = segment.postings(field, name.decode())
            if postings is not None:
                found.append(_remap(postings, to))
                size += len(found[-1].ids)
        if size:
            names.append(name)
            sizes.append(size)
    return _Table(
        names,
        np.array(sizes, np.int64),
        np.concatenate([np.zeros(0, np.uint32), *(postings.ids for postings in found)]),
        np.concatenate([np.zeros(0, np.uint16), *(postings.counts for postings in found)]),
        np.concatenate([np.zeros(0, np.uint16), *(postings.positions for postings in found)]),
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
        self.table = TermTable.load(folder)
        self.reader = SegmentReader(FileStorage(str(folder)), SCHEMA, segment)  # last: it must be closed

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

    def estimate_size(self, ixreader: Any) -> int:
        return len(self.ids)

    estimate_min_size = estimate_size

    def field(self) -> None:
        return None


def matching(segment: LexicalSegment, parsed: Parsed, days: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Return which documents of *segment* match, (n,) bool.

    *days* is each document's date in days since 1970-01-01, -1 for unknown (never in a range).
    """

    def place_dates(node: Any) -> Any:
        if isinstance(node, _Days):
            return _Documents(np.flatnonzero((days >= max(node.first, 0)) & (days <= node.last)).tolist())
        return node

    found = np.zeros(len(segment.lengths), bool)
    tree = parsed.tree.accept(place_dates)
    found[list(tree.docs(Searcher(segment.reader)))] = True
    return found


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
