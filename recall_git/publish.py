"""The static digest, kept with its commit: as a Git note, and as an ignored file for agents without hooks.

Both are functions of the commit alone: no clock, no identity (``owner:`` notes are left out), so any older
one can be computed again. With ``recall.digest = tracked`` there is a tracked file instead, a function of the
tree that it is in: the pre-commit hook puts it into the index that is being committed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from time import sleep

import numpy as np

from recall_git import digest, guard, recall, sync
from recall_git.config import Settings, resolve
from recall_git.errors import RecallError
from recall_git.index import store as stores
from recall_git.index.vectors import Encoder
from recall_git.repo import Repo
from recall_git.retrieve import View
from recall_git.search import Memory
from recall_git.select import select
from recall_git.types import Document, NoteEntry, Slots

NOTES_REF = "refs/notes/recall"
DIGEST_FILE = ".recall/digest.md"
_UNDATED = "1970-01-01"
_CHANGED = "changed"
"""Stands for an entry of Git's index that the user has staged."""


def digest_text(memory: Memory) -> str:
    """Return the static digest of the memory's commit, as anybody may see it; '' when there is nothing to say."""
    return recall.start_digest(replace(memory, identity="")).text


def publish(repo: Repo, memory: Memory, *, note: bool = True) -> None:
    """Attach the digest to its commit (with *note*) and refresh ``.recall/digest.md``, as ``recall.digest`` says.

    Raises RecallError when Git refuses the note or the file cannot be written.
    """
    if memory.settings.digest != "notes":
        return
    text = digest_text(memory)
    with _alone(repo):
        if note:
            repo.set_note(NOTES_REF, memory.commit, text)
        if repo.top is not None:
            write_file(repo, repo.top, text)


def prune(repo: Repo) -> int:
    """Remove the digests of commits that Git has forgotten; return how many."""
    with _alone(repo):
        return repo.drop_notes(NOTES_REF)


@contextmanager
def _alone(repo: Repo) -> Iterator[None]:
    """Wait for others of us who publish in this repository: Git refuses two writers of one reference."""
    from filelock import FileLock, Timeout

    try:
        with FileLock(str(repo.state_dir / "publish.lock"), timeout=10):
            yield
    except Timeout as error:
        raise RecallError("another process has been publishing the digest for 10 s; try again") from error
    except OSError as error:
        where = error.filename or repo.state_dir
        raise RecallError(f"the digest cannot be written to {where} ({error.strerror}); make it writable") from error


def write_file(repo: Repo, top: Path, text: str) -> None:
    """Make ``.recall/digest.md`` of the work tree *top* hold *text*, in one step; never through a link.

    Only where Git ignores it: a commit from before ``git recall init`` has no ``.recall/.gitignore``, and there
    the file would show as untracked, so it goes. A tracked one is the user's. An unchanged one is left alone.
    """
    folder, path = top / ".recall", top / DIGEST_FILE
    if folder.is_symlink() or path.is_symlink() or not folder.is_dir() or repo.tracked(DIGEST_FILE):
        return
    if not repo.git("check-ignore", DIGEST_FILE, check=False):
        path.unlink(missing_ok=True)
        return
    _put(top, text.encode("utf-8", "replace"))


def _put(top: Path, data: bytes) -> None:
    """Make the digest's file hold *data*, in one step; one that does already is left alone."""
    folder, path = top / ".recall", top / DIGEST_FILE
    with suppress(OSError):
        if path.read_bytes() == data:
            return
    index = folder / "index"
    if index.is_symlink():
        return
    index.mkdir(exist_ok=True)
    for left in index.glob("digest-*"):  # of one that was killed
        left.unlink(missing_ok=True)
    temporary = index / f"digest-{os.urandom(6).hex()}"
    temporary.write_bytes(data)
    temporary.replace(path)


# the tracked file -----------------------------------------------------------------------------------


def stage(
    repo: Repo, settings: Settings, staged: Sequence[NoteEntry], index_file: Path | None, encoder: Encoder
) -> None:
    """Put the digest of what is *staged* into the index that is being committed, and into the work tree.

    *index_file* is the one that Git handed over. Nothing is done when nothing is staged (there would be a commit
    where Git makes none), and when the index of the notes cannot answer yet: a commit never waits for that.
    """
    if index_file is not None and not index_file.is_file():
        return  # Git has gone on without us
    environ = {"GIT_INDEX_FILE": str(index_file.absolute())} if index_file else {}
    if not repo.git("diff-index", "--cached", "--name-only", "HEAD", check=False, environ=environ):
        return
    text = tracked_text(repo, settings, staged, encoder)
    entry = _entry(staged)
    if text is None or (not text and not entry):
        return
    head, last = repo.head(), _remembered(repo)[1]
    before = entry if index_file is None else _entry(repo.staged())
    is_ours = before in ((head and repo.file_in_tree(head.tree, DIGEST_FILE)) or "", last)
    known = {before, entry, last}
    blob = _remember(repo, before if is_ours else _CHANGED, text)
    if blob != entry:
        _set_entry(repo, blob, environ)
    _refresh_file(repo, text, known)


def settle(repo: Repo) -> None:
    """After a commit, give the repository's own index the digest that the commit has.

    ``git commit PATH`` commits another index than this one, which would show the file as changed. An entry that is
    not what it was before the commit is the user's.
    """
    head = repo.head()
    before, blob = _remembered(repo)
    if head is None or not blob or repo.file_in_tree(head.tree, DIGEST_FILE) != blob:
        return
    entry = _entry(repo.staged())
    if entry != blob and entry == before:
        _set_entry(repo, blob, {})


def refresh_tracked(repo: Repo, settings: Settings, encoder: Encoder) -> None:
    """Make the work tree's file the digest of HEAD, where a merge left another; the next commit has it."""
    head = repo.head()
    blob = repo.file_in_tree(head.tree, DIGEST_FILE) if head else None
    text = tracked_text(repo, settings, list(repo.files(head.tree)), encoder) if head and blob else None
    if text is not None and blob and repo.read(blob) != text.encode("utf-8", "replace"):
        known = {blob, _remembered(repo)[1]}
        _remember(repo, blob, text)
        _refresh_file(repo, text, known)


def is_stale(repo: Repo, settings: Settings, staged: Sequence[NoteEntry], encoder: Encoder, *, write: bool) -> bool:
    """Whether the staged digest is not that of what is *staged*; with *write* the work tree gets the right one."""
    entry = _entry(staged)
    text = tracked_text(repo, settings, staged, encoder)
    if text is None or (repo.read(entry) if entry else b"") == text.encode("utf-8", "replace"):
        return False
    if write:
        known = {entry, _remembered(repo)[1]}
        _remember(repo, entry, text)
        _refresh_file(repo, text, known)
    return True


def tracked_text(repo: Repo, settings: Settings, entries: Sequence[NoteEntry], encoder: Encoder) -> str | None:
    """Return the digest of the tree that *entries* are, None when the index lacks some of its notes.

    Equal trees give equal bytes, whoever commits and when: only the tree's own settings count, only dates that
    notes give themselves are shown, and nothing ages or expires, for there is no day to measure from.
    """
    settings = _tree_settings(repo, settings, entries)
    sync.index_staged(repo, settings, entries, encoder)
    store = sync.open_store(repo, settings)
    snapshot = store.open_or_empty()
    wanted = sync.keyed(store, settings, select(entries, settings, repo.read))
    rows = np.zeros(len(wanted), stores.VIEW)
    rows["key"] = np.sort(sync.keys_of(wanted))
    if not snapshot.segments or snapshot.missing(rows["key"]).any():
        return None
    memory = Memory("", 0, replace(settings, latest=len(rows)), View(snapshot, rows), encoder)
    slots = recall.static_slots(memory)
    latest = sorted(_undated(slots.latest), key=lambda document: document.date, reverse=True)[: settings.latest]
    made = digest.compose(
        Slots(_undated(slots.profile), _undated(slots.prohibitions), tuple(latest)),
        commit="",
        budget_chars=settings.budget,
        relevant_chars=0,
        max_entries=0,
        fixed=True,
    )
    return made.text + "\n" if made.text else ""


def _tree_settings(repo: Repo, settings: Settings, entries: Iterable[NoteEntry]) -> Settings:
    blob = next((entry.blob for entry in entries if entry.path == ".recall/config"), None)
    found, _ = resolve({}, shared=sync.parse_config(repo.read(blob) if blob else None))
    return replace(found, enabled=settings.enabled, model=settings.model)


def _undated(documents: Iterable[Document]) -> tuple[Document, ...]:
    """Return *documents* without the date that a note gets from a history: there is none here."""
    return tuple(replace(document, date="") if document.date == _UNDATED else document for document in documents)


def _entry(entries: Iterable[NoteEntry]) -> str:
    return next((entry.blob for entry in entries if entry.path == DIGEST_FILE), "")


def _set_entry(repo: Repo, blob: str, environ: Mapping[str, str]) -> None:
    """Set the digest's entry in Git's index, and nothing else; another Git that holds the index is waited for."""
    for left in reversed(range(20)):
        try:
            repo.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{DIGEST_FILE}", environ=environ)
        except RecallError:
            if not left:
                raise
            sleep(0.05)
        else:
            return


def _remember(repo: Repo, before: str, text: str) -> str:
    """Write *text* as a blob and note that it is ours, and what this worktree's index had *before*; return its id."""
    data = text.encode("utf-8", "replace")
    blob = repo.git("hash-object", "-w", "--no-filters", "--stdin", data=data).decode("ascii").strip()
    _memo(repo).write_text(f"{before},{blob}\n", encoding="ascii")
    return blob


def _remembered(repo: Repo) -> tuple[str, str]:
    """Return the digest's blob before our last write, and the one written; '' for none."""
    try:
        before, _, blob = _memo(repo).read_text(encoding="ascii").strip().partition(",")
    except (OSError, ValueError):
        return "", ""
    return before, blob


def _memo(repo: Repo) -> Path:
    return repo.state_dir / f"digest-{repo.git_dir.name}"


def _refresh_file(repo: Repo, text: str, known: set[str]) -> None:
    """Write the work tree's digest, unless what is there is an edit of the user's or a link."""
    top = repo.top
    if top is None:
        return
    folder, path = top / ".recall", top / DIGEST_FILE
    if folder.is_symlink() or path.is_symlink() or not folder.is_dir():
        return
    try:
        data = path.read_bytes().replace(b"\r\n", b"\n")
    except FileNotFoundError:
        if any(known):
            return  # deleted, or not in a sparse checkout
    else:
        ours = {repo.read(blob) for blob in known if blob}
        if data not in ours and (any(known) or not data.startswith(guard.HEADER.encode())):
            return
    _put(top, text.encode("utf-8", "replace"))
