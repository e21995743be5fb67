"""Hermes: a shell hook in config.yaml, and a person's consent to it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from recall_git.agents.base import Agent, Gate, hook_command
from recall_git.agents.event import Event, text_of
from recall_git.agents.files import Target


class Hermes(Agent):
    """One event a turn; the first of a session brings the start along. It says nothing of a compaction."""

    name, title = "hermes", "Hermes"
    scopes = ("user",)
    folders, programs = (".hermes",), ("hermes",)
    events: ClassVar[Mapping[str, str]] = {
        "pre_llm_call": "prompt",
        "on_session_reset": "compact",
        "on_session_end": "end",
    }
    cap_chars = 10_000

    def read(self, raw: Mapping[str, Any], environ: Mapping[str, str]) -> Event | None:
        """A prompt that is no text (images come as a list) takes no context."""
        from dataclasses import replace

        name, extra = text_of(raw, "hook_event_name"), raw.get("extra")
        if name not in self.events:
            return None
        prompt = text_of(raw, "extra", "user_message")
        event = self.event(raw, name, prompt=prompt)
        if event.kind != "prompt":
            return event
        first = isinstance(extra, dict) and extra.get("is_first_turn") is True
        return replace(event, opens=first) if prompt else None

    def write(self, event: Event, text: str) -> str:
        """``{"context": …}``, the one key that counts."""
        import json

        return json.dumps({"context": text})

    def targets(self, scope: str, top: Path | None) -> tuple[Target, ...]:
        """The hook and the skill."""
        from recall_git.agents import files
        from recall_git.agents.yamlfile import YamlFile

        value = {"command": hook_command("user"), "timeout": 5}
        hook = YamlFile(self.home() / "config.yaml", ("hooks", "pre_llm_call"), value, listed=True)
        return hook, files.skill(self.home() / "skills", self.name)

    def home(self) -> Path:
        """Return its folder."""
        return Path(os.environ.get("HERMES_HOME") or Path.home() / ".hermes")

    def argv(self, command: str) -> list[str]:
        """No shell."""
        return shlex.split(command)

    def sample(self, session: str, cwd: str, prompt: str) -> tuple[dict[str, Any], dict[str, str]]:
        """The prompt stands in ``extra``."""
        raw = {
            "hook_event_name": "pre_llm_call",
            "tool_name": None,
            "tool_input": None,
            "session_id": session,
            "cwd": cwd,
        }
        extra = {"user_message": prompt, "conversation_history": [], "is_first_turn": False, "platform": "cli"}
        return {**raw, "extra": extra}, {}

    def notes(self, scope: str) -> tuple[str, ...]:
        """Consent."""
        return ("Hermes asks once whether this hook may run: start it in a terminal (without one it skips the hook).",)

    def gate(self, scope: str, top: Path | None) -> Gate | None:
        """The allowlist of (event, command), or consent to all hooks."""
        command = hook_command("user")
        allowed, config = _text(self.home() / "shell-hooks-allowlist.json"), _text(self.home() / "config.yaml")
        if command in allowed or "hooks_auto_accept: true" in config or os.environ.get("HERMES_ACCEPT_HOOKS") == "1":
            return Gate(True, "its consent is given")
        return Gate(
            False, "Hermes has not been told yet that the hook may run", "start 'hermes' in a terminal and accept"
        )


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


AGENT = Hermes()
