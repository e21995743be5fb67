"""The index on disk: segments, manifest, views, lock. Read and write side meet here and nowhere else.

Layout below ``.recall/index/<format>/``::

    manifest.json          segments with size and seal of each file, generation; replaced atomically
    seg-<id>/              one immutable segment: Whoosh's files and the arrays below
    views/<name>.npy       which files a tree has, and when each was last changed

The index is never trusted because it is there, since a clone can bring files. All that is read has a
seal: a keyed hash whose key is the nonce that ``git recall init`` wrote below ``.git/`` and that stands
nowhere else. The folder's name depends on the nonce too, so nothing that was there before lies in it.
Writers hold a lock; readers never do: they read one manifest, and its files do not change.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from threading import Lock
from time import time
from typing import Any

import numpy as np
import numpy.typing as npt

from recall_git import analysis
from recall_git.errors import IndexBusy, IndexUnusable, IndexUnwritable
from recall_git.index import lexical, postings, vectors
from recall_git.index.lexical import Postings
from recall_git.index.postings import TermTable
from recall_git.index.vectors import Encoded
from recall_git.types import Document

FORMAT = 4
"""Version of this layout; part of the folder's name, so two installed versions keep an index each."""
KEPT_VIEWS = 512
"""Views beyond this number are dropped, least recently written first; they are cheap to make again."""
TRIES = 5
"""So often a reader begins again when a writer removes what it is about to open."""
OLD_VERSION_S = 30 * 86400
"""An index of another version of ours goes when nobody has written it for so long."""

FILE = np.dtype([("key", "<u8"), ("first", "<u4"), ("count", "<u4")])
"""One note: its key, its first document in the segment and how many it has (0: a file without a section)."""
DOC = np.dtype(
    [("hash", "<u8"), ("offset", "<u8"), ("piece", "<u8"), ("day", "<i4"), ("flags", "<u2"), ("section", "<u2")]
)
"""One document: content hash, offset of its row, its first piece, front-matter date (days since 1970, -1 none), flags,
ordinal."""
VIEW = np.dtype([("key", "<u8"), ("time", "<i8")])
"""One note of a tree: its key, and the author time of the commit that last set it; sorted by key.

Where entries are to name authors there is a column ``author`` too; on disk it is a number in a table of names."""

_loading = Lock()
"""numpy reads a header with ``ast``, which Python 3.11 breaks off with SystemError when a collection of garbage lets
another thread do so meanwhile."""

PROFILE, PROHIBITION, LATEST, EXPIRES, SUPERSEDES, SUPERSEDED, OWNED = (1 << bit for bit in range(7))
"""Flags of a document, so that fixed slots are found without reading rows."""


def view_of(
    keys: npt.NDArray[np.uint64], times: npt.NDArray[np.int64], authors: npt.ArrayLike | None = None
) -> npt.NDArray[Any]:
    """Return the rows of a view, with the column ``author`` unless *authors* is None."""
    names = None if authors is None else np.asarray(authors)
    rows = np.zeros(len(keys), VIEW if names is None else np.dtype([*VIEW.descr, ("author", names.dtype)]))
    rows["key"], rows["time"] = keys, times
    if names is not None:
        rows["author"] = names
    return rows


def has_authors(rows: npt.NDArray[Any]) -> bool:
    """Whether a view says who last set its notes."""
    return "author" in (rows.dtype.names or ())


def _packed(rows: npt.NDArray[Any]) -> bytes:
    buffer = BytesIO()
    if has_authors(rows):
        names, numbers = np.unique(rows["author"], return_inverse=True)
        np.save(buffer, view_of(rows["key"], rows["time"], numbers.astype(np.uint32)))
        np.save(buffer, names)
    else:
        np.save(buffer, rows)
    return buffer.getvalue()


def _unpacked(data: bytes) -> npt.NDArray[Any]:
    buffer = BytesIO(data)
    with _loading:
        rows: npt.NDArray[Any] = np.load(buffer, allow_pickle=False)
        if not has_authors(rows):
            return rows
        names = np.load(buffer, allow_pickle=False)
    return view_of(rows["key"], rows["time"], names[rows["author"]])


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
    """One immutable segment, open for reading: all of its files are, so a writer may remove them meanwhile.

    Snapshots share segments; the last to forget one closes its files.
    """

    def __init__(self, folder: Path, name: str, checksums: Mapping[str, Sequence[object]]) -> None:
        self.name = name
        self.folder = folder / name
        self.checksums = checksums
        with _loading:
            self._load()
        self._release = weakref.finalize(self, self.lexical.close)  # at the latest when it is forgotten

    def _load(self) -> None:
        self.files = np.load(self.folder / "files.npy")
        self.docs = np.load(self.folder / "docs.npy")
        self.lengths = np.load(self.folder / "lengths.npy")
        order = np.argsort(self.files["key"], kind="stable")
        self.sorted_keys, self.key_order = self.files["key"][order], order
        self.vectors: npt.NDArray[np.int8] = np.load(self.folder / "vectors.npy", mmap_mode="r")
        """(n, dim) int8, memory-mapped."""
        self.scales: npt.NDArray[np.float32] = np.load(self.folder / "scales.npy")
        """(n,) float32: ``vectors * scales`` has rows of unit length."""
        self._pieces = np.asarray(np.load(self.folder / "pieces.npy", mmap_mode="r"))
        self._piece_ends = _ends(self.docs["piece"], len(self._pieces))
        self._rows = _mapped(self.folder / "rows.jsonl")
        self._row_ends = _ends(self.docs["offset"], len(self._rows))
        self.lexical = lexical.LexicalSegment(self.folder, self.lengths)

    def __len__(self) -> int:
        return len(self.docs)

    @property
    def terms(self) -> TermTable:
        """The postings that a prompt asks for."""
        return self.lexical.table

    def postings(self, field: str, term: str) -> Postings | None:
        """Return the postings of *term* in one field."""
        return self.lexical.postings(field, term)

    def document(self, number: int, date: str = "", author: str = "") -> Document:
        """Return document *number*; *date* is its own when its front matter has none."""
        values = json.loads(self._rows[self._row_ends[number] : self._row_ends[number + 1]].tobytes())
        for place in _TUPLES:
            values[place] = tuple(values[place])
        values[_DATE] = values[_DATE] or date
        found = Document(*values)
        return replace(found, author=author) if author else found

    def pieces(self, number: int) -> npt.NDArray[Any]:
        """Return the different pieces of the model that document *number* has, ascending."""
        return self._pieces[self._piece_ends[number] : self._piece_ends[number + 1]]

    def pieces_of(self, wanted: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
        """Return the sizes and the pieces, end to end, of the documents in the mask *wanted*."""
        sizes = np.diff(self._piece_ends)
        return sizes[wanted], self._pieces if wanted.all() else self._pieces[np.repeat(wanted, sizes)]

    def row_bytes(self, wanted: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.int64], bytes]:
        """Return the sizes and the bytes, end to end, of the rows of the documents in the mask *wanted*."""
        sizes = np.diff(self._row_ends)
        return sizes[wanted], np.asarray(self._rows)[np.repeat(wanted, sizes)].tobytes()

    def rest(self) -> None:
        """Let go of what was read of the files, but for the vectors, which every prompt reads whole."""
        self.terms.rest()
        postings.rest(self._pieces)
        postings.rest(self._rows)

    def find(self, keys: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.intp]]:
        """Return which *keys* this segment has, and the row in ``files`` of each that it has."""
        if not len(self.sorted_keys):
            return np.zeros(len(keys), bool), np.zeros(0, np.intp)
        at = np.minimum(np.searchsorted(self.sorted_keys, keys), len(self.sorted_keys) - 1)
        has = self.sorted_keys[at] == keys
        return has, self.key_order[at[has]]

    def close(self) -> None:
        """Give the files back; harmless to repeat."""
        self._release()


@dataclass(frozen=True)
class Snapshot:
    """One published state of the index: its segments never change."""

    store: Store
    generation: int
    segments: tuple[Segment, ...]
    last: Mapping[str, str]
    """``commit`` and ``view`` that were indexed last, where its history ended (``border``), what gc ``kept``."""

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return self.store.folder

    @property
    def documents(self) -> int:
        """How many documents all segments have."""
        return sum(map(len, self.segments))

    def missing(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        """Return which *keys* no segment has."""
        absent = np.ones(len(keys), bool)
        for segment in self.segments:
            absent &= ~segment.find(keys)[0]
        return absent

    def read_view(self, name: str) -> npt.NDArray[Any] | None:
        """Return the view called *name*, None when it is not there or is damaged."""
        return self.store.read_view(name)

    def close(self) -> None:
        """Give the files back."""
        for segment in self.segments:
            segment.close()


class Store:
    """The index of one repository. *nonce* is the secret of its opt-in, *model* the id of the vectors' model.

    *lock* is the file that writers lock; it lies where no clone brings anything.
    """

    def __init__(self, home: Path, nonce: str, model: str, *, lock: Path) -> None:
        self.home = home
        self.model = model
        self.nonce = nonce
        self.lock = lock
        stamp = f"{analysis.ANALYZER_ID}|{model}|{nonce}".encode()
        self.folder = home / f"v{FORMAT}-{blake2b(stamp, digest_size=8).hexdigest()}"

    def seal(self, data: bytes) -> str:
        """Return what only who knows the nonce can make of *data*."""
        return blake2b(data, digest_size=16, key=self.nonce.encode()[:64]).hexdigest()

    def fingerprint(self, *shaping: object) -> bytes:
        """Return the key for ``file_key``: the nonce, and the settings that shape documents."""
        return blake2b(repr((self.nonce, shaping)).encode(), digest_size=32).digest()

    def open(self, reuse: Snapshot | None = None) -> Snapshot:
        """Return the newest state; raises IndexUnusable when there is none that can be trusted.

        Segments that *reuse* already has open are taken from it.
        """
        for _ in range(TRIES):
            try:
                return self._open(reuse)
            except FileNotFoundError:  # a writer replaced the manifest between our two reads
                if not self.manifest_path.exists():
                    break
            except OSError as error:
                raise IndexUnusable(f"it cannot be read: {error.strerror}") from error
        raise IndexUnusable("there is no index yet, or files of it are gone")

    @property
    def manifest_path(self) -> Path:
        """The file whose replacement publishes a new state."""
        return self.folder / "manifest.json"

    def _open(self, reuse: Snapshot | None) -> Snapshot:
        for folder in self._folders():
            _check_folder(folder)
        manifest = self._manifest()
        held = {segment.name: segment for segment in reuse.segments} if reuse and reuse.folder == self.folder else {}
        segments: list[Segment] = []
        fresh = []
        try:
            for entry in manifest["segments"]:
                name = str(entry["name"])
                if name not in held:
                    self._check_files(self.folder / name, entry["files"])
                    fresh.append(Segment(self.folder, name, entry["files"]))
                segments.append(held.get(name) or fresh[-1])
        except (OSError, ValueError, KeyError, EOFError) as error:
            for segment in fresh:
                segment.close()
            if isinstance(error, OSError):
                raise
            raise IndexUnusable(f"damaged: {str(error).splitlines()[0]}") from error
        return Snapshot(self, int(manifest["generation"]), tuple(segments), dict(manifest["last"]))

    def _check_files(self, folder: Path, expected: Mapping[str, Sequence[object]]) -> None:
        for name, checksum in expected.items():
            if self.checksum(folder / name) != list(checksum):
                raise ValueError(f"{folder.name}/{name} has changed")

    def verify(self, segments: Sequence[Segment]) -> None:
        """Raise IndexUnusable unless the files of open *segments* are still what was opened."""
        try:
            for segment in segments:
                self._check_files(segment.folder, segment.checksums)
        except (OSError, ValueError) as error:
            raise IndexUnusable(f"damaged: {error}") from error

    def checksum(self, path: Path) -> list[object]:
        """Return the size and the seal of a file."""
        data = path.read_bytes()
        return [len(data), self.seal(data)]

    def _folders(self) -> tuple[Path, ...]:
        return self.home.parent, self.home, self.folder, self.folder / "views"

    def _manifest(self) -> dict[str, Any]:
        body, _, seal = self.manifest_path.read_bytes().rstrip(b"\n").rpartition(b"\n")
        if not self.nonce or self.seal(body).encode() != seal:
            raise IndexUnusable("its manifest is damaged or was not made here")
        manifest: dict[str, Any] = json.loads(body)
        return manifest

    @contextmanager
    def writing(self, timeout_s: float = 30, reuse: Snapshot | None = None) -> Iterator[Writer]:
        """Hold the writer's lock. An unusable index is replaced by an empty one; *reuse* as for ``open``.

        Raises IndexBusy after *timeout_s*, and IndexUnwritable when the disk does not take what is written:
        what was published last stays as it is.
        """
        from filelock import FileLock, Timeout

        try:
            self._make_folders()
            lock = FileLock(str(self.lock))
            lock.acquire(timeout=timeout_s)
        except Timeout as error:
            raise IndexBusy(timeout_s) from error
        except OSError as error:
            raise IndexUnwritable(str(self.folder), error.strerror or "unwritable") from error
        try:
            yield Writer(self, self.open_or_empty(reuse))
        except OSError as error:
            raise IndexUnwritable(str(self.folder), error.strerror or "unwritable") from error
        finally:
            lock.release()

    def open_or_empty(self, reuse: Snapshot | None = None) -> Snapshot:
        """Return the newest state, an empty one when there is none that can be trusted."""
        try:
            return self.open(reuse)
        except IndexUnusable:
            return Snapshot(self, 0, (), {})

    def _make_folders(self) -> None:
        for folder in self._folders():
            if not os.path.lexists(folder):
                folder.mkdir(parents=folder == self.home.parent, exist_ok=True)
            _check_folder(folder)  # before anything is made in it
        ignore = self.home / ".gitignore"  # a commit from before 'git recall init' has no .recall/.gitignore
        if not ignore.exists() and not ignore.is_symlink():
            ignore.write_text("*\n", encoding="ascii")

    def read_view(self, name: str) -> npt.NDArray[Any] | None:
        """Return the view called *name*, None when it is not there or is damaged."""
        try:
            data = (self.folder / "views" / f"{name}.npy").read_bytes()
        except OSError:
            return None
        body, seal = data[:-32], data[-32:]
        if self.seal(name.encode() + body).encode() != seal:
            return None
        return _unpacked(body)

    def drop_old_versions(self) -> None:
        """Remove the indexes of other versions of this program that nobody writes any more."""
        for folder in self.home.glob("v*-*"):
            with suppress(OSError):
                manifest = folder / "manifest.json"
                unused = time() - (manifest if manifest.exists() else folder).lstat().st_mtime > OLD_VERSION_S
                if folder != self.folder and unused and not folder.is_symlink():
                    shutil.rmtree(folder)

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
            _remove(left)

    def add(self, files: Sequence[PreparedFile], encoded: Callable[[], Encoded]) -> None:
        """Write *files* as a new segment and publish it.

        *encoded* returns what the model makes of the documents, in the files' order; it is asked last, it may take
        long.
        """
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
            found = encoded()
            docs["piece"] = np.cumsum(found.counts) - found.counts
            _save(folder, table, docs, lengths, *vectors.quantise(found.vectors), found.pieces)
            (folder / "rows.jsonl").write_bytes(b"".join(rows))

        self._publish([*self.current.segments, self._new_segment(fill)])

    def merge(self, segments: Sequence[Segment], keep: npt.NDArray[np.uint64] | None = None) -> None:
        """Replace *segments* by one with their notes, once each, only those with a key in *keep* when it is given.

        Raises IndexUnusable when a file of theirs has changed since it was opened: damage must not get a new seal.
        """
        self._store.verify(segments)
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
            pieces = [segment.pieces_of(docs) for segment, _, docs in chosen]
            counts = np.concatenate([count for count, _ in pieces])
            docs["piece"] = np.cumsum(counts) - counts
            table = np.concatenate([segment.files[files] for segment, files, _ in chosen])
            table["first"] = np.cumsum(table["count"]) - table["count"]
            flat = np.concatenate([np.asarray(segment.vectors)[docs] for segment, _, docs in chosen])
            scales = np.concatenate([segment.scales[docs] for segment, _, docs in chosen])
            _save(folder, table, docs, lengths, flat, scales, np.concatenate([found for _, found in pieces]))
            (folder / "rows.jsonl").write_bytes(b"".join(data for _, data in rows))

        self._publish([*rest, self._new_segment(fill)])

    def write_view(self, name: str, rows: npt.NDArray[Any], last: Mapping[str, str]) -> None:
        """Publish the view *name* of *rows* (``view_of``, sorted by key) as the last one indexed, with *last*."""
        body = _packed(rows)
        seal = self._store.seal(name.encode() + body).encode()
        self._replace(self._store.folder / "views" / f"{name}.npy", body + seal)
        self.note({**last, "view": name})
        self._drop_views(KEPT_VIEWS)

    def note(self, facts: Mapping[str, str]) -> None:
        """Publish *facts* beside what is known of the last indexing."""
        self._publish(self.current.segments, {**self.current.last, **facts})

    def clear(self) -> None:
        """Start from an empty index."""
        self._publish([], {})
        self.forget_views()

    def forget_views(self) -> None:
        """Drop all views."""
        self._drop_views(0)

    def _drop_views(self, keep: int) -> None:
        found = sorted((self._store.folder / "views").glob("*.npy"), key=lambda path: path.lstat().st_mtime)
        for path in found[: max(0, len(found) - keep)]:
            path.unlink(missing_ok=True)

    def _replace(self, path: Path, data: bytes) -> None:
        """Write *data* and put it in the place of *path* in one step."""
        temporary = self._store.folder / f"tmp-{os.urandom(6).hex()}"
        temporary.write_bytes(data)
        temporary.replace(path)

    def _new_segment(self, fill: Callable[[Path], None]) -> Segment:
        """Let *fill* write a segment into a temporary folder, and give it its name when it is whole."""
        token = os.urandom(6).hex()
        folder = self._store.folder / f"tmp-{token}"
        folder.mkdir()
        fill(folder)
        checksums = {path.name: self._store.checksum(path) for path in sorted(folder.iterdir())}
        folder.rename(self._store.folder / f"seg-{token}")
        return Segment(self._store.folder, f"seg-{token}", checksums)

    def _publish(self, segments: Sequence[Segment], last: Mapping[str, str] | None = None) -> None:
        generation = self.current.generation + 1
        manifest: dict[str, Any] = {
            "generation": generation,
            "segments": [{"name": segment.name, "files": segment.checksums} for segment in segments],
            "last": dict(self.current.last if last is None else last),
        }
        body = json.dumps(manifest, sort_keys=True).encode("ascii")
        self._replace(self._store.manifest_path, body + b"\n" + self._store.seal(body).encode() + b"\n")
        self.current = Snapshot(self._store, generation, tuple(segments), manifest["last"])
        kept = {segment.name for segment in segments}
        for folder in self._store.folder.glob("seg-*"):
            if folder.name not in kept:
                _remove(folder)


_SHOWN = tuple(field.name for field in fields(Document) if field.name not in ("mark", "source", "author"))
"""What a row holds, in order; the fields of ``Document`` that come first."""
_TUPLES = tuple(place for place, field in enumerate(fields(Document)[: len(_SHOWN)]) if "tuple" in str(field.type))
_DATE = _SHOWN.index("date")


def _row_bytes(document: Document) -> bytes:
    row = [getattr(document, name) for name in _SHOWN]
    return json.dumps(row, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"


def _save(
    folder: Path,
    files: npt.NDArray[Any],
    docs: npt.NDArray[Any],
    lengths: npt.NDArray[np.uint32],
    flat: npt.NDArray[np.int8],
    scales: npt.NDArray[np.float32],
    pieces: npt.NDArray[Any],
) -> None:
    arrays = {"files": files, "docs": docs, "lengths": lengths, "vectors": flat, "scales": scales, "pieces": pieces}
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values)


def _check_folder(folder: Path) -> None:
    """Raise IndexUnusable unless *folder* is a folder, no link, and nobody else's."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise IndexUnusable(f"{folder} is not a folder of ours; move it away")
    if hasattr(os, "getuid") and status.st_uid not in (os.getuid(), 0):
        raise IndexUnusable(f"{folder} belongs to somebody else")


def _ends(starts: npt.NDArray[np.uint64], whole: int) -> npt.NDArray[np.int64]:
    """Return where each of the parts that begin at *starts* ends, after where the first begins."""
    return np.append(starts, np.uint64(whole)).astype(np.int64)


def _mapped(path: Path) -> npt.NDArray[np.uint8]:
    """Return a file's bytes, memory-mapped; an empty file cannot be."""
    return np.asarray(np.memmap(path, np.uint8, "r")) if path.stat().st_size else np.zeros(0, np.uint8)


def _remove(path: Path) -> None:
    """Remove a file, a link or a folder, if that can be done."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
