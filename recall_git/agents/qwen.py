"""Qwen Code: Claude Code's hooks, fired for more than prompts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recall_git.agents.base import Agent, Gate, hook_command, place
from recall_git.agents.event import Event, text_of
from recall_git.agents.files import Target
from recall_git.agents.gemini import BRACKETS, folder_trust


class Qwen(Agent):
    """Angle brackets arrive escaped, as with Gemini CLI."""

    name, title = "qwen", "Qwen Code"
    folders, programs = (".qwen",), ("qwen",)

    def read(self, raw: Any, environ: Any) -> Event | None:
        """UserPromptSubmit also fires when tool results go back; only ``submitted_prompt`` is a person's."""
        submitted = text_of(raw, "submitted_prompt")
        if text_of(raw, "hook_event_name") == "UserPromptSubmit":
            return super().read({**raw, "prompt": submitted}, environ) if submitted else None
        return super().read(raw, environ)

    def write(self, event: Event, text: str) -> str:
        """As Claude Code's, in brackets that are not escaped."""
        return super().write(event, text.translate(BRACKETS))

    def targets(self, scope: str, top: Path | None) -> tuple[Target, ...]:
        """Hooks and skill."""
        from recall_git.agents import files
        from recall_git.agents.jsonfile import JsonFile, hook

        home, command = place(scope, top, ".qwen", ".qwen"), hook_command(scope)
        seconds = {"UserPromptSubmit": 5, "SessionStart": 10, "PreCompact": 5, "SessionEnd": 5}
        items = tuple(hook(event, command, timeout) for event, timeout in seconds.items())
        return JsonFile(home / "settings.json", items), files.skill(home / "skills", self.name)

    def sample(self, session: str, cwd: str, prompt: str) -> tuple[dict[str, Any], dict[str, str]]:
        """With what a person submitted."""
        raw, _ = super().sample(session, cwd, prompt)
        more = {"submitted_prompt": prompt, "timestamp": "2026-01-01T00:00:00.000Z", "permission_mode": "default"}
        return {**raw, **more}, {"QWEN_PROJECT_DIR": cwd}

    def notes(self, scope: str) -> tuple[str, ...]:
        """Reload, and trust."""
        reload = "Qwen Code reads hooks at a session's start; '/hooks' reloads them."
        trust = "It runs a project's hooks only in folders that you trust."
        return (reload, trust) if scope == "project" else (reload,)

    def gate(self, scope: str, top: Path | None) -> Gate | None:
        """Folder trust, for a project's hooks."""
        return folder_trust(self, Path.home() / ".qwen" / "trustedFolders.json", scope, top)


AGENT = Qwen()
