"""``git recall show PATH[:LINE]``: print a section, or the lines around a line, from the commit."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from pathlib import Path

from recall_git.errors import EXIT_OK, NoCommits, NoSuchNote


def run(argv: list[str]) -> int:
    """Print the section that holds LINE, or with -C the lines around it; without LINE the whole note."""
    parser = ArgumentParser("git recall show", description="Print a section of a note, as it is in the commit.")
    parser.add_argument("place", metavar="PATH[:LINE]")
    parser.add_argument("-C", dest="context", type=int, metavar="N", help="N lines before and after LINE instead")
    parser.add_argument("--at", default="HEAD", metavar="REV", help="as of this commit, tag or branch")
    args = parser.parse_args(argv)

    from recall_git import notes
    from recall_git.repo import Repo

    path, _, number = args.place.rpartition(":")
    if not (path and number.isdigit()):
        path, number = args.place, ""
    repo = Repo.discover(Path.cwd(), os.environ)
    if repo.head() is None:
        raise NoCommits
    commit = repo.resolve(args.at)
    blob, path = _find(repo, commit.tree, path)
    text = notes.decode(repo.read(blob) or b"")
    if text is None:
        raise NoSuchNote(path)
    lines = text.split("\n")
    first, last = 1, len(lines)
    if number and args.context is not None:
        first, last = int(number) - args.context, int(number) + args.context
    elif number:
        first, last = _section(path, repo.read(blob) or b"", int(number), len(lines))
    first, last = max(1, first), min(last, len(lines))
    print(f"{path}:{first}-{last} at {commit.oid[:10]}", file=sys.stderr)
    print("\n".join(lines[first - 1 : last]).rstrip("\n"))
    return EXIT_OK


def _find(repo: object, tree: str, path: str) -> tuple[str, str]:
    """Return (blob, path) of *path*, tried from the top and from the current folder."""
    from recall_git.repo import Repo

    assert isinstance(repo, Repo)
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
