"""What is open, kept: repositories, snapshots, views and the model. The place where write and read side are wired.

A one-shot command makes an ``Engine``, asks it once and ends; the resident process keeps one. It notices by
itself a new commit, a changed setting, a replaced index. Not safe for several threads at once: the caller locks.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from recall_git import sync
from recall_git.config import Settings
from recall_git.errors import IndexBusy, IndexUnusable, NoCommits, NotEnabled
from recall_git.index import store as stores
from recall_git.index.vectors import Encoder
from recall_git.search import Memory
from recall_git.repo import Commit, Repo
from recall_git.retrieve import View

CATCH_UP_NOTES = 32
"""So many notes that the index lacks are indexed before answering (about 2 ms each); more, behind the answer."""
KEPT_REPOSITORIES = 8
"""Repositories that stay open; the one that was used longest ago goes."""


@dataclass
class _Open:
    """One repository's state between two questions."""

    repo: Repo
    snapshot: stores.Snapshot | None = None
    stamp: tuple[int, int, int] = (0, 0, 0)
    views: OrderedDict[str, View] = field(default_factory=OrderedDict)


@dataclass(frozen=True)
class Opened:
    """An answer to ``Engine.open``: the memory, and whether it is behind the commit that was asked for."""

    repo: Repo
    memory: Memory
    problems: tuple[str, ...]
    behind: bool = False


class Engine:
    """Opens memories and keeps what is costly to open."""

    def __init__(self) -> None:
        self._open: OrderedDict[Path, _Open] = OrderedDict()
        self._encoders: dict[str, Encoder] = {}

    def repository(self, start: Path, environ: Mapping[str, str] | None = None) -> Repo:
        """Return the repository that *start* lies in; raises NoRepository."""
        found = Repo.discover(start, environ)
        kept = self._open.setdefault(found.git_dir, _Open(found))
        self._open.move_to_end(found.git_dir)
        while len(self._open) > KEPT_REPOSITORIES:
            _, gone = self._open.popitem(last=False)
            if gone.snapshot:
                gone.snapshot.close()
        return kept.repo

    def encoder(self, model: str = "") -> Encoder:
        """Return the model, loaded once."""
        if model not in self._encoders:
            self._encoders[model] = Encoder(model)
        return self._encoders[model]

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
        written. Raises NotEnabled, NoCommits, BadRevision, IndexUnusable.
        """
        settings, problems = sync.settings_of(repo, environ=environ, flags=flags)
        store = sync.open_store(repo, settings)
        commit = repo.resolve(revision) if revision else repo.head()
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
            view, commit = self._newest(repo, store, commit)
        memory = Memory(commit.oid, commit.author_time, settings, view, self.encoder(settings.model), repo.identity())
        return Opened(repo, memory, problems, behind)

    def _view(self, repo: Repo, store: stores.Store, name: str) -> View | None:
        """Return the view called *name* in the newest snapshot, None when it is not there."""
        kept = self._open[repo.git_dir]
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
            wanted = sync.keyed(store, settings, sync.select(repo.files(commit.tree), settings))
            snapshot = self._open[repo.git_dir].snapshot
            lacking = int(snapshot.missing(sync.keys_of(wanted)).sum()) if snapshot else len(wanted)
            if lacking > CATCH_UP_NOTES:
                return False
        try:
            sync.refresh(repo, settings, commit=commit, encoder=self.encoder(settings.model), lock_timeout_s=0.05)
        except IndexBusy:
            return False
        return True

    def _newest(self, repo: Repo, store: stores.Store, wanted: Commit) -> tuple[View, Commit]:
        """Return the last view that was indexed and its commit; raises IndexUnusable when there is none."""
        snapshot = self._open[repo.git_dir].snapshot
        if snapshot is None or not snapshot.last:
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
