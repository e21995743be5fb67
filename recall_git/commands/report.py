"""``git recall report --html FILE``: the figures as one page."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from pathlib import Path

from recall_git.errors import EXIT_OK, UsageError


def run(argv: list[str]) -> int:
    """Write the page and print its path."""
    parser = ArgumentParser(
        "git recall report", description="One self-contained page: what is recalled, what never is."
    )
    parser.add_argument("--html", required=True, metavar="FILE", help="where to write it; '-' is standard output")
    args = parser.parse_args(argv)
    from recall_git import report
    from recall_git.commands import stats
    from recall_git.repo import Repo

    repo = Repo.discover(Path.cwd(), os.environ)
    head, found = stats.of(repo)
    text = report.page(found, (repo.top or repo.git_dir).name, head)
    if args.html == "-":
        print(text, end="")
        return EXIT_OK
    try:
        Path(args.html).write_text(text, encoding="utf-8", errors="replace", newline="\n")
    except OSError as error:
        raise UsageError(f"{args.html} cannot be written ({error.strerror}); choose another file") from error
    print(args.html, file=sys.stderr)
    return EXIT_OK
