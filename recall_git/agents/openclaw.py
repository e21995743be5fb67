"""OpenClaw: a plugin, and the two settings without which its hooks are refused."""

from __future__ import annotations

import os
from pathlib import Path

from recall_git.agents.base import Gate
from recall_git.agents.extension import Extension
from recall_git.agents.files import Target, Whole, own_text


class OpenClaw(Extension):
    """``before_prompt_build`` for prompts, ``after_compaction`` to begin again."""

    name, title = "openclaw", "OpenClaw"
    scopes = ("user",)
    folders, programs = (".openclaw",), ("openclaw",)

    def targets(self, scope: str, top: Path | None) -> tuple[Target, ...]:
        """The plugin's three files, what its owner must allow, and the skill."""
        from recall_git.agents import files
        from recall_git.agents.jsonfile import Item, JsonFile

        folder, entry = self.home() / "extensions" / "recall-git", ("plugins", "entries", "recall-git")
        settings = (
            Item((*entry, "enabled"), True, listed=False),
            Item((*entry, "hooks", "allowConversationAccess"), True, listed=False),
        )
        manifests = ("package.json", "openclaw.plugin.json")
        return (
            self.code(folder / "index.js"),
            *(Whole(folder / name, own_text(f"extensions/openclaw-{name}"), self.name) for name in manifests),
            *((JsonFile(self.settings(), settings),) if self.editable() else ()),
            files.skill(Path.home() / ".agents" / "skills", self.name),
        )

    def home(self) -> Path:
        """Return its folder."""
        return Path(os.environ.get("OPENCLAW_STATE_DIR") or Path.home() / ".openclaw")

    def settings(self) -> Path:
        """Return its settings."""
        return self.home() / "openclaw.json"

    def editable(self) -> bool:
        """Whether its settings are JSON, with comments or not: JSON5 has more that we do not edit."""
        from recall_git.agents import jsontext

        try:
            text = self.settings().read_text("utf-8-sig")
            return not text.strip() or jsontext.parse(text).kind == "object"
        except FileNotFoundError:
            return True
        except (OSError, ValueError):
            return False

    def notes(self, scope: str) -> tuple[str, ...]:
        """What must be allowed by hand, and restart."""
        restart = "Restart OpenClaw's gateway: 'openclaw gateway restart'."
        if self.editable():
            return (restart,)
        return (f"{self.settings()} is not plain JSON, so it was left alone: {_ALLOW}.", restart)

    def gate(self, scope: str, top: Path | None) -> Gate | None:
        """``allowConversationAccess`` true and ``allowPromptInjection`` not false."""
        from recall_git.agents import jsontext

        try:
            node = jsontext.parse(self.settings().read_text("utf-8-sig"))
        except (OSError, ValueError):
            return Gate(None, "OpenClaw's settings cannot be read as JSON", _ALLOW)
        found = node.plain()
        for key in ("plugins", "entries", "recall-git", "hooks"):
            found = found.get(key) if isinstance(found, dict) else None
        allowed = isinstance(found, dict) and found.get("allowConversationAccess") is True
        if allowed and found.get("allowPromptInjection") is not False:
            return Gate(True, "its hooks are allowed")
        return Gate(False, "OpenClaw refuses the plugin's hooks", _ALLOW)


_ALLOW = "run 'openclaw config set plugins.entries.recall-git.hooks.allowConversationAccess true'"

AGENT = OpenClaw()
