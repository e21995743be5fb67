"""Goose: its hooks only observe, so it gets the MCP server, as an extension in config.yaml."""

from __future__ import annotations

from pathlib import Path

from recall_git.agents.base import NO_EVENTS, Agent, config_home, server_command
from recall_git.agents.files import Target


class Goose(Agent):
    """No event takes context."""

    name, title = "goose", "Goose"
    events = NO_EVENTS
    scopes = ("user",)
    programs = ("goose",)

    def targets(self, scope: str, top: Path | None) -> tuple[Target, ...]:
        """One extension."""
        from recall_git.agents.yamlfile import YamlFile

        command = server_command(scope)
        value = {
            "name": "recall",
            "type": "stdio",
            "cmd": command[0],
            "args": command[1:],
            "enabled": True,
            "timeout": 60,
        }
        return (YamlFile(config_home() / "goose" / "config.yaml", ("extensions", "recall"), value, listed=False),)

    def present(self) -> bool:
        """Its settings, or its program."""
        return (config_home() / "goose").is_dir() or super().present()


AGENT = Goose()
