"""The agents that recall can be connected to, by the name that ``git recall install`` takes."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from recall_git.agents.hookfile import Change, Found

AGENTS = {"claude-code": "claude_code"}
"""Name → module of this package."""


class Agent(Protocol):
    """What the module of an agent offers."""

    TITLE: str
    SCOPES: tuple[str, ...]

    def settings_path(self, scope: str, top: Path | None = None) -> Path:
        """Return the settings file of *scope*."""

    def install(self, scope: str, top: Path | None = None, *, dry_run: bool = False) -> list[Change]:
        """Connect; return what changed."""

    def uninstall(self, scope: str, top: Path | None = None, *, dry_run: bool = False) -> list[Change]:
        """Disconnect; return what changed."""

    def inspect(self, scope: str, top: Path | None = None) -> list[Found]:
        """Return our hooks that are there."""

    def notes(self) -> tuple[str, ...]:
        """Return what a person should know after installing."""


def load(name: str) -> Agent:
    """Return the agent called *name*; raises UsageError naming those that there are."""
    from recall_git.errors import UsageError

    if name not in AGENTS:
        raise UsageError(f"unknown agent '{name}'; known: {', '.join(AGENTS)}")
    return cast(Agent, import_module(f"recall_git.agents.{AGENTS[name]}"))
