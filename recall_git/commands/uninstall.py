"""``git recall uninstall [AGENT…|--all]``: take what is ours out of agents' settings."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from recall_git import agents
from recall_git.commands.install import attempt, parse, project, report, scope_for
from recall_git.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from recall_git.agents.base import Agent

_DESCRIPTION = "Disconnect agents: what is ours leaves their files, everything else stays. Agents: "


def run(argv: list[str]) -> int:
    """Take out exactly what ``install`` put in; every other byte stays. Raises UsageError, Refused."""
    args = parse(argv, "uninstall", _DESCRIPTION)
    if not args.agents and not args.all:
        raise UsageError("name the agents, or --all for every one that is connected")
    top = project(args.scope)
    status = EXIT_OK
    for name in args.agents or agents.AGENTS:
        agent = agents.load(name)
        scope = scope_for(agent, args.scope, strict=not args.all)
        if scope:
            work = partial(_uninstall, agent, scope, top, dry_run=args.dry_run, quiet=args.all)
            status = max(status, attempt(agent, work))
    return status


def _uninstall(agent: Agent, scope: str, top: Path | None, *, dry_run: bool, quiet: bool) -> None:
    changes = agent.uninstall(scope, top, dry_run=dry_run)
    report(agent, [change for change in changes if change.changed or not quiet], dry_run, "disconnected")
