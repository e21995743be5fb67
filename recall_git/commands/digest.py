"""``git recall digest``: print exactly what would be injected now."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser
from pathlib import Path

from recall_git.errors import EXIT_NOTHING, EXIT_OK


def run(argv: list[str]) -> int:
    """Print the session-start digest, or with --prompt the one for a prompt; nothing to say is exit 1."""
    parser = ArgumentParser("git recall digest", description="Print exactly what would be injected now.")
    parser.add_argument("--prompt", help="the digest for this prompt instead of the one at session start")
    parser.add_argument("--session", default="", metavar="ID", help="leave out what this session has been given")
    parser.add_argument("--at", default="", metavar="REV", help="as of this commit, tag or branch")
    parser.add_argument("--json", action="store_true", help="print JSON with the entries and the reason")
    args = parser.parse_args(argv)

    from recall_git import beside, recall
    from recall_git.engine import Engine
    from recall_git.session import Session

    engine = Engine()
    opened = engine.open(engine.repository(Path.cwd(), os.environ), revision=args.at, environ=os.environ)
    memory = opened.memory
    around = beside.beside(engine, opened, environ=os.environ, revision=args.at)
    if args.prompt is None:
        made = recall.start_digest(memory, beside=around)
    else:
        given = Session.load(opened.repo.state_dir / "sessions", args.session).given if args.session else frozenset()
        every_turn = memory.settings.static == "turn"
        made = recall.prompt_digest(memory, args.prompt, given=given, with_static=every_turn, beside=around)
    if args.json:
        row = {
            "text": made.text,
            "outcome": made.outcome,
            "why": made.why,
            "commit": made.commit,
            "entries": [
                {"slot": item.slot, "path": item.document.path, "line": item.document.line} for item in made.placed
            ],
            "cut": list(made.cut),
            "chars": len(made.text),
        }
        print(json.dumps(row, ensure_ascii=False))
    elif made.text:
        print(made.text, end="" if made.text.endswith("\n") else "\n")
    else:
        print(f"nothing to inject: {made.why}", file=sys.stderr)
    return EXIT_OK if made.text else EXIT_NOTHING
