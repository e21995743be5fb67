"""``git recall gc``: drop what no commit needs any more."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from pathlib import Path

from recall_git.errors import EXIT_OK


def run(argv: list[str]) -> int:
    """Drop the notes that no branch, tag or HEAD has, merge the segments, drop digests of vanished commits."""
    parser = ArgumentParser("git recall gc", description="Drop notes that no branch, tag or HEAD has any more.")
    parser.add_argument("--quiet", action="store_true", help="say nothing")
    args = parser.parse_args(argv)
    from recall_git import publish, sync
    from recall_git.repo import Repo

    repo = Repo.discover(Path.cwd(), os.environ)
    settings, _ = sync.settings_of(repo, environ=os.environ)
    before, after = sync.collect(repo, settings)
    notes = publish.prune(repo)
    if not args.quiet:
        print(f"{before - after} sections dropped, {after} kept; {notes} digests of vanished commits dropped")
    return EXIT_OK
