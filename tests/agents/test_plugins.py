"""The plugin folders: up to date, complete, and of the structure that their agents want (AGENT_HOOKS 1.7, 18)."""

from __future__ import annotations

import json
import re
import runpy
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from recall_git import __version__, agents, cli
from recall_git.agents.base import PROJECT_COMMAND
from recall_git.agents.files import own_text

ROOT = Path(__file__).parents[2]
BUILD = runpy.run_path(str(ROOT / "plugins" / "build.py"))
FILES: dict[str, str] = BUILD["files"]()
KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def load(path: str) -> Any:
    return json.loads((ROOT / path).read_text("utf-8"))


@pytest.mark.parametrize("path", FILES)
def test_what_lies_there_is_what_would_be_written(path: str) -> None:
    """If this fails: python plugins/build.py"""
    assert (ROOT / path).read_bytes().decode("utf-8") == FILES[path]


def test_nothing_else_lies_there() -> None:
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "plugins").rglob("*") if path.is_file()}
    known = {*FILES, "plugins/build.py", "plugins/README.md"}
    assert {path for path in there if "__pycache__" not in path} <= known


@pytest.mark.parametrize("path", [path for path in FILES if path.endswith(".json")])
def test_versions_are_ours(path: str) -> None:
    assert load(path).get("version", __version__) == __version__


EVENTS = {"UserPromptSubmit", "SessionStart", "PreCompact", "SessionEnd"}


def test_claude_code_plugin_and_marketplace() -> None:
    market = load(".claude-plugin/marketplace.json")
    assert KEBAB.fullmatch(market["name"])
    assert market["owner"]["name"]
    (plugin,) = market["plugins"]
    root = ROOT / plugin["source"]
    manifest = json.loads((root / ".claude-plugin" / "plugin.json").read_text())
    assert manifest["name"] == plugin["name"]
    assert KEBAB.fullmatch(manifest["name"])
    allowed = {"name", "version", "description", "author", "homepage", "repository", "license", "keywords"}
    assert set(manifest) <= allowed
    check_hooks(json.loads((root / "hooks" / "hooks.json").read_text()), EVENTS, seconds=True)
    assert (root / "skills" / "recall" / "SKILL.md").is_file()


def check_hooks(data: Any, events: set[str], *, seconds: bool) -> None:
    assert set(data) == {"hooks"}
    assert set(data["hooks"]) == events
    for groups in data["hooks"].values():
        for group in groups:
            assert set(group) <= {"matcher", "hooks"}
            for handler in group["hooks"]:
                assert set(handler) <= {"name", "type", "command", "timeout"}
                assert handler["type"] == "command"
                assert handler["command"] == PROJECT_COMMAND
                assert (1 <= handler["timeout"] <= 30) is seconds
                assert shlex.split(handler["command"])[:2] == ["sh", "-c"]


def test_codex_plugin() -> None:
    assert KEBAB.fullmatch(load("plugins/codex/.codex-plugin/plugin.json")["name"])
    check_hooks(load("plugins/codex/hooks/hooks.json"), EVENTS, seconds=True)


def test_gemini_extension() -> None:
    manifest = load("plugins/gemini/gemini-extension.json")
    assert {"name", "version"} <= set(manifest)
    assert KEBAB.fullmatch(manifest["name"])
    events = {"BeforeAgent", "SessionStart", "PreCompress", "SessionEnd"}
    check_hooks(load("plugins/gemini/hooks/hooks.json"), events, seconds=False)


def test_pi_package() -> None:
    package = load("plugins/pi/package.json")
    assert "pi-package" in package["keywords"]
    for kind in ("extensions", "skills"):
        assert all((ROOT / "plugins" / "pi" / path).exists() for path in package["pi"][kind])


def test_openclaw_plugin() -> None:
    package, manifest = load("plugins/openclaw/package.json"), load("plugins/openclaw/openclaw.plugin.json")
    assert package["type"] == "module"
    assert [(ROOT / "plugins" / "openclaw" / path).is_file() for path in package["openclaw"]["extensions"]] == [True]
    assert {"id", "configSchema"} <= set(manifest)
    assert f'id: "{manifest["id"]}"' in (ROOT / "plugins" / "openclaw" / "index.js").read_text()


def test_agent_plugins_manifest() -> None:
    manifest, servers = load("plugins/agent-plugins/plugin.json"), load("plugins/agent-plugins/mcp.json")
    keys = {"$schema", "name", "version", "description", "author", "homepage", "repository", "license", "keywords"}
    assert set(manifest) <= {*keys, "extensions"}
    assert KEBAB.fullmatch(manifest["name"])
    assert set(servers) == {"$schema", "mcpServers"}
    server = servers["mcpServers"]["recall"]
    assert server == {"type": "stdio", "command": "git-recall", "args": ["mcp"]}
    assert server["args"][0] in cli.COMMANDS


@pytest.mark.parametrize("path", [path for path in FILES if path.endswith("SKILL.md")])
def test_the_skill_keeps_the_specification(path: str) -> None:
    text = (ROOT / path).read_text("utf-8")
    _, front, body = text.split("---\n", 2)
    head = yaml.safe_load(front)
    assert set(head) <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
    assert head["name"] == Path(path).parent.name
    assert KEBAB.fullmatch(head["name"])
    assert 1 <= len(head["description"]) <= 1024
    assert len(head["compatibility"]) <= 500
    assert all(isinstance(value, str) for value in head["metadata"].values())
    assert len(body.splitlines()) < 500


def test_the_skill_names_only_commands_that_there_are() -> None:
    text = own_text("skill.md")
    named = set(re.findall(r"git recall ([a-z]+)", text)) - {"help"}
    assert {"query", "show", "init"} <= named
    assert named <= {*cli.COMMANDS, "remember"}


def test_every_extension_agent_has_a_plugin_folder() -> None:
    for name in ("pi", "openclaw", "opencode", "amp", "claude-code", "codex", "gemini"):
        assert name in agents.AGENTS
        assert (ROOT / "plugins" / name).is_dir()
