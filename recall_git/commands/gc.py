"""``git recall gc``: drop what no commit needs any more."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from pathlib import Path

from recall_git.errors import EXIT_OK


def run(argv: list[str]) -> int:
    """Keep the notes of the views of branches and HEAD; drop all other documents, and merge the segments."""
    parser = ArgumentParser("git recall gc", description="Drop notes that no branch, tag or HEAD has any more.")
    parser.add_argument("--quiet", action="store_true", help="say nothing")
    args = parser.parse_args(argv)
    from recall_git import sync
    from recall_git.repo import Repo

    repo = Repo.discover(Path.cwd(), os.environ)
    settings, _ = sync.settings_of(repo, environ=os.environ)
    before, after = sync.collect(repo, settings)
    if not args.quiet:
        print(f"{before - after} sections dropped, {after} kept")
    return EXIT_OK
