"""``git recall index``: bring the index up to date with HEAD."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from recall_git.errors import EXIT_OK, IndexBusy, NoCommits, NotEnabled


def run(argv: list[str]) -> int:
    """Index what HEAD has and the index lacks; with --full everything, from nothing."""
    parser = ArgumentParser("git recall index", description="Bring the index up to date with HEAD.")
    parser.add_argument("--full", action="store_true", help="throw the index away and build it again")
    parser.add_argument("--quiet", action="store_true", help="say nothing")
    parser.add_argument("-C", dest="folder", default=".", help="the repository (default: the current folder)")
    args = parser.parse_args(argv)
    try:
        return _index(args)
    except (NotEnabled, NoCommits, IndexBusy):
        if args.quiet:  # a hook of a shared configuration: nobody's commit fails for not having opted in
            return EXIT_OK
        raise


def _index(args: Namespace) -> int:
    from recall_git import gitevents, publish, sync
    from recall_git.commands.progress import bar
    from recall_git.engine import Engine

    engine = Engine()
    if os.environ.get("PRE_COMMIT") and os.environ.get("GIT_INDEX_FILE"):  # the pre-commit framework's first stage
        gitevents.handle("pre-commit", (), Path.cwd(), os.environ, engine)
        return EXIT_OK
    repo = engine.repository(Path(args.folder), os.environ if args.folder == "." else None)
    settings, problems = sync.settings_of(repo, environ=os.environ)
    with bar("notes", quiet=args.quiet) as progress:
        result = sync.refresh(repo, settings, full=args.full, progress=progress)
    publish.publish(repo, engine.open(repo, environ=os.environ).memory)
    if not args.quiet:
        for problem in problems:
            print(f"git-recall: {problem}", file=sys.stderr)
        print(
            f"{result.notes} notes at {result.commit[:10]}: {result.notes_added} new or changed, "
            f"{result.documents_added} sections indexed in {result.seconds:.1f} s"
        )
    return EXIT_OK
