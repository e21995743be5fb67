"""``git recall install [AGENT…|--all]``: connect agents, by a hook where they have one that takes notes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from recall_git import agents
from recall_git.errors import EXIT_OK, NoRepository, UsageError

if TYPE_CHECKING:
    from recall_git.agents.base import Agent
    from recall_git.agents.files import Change

_DESCRIPTION = """Connect agents: their hooks call recall at each prompt. Nothing else in their files changes, and
'git recall uninstall' takes out exactly what was put in. Agents: """


def run(argv: list[str]) -> int:
    """Write the agents' settings and say what changed; harmless to repeat. Raises UsageError, Refused."""
    args = parse(argv, "install", _DESCRIPTION)
    names = args.agents or (here() if args.all else [])
    if not names:
        found = ", ".join(here()) or "none"
        raise UsageError(f"name the agents, or --all for those on this machine (found: {found})")
    top = project(args.scope)
    status = EXIT_OK
    for name in names:
        agent = agents.load(name)
        scope = scope_for(agent, args.scope, strict=not args.all)
        if scope:
            status = max(status, attempt(agent, partial(_install, agent, scope, top, args.dry_run)))
    return status


def _install(agent: Agent, scope: str, top: Path | None, dry_run: bool) -> None:
    report(agent, agent.install(scope, top, dry_run=dry_run), dry_run, "connected")
    if dry_run:
        return
    for other in agent.scopes:
        if other != scope and (other == "user" or _top()):
            for path in dict.fromkeys(path for path, _ in agent.inspect(other, _top())):
                print(f"  also connected by {path}; one is enough: 'git recall uninstall {agent.name} --{other}'")
    for line in agent.notes(scope):
        print(f"  {line}")


def parse(argv: list[str], verb: str, description: str) -> argparse.Namespace:
    """Return the arguments that ``install`` and ``uninstall`` share."""
    known = ", ".join(agents.AGENTS)
    parser = argparse.ArgumentParser(prog=f"git recall {verb}", description=description + known)
    parser.add_argument("agents", nargs="*", metavar="AGENT", help="one or more names")
    parser.add_argument("--all", action="store_true", help="every agent that is on this machine")
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
    args = parser.parse_args(argv)
    for name in args.agents:
        agents.load(name)
    if args.agents and args.all:
        raise UsageError("name agents, or --all, not both")
    return args


def here() -> list[str]:
    """Return the names of the agents that are on this machine."""
    return [name for name in agents.AGENTS if agents.load(name).present()]


def scope_for(agent: Agent, scope: str, *, strict: bool) -> str:
    """Return *scope* if the agent has it, '' if not and that is no mistake (not *strict*)."""
    if scope in agent.scopes:
        return scope
    if strict:
        raise UsageError(f"{agent.title} has no settings in a project; leave out --{scope}")
    return ""


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


def attempt(agent: Agent, work: Callable[[], None]) -> int:
    """Do *work* for one agent; a refusal is said and does not keep the others from their turn. Returns the status."""
    from recall_git.receipt import Refused

    try:
        work()
    except Refused as error:
        print(f"git-recall: {agent.name}: {error}", file=sys.stderr)
        return error.exit_code
    return EXIT_OK


def report(agent: Agent, changes: Sequence[Change], dry_run: bool, done: str) -> None:
    """Say what was done to each file; with *dry_run* show the difference."""
    for change in changes:
        if not change.changed:
            print(f"{agent.name}: {change.path}: nothing to change")
        elif dry_run:
            print(change.diff())
        else:
            print(f"{agent.name}: {change.path}: {done}")
