"""The agents that recall can be connected to, by the name that ``git recall install`` takes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recall_git.agents.base import Agent

AGENTS = (
    "claude-code", "codex", "gemini", "qwen", "factory", "kiro", "hermes", "cursor", "copilot", "vscode",
    "pi", "openclaw", "opencode", "amp", "cline", "goose", "windsurf", "zed",
)  # fmt: skip
"""Each has a module of this package, with ``_`` for ``-``, that holds one ``AGENT``."""


def load(name: str) -> Agent:
    """Return the agent called *name*; raises UsageError naming those that there are."""
    from recall_git.errors import UsageError

    if name not in AGENTS:
        raise UsageError(f"unknown agent '{name}'; known: {', '.join(AGENTS)}")
    agent: Agent = import_module(f"recall_git.agents.{name.replace('-', '_')}").AGENT
    return agent
