"""``git recall show PATH[:LINE]``: print a section, or the lines around a line, from the commit."""

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
    parser = ArgumentParser("git recall show", description="Print a section of a note, as it is in the commit.")
    parser.add_argument("place", metavar="PATH[:LINE]", help="as an entry names it; SOURCE › PATH:LINE too")
    parser.add_argument("-C", dest="context", type=int, metavar="N", help="N lines before and after LINE instead")
    parser.add_argument("--at", default="HEAD", metavar="REV", help="as of this commit, tag or branch")
    args = parser.parse_args(_joined(argv))

    found = passage(_here(), args.place, revision=args.at, context=args.context)
    print(f"{found.path}:{found.first}-{found.last} at {found.commit[:10]}", file=sys.stderr)
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
    """Some lines of a note, as they are in a commit."""

    path: str
    first: int
    last: int
    commit: str
    text: str


def passage(repo: Repo, place: str, *, revision: str = "HEAD", context: int | None = None) -> Passage:
    """Return the section of ``PATH:LINE``, with *context* so many lines around it, without LINE the whole note.

    *place* is what an entry prints: where there are several repositories, ``SOURCE › PATH:LINE``. That it was read
    is noted in the log, which so tells whether what was given was of use.
    Raises NoCommits, BadRevision, NoSuchNote.
    """
    try:
        return _passage(repo, place, revision, context)
    except NoSuchNote:
        source, arrow, path = place.partition(ARROW)
        for other in _elsewhere(repo, source if arrow else ""):
            with suppress(NoSuchNote):
                found = _passage(other, path or place, revision, context)
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
    commit = repo.resolve(revision)
    blob, path = _find(repo, commit.tree, path)
    text = notes.decode(repo.read(blob) or b"")
    if text is None:
        raise NoSuchNote(path)
    lines = text.removesuffix("\n").split("\n")
    first, last = 1, len(lines)
    if number and context is not None:
        first, last = int(number) - context, int(number) + context
    elif number:
        first, last = _section(path, repo.read(blob) or b"", int(number), len(lines))
    first, last = max(1, first), min(last, len(lines))
    _note(repo, f"{path}:{first}")
    return Passage(path, first, last, commit.oid, "\n".join(lines[first - 1 : last]).rstrip("\n"))


def _note(repo: Repo, entry: str) -> None:
    """Write into the log, where recall is on, that *entry* was read."""
    from recall_git import trace

    if repo.state_dir.is_dir():
        trace.write(repo.state_dir, trace.record(time=trace.now(), event="show", outcome=trace.OPENED, entries=[entry]))


def _find(repo: Repo, tree: str, path: str) -> tuple[str, str]:
    """Return (blob, path) of *path*, tried from the top and from the current folder."""
    tried = [path.replace(os.sep, "/")]
    if repo.top and Path.cwd().resolve().is_relative_to(repo.top):
        tried.append(
            Path(os.path.normpath(Path.cwd().resolve() / path)).as_posix().removeprefix(f"{repo.top.as_posix()}/")
        )
    for name in tried:
        blob = repo.file_in_tree(tree, name)
        if blob:
            return blob, name
    raise NoSuchNote(path)


def _section(path: str, data: bytes, line: int, end: int) -> tuple[int, int]:
    """Return the first and last line of the section that holds *line*."""
    from recall_git import chunks, notes

    note = notes.parse(path, data)
    starts = sorted({chunk.line for chunk in chunks.split(note)}) if note else []
    first = max((start for start in starts if start <= line), default=1)
    return first, min((start - 1 for start in starts if start > line), default=end)
