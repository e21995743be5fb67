"""Claude Code: hooks in settings.json, for the user or for one project.

The user's file names the launcher by its path. A project's file is committed and must work, or say
nothing, on every machine: its command looks for the launcher in the data folder of whoever runs it, then
for ``recall-git-hook`` on PATH, and ends with 0 whatever happens (status 2 would erase the prompt).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from recall_git import launcher
from recall_git.agents import hookfile
from recall_git.agents.hookfile import Change, Entry, Found

TITLE = "Claude Code"
SCOPES = ("user", "project")
PROJECT_COMMAND = (
    """sh -c 'h=${XDG_DATA_HOME:-$HOME/.local/share}/recall-git/recall-git-hook; [ -x "$h" ] || """
    """h=$(command -v recall-git-hook) || exit 0; "$h" 2>/dev/null || exit 0'"""
)
"""Through ``sh -c`` because the host may use the user's shell, and fish or PowerShell read another language."""


def settings_path(scope: str, top: Path | None = None, environ: Mapping[str, str] | None = None) -> Path:
    """Return the settings file of *scope*; *top* is the project's folder (needed for ``project``)."""
    if scope == "project":
        assert top is not None
        return top / ".claude" / "settings.json"
    environ = os.environ if environ is None else environ
    named = environ.get("CLAUDE_CONFIG_DIR")
    return (Path(named) if named else Path.home() / ".claude") / "settings.json"


def entries(command: str) -> tuple[Entry, ...]:
    """Return the hooks that we want: each prompt, and the starts at which nothing of ours is in the context."""
    return (
        Entry("UserPromptSubmit", command, timeout=5),
        Entry("SessionStart", command, timeout=10, matcher="startup|clear|compact"),
    )


def install(scope: str, top: Path | None = None, *, dry_run: bool = False) -> list[Change]:
    """Write our hooks into the settings of *scope*; return what changed. Idempotent; raises Refused."""
    command = PROJECT_COMMAND
    if scope == "user":
        command = launcher.quote(launcher.folder() / launcher.NAME)
    if not dry_run:
        launcher.ensure()
    return [hookfile.install(settings_path(scope, top), entries(command), dry_run=dry_run)]


def uninstall(scope: str, top: Path | None = None, *, dry_run: bool = False) -> list[Change]:
    """Take our hooks out of the settings of *scope*; return what changed. Raises Refused."""
    return [hookfile.uninstall(settings_path(scope, top), dry_run=dry_run)]


def inspect(scope: str, top: Path | None = None) -> list[Found]:
    """Return our hooks in the settings of *scope*; raises Refused when the file is not JSON."""
    return hookfile.inspect(settings_path(scope, top))


def notes() -> tuple[str, ...]:
    """Return what a person should know after installing."""
    return ("Claude Code runs hooks of settings files only in folders that you trust: it asks once per folder.",)
