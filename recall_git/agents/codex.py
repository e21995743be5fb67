"""Codex: hooks.json beside its config.toml, a closed answer, and a person's approval of each hook.

hooks.json and not config.toml: Codex reads both, one is JSON that can be edited without touching another byte.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from recall_git.agents.base import Agent, Gate, hook_command, place
from recall_git.agents.files import Target


class Codex(Agent):
    """Claude Code's events; any key it does not know makes it drop the whole answer."""

    name, title = "codex", "Codex"
    folders, programs = (".codex",), ("codex",)
    cap_bytes = 8_000
    """It spills an answer of more than 2,500 tokens, counted as bytes / 4, to a file."""

    def targets(self, scope: str, top: Path | None) -> tuple[Target, ...]:
        """Hooks and skill. A status message or another timeout would ask for a new approval: none, and never again."""
        from recall_git.agents import files
        from recall_git.agents.jsonfile import JsonFile, hook

        command = hook_command(scope)
        items = (
            hook("UserPromptSubmit", command, 5),
            hook("SessionStart", command, 10, "startup|clear|compact"),
            hook("PreCompact", command, 5),
            hook("SessionEnd", command, 3),
        )
        skills = place(scope, top, ".agents", ".agents") / "skills"
        return JsonFile(self.home(scope, top) / "hooks.json", items), files.skill(skills, self.name)

    def home(self, scope: str, top: Path | None) -> Path:
        """Return the folder of its settings."""
        return place(scope, top, os.environ.get("CODEX_HOME") or ".codex", ".codex")

    def argv(self, command: str) -> list[str]:
        """A login shell: what the profile costs, a prompt costs."""
        return [os.environ.get("SHELL") or "sh", "-lc", command]

    def sample(self, session: str, cwd: str, prompt: str) -> tuple[dict[str, Any], dict[str, str]]:
        """As its schema for UserPromptSubmit."""
        raw, environ = super().sample(session, cwd, prompt)
        return {**raw, "turn_id": "1", "model": "gpt", "permission_mode": "default", "transcript_path": None}, environ

    def notes(self, scope: str) -> tuple[str, ...]:
        """Approval."""
        more = " A project's hooks also need the project to be trusted." if scope == "project" else ""
        return (f"Codex runs a hook only after you approve it: open /hooks in Codex once.{more}",)

    def gate(self, scope: str, top: Path | None) -> Gate | None:
        """``hooks.state."<file>:<event>:<group>:<number>".trusted_hash`` in the user's config.toml."""
        hooks = self.home(scope, top) / "hooks.json"
        try:
            text = (self.home("user", None) / "config.toml").read_text("utf-8", "replace")
        except OSError:
            text = ""
        names = "|".join(re.escape(str(path)) for path in dict.fromkeys((hooks, hooks.resolve())))
        entries = re.findall(rf"""(?m)^\[hooks\.state\.["'](?:{names}):[^\n]*\]\s*\n(?:(?!\[)[^\n]*\n?)*""", text)
        if any("trusted_hash" in entry for entry in entries):
            return Gate(True, "approved (when a hook has changed since, /hooks shows it)")
        return Gate(False, "Codex has not approved its hooks yet", "open /hooks in Codex and approve them")


AGENT = Codex()
