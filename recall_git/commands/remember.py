"""``git recall remember "TEXT"``: write a note."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from datetime import datetime
from pathlib import Path

from recall_git.errors import EXIT_OK, RecallError, UsageError


def run(argv: list[str]) -> int:
    """Write the note and print its path; with --commit commit it alone."""
    from recall_git import remember, sync
    from recall_git.repo import Repo

    parser = ArgumentParser(
        "git recall remember",
        description="Write a note into the folder of its type, with front matter and a name made from its title.",
    )
    parser.add_argument("text", help="what to remember, Markdown; '-' reads it from standard input")
    parser.add_argument("--type", choices=remember.TYPES, help="default: knowledge; with --priority: lesson")
    parser.add_argument("--priority", choices=("high",), help="high: a lesson that is always given (a prohibition)")
    parser.add_argument("--tag", action="append", default=[], metavar="TAG")
    parser.add_argument("--title", default="", help="default: the first sentence")
    parser.add_argument("--supersedes", action="append", default=[], metavar="PATH", help="the note that this replaces")
    parser.add_argument("--commit", action="store_true", help="commit this note, and nothing else")
    parser.add_argument("--force", action="store_true", help="even if it looks like it holds a credential")
    args = parser.parse_args(argv)
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if args.text == "-" else args.text
    if not text.strip():
        raise UsageError('there is nothing to remember; write: git recall remember "TEXT"')
    repo = Repo.discover(Path.cwd(), os.environ)
    settings, _ = sync.settings_of(repo, environ=os.environ)
    wanted = remember.Wanted(
        text=text,
        type=args.type or ("lesson" if args.priority else "knowledge"),
        title=args.title,
        priority=args.priority or "",
        tags=tuple(args.tag),
        supersedes=tuple(args.supersedes),
        date=datetime.now().astimezone().strftime("%Y-%m-%d"),
    )
    path = remember.write(repo, settings, wanted, force=args.force)
    print(path)
    if args.commit:
        try:
            oid = remember.commit(repo, path, f"Remember: {remember.title_of(wanted)}")
        except RecallError as error:
            raise RecallError(f"{path} is written, but not committed: {error}") from error
        print(f"committed {oid[:10]}", file=sys.stderr)
    else:
        print("recalled as uncommitted until you commit it", file=sys.stderr)
    return EXIT_OK
