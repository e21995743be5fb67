"""Cline: its hooks can only stop a prompt, so it gets the MCP server and the skill."""

from __future__ import annotations

from pathlib import Path

from recall_git.agents.base import NO_EVENTS, Agent, server_command
from recall_git.agents.files import Target
from recall_git.agents.vscode import code_home


class Cline(Agent):
    """No event of its hooks takes context for a prompt since mid-2026."""

    name, title = "cline", "Cline"
    events = NO_EVENTS
    scopes = ("user",)
    folders, programs = (".cline",), ("cline",)

    def targets(self, scope: str, top: Path | None) -> tuple[Target, ...]:
        """The extension's settings where VS Code has it, and those of the command line."""
        from recall_git.agents import files
        from recall_git.agents.jsonfile import JsonFile, server

        item = server(server_command(scope), "mcpServers")
        extension, command_line = self.extension(), Path.home() / ".cline" / "data"
        homes = [home for home in (extension, command_line) if home.is_dir()] or [command_line]
        found = tuple(JsonFile(home / "settings" / "cline_mcp_settings.json", (item,)) for home in homes)
        return *found, files.skill(Path.home() / ".agents" / "skills", self.name)

    def extension(self) -> Path:
        """Return the folder of the VS Code extension."""
        return code_home() / "User" / "globalStorage" / "saoudrizwan.claude-dev"

    def present(self) -> bool:
        """As a VS Code extension, or on the command line."""
        return self.extension().is_dir() or super().present()


AGENT = Cline()
