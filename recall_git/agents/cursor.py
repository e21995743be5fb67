"""Cursor, editor and command line: hooks.json, answers with the text at the top."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from recall_git.agents.base import Agent, hook_command, place
from recall_git.agents.event import Event, text_of
from recall_git.agents.files import Target


class Cursor(Agent):
    """Its own names, and Claude Code's when it runs that one's settings file.

    A prompt's context is not in its documentation; clients of 2026-07 to 3.20 take it. The start's is.
    """

    name, title = "cursor", "Cursor"
    folders, programs = (".cursor",), ("cursor-agent", "cursor")
    events: ClassVar[Mapping[str, str]] = {
        "beforeSubmitPrompt": "prompt",
        "sessionStart": "start",
        "preCompact": "compact",
        "sessionEnd": "end",
        "stop": "end",
        "UserPromptSubmit": "prompt",
        "SessionStart": "start",
        "PreCompact": "compact",
        "SessionEnd": "end",
        "Stop": "end",
    }
    cap_chars = 10_000

    def read(self, raw: Mapping[str, Any], environ: Mapping[str, str]) -> Event | None:
        """A conversation is its session, its first workspace folder the project."""
        name = text_of(raw, "hook_event_name")
        if name not in self.events:
            return None
        roots = raw.get("workspace_roots")
        root = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
        root = re.sub(r"^/(?=[A-Za-z]:)", "", root)  # /c:/Users/… on Windows
        session = text_of(raw, "conversation_id")
        return self.event(raw, name, prompt=text_of(raw, "prompt"), session=session, cwd=root)

    def write(self, event: Event, text: str) -> str:
        """The text at the top, and for a prompt the word that it may go on."""
        go_on = {"continue": True} if event.kind == "prompt" else {}
        return json.dumps({**go_on, "additional_context": text})

    def targets(self, scope: str, top: Path | None) -> tuple[Target, ...]:
        """Hooks and skill. No timeout: versions differ in its unit, and our own deadline is shorter."""
        from recall_git.agents import files
        from recall_git.agents.jsonfile import Item, JsonFile

        command = hook_command(scope)
        events = ("beforeSubmitPrompt", "sessionStart", "preCompact", "sessionEnd")
        items = tuple(Item(("hooks", event), {"command": command}) for event in events)
        path = place(scope, top, ".cursor", ".cursor") / "hooks.json"
        skills = place(scope, top, ".agents", ".agents") / "skills"
        return JsonFile(path, items, {"version": 1}), files.skill(skills, self.name)

    def sample(self, session: str, cwd: str, prompt: str) -> tuple[dict[str, Any], dict[str, str]]:
        """As its client sends it."""
        raw = {"conversation_id": session, "generation_id": "1", "model": "auto", "cursor_version": "3.20.17"}
        more = {"hook_event_name": "beforeSubmitPrompt", "workspace_roots": [cwd], "prompt": prompt, "attachments": []}
        return {**raw, **more}, {"CURSOR_VERSION": "3.20.17"}


AGENT = Cursor()
