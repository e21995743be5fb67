"""Zed: no hooks; it gets the MCP server, as a context server in settings.json."""

from __future__ import annotations

from pathlib import Path

from recall_git.agents.base import NO_EVENTS, Agent, config_home, place, server_command
from recall_git.agents.files import Target


class Zed(Agent):
    """No event takes context."""

    name, title = "zed", "Zed"
    events = NO_EVENTS
    programs = ("zed", "zeditor")

    def targets(self, scope: str, top: Path | None) -> tuple[Target, ...]:
        """The MCP server."""
        from recall_git.agents.jsonfile import JsonFile, server

        path = place(scope, top, config_home() / "zed" / "settings.json", ".zed/settings.json")
        item = server(server_command(scope), "context_servers", source="custom")
        return (JsonFile(path, (item,)),)

    def present(self) -> bool:
        """Its settings, or its program."""
        return (config_home() / "zed").is_dir() or super().present()


AGENT = Zed()
