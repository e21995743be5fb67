"""``git recall log``: what was injected, when, why or why not."""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recall_git.errors import EXIT_NOTHING, EXIT_OK, UsageError
from recall_git.trace import EVERYTHING, OPENED, OUTCOMES

_STYLES = {"injected": "green", "failed": "red", "late": "yellow"}


def run(argv: list[str]) -> int:
    """Print the last events, newest last; exit 1 when there are none."""
    parser = ArgumentParser("git recall log", description="What was injected, when, and why or why not; newest last.")
    parser.add_argument("-n", type=int, default=20, metavar="N", help="events (default 20)")
    parser.add_argument("--session", default="", metavar="ID", help="only this session's (the beginning of its id)")
    parser.add_argument("--outcome", choices=(*OUTCOMES, OPENED))
    parser.add_argument("-v", action="store_true", help="with the entries and what was left out")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    args = parser.parse_args(argv)
    if args.n < 1:
        raise UsageError("-n wants a number from 1 on")
    from recall_git import trace
    from recall_git.repo import Repo

    repo = Repo.discover(Path.cwd(), os.environ)
    found = [
        record
        for record in trace.read(repo.state_dir, EVERYTHING if args.session or args.outcome else args.n)
        if str(record.get("session", "")).startswith(args.session)
        and (not args.outcome or record.get("outcome") == args.outcome)
    ][-args.n :]
    if args.json:
        for record in found:
            print(json.dumps(record, ensure_ascii=False))
    else:
        for record in found:
            show(record, verbose=args.v)
        if not found:
            print("nothing is logged; an agent's hook writes here ('git recall install')")
    return EXIT_OK if found else EXIT_NOTHING


def show(record: Mapping[str, Any], *, verbose: bool) -> None:
    """Print one record of the log for people."""
    from rich.console import Console
    from rich.text import Text

    from recall_git import guard

    console = Console(highlight=False, soft_wrap=True)
    outcome = str(record.get("outcome", "?"))
    entries = record.get("entries") if isinstance(record.get("entries"), list) else []
    size = f"  {len(entries or ())} entries, {record.get('chars')} chars, ~{record.get('tokens')} tokens"
    console.print(
        Text.assemble(
            (str(record.get("time", ""))[:19].replace("T", " "), "dim"),
            f"  {guard.line(str(record.get('session', '-') or '-'), 9):9}",
            f"  {guard.line(str(record.get('event', '')), 18):18}",
            (f"  {outcome:8}", _STYLES.get(outcome, "dim")),
            f"  {record.get('ms', 0):6} ms",
            size if record.get("chars") else "",
            f"  {guard.line(str(record.get('why', '')), 100)}",
        )
    )
    if verbose:
        for sign, rows in (("+", entries), ("-", record.get("cut"))):
            for row in rows if isinstance(rows, list) else ():
                console.print(Text(f"    {sign} {guard.location(str(row))}"))
        steps = record.get("steps_ms")
        if isinstance(steps, dict) and steps:
            console.print(Text("    " + ", ".join(f"{step} {value} ms" for step, value in steps.items())))
        if record.get("prompt"):
            console.print(Text(f"    “{guard.line(str(record['prompt']), 200)}”"))
