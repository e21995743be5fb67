"""GitHub Copilot CLI: the start of a session only; what a hook says to a prompt is dropped by most versions."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from recall_git.agents.base import Agent, Gate, hook_command, place, trusts
from recall_git.agents.event import Event, text_of
from recall_git.agents.files import Target


class Copilot(Agent):
    """Two shapes: its own without the event's name, and Claude Code's when the name was registered in PascalCase.

    Prompts are no event here: a note that is given and dropped would never be given again.
    """

    name, title = "copilot", "GitHub Copilot CLI"
    folders, programs = (".copilot",), ("copilot",)
    events: ClassVar[Mapping[str, str]] = {
        "SessionStart": "start",
        "PreCompact": "compact",
        "SessionEnd": "end",
    }

    def read(self, raw: Mapping[str, Any], environ: Mapping[str, str]) -> Event | None:
        """A start without a name is known by its source."""
        name = text_of(raw, "hook_event_name")
        if not name and text_of(raw, "source") in ("startup", "resume", "new") and "prompt" not in raw:
            name = "SessionStart"
        return self.event(raw, name, session=text_of(raw, "sessionId")) if name in self.events else None

    def write(self, event: Event, text: str) -> str:
        """The text at the top."""
        return json.dumps({"additionalContext": text})

    def targets(self, scope: str, top: Path | None) -> tuple[Target, ...]:
        """A hook file of our own, and the skill, which serves the prompts."""
        from recall_git.agents import files
        from recall_git.agents.jsonfile import Item, JsonFile

        handler = {"type": "command", "command": hook_command(scope), "timeoutSec": 10}
        user = Path(os.environ.get("COPILOT_HOME") or ".copilot") / "hooks"
        path = place(scope, top, user, ".github/hooks") / "recall-git.json"
        skills = place(scope, top, ".agents", ".agents") / "skills"
        return JsonFile(path, (Item(("hooks", "sessionStart"), handler),), {"version": 1}), files.skill(
            skills, self.name
        )

    def sample(self, session: str, cwd: str, prompt: str) -> tuple[dict[str, Any], dict[str, str]]:
        """A start: the one event that it takes an answer to."""
        return {"sessionId": session, "timestamp": 1767225600000, "cwd": cwd, "source": "startup"}, {}

    def notes(self, scope: str) -> tuple[str, ...]:
        """What is missing, and trust."""
        start = "Copilot takes notes at a session's start only; for prompts it has the skill."
        return (start, "It runs a project's hooks only in trusted folders.") if scope == "project" else (start,)

    def gate(self, scope: str, top: Path | None) -> Gate | None:
        """Folder trust, for a project's hooks."""
        if scope == "user":
            return None
        path = Path.home() / (os.environ.get("COPILOT_HOME") or ".copilot") / "config.json"
        if any(trusts(path, top, key) for key in ("trusted_folders", "trustedFolders")):
            return Gate(True, "this folder is trusted")
        do = "start 'copilot' here once and trust the folder"
        return Gate(False if path.exists() else None, "Copilot runs a project's hooks only in trusted folders", do)


AGENT = Copilot()
