"""Agents without command hooks: a small extension of ours runs in their process and asks the launcher.

It sends ``{"agent", "event", "session", "cwd", "prompt", "first"}`` and gets ``{"text": …}`` or nothing. It remembers
which sessions have had their start, because most of these agents have no event at which a start could be given.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from recall_git.agents.base import Agent
from recall_git.agents.event import Event, text_of
from recall_git.agents.files import Whole, own_text


class Extension(Agent):
    """The dialect of all our extensions."""

    events: ClassVar[Mapping[str, str]] = {"prompt": "prompt", "compact": "compact", "end": "end"}

    def read(self, raw: Mapping[str, Any], environ: Mapping[str, str]) -> Event | None:
        """The extension skips what is no person's prompt."""
        name = text_of(raw, "event")
        if name not in self.events:
            return None
        event = self.event(raw, name, prompt=text_of(raw, "prompt"), session=text_of(raw, "session"))
        return replace(event, opens=raw.get("first") is True)

    def write(self, event: Event, text: str) -> str:
        """``{"text": …}``."""
        return json.dumps({"text": text})

    def sample(self, session: str, cwd: str, prompt: str) -> tuple[dict[str, Any], dict[str, str]]:
        """What the extension sends."""
        raw = {"agent": self.name, "event": "prompt", "session": session, "cwd": cwd, "prompt": prompt}
        return {**raw, "first": False}, {}

    def argv(self, command: str) -> list[str]:
        """No shell."""
        return [command]

    def code(self, path: Path) -> Whole:
        """Return the extension, to be written to *path*."""
        return Whole(path, source(self.name), self.name)


def source(name: str) -> str:
    """Return the text of an agent's extension: how to ask, then where the agent wants it."""
    return own_text("extensions/ask.js") + "\n" + own_text(f"extensions/{name}.js")
