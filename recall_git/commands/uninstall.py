"""``git recall uninstall AGENT``: take our hooks out of an agent's settings."""

from __future__ import annotations

from recall_git import agents
from recall_git.commands.install import parse, project, report
from recall_git.errors import EXIT_OK


def run(argv: list[str]) -> int:
    """Take out exactly what ``install`` put in; every other byte stays. Raises UsageError, Refused."""
    args = parse(argv, "uninstall", "Disconnect an agent: our hooks leave its settings, everything else stays.")
    agent, top = agents.load(args.agent), project(args.scope)
    report(agent.uninstall(args.scope, top, dry_run=args.dry_run), args.dry_run, "disconnected")
    return EXIT_OK
