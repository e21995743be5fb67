"""VS Code's own agent: it runs Copilot's and Claude Code's hook files, and takes a session's start only."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from recall_git.agents.base import Agent, config_home, place, server_command
from recall_git.agents.event import Event, text_of
from recall_git.agents.files import Target


class VSCode(Agent):
    """Event names in ``hookEventName``; the answer to a start is Claude Code's."""

    name, title = "vscode", "VS Code"
    programs = ("code",)
    events: ClassVar[Mapping[str, str]] = {
        "SessionStart": "start",
        "PreCompact": "compact",
    }

    def read(self, raw: Mapping[str, Any], environ: Mapping[str, str]) -> Event | None:
        """A start's source is always ``new``."""
        name = text_of(raw, "hookEventName")
        if name not in self.events:
            return None
        event = self.event(raw, name, session=text_of(raw, "sessionId"))
        return replace(event, source="startup") if event.kind == "start" else event

    def targets(self, scope: str, top: Path | None) -> tuple[Target, ...]:
        """The MCP server and the skill; hooks come with 'git recall install copilot'."""
        from recall_git.agents import files
        from recall_git.agents.jsonfile import JsonFile, server

        path = place(scope, top, self.home() / "mcp.json", ".vscode/mcp.json")
        skills = place(scope, top, ".agents", ".agents") / "skills"
        server_item = server(server_command(scope), "servers", type="stdio")
        return JsonFile(path, (server_item,)), files.skill(skills, self.name)

    def home(self) -> Path:
        """Return the user's settings folder."""
        return code_home() / "User"

    def present(self) -> bool:
        """Its settings folder, or its program."""
        return self.home().is_dir() or super().present()

    def notes(self, scope: str) -> tuple[str, ...]:
        """Two things a person must know."""
        return ("VS Code asks before it starts the server. Its hooks at a session's start are those of Copilot.",)


def code_home() -> Path:
    """Return VS Code's folder."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "Code"
    if sys.platform == "win32" and os.environ.get("APPDATA"):
        return Path(os.environ["APPDATA"]) / "Code"
    return config_home() / "Code"


AGENT = VSCode()
