"""Asking the hook without a client: every answer is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recall_git import hook

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from recall_git.engine import Engine


def answered(
    data: bytes, cwd: Path, environ: Mapping[str, str], engine: Engine, *, deadline: float = 0.0
) -> hook.Answer:
    """Return the answer to one event, settled as when the agent has it."""
    found = hook.prepare(data, cwd, environ, engine, deadline=deadline)
    found.settle(True)
    return found
