"""Write the plugin folders, from what ``git recall install`` writes; run it after a change there.

Agents clone or download these folders, so each is complete and has its own root: Claude Code, Codex and Gemini all
read ``hooks/hooks.json``, with other event names and units. tests/agents/test_plugins.py fails when they are stale.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from recall_git import __version__, agents  # noqa: E402
from recall_git.agents.extension import source  # noqa: E402
from recall_git.agents.files import own_text  # noqa: E402

NAME = "git-recall"
ABOUT = "Recalls the notes of a Git repository: the right one at the right moment, offline."
ABOUT_ALL = {"name": NAME, "version": __version__, "description": ABOUT, "license": "MIT"}
KEYWORDS = ["git", "notes", "memory", "recall"]
PACKAGE = {**ABOUT_ALL, "keywords": KEYWORDS, "type": "module"}
SERVER = {"command": "git-recall", "args": ["mcp"]}
SCHEMAS = "https://agent-plugins.org/schemas/1.0.0"
SKILL = "skills/recall/SKILL.md"


def files() -> dict[str, str]:
    """Return path from the repository's root → text of every generated file."""
    skill = own_text("skill.md")
    data: dict[str, Any] = {
        ".claude-plugin/marketplace.json": {
            "name": "recall-git",
            "owner": {"name": "recall-git"},
            "plugins": [{"name": NAME, "source": "./plugins/claude-code", "description": ABOUT}],
        },
        "plugins/claude-code/.claude-plugin/plugin.json": {**ABOUT_ALL, "keywords": KEYWORDS},
        "plugins/claude-code/hooks/hooks.json": hooks("claude-code"),
        "plugins/codex/.codex-plugin/plugin.json": ABOUT_ALL,
        "plugins/codex/hooks/hooks.json": hooks("codex"),
        "plugins/gemini/gemini-extension.json": {"name": NAME, "version": __version__, "description": ABOUT},
        "plugins/gemini/hooks/hooks.json": hooks("gemini"),
        "plugins/pi/package.json": {
            **PACKAGE,
            "name": "pi-git-recall",
            "keywords": ["pi-package", *KEYWORDS],
            "pi": {"extensions": ["./extensions/recall-git.ts"], "skills": ["./skills"]},
        },
        "plugins/opencode/package.json": {**PACKAGE, "name": "opencode-git-recall", "main": "recall-git.js"},
        "plugins/agent-plugins/plugin.json": {"$schema": f"{SCHEMAS}/plugin.schema.json", **ABOUT_ALL},
        "plugins/agent-plugins/mcp.json": {
            "$schema": f"{SCHEMAS}/mcp.schema.json",
            "mcpServers": {"recall": {"type": "stdio", **SERVER}},
        },
    }
    texts = {path: json.dumps(value, indent=2) + "\n" for path, value in data.items()}
    texts |= {
        "plugins/pi/extensions/recall-git.ts": source("pi"),
        "plugins/opencode/recall-git.js": source("opencode"),
        "plugins/amp/recall-git.ts": source("amp"),
        "plugins/openclaw/index.js": source("openclaw"),
        "plugins/openclaw/package.json": own_text("extensions/openclaw-package.json"),
        "plugins/openclaw/openclaw.plugin.json": own_text("extensions/openclaw-openclaw.plugin.json"),
    }
    homes = ("", *(f"plugins/{name}/" for name in ("claude-code", "codex", "gemini", "pi", "agent-plugins")))
    return texts | {f"{home}{SKILL}": skill for home in homes}


def hooks(name: str) -> Any:
    """Return the hooks of an agent as its project's file has them: they work, or are silent, on every machine."""
    target = agents.load(name).targets("project", Path("/"))[0]
    return json.loads(target.by_hand())


if __name__ == "__main__":
    for path, text in files().items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_bytes(text.encode("utf-8"))
