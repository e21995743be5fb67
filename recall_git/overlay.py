"""Notes that are not committed yet, laid over a commit's view: ranked with it, marked, and never written.

Git tells which files differ; they are read from the work tree and become one more segment, in memory, of a
view in which the committed versions of the same files do not count. The fixed slots stay the commit's.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import islice, pairwise
from pathlib import Path
from threading import Event, Thread, Timer
from time import monotonic

import numpy as np

from recall_git import analysis, inotify, sync, worktree
from recall_git.config import Settings
from recall_git.errors import RecallError
from recall_git.index import lexical, vectors
from recall_git.index import store as stores
from recall_git.index.lexical import FIELDS, Postings
from recall_git.index.postings import Column, TermTable
from recall_git.index.vectors import Encoded, Encoder
from recall_git.repo import Repo
from recall_git.retrieve import Floats, Mask, View
from recall_git.search import Memory
from recall_git.select import ATTRIBUTES_FILE, IGNORE_FILE, selector
from recall_git.types import Document, NoteEntry

FILES_MAX = 100
BYTES_MAX = 1 << 20
"""What is read of the work tree for one prompt at most; files in the order of their paths."""
FRESH_S = 2.0
"""Git is not asked again within this, unless something looks different. What changed is always read anew."""
BEHIND_S = 0.2
"""So long after a prompt Git is asked when nobody waits for it: the answer is out by then."""
WAIT_S = 10.0
MARK = "uncommitted"
OUR_FOLDER = ".recall"
_FOLDERS_MAX = 2000
_MADE_MAX = 200
"""Folders that are watched though no commit knows them, beside those of uncommitted notes."""
_WATCHED_MAX = 8


def lay_over(repo: Repo, memory: Memory, *, wait_s: float = WAIT_S) -> Memory:
    """Return *memory* with the notes that the work tree has and the commit has not; the same when there are none.

    *wait_s*: how long Git may take; past that the last known state counts, and there may be none.
    """
    settings = memory.settings
    if repo.top is None or not settings.overlay:
        return memory
    if len(_watches) > _WATCHED_MAX:
        _watches.clear()
    watch = _watches.setdefault(repo.git_dir, _Watch())
    changed = watch.changed(repo, memory, wait_s)
    if not changed:
        return memory
    commit = repo.commit(memory.commit) or repo.head()
    if commit is None:
        return memory
    is_note = selector(settings, _rules(repo, commit.tree))
    paths = [path for path in changed if is_note(path)]
    files = list(_read(repo.top, paths[:FILES_MAX]))
    gone = [path for path in paths if not os.path.lexists(repo.top / path)]
    store = sync.open_store(repo, settings)
    hidden: list[int] = []
    for path in (*(path for path, _ in files), *gone):
        blob = repo.file_in_tree(commit.tree, path)
        if blob:
            hidden += sync.keyed(store, settings, [NoteEntry(path, blob)])
    segment = _segment(tuple(files), settings.types, memory.encoder)
    view = memory.view
    if not len(segment) and not hidden:
        return memory
    kept = watch.view
    if kept is None or kept.made_of != (view, segment, tuple(hidden)):
        kept = watch.view = Overlaid(view, segment, hidden, memory.commit_time)
    return replace(memory, view=kept)


def uncommitted(repo: Repo, path: str, tree: str, settings: Settings) -> bytes | None:
    """Return the note *path* as the work tree has it, None where its entries are those of the commit with *tree*."""
    if repo.top is None or not settings.overlay or not selector(settings, _rules(repo, tree))(path):
        return None
    if path not in _changed(repo, f":(top,literal){path}"):
        return None
    return worktree.read(repo.top, path, worktree.NOTE_BYTES_MAX)


class Unsaved(stores.Segment):
    """A segment in memory: what ``View`` asks of one, and nothing on disk."""

    def __init__(self, documents: Sequence[stores.Prepared], counts: Sequence[int], encoded: Encoded) -> None:
        self.name = MARK
        self.vectors, self.scales = vectors.quantise(encoded.vectors)
        self._pieces = encoded.pieces
        self._piece_ends = np.cumsum([0, *encoded.counts])
        self.documents = documents
        self.counts = counts
        self.docs = np.zeros(len(documents), stores.DOC)
        self.docs["hash"] = [int(document.document.content_hash, 16) for document in documents]
        self.docs["day"] = [document.day for document in documents]
        self.docs["flags"] = [document.flags for document in documents]
        self.lengths = np.zeros((len(documents), len(FIELDS)), np.uint32)
        found: dict[tuple[str, str], dict[int, int]] = {}
        for number, document in enumerate(documents):
            for column, field in enumerate((*FIELDS, "path")):
                terms = analysis.terms(getattr(document.texts, field))
                if column < len(FIELDS):
                    self.lengths[number, column] = len(terms)
                for term in terms:
                    row = found.setdefault((field, term), {})
                    row[number] = row.get(number, 0) + 1
        none = np.zeros(0, np.uint16)
        self._postings = {
            key: Postings(np.array(list(row), np.uint32), np.array(list(row.values()), np.uint16), none)
            for key, row in found.items()
        }
        self._table = TermTable.build(self._column(field) for field in FIELDS)

    @property
    def terms(self) -> TermTable:
        return self._table

    def _column(self, field: str) -> Column:
        rows = [(term.encode(), postings) for (name, term), postings in self._postings.items() if name == field]
        ids = np.concatenate([np.zeros(0, np.uint32), *(postings.ids for _, postings in rows)])
        counts = np.concatenate([np.zeros(0, np.uint16), *(postings.counts for _, postings in rows)])
        sizes = np.array([len(postings.ids) for _, postings in rows], np.int64)
        return Column(field, [name for name, _ in rows], sizes, ids, counts)

    def postings(self, field: str, term: str) -> Postings | None:
        return self._postings.get((field, term))

    def document(self, number: int, date: str = "", author: str = "") -> Document:
        found = self.documents[number].document
        return replace(found, date=found.date or date, mark=MARK)

    def close(self) -> None:
        """Nothing is open."""


class Overlaid(View):
    """A commit's view in which the files of *segment* and of the keys *hidden* are as in the work tree."""

    def __init__(self, base: View, segment: Unsaved, hidden: Sequence[int], time: int) -> None:
        rows = np.flatnonzero(np.isin(base.rows["key"], np.array(hidden, np.uint64)))
        added = len(segment)
        self.base = base
        self.made_of = (base, segment, tuple(hidden))
        self.snapshot = base.snapshot
        self.segments = (*base.segments, segment)
        self.bases = np.append(base.bases, base.bases[-1] + added)
        self.live = np.concatenate([base.live & ~np.isin(base.note, rows), np.ones(added, bool)])
        owners = np.repeat(np.arange(len(segment.counts)), segment.counts).astype(np.int32)
        self.note = np.concatenate([base.note, base.notes + owners])
        self.time = np.concatenate([base.time, np.full(added, time, np.int64)])
        self.rows = base.rows
        self.notes = base.notes + len(segment.counts)
        self.complete = True
        self.count = int(self.live.sum())
        self._added = segment

    @cached_property
    def note_spans(self) -> Floats:
        unit = self._added.vectors * self._added.scales[:, None]
        ends = np.cumsum([0, *self._added.counts])
        summed = [np.linalg.norm(unit[first:last].sum(axis=0)) for first, last in pairwise(ends.tolist())]
        spans: Floats = np.concatenate([self.base.note_spans, np.array(summed, np.float32)])
        spans[spans == 0] = 1
        return spans

    def flagged(self, flags: int) -> list[int]:
        if flags & (stores.PROFILE | stores.PROHIBITION | stores.LATEST):
            return self.base.flagged(flags)
        return super().flagged(flags)

    def matching(self, parsed: lexical.Parsed) -> Mask:
        found: Mask = np.concatenate([self.base.matching(parsed), np.zeros(len(self._added), bool)])
        return found & self.live


@lru_cache(maxsize=4)
def _segment(files: tuple[tuple[str, bytes], ...], types: tuple[str, ...], encoder: Encoder) -> Unsaved:
    settings = Settings(types=types)
    documents: list[stores.Prepared] = []
    counts, texts = [], []
    for path, data in files:
        prepared, embedded = sync.prepare(0, NoteEntry(path, ""), data, settings)
        documents += prepared.documents
        counts.append(len(prepared.documents))
        texts += embedded
    return Unsaved(documents, counts, encoder.encode(texts))


def _read(top: Path, paths: Iterable[str]) -> Iterable[tuple[str, bytes]]:
    left = BYTES_MAX
    for path in paths:
        data = worktree.read(top, path, worktree.NOTE_BYTES_MAX)
        if data is not None and len(data) <= left:
            left -= len(data)
            yield path, data


@lru_cache(maxsize=8)
def _tree(repo: Repo, tree: str) -> tuple[tuple[tuple[str, bytes], ...], tuple[str, ...]]:
    """Return the files of *tree* that select notes, and its folders."""
    entries = list(repo.files(tree))
    rules = [
        (entry.path, repo.read(entry.blob) or b"")
        for entry in entries
        if entry.path.endswith((IGNORE_FILE, ATTRIBUTES_FILE))
    ]
    folders = _folders_of(entry.path for entry in entries) - {OUR_FOLDER}
    return tuple(rules), tuple(sorted(folders))


def _rules(repo: Repo, tree: str) -> Sequence[tuple[str, bytes]]:
    return [
        (path, data) for path, data in _tree(repo, tree)[0] if path.rpartition("/")[2] in (IGNORE_FILE, ATTRIBUTES_FILE)
    ]


class _Watch:
    """What Git said last about one work tree, and the thread that asks it."""

    def __init__(self) -> None:
        self.paths: tuple[str, ...] = ()
        self.view: Overlaid | None = None
        """The view that was laid last: while nothing changes, its statistics stay."""
        self._asked = -FRESH_S
        self._seen: object = None
        self._dirty = False
        self._told: inotify.Folders | None = None
        self._watched: frozenset[str] = frozenset()
        self._made: list[str] = []
        self._before: list[str] | None = None
        """Folders that were there before us and that no commit knows, None until they were searched for."""
        self._thread: Thread | None = None
        self._called_off = Event()

    def changed(self, repo: Repo, memory: Memory, wait_s: float) -> tuple[str, ...]:
        """Return the paths that differ from the commit, ordered.

        Where the system tells that nothing was written, Git is asked behind the answer at most: what the system
        cannot tell (a network file system, too many folders that no commit knows) is there for the next prompt.
        """
        folders = _folders(repo, memory)
        if self._told and self._told.changed():
            self._dirty = True
        looks = _looks(repo, memory, () if self._told else folders)
        is_same = looks == self._seen and not self._dirty
        if self._told and not self._watched.issuperset(_folders_of(self.paths)):
            is_same = False  # what Git has found lies where nothing would be told
        if is_same and monotonic() - self._asked < FRESH_S:
            return self.paths
        is_quiet = is_same and self._told is not None
        until = monotonic() + wait_s
        if self._thread and not is_quiet:
            self._called_off.set()
            self._thread.join(wait_s)  # it may have looked before the change
        if self._thread is None or not self._thread.is_alive():
            if not is_quiet:
                self._watch(repo, folders, memory.settings.extensions)
                looks = _looks(repo, memory, () if self._told else folders)
            self._dirty, self._called_off = False, Event()
            how = repo, memory.settings.extensions, looks, self._called_off, BEHIND_S if is_quiet else 0.0
            self._thread = Thread(target=self._ask, args=how, daemon=True)
            self._thread.start()
        if not is_quiet:
            self._thread.join(max(0.0, until - monotonic()))
        return self.paths

    def _watch(self, repo: Repo, folders: Sequence[str], extensions: Sequence[str]) -> None:
        """Let the system tell of changes in *folders*, in those of uncommitted notes, and in what was made there."""
        if self._told:
            unknown = (*self._made, *self._told.made, *(self._before or ()))
            self._made = list(dict.fromkeys(filter(os.path.isdir, unknown)))
        self._watched = frozenset((*folders, *_folders_of(self.paths)))
        self._told = _told(repo, self._watched, extensions)
        if self._told:
            _tell_below(self._told, self._made)

    def _ask(self, repo: Repo, extensions: Sequence[str], looks: object, called_off: Event, delay_s: float) -> None:
        if called_off.wait(delay_s):
            return
        now = monotonic()
        try:
            self.paths = _changed(repo, *(f":(icase,glob)**/*.{extension.lstrip('.')}" for extension in extensions))
        except RecallError:
            return
        self._asked, self._seen = now, looks
        if self._told and self._before is None:
            search = Timer(BEHIND_S, self._search, (repo, self._told))
            search.daemon = True
            search.start()

    def _search(self, repo: Repo, told: inotify.Folders) -> None:
        """Behind the first answer, let *told* tell of the folders that were there before us and no commit knows."""
        with suppress(RecallError):
            self._before = _unknown(repo)
            _tell_below(told, self._before)


def _changed(repo: Repo, *patterns: str) -> tuple[str, ...]:
    """Return the paths that match *patterns* and differ from the commit, ordered; raises RecallError."""
    out = repo.git(
        "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all",
        "--", *patterns,
    )  # fmt: skip
    rows = [os.fsdecode(row) for row in out.split(b"\0") if len(row) > 3]
    # Unmerged files hold both sides and marks between them: the commit's version is the better one.
    return tuple(sorted(row[3:] for row in rows if "U" not in row[:2] and row[:2] not in ("AA", "DD")))


def _unknown(repo: Repo) -> list[str]:
    """Return the folders in which Git knows no file and ignores not all, not those in them; raises RecallError."""
    out = repo.git("ls-files", "--others", "--directory", "--exclude-standard", "-z")
    return [f"{repo.top}/{os.fsdecode(name[:-1])}" for name in out.split(b"\0") if name.endswith(b"/")]


def _tell_below(told: inotify.Folders, folders: Iterable[str]) -> None:
    """Let *told* tell of *folders* too, and of those in them, as far as it can: the rest is seen a prompt later."""
    with suppress(OSError):
        told.watch(islice(_below(folders), _MADE_MAX))


def _below(folders: Iterable[str]) -> Iterator[str]:
    """Yield *folders* and those in them, but for other repositories: there Git does not look."""
    for top in folders:
        for folder, inside, files in os.walk(top):
            if ".git" in (*inside, *files):
                inside.clear()
            else:
                yield folder


def _folders(repo: Repo, memory: Memory) -> tuple[str, ...]:
    commit = repo.commit(memory.commit)
    return _tree(repo, commit.tree)[1] if commit else ("",)


def _folders_of(paths: Iterable[str]) -> set[str]:
    """Return the folders that *paths* lie in, and those above."""
    found = {""}
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return found


def _told(repo: Repo, folders: Collection[str], extensions: Sequence[str]) -> inotify.Folders | None:
    """Return what tells of changes in *folders* of *repo*, None where nothing does."""
    if len(folders) > _FOLDERS_MAX:
        return None
    there = [f"{repo.top}/{name}" for name in folders if os.path.isdir(f"{repo.top}/{name}")]  # noqa: PTH112
    try:
        return inotify.Folders(there, (*extensions, "gitignore"))
    except OSError:
        return None


def _looks(repo: Repo, memory: Memory, folders: Sequence[str]) -> object:
    """Return what changes when a commit is made, or something is staged, or a note comes or goes in *folders*.

    Not when a note is edited in its place.
    """
    if len(folders) > _FOLDERS_MAX:
        return object()
    return (memory.commit, _stamp(f"{repo.git_dir}/index"), *(_stamp(f"{repo.top}/{name}") for name in folders))


def _stamp(path: str) -> tuple[int, int, int]:
    try:
        status = os.lstat(path)  # Path costs more than the call, and there may be hundreds
    except OSError:
        return 0, 0, 0
    return status.st_mtime_ns, status.st_size, status.st_ino


_watches: dict[Path, _Watch] = {}
