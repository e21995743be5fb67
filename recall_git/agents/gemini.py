"""Gemini CLI: hooks in settings.json, timeouts in milliseconds, an answer that must be JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from recall_git.agents.base import Agent, Gate, hook_command, place, trusts
from recall_git.agents.event import Event
from recall_git.agents.files import Target


class Gemini(Agent):
    """BeforeAgent for each prompt. It has no start after a compaction: the next prompt brings the fixed slots again.

    Angle brackets arrive escaped (``&lt;``): the digest's frame has none, and typographic ones stand in for a note's.
    """

    name, title = "gemini", "Gemini CLI"
    folders, programs = (".gemini",), ("gemini",)
    events: ClassVar[Mapping[str, str]] = {
        "BeforeAgent": "prompt",
        "SessionStart": "start",
        "PreCompress": "compact",
        "SessionEnd": "end",
    }

    def read(self, raw: Any, environ: Any) -> Event | None:
        """It also fires with an empty prompt, after tool calls: those ask nothing."""
        event = super().read(raw, environ)
        return None if event and event.kind == "prompt" and not event.prompt.strip() else event

    def write(self, event: Event, text: str) -> str:
        """As Claude Code's, in brackets that are not escaped."""
        return super().write(event, text.translate(BRACKETS))

    def targets(self, scope: str, top: Path | None) -> tuple[Target, ...]:
        """Hooks and skill."""
        from recall_git.agents import files
        from recall_git.agents.jsonfile import JsonFile, hook

        command = hook_command(scope)
        timeouts = {"BeforeAgent": 5000, "SessionStart": 10_000, "PreCompress": 5000, "SessionEnd": 5000}
        items = tuple(hook(event, command, ms, name="git-recall") for event, ms in timeouts.items())
        home = place(scope, top, ".gemini", ".gemini")
        skills = place(scope, top, ".agents", ".agents") / "skills"
        return JsonFile(home / "settings.json", items), files.skill(skills, self.name)

    def sample(self, session: str, cwd: str, prompt: str) -> tuple[dict[str, Any], dict[str, str]]:
        """As hookRunner sends it."""
        raw, _ = super().sample(session, cwd, prompt)
        more = {"hook_event_name": "BeforeAgent", "timestamp": "2026-01-01T00:00:00.000Z"}
        return {**raw, **more}, {"GEMINI_SESSION_ID": session, "GEMINI_PROJECT_DIR": cwd}

    def notes(self, scope: str) -> tuple[str, ...]:
        """Trust."""
        if scope == "user":
            return ()
        return ("Gemini CLI runs a project's hooks only in folders that you trust: it asks once per folder.",)

    def gate(self, scope: str, top: Path | None) -> Gate | None:
        """Folder trust, for a project's hooks."""
        return folder_trust(self, Path.home() / ".gemini" / "trustedFolders.json", scope, top)


BRACKETS = {ord("<"): "‹", ord(">"): "›"}


def folder_trust(agent: Agent, path: Path, scope: str, top: Path | None) -> Gate | None:
    """Return the gate of Gemini CLI and of Qwen Code, which grew from it."""
    if scope == "user":
        return None
    if trusts(path, top, word="TRUST_"):  # TRUST_FOLDER, TRUST_PARENT; the third is DO_NOT_TRUST
        return Gate(True, "this folder is trusted")
    do = f"start '{agent.programs[0]}' here once and trust the folder"
    return Gate(False if path.exists() else None, f"{agent.title} runs a project's hooks only in trusted folders", do)


AGENT = Gemini()
