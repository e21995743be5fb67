"""Kiro: a hook file of our own (v1 files of CLI 3 and IDE 1.x; the agent files of CLI 2 speak the same dialect)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from recall_git.agents.base import Agent, hook_command, place
from recall_git.agents.event import Event, text_of
from recall_git.agents.files import Target


class Kiro(Agent):
    """Plain text on stdout goes to the model as it is."""

    name, title = "kiro", "Kiro"
    folders, programs = (".kiro",), ("kiro-cli", "kiro")
    events: ClassVar[Mapping[str, str]] = {
        "userPromptSubmit": "prompt",
        "agentSpawn": "start",
        "sessionStart": "start",
        "sessionEnd": "end",
    }

    def read(self, raw: Mapping[str, Any], environ: Mapping[str, str]) -> Event | None:
        """IDE 0.x puts the prompt into the environment."""
        if not text_of(raw, "prompt") and environ.get("USER_PROMPT"):
            raw = {**raw, "prompt": environ["USER_PROMPT"]}
        return super().read(raw, environ)

    def write(self, event: Event, text: str) -> str:
        """The text itself."""
        return text.encode("utf-8", "replace").decode("utf-8") + "\n"

    def understands(self, stdout: str) -> bool:
        """Any text."""
        return True

    def targets(self, scope: str, top: Path | None) -> tuple[Target, ...]:
        """One hook file; it is read at the next session's start."""
        from recall_git.agents.jsonfile import Item, JsonFile

        action = {"type": "command", "command": hook_command(scope)}
        items = tuple(
            Item(("hooks",), {"name": name, "trigger": trigger, "action": action, "timeout": seconds, "enabled": True})
            for name, trigger, seconds in (
                ("git-recall", "UserPromptSubmit", 5),
                ("git-recall-start", "SessionStart", 10),
            )
        )
        path = place(scope, top, ".kiro", ".kiro") / "hooks" / "recall-git.json"
        return (JsonFile(path, items, {"version": "v1"}),)

    def sample(self, session: str, cwd: str, prompt: str) -> tuple[dict[str, Any], dict[str, str]]:
        """Names in camelCase."""
        return {"hook_event_name": "userPromptSubmit", "cwd": cwd, "session_id": session, "prompt": prompt}, {}

    def notes(self, scope: str) -> tuple[str, ...]:
        """When, and what else."""
        return ("Kiro reads hook files at a session's start. Kiro CLI 2 keeps hooks in its agent files instead.",)


AGENT = Kiro()
