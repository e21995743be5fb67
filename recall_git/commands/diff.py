"""``git recall diff A..B``: what the agent would be told differently."""

from __future__ import annotations

import os
import re
import sys
from argparse import ArgumentParser
from pathlib import Path

from recall_git.errors import EXIT_NOTHING, EXIT_OK, UsageError


def run(argv: list[str]) -> int:
    """Print the entries that only one of two commits would give; exit 1 when both give the same."""
    parser = ArgumentParser(
        "git recall diff",
        description="What the agent would be told differently at two commits: at the start of a session, or for "
        "--prompt. Exit status 1: nothing.",
    )
    parser.add_argument("range", nargs="+", metavar="A..B", help="two commits, tags or branches; A alone: A..HEAD")
    parser.add_argument("--prompt", help="for this prompt instead of the start of a session")
    args = parser.parse_args(argv)
    old, new = _ends(args.range)
    from recall_git import beside, recall
    from recall_git.engine import Engine

    engine = Engine()
    repo = engine.repository(Path.cwd(), os.environ)
    texts = []
    for revision in (old, new):
        opened = engine.open(repo, revision=revision, environ=os.environ)
        around = beside.beside(engine, opened, environ=os.environ, revision=revision)
        made = (
            recall.start_digest(opened.memory)
            if args.prompt is None
            else recall.prompt_digest(opened.memory, args.prompt, beside=around)
        )
        texts.append((opened.memory.commit, made.text, made.why))
    (before, was, why_was), (after, now, why_now) = texts
    rows = changes(was, now)
    print(f"--- {before[:10]} {old}{'' if was else f' (silent: {why_was})'}", file=sys.stderr)
    print(f"+++ {after[:10]} {new}{'' if now else f' (silent: {why_now})'}", file=sys.stderr)
    _print(rows)
    return EXIT_OK if rows else EXIT_NOTHING


def _ends(words: list[str]) -> tuple[str, str]:
    """Return both ends of ``A..B``, ``A B`` or ``A``; an empty end is HEAD."""
    if len(words) == 1:
        old, _, new = words[0].partition("..")
        words = [old, new]
    if len(words) != 2 or words[1].startswith("."):
        raise UsageError("two commits are wanted; write: git recall diff A..B")
    return words[0] or "HEAD", words[1] or "HEAD"


def changes(was: str, now: str) -> list[str]:
    """Return what differs between two digests, ``-`` and ``+``, below the heading of its slot.

    An entry that only moved within its file says the same; so does one that stands at another place in its slot.
    """
    old, new = _slots(was), _slots(now)
    found = []
    for heading in dict.fromkeys((*old, *new)):
        before, after = old.get(heading, {}), new.get(heading, {})
        gone = [f"- {line}" for key, line in before.items() if key not in after]
        come = [f"+ {line}" for key, line in after.items() if key not in before]
        if gone or come:
            found += [heading, *gone, *come]
    return found


def _slots(text: str) -> dict[str, dict[str, str]]:
    """Return heading → entry without its line number → entry."""
    found: dict[str, dict[str, str]] = {}
    heading = ""
    for line in text.split("\n")[1:-1]:
        if line.startswith("- "):
            found.setdefault(heading, {})[re.sub(r"(?<=\S):\d+(?= |$)", "", line)] = line[2:]
        else:
            heading = line
    return found


def _print(rows: list[str]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for row in rows:
        console.print(Text(row, style={"+": "green", "-": "red"}.get(row[0], "bold")))
