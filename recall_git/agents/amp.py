"""Amp: a plugin; the notes become a message beside the prompt."""

from __future__ import annotations

from pathlib import Path

from recall_git.agents.base import config_home, place
from recall_git.agents.extension import Extension
from recall_git.agents.files import Target


class Amp(Extension):
    """``agent.start`` for prompts; it tells nothing of a compaction."""

    name, title = "amp", "Amp"
    programs = ("amp",)

    def targets(self, scope: str, top: Path | None) -> tuple[Target, ...]:
        """The plugin."""
        path = place(scope, top, config_home() / "amp" / "plugins", ".amp/plugins") / "recall-git.ts"
        return (self.code(path),)

    def present(self) -> bool:
        """Its settings, or its program."""
        return (config_home() / "amp").is_dir() or super().present()

    def notes(self, scope: str) -> tuple[str, ...]:
        """Older builds."""
        return ("Older builds of Amp load plugins only with PLUGINS=all in the environment.",)


AGENT = Amp()
