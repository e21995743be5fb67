"""pi: an extension; the notes become a message behind the prompt."""

from __future__ import annotations

from pathlib import Path

from recall_git.agents.base import Gate, place, trusts
from recall_git.agents.extension import Extension
from recall_git.agents.files import Target


class Pi(Extension):
    """``before_agent_start`` for prompts, ``session_compact`` to begin again."""

    name, title = "pi", "pi"
    folders, programs = (".pi",), ("pi",)

    def targets(self, scope: str, top: Path | None) -> tuple[Target, ...]:
        """Extension and skill."""
        from recall_git.agents import files

        path = place(scope, top, ".pi/agent/extensions", ".pi/extensions") / "recall-git.ts"
        skills = place(scope, top, ".agents", ".agents") / "skills"
        return self.code(path), files.skill(skills, self.name)

    def gate(self, scope: str, top: Path | None) -> Gate | None:
        """Project trust, for a project's extensions."""
        if scope == "user":
            return None
        path = Path.home() / ".pi" / "agent" / "trust.json"
        if trusts(path, top, word="True"):
            return Gate(True, "this project is trusted")
        do = "start 'pi' here once and trust the project"
        return Gate(False if path.exists() else None, "pi loads a project's extensions only in trusted projects", do)


AGENT = Pi()
