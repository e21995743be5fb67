"""Claude Code: hooks in settings.json, for the user or for one project."""

from __future__ import annotations

import os
from pathlib import Path

from recall_git.agents.base import Agent, Gate, hook_command, place
from recall_git.agents.files import Target


class ClaudeCode(Agent):
    """Its answer lands beside the prompt and is stored with it."""

    name, title = "claude-code", "Claude Code"
    folders, programs = (".claude",), ("claude",)
    cap_chars = 10_000

    def targets(self, scope: str, top: Path | None) -> tuple[Target, ...]:
        """Settings and skill; a start is asked for only where nothing of ours is in the context."""
        from recall_git.agents import files
        from recall_git.agents.jsonfile import JsonFile, hook

        home, command = self.home(scope, top), hook_command(scope)
        items = (
            hook("UserPromptSubmit", command, 5),
            hook("SessionStart", command, 10, "startup|clear|compact"),
            hook("PreCompact", command, 5),
            hook("SessionEnd", command, 5),
        )
        return JsonFile(home / "settings.json", items), files.skill(home / "skills", self.name)

    def home(self, scope: str, top: Path | None) -> Path:
        """Return the folder of its settings."""
        return place(scope, top, os.environ.get("CLAUDE_CONFIG_DIR") or ".claude", ".claude")

    def present(self) -> bool:
        """Its folder may lie elsewhere."""
        return super().present() or bool(os.environ.get("CLAUDE_CONFIG_DIR"))

    def plugin(self) -> str:
        """``enabledPlugins`` of the user's settings."""
        from recall_git.agents import jsontext

        try:
            found = jsontext.parse((self.home("user", None) / "settings.json").read_text("utf-8-sig")).plain()
        except (OSError, ValueError):
            return ""
        plugins = found.get("enabledPlugins") if isinstance(found, dict) else None
        enabled = plugins.items() if isinstance(plugins, dict) else ()
        return next((name for name, on in enabled if on is True and name.startswith("git-recall@")), "")

    def notes(self, scope: str) -> tuple[str, ...]:
        """Trust."""
        return ("Claude Code runs hooks of settings files only in folders that you trust: it asks once per folder.",)

    def gate(self, scope: str, top: Path | None) -> Gate | None:
        """Workspace trust: asked once per folder, kept in .claude.json."""
        import json

        base = os.environ.get("CLAUDE_CONFIG_DIR")
        path = (Path(base) if base else Path.home()) / ".claude.json"
        try:
            projects = json.loads(path.read_text("utf-8-sig")).get("projects", {})
        except (OSError, ValueError, AttributeError):
            projects = {}
        known = (
            [projects.get(str(folder)) for folder in (top, *top.parents)] if top and isinstance(projects, dict) else []
        )
        if any(isinstance(entry, dict) and entry.get("hasTrustDialogAccepted") for entry in known):
            return Gate(True, "this folder is trusted")
        do = "start 'claude' here once and accept its question"
        return Gate(
            False if path.exists() and top else None, "Claude Code runs hooks only in folders that you trust", do
        )


AGENT = ClaudeCode()
