"""``git recall test``: do the notes still recall what they must? By hand, in CI, under ``git bisect run``."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser
from pathlib import Path

from recall_git.errors import EXIT_NOTHING, EXIT_OK, UsageError


def run(argv: list[str]) -> int:
    """Check the assertions beside the notes; 0 when all hold, 1 when one does not, 3 when there are none."""
    parser = ArgumentParser(
        "git recall test",
        description="Check what prompts must recall, must not recall, or must leave silent (.recall/tests/*.yml).",
    )
    parser.add_argument(
        "--add", nargs="+", metavar=("PROMPT", "PATH"), help="record that PROMPT recalls PATH… (none: is silent)"
    )
    parser.add_argument("--at", default="", metavar="REV", help="as of this commit, tag or branch")
    parser.add_argument("--json", action="store_true", help="print JSON, a line each")
    parser.add_argument("files", nargs="*", type=Path, help="assertion files (default: .recall/tests/*.yml)")
    args = parser.parse_args(argv)

    from recall_git import assertions, recall
    from recall_git.engine import Engine

    engine = Engine()
    repo = engine.repository(Path.cwd(), os.environ)
    top = repo.top or repo.git_dir
    if args.add:
        file = assertions.add(top, args.add[0], args.add[1:])
        print(f"added to {file.relative_to(top)}")
        return EXIT_OK
    files = args.files or sorted((top / assertions.FOLDER).glob("*.yml"))
    claims = assertions.load(files)
    if not claims:
        raise UsageError("there are no assertions; record one with: git recall test --add 'PROMPT' PATH")
    memory = engine.open(repo, revision=args.at, environ=os.environ).memory
    failed = 0
    for claim in claims:
        made = recall.prompt_digest(memory, claim.prompt)
        injected = list(dict.fromkeys(placed.document.path for placed in made.placed))
        broken = assertions.failures(claim, injected)
        failed += bool(broken)
        if args.json:
            print(
                json.dumps(
                    {
                        "origin": claim.origin,
                        "prompt": claim.prompt,
                        "ok": not broken,
                        "broken": broken,
                        "injected": injected,
                    },
                    ensure_ascii=False,
                )
            )
        elif broken:
            print(f"FAILED {claim.origin}: {claim.prompt}")
            print("".join(f"    {line}\n" for line in broken), end="")
            print(f"    ({made.why})")
    print(f"{len(claims) - failed} of {len(claims)} hold at {memory.commit[:10]}", file=sys.stderr)
    return EXIT_NOTHING if failed else EXIT_OK
