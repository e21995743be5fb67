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
    if args.quiet and os.environ.get("PRE_COMMIT"):
        return _for_framework()
    try:
        return _index(args)
    except (NotEnabled, NoCommits, IndexBusy):
        if args.quiet:  # a hook of a shared configuration: nobody's commit fails for not having opted in
            return EXIT_OK
        raise


def _for_framework() -> int:
    """Do what a stage of the pre-commit framework asks for; what breaks is logged, and no commit fails for it.

    Git names its index before a commit and after it, and the framework does not say which of them this is: the
    staged content comes first, then HEAD.
    """
    from recall_git import hook
    from recall_git.engine import Engine

    engine, checkout = Engine(), os.environ.get("PRE_COMMIT_CHECKOUT_TYPE")
    last = ("post-checkout", ("", "", checkout)) if checkout else ("post-rewrite", ())
    for event, args in (("pre-commit", ()), last) if os.environ.get("GIT_INDEX_FILE") else (last,):
        hook.git_event(event, args, Path.cwd(), os.environ, engine)
    return EXIT_OK


def _index(args: Namespace) -> int:
    from recall_git import publish, sync
    from recall_git.commands.progress import bar
    from recall_git.engine import Engine

    engine = Engine()
    repo = engine.repository(Path(args.folder), os.environ if args.folder == "." else None)
    settings, problems = sync.settings_of(repo, environ=os.environ)
    with bar("notes", quiet=args.quiet) as progress:
        result = sync.refresh(repo, settings, full=args.full, progress=progress)
    publish.publish(repo, engine.open(repo, environ=os.environ).memory)
    if result.overgrown:
        sync.collect(repo, settings)
    if not args.quiet:
        for problem in problems:
            print(f"git-recall: {problem}", file=sys.stderr)
        print(
            f"{result.notes} notes at {result.commit[:10]}: {result.notes_added} new or changed, "
            f"{result.documents_added} sections indexed in {result.seconds:.1f} s"
        )
    return EXIT_OK
