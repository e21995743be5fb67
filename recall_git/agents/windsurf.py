"""Windsurf: its hooks can only block a prompt, so it gets the MCP server."""

from __future__ import annotations

from pathlib import Path

from recall_git.agents.base import NO_EVENTS, Agent, server_command
from recall_git.agents.files import Target


class Windsurf(Agent):
    """No event takes context."""

    name, title = "windsurf", "Windsurf"
    events = NO_EVENTS
    scopes = ("user",)
    folders, programs = (".codeium/windsurf",), ("windsurf",)

    def targets(self, scope: str, top: Path | None) -> tuple[Target, ...]:
        """The MCP server."""
        from recall_git.agents.jsonfile import JsonFile, server

        path = Path.home() / ".codeium" / "windsurf" / "mcp_config.json"
        return (JsonFile(path, (server(server_command(scope), "mcpServers"),)),)


AGENT = Windsurf()
