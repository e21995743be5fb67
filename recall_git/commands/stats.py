"""``git recall stats``: what is recalled, how often, and what never is."""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from recall_git.errors import EXIT_NOTHING, EXIT_OK

if TYPE_CHECKING:
    from recall_git.repo import Repo
    from recall_git.report import Figures

BAR = 40


def run(argv: list[str]) -> int:
    """Print recalls per week, the most and the never recalled notes; exit 1 when nothing was logged."""
    parser = ArgumentParser("git recall stats", description="What is recalled, how often, and what never is.")
    parser.add_argument("-n", type=int, default=10, metavar="N", help="notes in each list (default 10)")
    parser.add_argument("--json", action="store_true", help="print JSON, with all notes")
    args = parser.parse_args(argv)
    from recall_git.repo import Repo

    _, found = of(Repo.discover(Path.cwd(), os.environ))
    if args.json:
        print(json.dumps(asdict(found), ensure_ascii=False))
    else:
        _print(found, max(1, args.n))
    return EXIT_OK if found.outcomes else EXIT_NOTHING


def of(repo: Repo) -> tuple[str, Figures]:
    """Return HEAD ('' before the first commit) and the figures of *repo*; raises NotEnabled."""
    from recall_git import report, sync, trace
    from recall_git.select import select

    settings, _ = sync.settings_of(repo, environ=os.environ)
    sync.open_store(repo, settings)  # raises NotEnabled
    head = repo.head()
    notes = select(repo.files(head.tree), settings, repo.read) if head else []
    records = trace.read(repo.state_dir, trace.EVERYTHING)
    return head.oid if head else "", report.figures(records, (entry.path for entry in notes))


def _print(found: Figures, limit: int) -> None:
    from rich.console import Console
    from rich.text import Text

    from recall_git import guard

    console = Console(highlight=False, soft_wrap=True)
    if not found.outcomes:
        console.print("nothing was recalled yet; connect an agent with 'git recall install'")
        return
    counted = ", ".join(f"{count} {name}" for name, count in found.outcomes.items())
    console.print(f"{found.since} to {found.until}: {counted}; {found.sessions} sessions")
    console.print(f"median {found.median_ms:g} ms, {found.median_tokens:g} tokens\n")
    console.print("recalls per week", style="bold")
    most = max(1, *(sum(week.outcomes.values()) for week in found.weeks))
    for week in found.weeks:
        given, rest = week.outcomes.get("injected", 0), sum(week.outcomes.values()) - week.outcomes.get("injected", 0)
        bar = round(BAR * given / most)
        console.print(
            Text.assemble(
                f"{week.monday}  ", ("█" * bar, "green"), ("░" * round(BAR * rest / most), "dim"), f" {given}"
                f" of {given + rest}"
            )
        )  # fmt: skip
    console.print(f"\nmost recalled ({found.used} of {len(found.most)} opened afterwards)", style="bold")
    for path, count in found.most[:limit]:
        console.print(Text(f"{count:5}  {guard.location(path)}"))
    console.print(f"\nnever recalled: {len(found.never)} of {found.notes} notes", style="bold")
    for path in found.never[:limit]:
        console.print(Text(f"       {guard.location(path)}"))
