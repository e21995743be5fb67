"""What is open, kept: repositories, snapshots, views and the model. The place where write and read side are wired.

A one-shot command makes an ``Engine``, asks it once and ends; the resident process keeps one. It notices by
itself a new commit, a changed setting, a replaced index. Not safe for several threads at once: the caller locks.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISDIR

from recall_git import sync
from recall_git.config import Settings
from recall_git.errors import IndexBusy, IndexUnusable, IndexUnwritable, NoCommits, NotEnabled
from recall_git.index import store as stores
from recall_git.index.vectors import Encoder, model_id
from recall_git.repo import Commit, Repo
from recall_git.retrieve import View
from recall_git.search import Memory
from recall_git.select import select

CATCH_UP_NOTES = 32
"""So many notes that the index lacks are indexed before answering (about 2 ms each); more, behind the answer."""
KEPT_REPOSITORIES = 8
"""Repositories that stay open; the one that was used longest ago goes."""
KEPT_DOCUMENTS = 300_000
"""Sections of all open repositories together, some 100 MB of tables; the same goes."""
PATIENCE_S = 10.0
"""How long another writer is waited for, by somebody who asked for an answer; an agent's prompt cannot."""
KEPT_PLACES = 256
"""Folders whose repository is known without asking Git."""

Stamp = tuple[int, ...]


@dataclass(frozen=True)
class _Settings:
    """Settings as they were read, and what they were read from."""

    files: tuple[str, ...]
    seen: object
    settings: Settings
    problems: tuple[str, ...]
    identity: str


@dataclass
class _Open:
    """One repository's state between two questions."""

    repo: Repo
    settings: _Settings | None = None
    snapshot: stores.Snapshot | None = None
    stamp: tuple[int, int, int] = (0, 0, 0)
    views: OrderedDict[str, View] = field(default_factory=OrderedDict)
    much: tuple[str, tuple[int, int, int]] = ("", (0, 0, 0))
    """The commit that this state of the index lacks too much of."""


@dataclass(frozen=True)
class Opened:
    """An answer to ``Engine.open``: the memory, and whether it is behind the commit that was asked for."""

    repo: Repo
    memory: Memory
    problems: tuple[str, ...]
    behind: bool = False


class Engine:
    """Opens memories and keeps what is costly to open."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._open: OrderedDict[Path, _Open] = OrderedDict()
        self._places: dict[str, tuple[object, Repo]] = {}
        self._encoders: dict[str, tuple[str, Encoder]] = {}

    def repository(self, start: Path, environ: Mapping[str, str] | None = None) -> Repo:
        """Return the repository that *start* lies in; raises NoRepository."""
        found = self._discover(start, environ)
        kept = self._open.setdefault(found.git_dir, _Open(found))
        kept.repo = found
        self._open.move_to_end(found.git_dir)
        while len(self._open) > 1 and self._is_full():
            gone, _ = self._open.popitem(last=False)
            self._places = {place: known for place, known in self._places.items() if known[1].git_dir != gone}
        return found

    def _discover(self, start: Path, environ: Mapping[str, str] | None) -> Repo:
        """Ask Git, unless the nearest ``.git`` above *start* is the one that it found before."""
        place, mark = str(start), _mark(str(start))
        if mark is None or (environ or {}).get("GIT_DIR"):
            return Repo.discover(start, environ)
        known = self._places.get(place)
        if known is None or known[0] != mark:
            known = mark, Repo.discover(start, environ)
            if len(self._places) >= KEPT_PLACES:
                self._places.clear()
            self._places[place] = known
        return known[1]

    def _kept(self, repo: Repo) -> _Open:
        return self._open.setdefault(repo.git_dir, _Open(repo))

    @property
    def count(self) -> int:
        """How many repositories are open."""
        return len(self._open)

    def _is_full(self) -> bool:
        documents = sum(kept.snapshot.documents for kept in self._open.values() if kept.snapshot)
        return len(self._open) > KEPT_REPOSITORIES or documents > KEPT_DOCUMENTS

    def rest(self) -> None:
        """Let go of what was read of the index and can be read again at once."""
        for kept in self._open.values():
            for segment in kept.snapshot.segments if kept.snapshot else ():
                segment.rest()

    def settings(
        self,
        repo: Repo,
        head: Commit | None,
        environ: Mapping[str, str] | None = None,
        flags: Mapping[str, str] | None = None,
    ) -> tuple[Settings, tuple[str, ...], str]:
        """Return the settings of *repo*, what is wrong with them, and the e-mail of whoever works there.

        They are read again when a file of Git's configuration, HEAD or a variable has changed.
        """
        kept = self._kept(repo)
        around = os.environ if environ is None else environ
        named = tuple((name, value) for name, value in around.items() if name.startswith(("RECALL_", "GIT_AUTHOR_")))
        state = (head.tree if head else "", named, tuple((flags or {}).items()))
        found = kept.settings
        if found is None or found.seen != (state, _stamps(found.files)):
            fresh = Repo(repo.git_dir) if found else repo  # libgit2 keeps what an included file said that has gone
            files = fresh.config_files()
            seen = state, _stamps(files)  # before they are read: a change meanwhile is seen the next time
            settings, problems = sync.settings_of(fresh, environ=environ, flags=flags)
            identity = settings.identity.strip().lower() or fresh.identity(environ)
            found = kept.settings = _Settings(files, seen, settings, problems, identity)
        return found.settings, found.problems, found.identity

    def encoder(self, model: str = "") -> Encoder:
        """Return the model, loaded once as long as its content is the same."""
        content = model_id(model)
        kept = self._encoders.get(model)
        if kept is None or kept[0] != content:
            kept = self._encoders[model] = content, Encoder(model)
        return kept[1]

    def share(self, encoder: Encoder, model: str = "") -> None:
        """Use a model that another engine has loaded."""
        self._encoders[model] = model_id(model), encoder

    def snapshot(self, repo: Repo) -> stores.Snapshot | None:
        """Return the state of the index that is open for *repo*, if one is."""
        return self._kept(repo).snapshot

    def bring_up(self, git_dir: Path, settings: Settings, oid: str) -> bool:
        """Make the index hold commit *oid* if that is little work; return whether it does."""
        repo = self._open[git_dir].repo if git_dir in self._open else Repo(git_dir)
        store, commit = sync.open_store(repo, settings), repo.commit(oid)
        if commit is None:
            return False
        there = self._view(repo, store, sync.view_name(commit, settings)) is not None
        return there or self._catch_up(repo, store, settings, commit, always=False)

    def open(
        self,
        repo: Repo,
        *,
        revision: str = "",
        environ: Mapping[str, str] | None = None,
        catch_up: bool = True,
        flags: Mapping[str, str] | None = None,
    ) -> Opened:
        """Return the memory of *revision* (default HEAD) of *repo*, which ``repository`` gave.

        What the index lacks is indexed first when it is little or was asked for by name; otherwise
        the newest view there is answers and ``behind`` is True. With *catch_up* False nothing is ever
        written. Raises NotEnabled, NoCommits, BadRevision, IndexUnusable, ModelUnusable.
        """
        head = repo.head()
        settings, problems, identity = self.settings(repo, head, environ, flags)
        store = sync.open_store(repo, settings)
        commit = repo.resolve(revision) if revision else head
        if commit is None:
            raise NoCommits
        behind = False
        view = self._view(repo, store, sync.view_name(commit, settings))
        if view is None and catch_up:
            behind = not self._catch_up(repo, store, settings, commit, always=bool(revision))
            if not behind:
                view = self._view(repo, store, sync.view_name(commit, settings))
        if view is None:
            behind = True
            view, commit = self._newest(repo, store, settings.model)
        memory = Memory(commit.oid, commit.author_time, settings, view, self.encoder(settings.model), identity)
        return Opened(repo, memory, problems, behind)

    def _view(self, repo: Repo, store: stores.Store, name: str) -> View | None:
        """Return the view called *name* in the newest snapshot, None when it is not there."""
        kept = self._kept(repo)
        try:
            status = store.manifest_path.stat()
        except OSError:
            kept.snapshot = None
            kept.views.clear()
            return None
        stamp = (status.st_mtime_ns, status.st_ino, status.st_size)
        if kept.snapshot is None or kept.stamp != stamp or kept.snapshot.folder != store.folder:
            before = kept.snapshot
            try:
                kept.snapshot = store.open(before)
            except IndexUnusable:
                kept.snapshot = None
                kept.views.clear()
                return None
            kept.stamp = stamp
            if before is None or before.segments != kept.snapshot.segments:
                kept.views.clear()
        if name not in kept.views:
            rows = kept.snapshot.read_view(name)
            if rows is None:
                return None
            view = View(kept.snapshot, rows)
            if not view.complete:
                return None
            kept.views[name] = view
            while len(kept.views) > 2:
                kept.views.popitem(last=False)
        return kept.views[name]

    def _catch_up(self, repo: Repo, store: stores.Store, settings: Settings, commit: Commit, *, always: bool) -> bool:
        """Index what *commit* lacks if that is little (or *always*); return whether it was done."""
        if not always:
            if self._kept(repo).much == (commit.oid, self._kept(repo).stamp):
                return False
            wanted = sync.keyed(store, settings, select(repo.files(commit.tree), settings, repo.read))
            snapshot = self._kept(repo).snapshot
            lacking = int(snapshot.missing(sync.keys_of(wanted)).sum()) if snapshot else len(wanted)
            if lacking > CATCH_UP_NOTES:
                self._kept(repo).much = commit.oid, self._kept(repo).stamp
                return False
        try:
            encoder, reuse = self.encoder(settings.model), self.snapshot(repo)
            sync.refresh(repo, settings, commit=commit, encoder=encoder, lock_timeout_s=self._patience_s, reuse=reuse)
        except (IndexBusy, IndexUnwritable):
            return False
        return True

    def _newest(self, repo: Repo, store: stores.Store, model: str) -> tuple[View, Commit]:
        """Return the last view that was indexed and its commit.

        Raises IndexUnusable when there is none, ModelUnusable when it is the model that nothing can be indexed with.
        """
        snapshot = self._kept(repo).snapshot
        if snapshot is None or not snapshot.last:
            self.encoder(model).check()
            raise IndexUnusable("it does not hold this commit yet")
        view = self._view(repo, store, snapshot.last["view"])
        if view is None:
            raise IndexUnusable("its last view is gone")
        return view, repo.resolve(snapshot.last["commit"])


def is_enabled(repo: Repo) -> bool:
    """Whether the repository was opted in."""
    try:
        sync.open_store(repo, sync.settings_of(repo)[0])
    except NotEnabled:
        return False
    return True


def _mark(place: str) -> object:
    """Return what the nearest ``.git`` above *place* is, None when there is none: a few calls of ``stat``."""
    while True:
        try:
            status = os.stat(f"{place}/.git")  # noqa: PTH116 - called for every prompt; Path costs more than the call
        except OSError:
            above = os.path.dirname(place)  # noqa: PTH120
            if above == place:
                return None
            place = above
        else:
            changes = 0 if S_ISDIR(status.st_mode) else status.st_mtime_ns
            return place, status.st_dev, status.st_ino, changes


def _stamps(files: Sequence[str]) -> tuple[Stamp, ...]:
    """Return what changes when one of *files* does; a file that is not there is ()."""
    found: list[Stamp] = []
    for name in files:
        try:
            status = os.stat(name)  # noqa: PTH116
        except OSError:
            found.append(())
        else:
            found.append((status.st_mtime_ns, status.st_ino, status.st_size))
    return tuple(found)
