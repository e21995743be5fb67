"""``git recall install AGENT``: connect an agent by a hook in its settings."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from recall_git import agents
from recall_git.agents.hookfile import Change
from recall_git.errors import EXIT_OK, NoRepository


def run(argv: list[str]) -> int:
    """Write the agent's settings and say what changed; harmless to repeat. Raises UsageError, Refused."""
    args = parse(argv, "install", "Connect an agent: its hooks call recall at each prompt. Nothing else changes.")
    agent, top = agents.load(args.agent), project(args.scope)
    changes = agent.install(args.scope, top, dry_run=args.dry_run)
    report(changes, args.dry_run, "connected")
    other = next(scope for scope in agent.SCOPES if scope != args.scope)
    if not args.dry_run and _has(agent, other):
        print(f"also connected by {agent.settings_path(other, _top())}; one is enough: 'git recall uninstall'")
    for line in () if args.dry_run else agent.notes():
        print(line)
    return EXIT_OK


def parse(argv: list[str], verb: str, description: str) -> argparse.Namespace:
    """Return the arguments that ``install`` and ``uninstall`` share."""
    parser = argparse.ArgumentParser(prog=f"git recall {verb}", description=description)
    parser.add_argument("agent", help=", ".join(agents.AGENTS))
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument(
        "--user", dest="scope", action="store_const", const="user", default="user", help="for you, everywhere (default)"
    )
    scope.add_argument(
        "--project",
        dest="scope",
        action="store_const",
        const="project",
        help="in this repository, for all who clone it",
    )
    parser.add_argument("--dry-run", action="store_true", help="show the change and write nothing")
    return parser.parse_args(argv)


def project(scope: str) -> Path | None:
    """Return the folder of the project that *scope* needs; raises NoRepository."""
    top = _top()
    if scope == "project" and top is None:
        raise NoRepository(str(Path.cwd()))
    return top


def _top() -> Path | None:
    from recall_git.repo import Repo

    try:
        return Repo.discover(Path.cwd(), os.environ).top
    except NoRepository:
        return None


def _has(agent: agents.Agent, scope: str) -> bool:
    from recall_git.receipt import Refused

    top = _top()
    if scope == "project" and top is None:
        return False
    try:
        return bool(agent.inspect(scope, top))
    except Refused:
        return False


def report(changes: Sequence[Change], dry_run: bool, done: str) -> None:
    """Say what was done to each file; with *dry_run* show the difference."""
    for change in changes:
        if not change.changed:
            print(f"{change.path}: nothing to change")
        elif dry_run:
            print(change.diff())
        else:
            print(f"{change.path}: {done}")
