"""The index on disk: segments, manifest, views, lock. Read and write side meet here and nowhere else.

Layout below ``.recall/index/<format>/``::

    manifest.json          segments with size and CRC of each file, nonce, generation; replaced atomically
    seg-<id>/              one immutable segment: Whoosh's files and the arrays below
    views/<name>.npy       which files a tree has, and when each was last changed

The index is never trusted because it is there: it is opened only with the nonce that ``git recall init``
wrote below ``.git/``, from folders that are ours and are no links, and with every file's CRC right.
Writers hold a lock; readers never do: they read one manifest, and its files do not change.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from recall_git import analysis
from recall_git.errors import IndexBusy, IndexUnusable
from recall_git.index import lexical, vectors
from recall_git.index.lexical import Postings
from recall_git.types import Document

FORMAT = 1
"""Version of this layout; part of the folder's name, so two installed versions keep an index each."""
KEPT_VIEWS = 512
"""Views beyond this number are dropped, least recently written first; they are cheap to make again."""

RECENT_BYTES = 8 << 20
"""Postings that a segment keeps in memory; prompts of one session share most of their words."""

FILE = np.dtype([("key", "<u8"), ("first", "<u4"), ("count", "<u4")])
"""One note: its key, its first document in the segment and how many it has (0: a file without a section)."""
DOC = np.dtype([("hash", "<u8"), ("offset", "<u8"), ("day", "<i4"), ("flags", "<u2"), ("section", "<u2")])
"""One document: content hash, offset of its row, front-matter date (days since 1970, -1 none), flags, ordinal."""
VIEW = np.dtype([("key", "<u8"), ("time", "<i8")])
"""One note of a tree: its key, and the author time of the commit that last set it; sorted by key."""

PROFILE, PROHIBITION, LATEST, EXPIRES, SUPERSEDES, SUPERSEDED, OWNED = (1 << bit for bit in range(7))
"""Flags of a document, so that fixed slots are found without reading rows."""


def file_key(path: str, blob: str, fingerprint: bytes) -> int:
    """Return the 64-bit key of (path, blob); *fingerprint* holds the nonce and the settings that shape documents.

    Keyed by the nonce, so nobody can build two notes that share a key.
    """
    data = path.encode("utf-8", "surrogateescape") + b"\0" + blob.encode("ascii")
    return int.from_bytes(blake2b(data, digest_size=8, key=fingerprint).digest(), "little")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document ready to be written: what is shown, what is indexed, what is embedded."""

    document: Document
    texts: lexical.FieldTexts
    flags: int
    day: int
    section: int


@dataclass(frozen=True, slots=True)
class PreparedFile:
    """One note and its documents, in order."""

    key: int
    documents: tuple[Prepared, ...]


class Segment:
    """One immutable segment, open for reading."""

    def __init__(self, folder: Path, name: str, checksums: Mapping[str, Sequence[int]]) -> None:
        self.name = name
        self.folder = folder / name
        self.checksums = checksums
        self.files = np.load(self.folder / "files.npy")
        self.docs = np.load(self.folder / "docs.npy")
        self.lengths = np.load(self.folder / "lengths.npy")
        order = np.argsort(self.files["key"], kind="stable")
        self.sorted_keys, self.key_order = self.files["key"][order], order
        self._recent: dict[tuple[str, str], Postings | None] = {}
        self._recent_bytes = 0

    def __len__(self) -> int:
        return len(self.docs)

    @cached_property
    def lexical(self) -> lexical.LexicalSegment:
        """The inverted index of this segment."""
        return lexical.LexicalSegment(self.folder, self.lengths)

    def postings(self, field: str, term: str) -> Postings | None:
        """Return the postings of *term*; what was asked lately is answered from memory."""
        key = (field, term)
        if key in self._recent:
            return self._recent[key]
        found = self.lexical.postings(field, term)
        self._recent_bytes += 120 + (found.positions.nbytes + 6 * len(found.ids) if found else 0)
        if self._recent_bytes > RECENT_BYTES:
            self._recent.clear()
            self._recent_bytes = 0
        self._recent[key] = found
        return found

    @cached_property
    def vectors(self) -> npt.NDArray[np.int8]:
        """(n, dim) int8, memory-mapped."""
        found: npt.NDArray[np.int8] = np.load(self.folder / "vectors.npy", mmap_mode="r")
        return found

    @cached_property
    def scales(self) -> npt.NDArray[np.float32]:
        """(n,) float32: ``vectors * scales`` has rows of unit length."""
        found: npt.NDArray[np.float32] = np.load(self.folder / "scales.npy")
        return found

    @cached_property
    def _rows(self) -> np.memmap[Any, np.dtype[np.uint8]]:
        return np.memmap(self.folder / "rows.jsonl", np.uint8, "r")

    def row(self, number: int) -> dict[str, Any]:
        """Return what may be shown of document *number*."""
        start = int(self.docs["offset"][number])
        end = int(self.docs["offset"][number + 1]) if number + 1 < len(self.docs) else len(self._rows)
        row: dict[str, Any] = json.loads(bytes(self._rows[start:end]))
        return row

    def row_bytes(self, wanted: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.int64], bytes]:
        """Return the sizes and the bytes, end to end, of the rows of the documents in the mask *wanted*."""
        sizes = np.diff(np.append(self.docs["offset"], len(self._rows))).astype(np.int64)
        return sizes[wanted], np.asarray(self._rows)[np.repeat(wanted, sizes)].tobytes()

    def find(self, keys: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.intp]]:
        """Return which *keys* this segment has, and the row in ``files`` of each that it has."""
        if not len(self.sorted_keys):
            return np.zeros(len(keys), bool), np.zeros(0, np.intp)
        at = np.minimum(np.searchsorted(self.sorted_keys, keys), len(self.sorted_keys) - 1)
        has = self.sorted_keys[at] == keys
        return has, self.key_order[at[has]]

    def close(self) -> None:
        """Give the files back."""
        if "lexical" in self.__dict__:
            self.lexical.close()


@dataclass(frozen=True)
class Snapshot:
    """One published state of the index: its segments never change."""

    folder: Path
    generation: int
    segments: tuple[Segment, ...]
    last: Mapping[str, str]
    """``commit`` and ``view`` that were indexed last."""

    def missing(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        """Return which *keys* no segment has."""
        absent = np.ones(len(keys), bool)
        for segment in self.segments:
            absent &= ~segment.find(keys)[0]
        return absent

    def read_view(self, name: str) -> npt.NDArray[Any] | None:
        """Return the view called *name*, None when it is not there or is damaged."""
        return read_view(self.folder, name)

    def close(self) -> None:
        """Give the files back."""
        for segment in self.segments:
            segment.close()


class Store:
    """The index of one repository. *nonce* is the secret of its opt-in, *model* the id of the vectors' model."""

    def __init__(self, home: Path, nonce: str, model: str) -> None:
        self.home = home
        self.model = model
        self.nonce = nonce
        stamp = f"{analysis.ANALYZER_ID}|{model}".encode()
        self.folder = home / f"v{FORMAT}-{blake2b(stamp, digest_size=4).hexdigest()}"

    def fingerprint(self, *shaping: object) -> bytes:
        """Return the key for ``file_key``: the nonce, and the settings that shape documents."""
        return blake2b(repr((self.nonce, shaping)).encode(), digest_size=32).digest()

    def open(self, reuse: Snapshot | None = None) -> Snapshot:
        """Return the newest state; raises IndexUnusable when there is none that can be trusted.

        Segments that *reuse* already has open are taken from it.
        """
        for attempt in (1, 2, 3):
            try:
                return self._open(reuse)
            except FileNotFoundError as error:  # a writer replaced the manifest between our two reads
                if attempt == 3 or not self.manifest_path.exists():
                    raise IndexUnusable("there is no index yet") from error
        raise AssertionError("unreachable")

    @property
    def manifest_path(self) -> Path:
        """The file whose replacement publishes a new state."""
        return self.folder / "manifest.json"

    def _open(self, reuse: Snapshot | None) -> Snapshot:
        self._check_folders()
        manifest = self._manifest()
        held = {segment.name: segment for segment in reuse.segments} if reuse and reuse.folder == self.folder else {}
        segments = []
        try:
            for entry in manifest["segments"]:
                name = str(entry["name"])
                if name not in held:
                    _check_files(self.folder / name, entry["files"])
                segments.append(held.get(name) or Segment(self.folder, name, entry["files"]))
        except (OSError, ValueError, KeyError, EOFError) as error:
            if isinstance(error, FileNotFoundError):
                raise
            raise IndexUnusable(f"damaged: {str(error).splitlines()[0]}") from error
        return Snapshot(self.folder, int(manifest["generation"]), tuple(segments), dict(manifest["last"]))

    def _check_folders(self) -> None:
        for folder in (self.home.parent, self.home, self.folder):
            status = folder.lstat()
            if not folder.is_dir() or folder.is_symlink():
                raise IndexUnusable(f"{folder.name} is not a folder of ours")
            if hasattr(os, "getuid") and status.st_uid not in (os.getuid(), 0):
                raise IndexUnusable(f"{folder.name} belongs to somebody else")

    def _manifest(self) -> dict[str, Any]:
        data = self.manifest_path.read_bytes()
        try:
            body, _, crc = data.rstrip(b"\n").rpartition(b"\n")
            if int(crc) != zlib.crc32(body):
                raise IndexUnusable("its manifest is damaged")
            manifest: dict[str, Any] = json.loads(body)
        except ValueError as error:
            raise IndexUnusable("its manifest is damaged") from error
        if manifest.get("format") != FORMAT or manifest.get("model") != self.model:
            raise IndexUnusable("it is of another version")
        if not self.nonce or manifest.get("nonce") != self.nonce:
            raise IndexUnusable("it was not made here")
        return manifest

    @contextmanager
    def writing(self, timeout_s: float = 30) -> Iterator[Writer]:
        """Hold the writer's lock; raises IndexBusy after *timeout_s*. An unusable index is replaced by an empty one."""
        from filelock import FileLock, Timeout

        self._make_folders()
        lock = FileLock(str(self.folder / "lock"))
        try:
            lock.acquire(timeout=timeout_s)
        except Timeout as error:
            raise IndexBusy(timeout_s) from error
        try:
            try:
                current = self.open()
            except IndexUnusable:
                current = Snapshot(self.folder, 0, (), {})
            yield Writer(self, current)
        finally:
            lock.release()

    def _make_folders(self) -> None:
        for folder in (self.home.parent, self.home, self.folder, self.folder / "views"):
            if folder.is_symlink():
                raise IndexUnusable(f"{folder.name} is a link; remove it")
            folder.mkdir(parents=True, exist_ok=True)

    def remove(self) -> None:
        """Remove all of the index, every version of it."""
        if self.home.is_symlink():
            self.home.unlink()
        elif self.home.exists():
            shutil.rmtree(self.home)


class Writer:
    """Adds segments and views to a store whose lock is held."""

    def __init__(self, store: Store, current: Snapshot) -> None:
        self._store = store
        self.current = current
        for left in store.folder.glob("tmp-*"):  # of a writer that was killed
            shutil.rmtree(left, ignore_errors=True)

    def add(self, files: Sequence[PreparedFile], encoded: npt.NDArray[np.float32]) -> None:
        """Write *files* as a new segment and publish it. *encoded*: (documents, dim), in the files' order."""
        documents = [document for file in files for document in file.documents]

        def fill(folder: Path) -> None:
            lengths = lexical.write(folder, [document.texts for document in documents])
            rows = [_row_bytes(document.document) for document in documents]
            docs = np.zeros(len(documents), DOC)
            docs["hash"] = [int(document.document.content_hash, 16) for document in documents]
            docs["offset"] = np.cumsum([0, *map(len, rows)])[:-1]
            docs["day"] = [document.day for document in documents]
            docs["flags"] = [document.flags for document in documents]
            docs["section"] = [document.section for document in documents]
            counts = np.array([len(file.documents) for file in files], np.uint32)
            table = np.zeros(len(files), FILE)
            table["key"] = [file.key for file in files]
            table["count"], table["first"] = counts, np.cumsum(counts) - counts
            _save(folder, table, docs, lengths, *vectors.quantise(encoded))
            (folder / "rows.jsonl").write_bytes(b"".join(rows))

        self._publish([*self.current.segments, self._new_segment(fill)])

    def merge(self, segments: Sequence[Segment], keep: npt.NDArray[np.uint64] | None = None) -> None:
        """Replace *segments* by one with their notes, once each, only those with a key in *keep* when it is given."""
        chosen, seen = [], np.zeros(0, np.uint64)
        for segment in segments:
            wanted = ~np.isin(segment.files["key"], seen)
            if keep is not None:
                wanted &= np.isin(segment.files["key"], keep)
            seen = np.concatenate([seen, segment.files["key"][wanted]])
            chosen.append((segment, wanted, np.repeat(wanted, segment.files["count"])))
        rest = [segment for segment in self.current.segments if segment not in segments]
        if not len(seen):
            self._publish(rest)
            return

        def fill(folder: Path) -> None:
            lengths = lexical.merge(folder, [(segment.lexical, docs) for segment, _, docs in chosen])
            rows = [segment.row_bytes(docs) for segment, _, docs in chosen]
            docs = np.concatenate([segment.docs[docs] for segment, _, docs in chosen])
            sizes = np.concatenate([size for size, _ in rows])
            docs["offset"] = np.cumsum(sizes) - sizes
            table = np.concatenate([segment.files[files] for segment, files, _ in chosen])
            table["first"] = np.cumsum(table["count"]) - table["count"]
            flat = np.concatenate([np.asarray(segment.vectors)[docs] for segment, _, docs in chosen])
            scales = np.concatenate([segment.scales[docs] for segment, _, docs in chosen])
            _save(folder, table, docs, lengths, flat, scales)
            (folder / "rows.jsonl").write_bytes(b"".join(data for _, data in rows))

        self._publish([*rest, self._new_segment(fill)])

    def write_view(self, name: str, rows: npt.NDArray[Any], commit: str) -> None:
        """Publish the view *name* of *rows* (dtype VIEW, sorted by key) as the last one indexed."""
        buffer = BytesIO()
        np.save(buffer, rows)
        data = buffer.getvalue()
        _replace(self._store.folder / "views" / f"{name}.npy", data + zlib.crc32(data).to_bytes(4, "little"))
        self._publish(self.current.segments, {"commit": commit, "view": name})
        self._drop_views()

    def clear(self) -> None:
        """Start from an empty index."""
        shutil.rmtree(self._store.folder / "views", ignore_errors=True)
        (self._store.folder / "views").mkdir(exist_ok=True)
        self._publish([], {})

    def _drop_views(self) -> None:
        found = sorted((self._store.folder / "views").glob("*.npy"), key=lambda path: path.stat().st_mtime)
        for path in found[: max(0, len(found) - KEPT_VIEWS)]:
            path.unlink(missing_ok=True)

    def _new_segment(self, fill: Callable[[Path], None]) -> Segment:
        """Let *fill* write a segment into a temporary folder, and give it its name when it is whole."""
        token = os.urandom(6).hex()
        folder = self._store.folder / f"tmp-{token}"
        folder.mkdir()
        fill(folder)
        checksums = {path.name: _checksum(path) for path in sorted(folder.iterdir())}
        folder.rename(self._store.folder / f"seg-{token}")
        return Segment(self._store.folder, f"seg-{token}", checksums)

    def _publish(self, segments: Sequence[Segment], last: Mapping[str, str] | None = None) -> None:
        generation = self.current.generation + 1
        manifest: dict[str, Any] = {
            "format": FORMAT,
            "analyzer": analysis.ANALYZER_ID,
            "model": self._store.model,
            "nonce": self._store.nonce,
            "generation": generation,
            "segments": [{"name": segment.name, "files": segment.checksums} for segment in segments],
            "last": dict(self.current.last if last is None else last),
        }
        body = json.dumps(manifest, sort_keys=True).encode("ascii")
        _replace(self._store.manifest_path, body + b"\n%d\n" % zlib.crc32(body))
        self.current = Snapshot(self._store.folder, generation, tuple(segments), manifest["last"])
        kept = {segment.name for segment in segments}
        for folder in self._store.folder.glob("seg-*"):
            if folder.name not in kept:
                shutil.rmtree(folder, ignore_errors=True)


def read_view(folder: Path, name: str) -> npt.NDArray[Any] | None:
    """Return the view called *name* below the index *folder*, None when it is not there or is damaged."""
    try:
        data = (folder / "views" / f"{name}.npy").read_bytes()
        if zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little"):
            return None
        rows = np.load(BytesIO(data[:-4]), allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return rows if rows.dtype == VIEW else None


def document_of(row: Mapping[str, Any]) -> Document:
    """Return the document that a row of ``rows.jsonl`` holds."""
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    return Document(**values)


def _row_bytes(document: Document) -> bytes:
    row = {key: value for key, value in asdict(document).items() if key not in ("mark", "source")}
    return json.dumps(row, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"


def _save(
    folder: Path,
    files: npt.NDArray[Any],
    docs: npt.NDArray[Any],
    lengths: npt.NDArray[np.uint32],
    flat: npt.NDArray[np.int8],
    scales: npt.NDArray[np.float32],
) -> None:
    arrays = {"files": files, "docs": docs, "lengths": lengths, "vectors": flat, "scales": scales}
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values)


def _checksum(path: Path) -> list[int]:
    data = path.read_bytes()
    return [len(data), zlib.crc32(data)]


def _check_files(folder: Path, expected: Mapping[str, Sequence[int]]) -> None:
    if folder.is_symlink():
        raise ValueError(f"{folder.name} is a link")
    for name, checksum in expected.items():
        path = folder / name
        if path.is_symlink() or "/" in name or _checksum(path) != list(checksum):
            raise ValueError(f"{folder.name}/{name} has changed")


def _replace(path: Path, data: bytes) -> None:
    """Write *data* and put it in the place of *path* in one step."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    temporary.write_bytes(data)
    temporary.replace(path)
