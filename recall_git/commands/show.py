"""``git recall show PATH[:LINE]``: print a section, or the lines around a line, as entries show the note."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from recall_git.digest import ARROW
from recall_git.errors import EXIT_OK, NoCommits, NoRepository, NoSuchNote

if TYPE_CHECKING:
    from recall_git.repo import Repo


def run(argv: list[str]) -> int:
    """Print the section that holds LINE, or with -C the lines around it; without LINE the whole note."""
    parser = ArgumentParser("git recall show", description="Print a section of a note, as it is recalled.")
    parser.add_argument("place", metavar="PATH[:LINE]", help="as an entry names it; SOURCE › PATH:LINE too")
    parser.add_argument("-C", dest="context", type=int, metavar="N", help="N lines before and after LINE instead")
    parser.add_argument("--at", default="", metavar="REV", help="as of this commit, tag or branch")
    args = parser.parse_args(_joined(argv))

    found = passage(_here(), args.place, revision=args.at, context=args.context)
    print(found.place, file=sys.stderr)
    print(found.text)
    return EXIT_OK


def _here() -> Repo:
    """Return the repository of the current folder; outside of any, the one that answers prompts there."""
    from recall_git.repo import Repo

    try:
        return Repo.discover(Path.cwd(), os.environ)
    except NoRepository:
        from recall_git import beside
        from recall_git.engine import Engine

        other = beside.elsewhere(Engine(), Path.cwd(), os.environ)
        if other is None:
            raise
        return other


def _joined(argv: list[str]) -> list[str]:
    """Return *argv* with ``SOURCE › PATH`` as one word, where a shell made three of it."""
    if ARROW.strip() not in argv[1:-1]:
        return argv
    at = argv.index(ARROW.strip(), 1)
    return [*argv[: at - 1], " ".join(argv[at - 1 : at + 2]), *argv[at + 2 :]]


@dataclass(frozen=True, slots=True)
class Passage:
    """Some lines of a note: of *commit*, or of the work tree where that is ''."""

    path: str
    first: int
    last: int
    commit: str
    text: str

    @property
    def place(self) -> str:
        """Where the lines are."""
        where = f"at {self.commit[:10]}" if self.commit else "in the work tree, uncommitted"
        return f"{self.path}:{self.first}-{self.last} {where}"


def passage(repo: Repo, place: str, *, revision: str = "", context: int | None = None) -> Passage:
    """Return the section of ``PATH:LINE``, with *context* so many lines around it, without LINE the whole note.

    *place* is what an entry prints: where there are several repositories, ``SOURCE › PATH:LINE``. Without *revision*
    the text is what entries are made of: HEAD's, and the work tree's where those are marked as uncommitted. That it
    was read is noted in the log, which so tells whether what was given was of use.
    Raises NoCommits, BadRevision, NoSuchNote.
    """
    try:
        return _passage(repo, place, revision, context)
    except NoSuchNote:
        source, arrow, path = place.partition(ARROW)
        for other in _elsewhere(repo, source if arrow else ""):
            with suppress(NoSuchNote):
                committed = "HEAD" if arrow and other is not repo else ""  # of another source nothing else is recalled
                found = _passage(other, path or place, revision or committed, context)
                return replace(found, path=f"{source}{ARROW}{found.path}") if arrow else found
        raise


def _elsewhere(repo: Repo, source: str) -> Iterator[Repo]:
    """Yield the repositories that entries call *source*; without a name, who answers where recall is not on."""
    from recall_git import beside
    from recall_git.engine import Engine, is_enabled

    if source:
        yield from beside.called(repo, source, os.environ)
    elif not is_enabled(repo):
        other = beside.elsewhere(Engine(), repo.top or repo.git_dir, os.environ)
        if other is not None:
            yield other


def _passage(repo: Repo, place: str, revision: str, context: int | None) -> Passage:
    from recall_git import notes

    path, _, number = place.rpartition(":")
    if not (path and number.isdecimal() and len(number) < 10):
        path, number = place, ""
    if repo.head() is None:
        raise NoCommits
    commit = repo.resolve(revision or "HEAD")
    path, data, is_new = _find(repo, commit.tree, path, as_of=revision)
    text = notes.decode(data)
    if text is None:
        raise NoSuchNote(path)
    lines = text.removesuffix("\n").split("\n")
    first, last = 1, len(lines)
    if number and context is not None:
        first, last = int(number) - context, int(number) + context
    elif number:
        first, last = _section(path, data, int(number), len(lines))
    first, last = max(1, first), min(last, len(lines))
    _note(repo, f"{path}:{first}")
    return Passage(path, first, last, "" if is_new else commit.oid, "\n".join(lines[first - 1 : last]).rstrip("\n"))


def _note(repo: Repo, entry: str) -> None:
    """Write into the log, where recall is on, that *entry* was read."""
    from recall_git import trace

    if repo.state_dir.is_dir():
        trace.write(repo.state_dir, trace.record(time=trace.now(), event="show", outcome=trace.OPENED, entries=[entry]))


def _find(repo: Repo, tree: str, path: str, *, as_of: str) -> tuple[str, bytes, bool]:
    """Return *path*, tried from the top and from the current folder, its content, and whether that is uncommitted."""
    tried = [path.replace(os.sep, "/")]
    if repo.top and Path.cwd().resolve().is_relative_to(repo.top):
        tried.append(
            Path(os.path.normpath(Path.cwd().resolve() / path)).as_posix().removeprefix(f"{repo.top.as_posix()}/")
        )
    for name in tried:
        blob = repo.file_in_tree(tree, name)
        committed = (repo.read(blob) or b"") if blob else None
        fresh = None if as_of else _uncommitted(repo, tree, name, committed)
        if fresh is not None:
            return name, fresh, True
        if committed is not None:
            return name, committed, False
    raise NoSuchNote(path)


def _uncommitted(repo: Repo, tree: str, path: str, committed: bytes | None) -> bytes | None:
    """Return what the work tree has at *path*, None where entries are made of what is *committed*."""
    from recall_git import worktree

    if repo.top is None or worktree.read(repo.top, path, worktree.NOTE_BYTES_MAX) in (None, committed):
        return None  # nearly always, and nothing heavy was loaded for it
    from recall_git import overlay, sync
    from recall_git.engine import is_enabled

    settings, _ = sync.settings_of(repo, environ=os.environ)
    return overlay.uncommitted(repo, path, tree, settings) if is_enabled(repo) else None


def _section(path: str, data: bytes, line: int, end: int) -> tuple[int, int]:
    """Return the first and last line of the section that holds *line*."""
    from recall_git import chunks, notes

    note = notes.parse(path, data)
    starts = sorted({chunk.line for chunk in chunks.split(note)}) if note else []
    first = max((start for start in starts if start <= line), default=1)
    return first, min((start - 1 for start in starts if start > line), default=end)
