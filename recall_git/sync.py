"""The write path: commit → notes → chunks → index.

``refresh`` is the pipeline. It reads Git objects only, adds to the index what the tree has and the index
lacks, and writes the tree's view. Nothing here is needed to answer a prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from time import perf_counter

import numpy as np
import numpy.typing as npt

from recall_git import chunks, notes
from recall_git.config import DEFAULT_TYPES, Settings, resolve
from recall_git.errors import IndexUnusable, NoCommits, NotEnabled
from recall_git.index import store as stores
from recall_git.index.lexical import FieldTexts
from recall_git.index.vectors import Encoder, model_id
from recall_git.repo import Commit, Repo, git_config_list
from recall_git.select import selection_id, selector
from recall_git.types import Chunk, Document, Note, NoteEntry

BATCH_NOTES = 4000
"""Notes of one new segment at most, so that memory stays bounded on a first index."""
MAX_NOTE_BYTES = 4 << 20
"""A larger file is no note; it is listed by ``doctor``."""
SMALL_DOCS = 4096
"""Segments with fewer documents than this are merged …"""
MANY_SMALL = 8
"""… once there are this many of them, so that hundreds of small commits do not slow a query."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class SyncResult:
    """What ``refresh`` did."""

    commit: str
    view: str
    notes: int
    documents_added: int
    notes_added: int
    seconds: float


def settings_of(
    repo: Repo, *, environ: Mapping[str, str] | None = None, flags: Mapping[str, str] | None = None
) -> tuple[Settings, tuple[str, ...]]:
    """Return the effective settings of *repo* and what was wrong with them."""
    return resolve(repo.settings(), shared=_shared_settings(repo), environ=environ, flags=flags)


def _shared_settings(repo: Repo) -> dict[str, list[str]]:
    head = repo.head()
    blob = repo.file_in_tree(head.tree, ".recall/config") if head else None
    data = repo.read(blob) if blob else None
    if not data or len(data) > 65536:
        return {}
    return _parse_config(data)


@lru_cache(maxsize=16)
def _parse_config(data: bytes) -> dict[str, list[str]]:
    """Let Git parse *data* (its configuration syntax, without includes); return the recall.* values."""
    listed = git_config_list(data)
    found: dict[str, list[str]] = {}
    for row in listed.decode("utf-8", "replace").split("\0"):
        name, _, value = row.partition("\n")
        if name.lower().startswith("recall."):
            found.setdefault(name[7:].lower(), []).append(value)
    return found


def open_store(repo: Repo, settings: Settings) -> stores.Store:
    """Return the store of *repo*'s index; raises NotEnabled when the repository was not opted in."""
    nonce = read_nonce(repo)
    if not settings.enabled or not nonce:
        raise NotEnabled
    return stores.Store(repo.index_home, nonce, model_id(settings.model))


def read_nonce(repo: Repo) -> str:
    """Return the secret that ``git recall init`` wrote below the Git directory, '' when there is none."""
    try:
        return (repo.state_dir / "nonce").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def refresh(
    repo: Repo,
    settings: Settings,
    *,
    commit: Commit | None = None,
    full: bool = False,
    progress: Progress | None = None,
    encoder: Encoder | None = None,
    lock_timeout_s: float = 30,
) -> SyncResult:
    """Make the index hold *commit* (default HEAD) and its view the newest; with *full*, from nothing.

    Documents that the index has are not read, parsed or embedded again. *encoder* is the model if it is
    loaded already. Raises NoCommits, NotEnabled, IndexBusy.
    """
    started = perf_counter()
    commit = commit or repo.head()
    if commit is None:
        raise NoCommits
    store = open_store(repo, settings)
    wanted = keyed(store, settings, select(repo.files(commit.tree), settings))
    name = view_name(commit, settings)
    added = Added(0, 0)
    if full or not _is_current(store, wanted, name, commit):
        with store.writing(lock_timeout_s) as writer:
            if full:
                writer.clear()
            added = add_missing(writer, repo, settings, wanted, progress, encoder)
            writer.write_view(name, make_view(repo, commit, writer.current, wanted), commit.oid)
            compact(writer)
    return SyncResult(commit.oid, name, len(wanted), added.documents, added.notes, perf_counter() - started)


def index_staged(repo: Repo, settings: Settings, staged: Sequence[NoteEntry], encoder: Encoder | None = None) -> int:
    """Add the documents of the content being committed; return how many. The view follows with the commit."""
    store = open_store(repo, settings)
    wanted = keyed(store, settings, select(staged, settings))
    try:
        if not store.open().missing(keys_of(wanted)).any():
            return 0
    except IndexUnusable:
        return 0  # the first full index is post-commit's
    with store.writing() as writer:
        return add_missing(writer, repo, settings, wanted, encoder=encoder).documents


def select(entries: Iterator[NoteEntry] | Sequence[NoteEntry], settings: Settings) -> list[NoteEntry]:
    """Return the entries that are notes."""
    is_note = selector(settings)
    return [entry for entry in entries if is_note(entry.path)]


def keyed(store: stores.Store, settings: Settings, entries: Sequence[NoteEntry]) -> dict[int, NoteEntry]:
    """Return the entries by their key in the index."""
    fingerprint = store.fingerprint(settings.types)
    return {stores.file_key(entry.path, entry.blob, fingerprint): entry for entry in entries}


def view_name(commit: Commit, settings: Settings) -> str:
    """Return the name of a commit's view: its tree, the commit (whose history dates it), and what selects notes."""
    shape = blake2b(repr(settings.types).encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{commit.tree[:20]}-{commit.oid[:20]}-{selection_id(settings)}{shape}"


def _is_current(store: stores.Store, wanted: Mapping[int, NoteEntry], name: str, commit: Commit) -> bool:
    try:
        snapshot = store.open()
    except IndexUnusable:
        return False
    return (
        snapshot.last.get("view") == name
        and snapshot.last.get("commit") == commit.oid
        and snapshot.read_view(name) is not None
        and not snapshot.missing(keys_of(wanted)).any()
    )


@dataclass(frozen=True, slots=True)
class Added:
    """How much was new."""

    notes: int
    documents: int


def add_missing(
    writer: stores.Writer,
    repo: Repo,
    settings: Settings,
    wanted: Mapping[int, NoteEntry],
    progress: Progress | None = None,
    encoder: Encoder | None = None,
) -> Added:
    """Add the documents of those *wanted* notes that the index lacks; a note that cannot be read adds none."""
    keys = keys_of(wanted)
    missing = keys[writer.current.missing(keys)].tolist()
    if not missing:
        return Added(0, 0)
    encoder, done, documents = encoder or Encoder(settings.model), 0, 0
    queue = iter(missing)
    while batch := list(islice(queue, BATCH_NOTES)):
        files = []
        texts: list[str] = []
        for key in batch:
            entry = wanted[key]
            prepared, embedded = prepare(key, entry, repo.read(entry.blob) or b"", settings)
            files.append(prepared)
            texts.extend(embedded)
            done += 1
            if progress:
                progress(done, len(missing))
        writer.add(files, encoder.encode(texts))
        documents += len(texts)
    return Added(len(missing), documents)


def prepare(key: int, entry: NoteEntry, data: bytes, settings: Settings) -> tuple[stores.PreparedFile, list[str]]:
    """Turn one note's bytes into documents and the texts to embed, in the same order."""
    note = notes.parse(entry.path, data) if len(data) <= MAX_NOTE_BYTES else None
    if note is None:
        return stores.PreparedFile(key, ()), []
    kind = note.type or folder_type(entry.path, settings)
    documents, texts = [], []
    for number, chunk in enumerate(chunks.split(note)):
        document = document_of(entry, note, chunk, kind)
        documents.append(
            stores.Prepared(
                document=document,
                texts=FieldTexts(
                    title=" \n ".join((note.title, *note.aliases, *chunk.heading)),
                    tag=" \n ".join(document.tags),
                    body=chunk.text,
                    path=entry.path,
                    type=kind,
                ),
                flags=flags_of(note, kind),
                day=_day(note.date),
                section=min(number, 0xFFFF),
            )
        )
        texts.append("\n".join((note.title, *chunk.heading, chunk.text)))
    return stores.PreparedFile(key, tuple(documents)), texts


def document_of(entry: NoteEntry, note: Note, chunk: Chunk, kind: str) -> Document:
    """Return what the index keeps to show of one section; ``date`` is only the front matter's here."""
    content = "\0".join((note.title, *chunk.heading, chunk.text)).encode("utf-8", "surrogatepass")
    return Document(
        path=entry.path,
        blob=entry.blob,
        line=chunk.line,
        heading=chunk.heading,
        title=note.title,
        summary=chunk.summary,
        tags=tuple(dict.fromkeys((*note.tags, *chunk.tags))),
        type=kind,
        priority=note.priority,
        date=note.date,
        owner=note.owner,
        expires=note.expires,
        supersedes=note.supersedes,
        superseded_by=note.superseded_by,
        aliases=note.aliases,
        content_hash=blake2b(content, digest_size=8).hexdigest(),
    )


def folder_type(path: str, settings: Settings) -> str:
    """Return the type that the nearest named folder gives; a user's pair wins over a built-in one."""
    pairs = dict(pair.rsplit("=", 1) for pair in (*DEFAULT_TYPES, *settings.types))
    for folder in reversed(path.lower().split("/")[:-1]):
        if folder in pairs:
            return pairs[folder].lower()
    return "note"


def flags_of(note: Note, kind: str) -> int:
    """Return the flags that let fixed slots be found without reading rows."""
    high = note.priority == "high"
    pairs = (
        (kind == "profile", stores.PROFILE),
        (high and kind in ("lesson", "prohibition", "rule"), stores.PROHIBITION),
        (kind in ("lesson", "conclusion"), stores.LATEST),
        (bool(note.expires), stores.EXPIRES),
        (bool(note.supersedes), stores.SUPERSEDES),
        (bool(note.superseded_by), stores.SUPERSEDED),
        (bool(note.owner), stores.OWNED),
    )
    return sum(bit for holds, bit in pairs if holds)


def _day(text: str) -> int:
    try:
        return date.fromisoformat(text).toordinal() - date(1970, 1, 1).toordinal()
    except ValueError:
        return -1


def make_view(
    repo: Repo, commit: Commit, snapshot: stores.Snapshot, wanted: Mapping[int, NoteEntry]
) -> npt.NDArray[np.void]:
    """Return the view (dtype VIEW, sorted by key) of *wanted* at *commit*.

    A note's time is the latest author time among the commits that set its path to its blob. What an
    ancestor's view knows already is taken from there, so only the commits since are walked.
    """
    rows = np.zeros(len(wanted), stores.VIEW)
    rows["key"] = np.sort(keys_of(wanted))
    places = {(wanted[key].path, wanted[key].blob): place for place, key in enumerate(rows["key"].tolist())}
    since, known = snapshot.last.get("commit", ""), None
    if since and repo.is_ancestor(since, commit.oid):
        known = snapshot.read_view(snapshot.last.get("view", ""))
    if known is not None and len(known):
        at = np.minimum(np.searchsorted(known["key"], rows["key"]), len(known) - 1)
        same = known["key"][at] == rows["key"]
        rows["time"][same] = known["time"][at[same]]
    if known is None or since != commit.oid:
        for path, blob, time in repo.changes(commit.oid, since if known is not None else ""):
            place = places.get((path, blob))
            if place is not None and rows["time"][place] < time:
                rows["time"][place] = time
    rows["time"][rows["time"] == 0] = commit.author_time
    return rows


def compact(writer: stores.Writer) -> None:
    """Merge small segments when there are many."""
    small = [segment for segment in writer.current.segments if len(segment) < SMALL_DOCS]
    if len(small) >= MANY_SMALL:
        writer.merge(small)


def collect(repo: Repo, settings: Settings) -> tuple[int, int]:
    """Drop the documents that neither HEAD nor a branch or tag has; return how many there were and are.

    What is dropped is only a cache of the repository's blobs: a commit that is asked for later is indexed then.
    """
    store = open_store(repo, settings)
    keep: set[int] = set()
    for tree in repo.tip_trees():
        keep.update(keyed(store, settings, select(repo.files(tree), settings)))
    with store.writing() as writer:
        before = sum(map(len, writer.current.segments))
        if writer.current.segments:
            writer.merge(writer.current.segments, np.fromiter(keep, np.uint64, len(keep)))
        return before, sum(map(len, writer.current.segments))


def keys_of(wanted: Mapping[int, NoteEntry]) -> npt.NDArray[np.uint64]:
    """Return the keys as an array, in the mapping's order."""
    return np.fromiter(wanted.keys(), np.uint64, len(wanted))
