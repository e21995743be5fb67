"""The write path: commit → notes → chunks → index.

``refresh`` is the pipeline. It reads Git objects only, adds to the index what the tree has and the index
lacks, and writes the tree's view. Nothing here is needed to answer a prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from hashlib import blake2b
from itertools import islice, repeat
from time import perf_counter

import numpy as np
import numpy.typing as npt

from recall_git import chunks, guard, notes
from recall_git.config import DEFAULT_TYPES, Settings, resolve
from recall_git.errors import IndexBusy, NoCommits, NotEnabled
from recall_git.index import store as stores
from recall_git.index.lexical import FieldTexts
from recall_git.index.vectors import Behind, Encoder, model_id
from recall_git.repo import Change, Commit, Repo, git_config_list
from recall_git.select import select, selection_id
from recall_git.types import Chunk, Document, Note, NoteEntry

BATCH_NOTES = 4000
"""Notes of one new segment at most, so that memory stays bounded on a first index."""
MAX_NOTE_BYTES = 4 << 20
"""A larger file is no note; it is listed by ``doctor``."""
SMALL_DOCS = 4096
"""Segments with fewer documents than this are merged …"""
MANY_SMALL = 8
"""… once there are this many of them, so that hundreds of small commits do not slow a query."""
DEAD_DOCS = 5000
"""Documents that came since the last ``collect`` before it is due again, and at least as many as it kept."""

Progress = Callable[[int, int], None]
LastSet = tuple[int, str]
"""Author time and author ('' when no entry is to name one) of the commit that last set a note."""


@dataclass(frozen=True, slots=True)
class SyncResult:
    """What ``refresh`` did."""

    commit: str
    view: str
    notes: int
    documents_added: int
    notes_added: int
    seconds: float
    overgrown: bool = False
    """So much has come since the last ``collect`` that most of the index may be dead."""


def settings_of(
    repo: Repo, *, environ: Mapping[str, str] | None = None, flags: Mapping[str, str] | None = None
) -> tuple[Settings, tuple[str, ...]]:
    """Return the effective settings of *repo* and what was wrong with them."""
    return resolve(repo.settings(), shared=_shared_settings(repo), environ=environ, flags=flags)


def _shared_settings(repo: Repo) -> dict[str, list[str]]:
    head = repo.head()
    blob = repo.file_in_tree(head.tree, ".recall/config") if head else None
    return parse_config(repo.read(blob) if blob else None)


@lru_cache(maxsize=16)
def parse_config(data: bytes | None) -> dict[str, list[str]]:
    """Let Git parse *data* (its configuration syntax, without includes); return the recall.* values."""
    if not data or len(data) > 65536:
        return {}
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
    return stores.Store(repo.index_home, nonce, model_id(settings.model), lock=repo.state_dir / "index.lock")


def read_nonce(repo: Repo) -> str:
    """Return the secret that ``git recall init`` wrote below the Git directory, '' when there is none."""
    try:
        with open(f"{repo.state_dir}/nonce", "rb", 0) as file:  # noqa: PTH123 - asked for every prompt; Path costs more
            return file.read().decode("ascii").strip()
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
    reuse: stores.Snapshot | None = None,
) -> SyncResult:
    """Make the index hold *commit* (default HEAD) and its view the newest; with *full*, from nothing.

    Documents that the index has are not read, parsed or embedded again. *encoder* is the model if it is
    loaded already, *reuse* a state of the index that is open already. Raises NoCommits, NotEnabled, IndexBusy.
    """
    started = perf_counter()
    commit = commit or repo.head()
    if commit is None:
        raise NoCommits
    store = open_store(repo, settings)
    wanted = keyed(store, settings, select(repo.files(commit.tree), settings, repo.read))
    name = view_name(commit, settings)
    last = {"commit": commit.oid, "border": _border(repo)}
    added = Added(0, 0)
    before = now = store.open_or_empty(reuse)
    if full or not _is_current(before, wanted, {**last, "view": name}):
        with store.writing(lock_timeout_s, before) as writer:
            if full or writer.current.last.get("border", "") != last["border"]:
                writer.forget_views()  # their dates are those of a history that was cut elsewhere
            if full:
                writer.clear()
            added = add_missing(writer, repo, settings, wanted, progress, encoder)
            last["kept"] = writer.current.last.get("kept") or str(writer.current.documents)
            writer.write_view(name, make_view(repo, commit, settings, writer.current, wanted), last)
            compact(writer)
            now = writer.current
    return SyncResult(
        commit.oid, name, len(wanted), added.documents, added.notes, perf_counter() - started, _is_overgrown(now)
    )


def _border(repo: Repo) -> str:
    border = repo.border
    return blake2b(border.encode(), digest_size=8).hexdigest() if border else ""


def index_staged(repo: Repo, settings: Settings, staged: Sequence[NoteEntry], encoder: Encoder | None = None) -> int:
    """Add the documents of the content being committed; return how many. The view follows with the commit.

    Only a head start: another writer is not waited for.
    """
    store = open_store(repo, settings)
    wanted = keyed(store, settings, select(staged, settings, repo.read))
    before = store.open_or_empty()
    try:
        if not before.segments or not before.missing(keys_of(wanted)).any():
            return 0  # the first full index is post-commit's
        with store.writing(0.2, before) as writer:
            return add_missing(writer, repo, settings, wanted, encoder=encoder).documents
    except IndexBusy:
        return 0


def keyed(store: stores.Store, settings: Settings, entries: Sequence[NoteEntry]) -> dict[int, NoteEntry]:
    """Return the entries by their key in the index."""
    fingerprint = store.fingerprint(settings.types)
    return {stores.file_key(entry.path, entry.blob, fingerprint): entry for entry in entries}


def view_name(commit: Commit, settings: Settings) -> str:
    """Return the name of a commit's view: its tree, the commit (whose history dates it), and what shapes it."""
    shaping = repr(settings.types) + " authors" * settings.authors
    shape = blake2b(shaping.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{commit.tree[:20]}-{commit.oid[:20]}-{selection_id(settings)}{shape}"


def _is_current(snapshot: stores.Snapshot, wanted: Mapping[int, NoteEntry], last: Mapping[str, str]) -> bool:
    return (
        {**snapshot.last, **last} == snapshot.last
        and snapshot.read_view(last["view"]) is not None
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
    """Add the documents of those *wanted* notes that the index lacks.

    A note that is not text adds none; one whose blob is not here (partial clone) is not noted as done.
    """
    keys = keys_of(wanted)
    missing = keys[writer.current.missing(keys)].tolist()
    if not missing:
        return Added(0, 0)
    encoder, done, added, documents = encoder or Encoder(settings.model), 0, 0, 0
    queue = iter(missing)
    while batch := list(islice(queue, BATCH_NOTES)):
        files = []
        behind = Behind(encoder)
        for key in batch:
            data = repo.read(wanted[key].blob, MAX_NOTE_BYTES)
            if data is not None:
                prepared, embedded = prepare(key, wanted[key], data, settings)
                files.append(prepared)
                behind.add(embedded)
                documents += len(embedded)
            done += 1
            if progress:
                progress(done, len(missing))
        if files:
            writer.add(files, behind.result)
        added += len(files)
    return Added(added, documents)


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
    repo: Repo, commit: Commit, settings: Settings, snapshot: stores.Snapshot, wanted: Mapping[int, NoteEntry]
) -> npt.NDArray[np.void]:
    """Return the view (sorted by key) of those *wanted* that the index has, at *commit*.

    A note's time is the author time of the commit that last set its path to its blob (of several, on both
    sides of a merge, the latest), and its author is that commit's, as the ``.mailmap`` of *commit* spells the
    name: functions of the commit, however the index came to it.
    """
    keys = np.sort(keys_of(wanted))
    keys = keys[~snapshot.missing(keys)]
    places = {wanted[key].path: place for place, key in enumerate(keys.tolist())}
    mailmap = _mailmap(repo, commit) if settings.authors else None

    def known(oid: str) -> list[LastSet] | None:
        """Return what the view of another commit knows of the same notes, (0, '') where it has them not."""
        other = repo.commit(oid)
        view = snapshot.read_view(view_name(other, settings)) if other else None
        if other is None or view is None or (settings.authors and _mailmap(repo, other) != mailmap):
            return None
        there = np.zeros(len(keys), view.dtype)
        _, mine, theirs = np.intersect1d(keys, view["key"], assume_unique=True, return_indices=True)
        there[mine] = view[theirs]
        names = there["author"].tolist() if settings.authors else repeat("")
        return list(zip(there["time"].tolist(), names, strict=False))

    since = next((oid for oid in (commit.oid, snapshot.last.get("commit", "")) if oid and known(oid) is not None), "")
    for without in dict.fromkeys((since, "")):
        history = repo.history(commit.oid, without, mailmap=mailmap) if without != commit.oid else []
        found, beyond = last_set(history, commit.oid, places)
        if _take(found, beyond, places, known):
            break
    names = [""] * len(keys)
    times = np.zeros(len(keys), np.int64)
    for path, (time, name) in found.items():
        times[places[path]], names[places[path]] = time, name
    times[times == 0] = commit.author_time
    return stores.view_of(keys, times, np.array(names, np.str_) if settings.authors else None)


def _mailmap(repo: Repo, commit: Commit) -> str:
    return repo.file_in_tree(commit.tree, ".mailmap") or ""


def _take(
    found: dict[str, LastSet],
    beyond: Mapping[str, Collection[str]],
    places: Mapping[str, int],
    known: Callable[[str], Sequence[LastSet] | None],
) -> bool:
    """Add to *found* what is known *beyond* the history that was read; False when something is not."""
    for oid, paths in beyond.items():
        there = known(oid)
        if there is None:
            return False
        for path in paths:
            last = there[places[path]]
            if not last[0]:
                return False
            found[path] = max(found.get(path, last), last)
    return True


def last_set(
    history: Iterable[Change], head: str, paths: Iterable[str]
) -> tuple[dict[str, LastSet], dict[str, Collection[str]]]:
    """Follow each of *paths* from *head* back to the commits that gave it the blob it has there.

    Returns the latest of those commits by path (of equally late ones the author whose name sorts last), and,
    by commit, the paths that were followed to a commit that *history* (children first) does not have. Pure.
    """
    found: dict[str, LastSet] = {}
    waiting: dict[str, set[str]] = {head: set(paths)}
    for change in history:
        mine = waiting.pop(change.oid, None)
        if not mine:
            continue
        kept = [mine - paths for paths in change.paths[1:]] if len(change.parents) > 1 else []
        first = change.paths[0] & mine
        mine -= first
        here = first.difference(*kept) if change.parents else first | mine
        last = change.author_time, guard.name(change.author) if here else ""
        for path in here:
            found[path] = max(found.get(path, last), last)
        for parent, same in zip(change.parents, (mine, *kept), strict=False):
            waiting[parent] = waiting[parent] | same if parent in waiting else same
    return found, {oid: paths for oid, paths in waiting.items() if paths}


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
    with store.writing() as writer:
        keep: set[int] = set()
        for tree in repo.tip_trees():
            keep.update(keyed(store, settings, select(repo.files(tree), settings, repo.read)))
        before = writer.current.documents
        if writer.current.segments:
            writer.merge(writer.current.segments, np.fromiter(keep, np.uint64, len(keep)))
        after = writer.current.documents
        writer.note({"kept": str(after)})
        store.drop_old_versions()
        return before, after


def _is_overgrown(snapshot: stores.Snapshot) -> bool:
    kept = int(snapshot.last.get("kept", "0"))
    return snapshot.documents - kept > max(DEAD_DOCS, kept)


def keys_of(wanted: Mapping[int, NoteEntry]) -> npt.NDArray[np.uint64]:
    """Return the keys as an array, in the mapping's order."""
    return np.fromiter(wanted.keys(), np.uint64, len(wanted))
