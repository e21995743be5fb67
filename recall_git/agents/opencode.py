"""opencode: a plugin; the notes become a part of the user's message."""

from __future__ import annotations

from pathlib import Path

from recall_git.agents.base import config_home, place
from recall_git.agents.extension import Extension
from recall_git.agents.files import Target


class OpenCode(Extension):
    """``chat.message`` for prompts, ``session.compacted`` to begin again."""

    name, title = "opencode", "opencode"
    programs = ("opencode",)

    def targets(self, scope: str, top: Path | None) -> tuple[Target, ...]:
        """Plugin and skill."""
        from recall_git.agents import files

        path = place(scope, top, config_home() / "opencode" / "plugins", ".opencode/plugins") / "recall-git.js"
        skills = place(scope, top, ".agents", ".agents") / "skills"
        return self.code(path), files.skill(skills, self.name)

    def present(self) -> bool:
        """Its settings, or its program."""
        return (config_home() / "opencode").is_dir() or super().present()


AGENT = OpenCode()
