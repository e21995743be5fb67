"""What an agent is to us: a dialect that its hook speaks, and files that connect it.

The defaults are Claude Code's protocol, which many took over; a subclass says where its agent differs.
Light: the resident process loads it. What writes files is imported by those who write.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from recall_git import launcher
from recall_git.agents.event import Event, nested, text_of

if TYPE_CHECKING:
    from recall_git.agents.files import Change, Found, Target

PROJECT_COMMAND = (
    """sh -c 'h=${XDG_DATA_HOME:-$HOME/.local/share}/recall-git/recall-git-hook; [ -x "$h" ] || """
    """h=$(command -v recall-git-hook) || exit 0; "$h" 2>/dev/null || exit 0'"""
)
"""What committed files run: it must work, or say nothing, on every machine, and end with 0 whatever happens
(2 would erase the prompt). Through ``sh -c`` because the host may use the user's shell, and fish or PowerShell
read another language."""


NO_EVENTS: Mapping[str, str] = {}
"""Of an agent whose hooks take nothing from us."""


@dataclass(frozen=True, slots=True)
class Gate:
    """What else a person must do before an agent runs our hook."""

    passed: bool | None
    """None when that cannot be seen from outside."""
    what: str
    do: str = ""


class Agent:
    """One agent. Subclasses fill in what they have."""

    name = ""
    title = ""
    scopes: tuple[str, ...] = ("user", "project")
    folders: tuple[str, ...] = ()
    """Below the home folder; one that is there says that the agent is."""
    programs: tuple[str, ...] = ()
    """On PATH; one that is there says so too."""

    # the dialect ------------------------------------------------------------------------------------

    events: ClassVar[Mapping[str, str]] = {
        "UserPromptSubmit": "prompt",
        "SessionStart": "start",
        "PreCompact": "compact",
        "SessionEnd": "end",
        "Stop": "end",  # of a turn, where a person has registered it: it is never held up
    }
    """The hook's events → our kinds; whatever is not named is not ours."""
    cap_chars = 0
    cap_bytes = 0

    def read(self, raw: Mapping[str, Any], environ: Mapping[str, str]) -> Event | None:
        """Return the event in *raw*, None when there is nothing to say to it."""
        name = text_of(raw, "hook_event_name")
        if name not in self.events or text_of(raw, "agent_id"):  # a subagent's prompt is not a person's
            return None
        return self.event(raw, name, prompt=text_of(raw, "prompt"))

    def event(self, raw: Mapping[str, Any], name: str, *, prompt: str = "", session: str = "", cwd: str = "") -> Event:
        """Return the event called *name*; session and folder come from *raw* where they have their usual names."""
        return Event(
            agent=self.name,
            name=name,
            kind=self.events[name],
            session=session or text_of(raw, "session_id"),
            cwd=cwd or text_of(raw, "cwd"),
            prompt=prompt,
            source=text_of(raw, "source") or "user",
            cap_chars=self.cap_chars,
            cap_bytes=self.cap_bytes,
        )

    def write(self, event: Event, text: str) -> str:
        """Return the answer that puts *text* before the agent."""
        return nested(event, text)

    def sample(self, session: str, cwd: str, prompt: str) -> tuple[dict[str, Any], dict[str, str]]:
        """Return a prompt's input and environment as this agent gives them, for ``git recall doctor``."""
        raw = {
            "session_id": session,
            "transcript_path": os.devnull,
            "cwd": cwd,
            "hook_event_name": "UserPromptSubmit",
            "prompt": prompt,
        }
        return raw, {}

    def understands(self, stdout: str) -> bool:
        """Whether *stdout* is what this agent's hook may print: nothing, or one JSON object."""
        import json

        try:
            return not stdout or isinstance(json.loads(stdout), dict)
        except ValueError:
            return False

    def argv(self, command: str) -> list[str]:
        """Return how this agent starts *command*."""
        return ["sh", "-c", command]

    # the installation -------------------------------------------------------------------------------

    def targets(self, scope: str, top: Path | None) -> tuple[Target, ...]:
        """Return what connecting writes; *top* is the project's folder (needed for ``project``)."""
        raise NotImplementedError

    def install(self, scope: str, top: Path | None = None, *, dry_run: bool = False) -> list[Change]:
        """Connect; return what changed. Idempotent; raises Refused before anything is written."""
        targets = self.targets(scope, top)
        plan = [target.install(dry_run=True) for target in targets]
        if dry_run:
            return plan
        launcher.ensure()
        return [target.install() for target in targets]

    def uninstall(self, scope: str, top: Path | None = None, *, dry_run: bool = False) -> list[Change]:
        """Disconnect; return what changed. Raises Refused."""
        return [target.uninstall(dry_run=dry_run) for target in self.targets(scope, top)]

    def inspect(self, scope: str, top: Path | None = None) -> list[tuple[Path, Found]]:
        """Return what connects the agent now, with its file: hooks, server, extension. Raises Refused.

        A skill connects nothing: several agents may share it.
        """
        targets = [target for target in self.targets(scope, top) if target.path.name != "SKILL.md"]
        return [(target.path, found) for target in targets for found in target.inspect()]

    def present(self) -> bool:
        """Whether the agent is on this machine."""
        home = Path.home()
        return any((home / folder).exists() for folder in self.folders) or any(map(shutil.which, self.programs))

    def notes(self, scope: str) -> tuple[str, ...]:
        """Return what a person should know after installing."""
        return ()

    def plugin(self) -> str:
        """Return the name of our plugin if the agent has it enabled, '' if not or if that cannot be seen."""
        return ""

    def gate(self, scope: str, top: Path | None) -> Gate | None:
        """Return the state of the agent's own consent, None when it asks for none."""
        return None


def hook_command(scope: str) -> str:
    """Return the command string of a hook: one for all agents, who know the same hook in two files by it."""
    if scope == "project":
        return PROJECT_COMMAND
    if sys.platform == "win32":  # agents start hooks through three different shells there: no path, no quotes
        return launcher.NAME
    return launcher.quote(launcher.folder() / launcher.NAME)


def server_command(scope: str) -> list[str]:
    """Return the command of the MCP server: by its path where the file is this user's."""
    beside = Path(sys.executable).with_name("git-recall.exe" if sys.platform == "win32" else "git-recall")
    return [str(beside) if scope == "user" and beside.is_file() else "git-recall", "mcp"]


def place(scope: str, top: Path | None, user: Path | str, project: str) -> Path:
    """Return the user's file (below the home folder unless it is absolute) or the project's."""
    if scope == "project":
        assert top is not None
        return top / project
    return Path.home() / user


def config_home() -> Path:
    """Return XDG_CONFIG_HOME (absolute only), or ~/.config."""
    named = os.environ.get("XDG_CONFIG_HOME", "")
    return Path(named) if named.startswith("/") else Path.home() / ".config"


def trusts(path: Path, folder: Path | None, *keys: str, word: str = "") -> bool | None:
    """Whether the JSON file *path* lists *folder* or one above it, below *keys*; None when it cannot be read.

    What is listed is an array of folders, or an object whose values contain *word*.
    """
    from recall_git.agents import jsontext

    try:
        listed = jsontext.parse(path.read_text("utf-8-sig")).plain()
    except (OSError, ValueError):
        return None
    for key in keys:
        listed = listed.get(key) if isinstance(listed, dict) else None
    if folder is None:
        return None
    names = {str(folder), *map(str, folder.parents)}
    if isinstance(listed, dict):
        return any(name in names and word in str(value) for name, value in listed.items())
    return isinstance(listed, list) and any(name in names for name in listed)
