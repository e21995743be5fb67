"""``git recall show PATH[:LINE]``: print a section, or the lines around a line, from the commit."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recall_git.errors import EXIT_OK, NoCommits, NoSuchNote

if TYPE_CHECKING:
    from recall_git.repo import Repo


def run(argv: list[str]) -> int:
    """Print the section that holds LINE, or with -C the lines around it; without LINE the whole note."""
    parser = ArgumentParser("git recall show", description="Print a section of a note, as it is in the commit.")
    parser.add_argument("place", metavar="PATH[:LINE]")
    parser.add_argument("-C", dest="context", type=int, metavar="N", help="N lines before and after LINE instead")
    parser.add_argument("--at", default="HEAD", metavar="REV", help="as of this commit, tag or branch")
    args = parser.parse_args(argv)

    from recall_git.repo import Repo

    found = passage(Repo.discover(Path.cwd(), os.environ), args.place, revision=args.at, context=args.context)
    print(f"{found.path}:{found.first}-{found.last} at {found.commit[:10]}", file=sys.stderr)
    print(found.text)
    return EXIT_OK


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

    Raises NoCommits, BadRevision, NoSuchNote.
    """
    from recall_git import notes

    path, _, number = place.rpartition(":")
    if not (path and number.isdigit()):
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
    return Passage(path, first, last, commit.oid, "\n".join(lines[first - 1 : last]).rstrip("\n"))


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
