"""Factory droid: Claude Code's protocol, in hooks.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recall_git.agents.base import Agent, hook_command, place
from recall_git.agents.files import Target


class Factory(Agent):
    """Nothing of its own."""

    name, title = "factory", "Factory droid"
    folders, programs = (".factory",), ("droid",)

    def targets(self, scope: str, top: Path | None) -> tuple[Target, ...]:
        """Hooks and skill."""
        from recall_git.agents import files
        from recall_git.agents.jsonfile import JsonFile, hook

        home, command = place(scope, top, ".factory", ".factory"), hook_command(scope)
        seconds = {"UserPromptSubmit": 5, "SessionStart": 10, "PreCompact": 5, "SessionEnd": 5}
        items = tuple(hook(event, command, timeout) for event, timeout in seconds.items())
        return JsonFile(_settings(home), items), files.skill(home / "skills", self.name)

    def sample(self, session: str, cwd: str, prompt: str) -> tuple[dict[str, Any], dict[str, str]]:
        """As Claude Code's, with its own variable."""
        raw, _ = super().sample(session, cwd, prompt)
        return raw, {"FACTORY_PROJECT_DIR": cwd}


def _settings(home: Path) -> Path:
    """Return hooks.json, unless making one would hide hooks in settings.json: those count only while it is absent."""
    hooks, settings = home / "hooks.json", home / "settings.json"
    if hooks.exists():
        return hooks
    try:
        return settings if '"hooks"' in settings.read_text("utf-8", "replace") else hooks
    except OSError:
        return hooks


AGENT = Factory()
