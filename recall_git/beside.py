"""Wires what is read fresh for a prompt: uncommitted notes, the entity dictionary, the user's other repositories."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from recall_git import digest, entities, overlay, recall, sync, worktree
from recall_git.config import resolve
from recall_git.engine import Engine, Opened, is_enabled
from recall_git.errors import NoRepository, RecallError
from recall_git.repo import Commit, Repo, clean_environ
from recall_git.search import Memory
from recall_git.types import Document


def beside(
    engine: Engine,
    opened: Opened,
    *,
    environ: Mapping[str, str] | None = None,
    revision: str = "",
    deadline: float = 0.0,
) -> recall.Beside:
    """Return what stands beside *opened*; for an old *revision* only what that commit has.

    *deadline* (``perf_counter``): Git may use half of the time until then to say what is uncommitted.
    """
    repo = opened.repo

    def laid(memory: Memory) -> Memory:
        wait_s = max(0.0, (deadline - perf_counter()) / 2) if deadline else overlay.WAIT_S
        return overlay.lay_over(repo, memory, wait_s=wait_s)

    def cards(memory: Memory, query: str) -> Sequence[Document]:
        path = memory.settings.entities
        known = dictionary(repo, path, repo.commit(memory.commit), fresh=not revision)
        return entities.cards(known, memory.view, query, path)

    if revision:
        return recall.Beside(cards=cards)
    return recall.Beside(laid, cards, lambda withheld: others(engine, opened, environ, withheld), _name(repo))


def dictionary(repo: Repo, path: str, commit: Commit | None, *, fresh: bool = True) -> tuple[entities.Entity, ...]:
    """Return the entity dictionary: as it lies in the work tree now, else as the commit has it."""
    data = worktree.read(repo.top, path, entities.BYTES_MAX) if fresh and repo.top is not None else None
    if data is None:
        blob = repo.file_in_tree(commit.tree, path) if commit else None
        data = repo.read(blob) if blob else None
    return entities.parse(data) if data and len(data) <= entities.BYTES_MAX else ()


def elsewhere(engine: Engine, start: Path, environ: Mapping[str, str] | None = None) -> Repo | None:
    """Return the first of the user's own repositories that is opted in, for a *start* where recall is not on."""
    for place in _named(start, environ):
        try:
            repo = engine.repository(place)
        except RecallError:
            continue
        if is_enabled(repo):
            return repo
    return None


def others(
    engine: Engine, opened: Opened, environ: Mapping[str, str] | None, withheld: list[str] | None = None
) -> list[Memory]:
    """Return the memories of ``recall.source``; one that is not opted in itself is named in *withheld*."""
    found: list[Memory] = []
    seen = {opened.repo.common_dir}
    for place in map(_place, filter(None, opened.memory.settings.source)):
        try:
            repo = engine.repository(place)
            if repo.common_dir in seen:
                continue
            seen.add(repo.common_dir)
            found.append(replace(engine.open(repo, environ=environ).memory, source=_name(repo)))
        except RecallError as error:
            if withheld is not None:
                withheld.append(f"source {place.name} {type(error).__name__}")
    return found


def called(repo: Repo, name: str, environ: Mapping[str, str] | None = None) -> Iterator[Repo]:
    """Yield the repositories whose entries bear *name* where *repo* is asked: itself, and its sources that are on."""
    if digest.source_name(_name(repo)) == name:
        yield repo
    for place in map(_place, filter(None, sync.settings_of(repo, environ=environ)[0].source)):
        with suppress(RecallError):
            other = Repo.discover(place)
            if digest.source_name(_name(other)) == name and is_enabled(other):
                yield other


def _named(start: Path, environ: Mapping[str, str] | None) -> list[Path]:
    """Return the sources that hold outside of repositories that are opted in."""
    try:
        git = Repo.discover(start).settings()
    except NoRepository:
        git = {"source": _global_sources(environ or {})}
    return [_place(text) for text in resolve(git, environ=environ)[0].source if text]


def _global_sources(environ: Mapping[str, str]) -> list[str]:
    """Return ``recall.source`` of the user's own configuration, for a folder outside of any repository."""
    env = clean_environ({**os.environ, **{name: environ[name] for name in ("HOME",) if name in environ}})
    command = ("git", "config", "--global", "--null", "--get-all", "recall.source")
    done = subprocess.run(command, capture_output=True, env=env, check=False, stdin=subprocess.DEVNULL)
    return [text for text in done.stdout.decode("utf-8", "replace").split("\0") if text]


def _place(text: str) -> Path:
    return Path(text).expanduser()


def _name(repo: Repo) -> str:
    return (repo.top or repo.git_dir).name.removesuffix(".git")
