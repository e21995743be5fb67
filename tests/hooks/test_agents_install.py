"""Connecting agents: only our lines change, and taking them out leaves every byte as it was."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from recall_git import agents, cli, launcher
from recall_git.agents import jsontext
from recall_git.agents.base import PROJECT_COMMAND, hook_command
from recall_git.agents.files import MARK, Target, Whole
from recall_git.agents.jsonfile import JsonFile
from recall_git.agents.yamlfile import YamlFile
from recall_git.receipt import Refused

if TYPE_CHECKING:
    from conftest import GitRepo

CLAUDE = agents.load("claude-code")

ODD = {
    "empty file": "",
    "blank file": "\n\n",
    "empty object": "{}",
    "object on two lines": "{\n}\n",
    "no last newline": '{\n  "model": "x"\n}',
    "four spaces": '{\n    "model": "x",\n    "env": {"A": "1"}\n}\n',
    "tabs and CRLF": '{\r\n\t"model": "x"\r\n}\r\n',
    "byte order mark": '\ufeff{\n  "model": "x"\n}\n',
    "one line": '{"model":"x","hooks":{}}',
    "unicode and escapes": '{\n  "a": "\\u00e9 é 漢 \\/ \\"}]",\n  "n": [1.50, -0, 1E5]\n}\n',
    "empty hooks": '{\n  "hooks": {},\n  "z": 1\n}\n',
    "empty event": '{\n  "hooks": {\n    "UserPromptSubmit": []\n  }\n}\n',
    "hooks of others": json.dumps(
        {
            "hooks": {
                "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "other"}]}],
                "SessionStart": [{"matcher": "", "hooks": [{"type": "command", "command": "a; b"}]}],
                "Stop": [],
            },
            "permissions": {"allow": ["Bash(git *)"]},
        },
        indent=2,
    ),
    "comments": '{\n  // mine\n  "model": "x", // this one\n  "hooks": {\n    /* none } yet */\n  }\n}\n// end\n',
    "trailing commas": '{\n  "a": [1, 2,],\n  "hooks": {"Stop": [],},\n}\n',
    "doubled key": '{\n  "a": 1,\n  "a": 2\n}\n',
    "mixed layout": '{ "a": 1,\n  "hooks": { "Stop": [ ] } }\n',
}

PROGRAM = Path(sys.executable).with_name("git-recall.exe" if sys.platform == "win32" else "git-recall")
SERVER = {"command": str(PROGRAM) if PROGRAM.is_file() else "git-recall", "args": ["mcp"]}
"""What is registered for one user: the program beside this interpreter where there is one."""


YAMLS = {
    "empty file": "",
    "blank file": "\n\n",
    "comments alone": "# mine\n  # indented\n",
    "document marks": "---\nmodel: x\n",
    "no last newline": "model: x",
    "CRLF": "model: x\r\nagent:\r\n  max_turns: 90\r\n",
    "byte order mark": "\ufeffmodel: x\n",
    "empty hooks": "model: x\nhooks: {}\nextensions: {}\nz: 1\n",
    "hooks without a value": "hooks:\n# later\nextensions:   # none yet\nz: 1\n",
    "empty list": "hooks:\n  pre_llm_call: []\nextensions: {  }\n",
    "hooks of others": (
        "model: x   # this one\nhooks:\n    pre_tool_call:\n    - matcher: terminal\n      command: 'a; b'\n"
        "    pre_llm_call:\n    -   command: other\n        timeout: 5   # s\n\n    # the end of hooks\n"
        "extensions:\n    developer:\n        type: builtin\n        args: []\n\n# about the rest\n"
        "z: >\n  folded\n  text\n"
    ),
    "hooks last": "z: 1\nextensions:\n  a: {type: builtin}\nhooks:\n  pre_llm_call:\n    - command: other\n",
    "flow style": "{model: x, hooks: {pre_llm_call: [{command: other}]}, extensions: {a: {type: builtin}}}\n",
    "indentless list": "hooks:\n  pre_llm_call:\n  - command: other\nextensions: {}\n",
    "anchors and quotes": (
        'a: &x {k: 1}\nb: *x\n\'hooks\':\n  "pre_llm_call":\n    - {command: "o"}\nextensions:\n  b: *x\n'
    ),
    "ends in a block text": "extensions:\n  a:\n    type: builtin\n    text: |\n      two\n      lines\n",
    "unicode": "name: é 漢 ☃\nhooks:\n  on_session_end:\n    - command: '☃'\n",
}


def files(kind: type[Target]) -> Iterator[tuple[str, int]]:
    """Yield (agent, number of the target) for each file of *kind* that an agent's user scope writes."""
    for name in agents.AGENTS:
        for number, target in enumerate(agents.load(name).targets("user", None)):
            if isinstance(target, kind):
                yield name, number


JSON_FILES = sorted(files(JsonFile))
YAML_FILES = sorted(files(YamlFile))


def target_of(agent: str, number: int, text: str) -> Target:
    """Return one target of *agent*, its file written with *text*."""
    found = agents.load(agent).targets("user", None)[number]
    found.path.parent.mkdir(parents=True, exist_ok=True)
    found.path.write_bytes(text.encode("utf-8"))
    return agents.load(agent).targets("user", None)[number]  # Factory looks at what is there


def fits(agent: str, text: str) -> bool:
    """Whether the ``hooks`` of an odd file can be those of *agent*: Kiro's is an array, an event of others may be."""
    return agent != "kiro" or '"hooks"' not in text


def plain(text: str) -> Any:
    return jsontext.parse(text.lstrip("\ufeff")).plain() if text.strip("\ufeff \t\r\n") else {}


@pytest.fixture
def settings(hermetic: Path) -> Path:
    path = hermetic / ".claude" / "settings.json"
    path.parent.mkdir()
    return path


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def write(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8"))


# every file of every agent --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize(("agent", "number"), JSON_FILES)
def test_json_as_it_was(agent: str, number: int, name: str) -> None:
    text = ODD[name]
    target = target_of(agent, number, text)
    target.path.chmod(0o640)
    if not fits(agent, text):
        with pytest.raises(Refused, match="by hand"):
            target.install()
        assert read(target.path) == text
        return
    assert target.install().changed
    after = read(target.path)
    assert target.inspect()
    assert stat.S_IMODE(target.path.stat().st_mode) == 0o640
    rest = iter(after)
    lost = [char for char in text if not char.isspace() and char not in rest]
    assert not lost  # every character of the old text is in the new one, in order
    assert ("\r\n" in text) == ("\r\n" in after)
    assert not target.install().changed
    assert read(target.path) == after
    target.uninstall()
    assert read(target.path) == text
    assert stat.S_IMODE(target.path.stat().st_mode) == 0o640


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize(("agent", "number"), JSON_FILES)
def test_json_edited_since_loses_only_our_lines(agent: str, number: int, name: str) -> None:
    """Without the receipt's bytes too: what we made and is empty goes, what was there stays."""
    if not fits(agent, ODD[name]):
        return
    target = target_of(agent, number, ODD[name])
    target.install()
    write(target.path, read(target.path) + "\n")
    target.uninstall()
    assert target.inspect() == []
    left = plain(read(target.path))
    assert isinstance(target, JsonFile)
    if "command" in ODD[name]:  # other hooks may need what these files must have at the top
        left = {key: value for key, value in left.items() if key not in target.base}
    assert left == plain(ODD[name])


@pytest.mark.parametrize("name", YAMLS)
@pytest.mark.parametrize(("agent", "number"), YAML_FILES)
def test_yaml_as_it_was(agent: str, number: int, name: str) -> None:
    text = YAMLS[name]
    target = target_of(agent, number, text)
    assert isinstance(target, YamlFile)
    assert target.install().changed
    after = read(target.path)
    assert len(target.inspect()) == 1
    found = yaml.safe_load(after)
    for key in target.keys:
        found = found[key]
    assert target.value == (found[-1] if target.listed else found)
    kept = iter(after.splitlines())
    assert all(line in kept for line in text.splitlines() if not line.rstrip().endswith(("{}", "[]", "{  }", "}")))
    assert ("\r\n" in text) == ("\r\n" in after)
    assert not target.install().changed
    target.uninstall()
    assert read(target.path) == text


@pytest.mark.parametrize("name", YAMLS)
@pytest.mark.parametrize(("agent", "number"), YAML_FILES)
def test_yaml_edited_since_loses_only_our_lines(agent: str, number: int, name: str) -> None:
    target = target_of(agent, number, YAMLS[name])
    target.install()
    write(target.path, "# edited\n" + read(target.path).lstrip("\ufeff"))
    target.uninstall()
    assert target.inspect() == []
    text = read(target.path)
    assert (yaml.safe_load(text) or {}) == (yaml.safe_load(YAMLS[name]) or {})
    comments = [line.strip() for line in YAMLS[name].splitlines() if line.strip().startswith("#")]
    assert all(comment in text for comment in comments)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "line 1"),
        ("- a\n", "mapping is wanted at the top"),
        ("just text\n", "mapping is wanted"),
        ("hooks: later\n", "'hooks' should be"),
        ("hooks:\n  pre_llm_call: {command: x}\n", "of another kind"),
        ("x: &h {pre_llm_call: []}\nhooks: *h\n", "alias"),
        ("a: !!python/object:x {}\n", "could not determine"),
        ("? [complex]\n: 1\n", "line 1"),
        ("a: 1\n---\nb: 2\n", "document"),
    ],
)
def test_yaml_that_cannot_be_edited_is_refused_with_the_lines_to_add(text: str, words: str) -> None:
    target = target_of("hermes", 0, text)
    with pytest.raises(Refused, match=f"(?s){words}.*by hand:\nhooks:\n  pre_llm_call:\n    - command: "):
        target.install()
    assert read(target.path) == text
    assert not (launcher.folder() / "installed.json").exists()


def test_an_old_command_in_yaml_is_renewed_in_place() -> None:
    text = "hooks:\n  pre_llm_call:\n    - command: '/old place/recall-git-hook'  # ours\n      timeout: 9\n"
    text += "    - command: b\n"
    target = target_of("hermes", 0, text)
    target.install()
    assert read(target.path) == text.replace("'/old place/recall-git-hook'", json.dumps(hook_command("user")))


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize("name", agents.AGENTS)
def test_every_agent_comes_and_goes(name: str, scope: str, hermetic: Path, tmp_path: Path) -> None:
    """In an empty home: files and folders are made, found, and gone again but for the launcher."""
    agent, top = agents.load(name), tmp_path / "project"
    top.mkdir()
    if scope not in agent.scopes:
        return
    before = sorted(hermetic.rglob("*"))
    plan = agent.install(scope, top, dry_run=True)
    assert sorted(hermetic.rglob("*")) == before
    assert [change.path for change in agent.install(scope, top)] == [change.path for change in plan]
    assert agent.inspect(scope, top)
    assert all(change.path.is_relative_to(top if scope == "project" else hermetic) for change in plan)
    assert all(not change.changed for change in agent.install(scope, top))
    agent.uninstall(scope, top)
    assert agent.inspect(scope, top) == []
    left = {path for path in sorted(hermetic.rglob("*")) if path not in before and path.is_file()}
    assert left == {launcher.folder() / launcher.NAME}
    assert list(top.rglob("*")) == []
    assert not (launcher.folder() / "installed.json").exists()


@pytest.mark.parametrize("name", agents.AGENTS)
def test_one_command_for_all_and_nothing_of_this_machine_in_a_project(name: str, tmp_path: Path) -> None:
    agent = agents.load(name)
    agent.install("user", tmp_path)
    commands = {found.command for _, found in agent.inspect("user", tmp_path)} - {""}
    if agent.events and name not in ("vscode",):
        assert commands <= {hook_command("user")}
    else:
        assert len(commands) == 1
        assert commands.pop().endswith("git-recall mcp")
    if "project" in agent.scopes:
        top = tmp_path / "project"
        top.mkdir()
        for change in agent.install("project", top):
            assert str(tmp_path) not in change.after
            assert str(Path.home()) not in change.after


@pytest.mark.parametrize("name", agents.AGENTS)
def test_links_stay_links_and_their_targets_are_written(name: str, tmp_path: Path) -> None:
    """Dotfiles are often linked into place."""
    agent = agents.load(name)
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    linked = [target for target in agent.targets("user", None) if not isinstance(target, Whole)]
    for number, target in enumerate(linked):
        real = dotfiles / str(number)
        real.write_text("{}\n" if isinstance(target, JsonFile) else "a: 1\n")
        target.path.parent.mkdir(parents=True, exist_ok=True)
        target.path.symlink_to(real)
    agent.install("user")
    for number, target in enumerate(linked):
        assert target.path.is_symlink()
        assert "recall" in (dotfiles / str(number)).read_text()
    agent.uninstall("user")
    for number, target in enumerate(linked):
        assert target.path.is_symlink()
        assert (dotfiles / str(number)).read_text() == ("{}\n" if isinstance(target, JsonFile) else "a: 1\n")


# single agents --------------------------------------------------------------------------------------


def test_what_is_written_for_claude_code(settings: Path) -> None:
    CLAUDE.install("user")
    path = launcher.folder() / "recall-git-hook"
    handler = {"type": "command", "command": str(path)}
    assert json.loads(read(settings)) == {
        "hooks": {
            "UserPromptSubmit": [{"hooks": [{**handler, "timeout": 5}]}],
            "SessionStart": [{"matcher": "startup|clear|compact", "hooks": [{**handler, "timeout": 10}]}],
            "PreCompact": [{"hooks": [{**handler, "timeout": 5}]}],
            "SessionEnd": [{"hooks": [{**handler, "timeout": 5}]}],
        }
    }
    assert os.access(path, os.X_OK)


def installed(name: str) -> object:
    """Return what the first file of *name* holds after an installation into nothing; our command is COMMAND."""
    agent = agents.load(name)
    agent.install("user")
    text = read(agent.targets("user", None)[0].path).replace(hook_command("user"), "COMMAND")
    return plain(text)


def test_what_is_written_for_the_others() -> None:
    """Units differ (seconds, milliseconds), and shapes do: AGENT_HOOKS, one section an agent."""
    handler = {"type": "command", "command": "COMMAND"}
    five, ten = {**handler, "timeout": 5}, {**handler, "timeout": 10}
    start = {"matcher": "startup|clear|compact", "hooks": [ten]}
    named = {"name": "git-recall", **handler}
    each = {
        "UserPromptSubmit": [{"hooks": [five]}],
        "SessionStart": [{"hooks": [ten]}],
        "PreCompact": [{"hooks": [five]}],
    }
    three = [{"hooks": [{**handler, "timeout": 3}]}]  # more than that it does not wait at a session's end
    assert installed("codex") == {"hooks": {**each, "SessionStart": [start], "SessionEnd": three}}
    assert installed("qwen") == {"hooks": {**each, "SessionEnd": [{"hooks": [five]}]}}
    assert installed("factory") == installed("qwen")
    assert installed("gemini") == {
        "hooks": {
            "BeforeAgent": [{"hooks": [{**named, "timeout": 5000}]}],
            "SessionStart": [{"hooks": [{**named, "timeout": 10_000}]}],
            "PreCompress": [{"hooks": [{**named, "timeout": 5000}]}],
            "SessionEnd": [{"hooks": [{**named, "timeout": 5000}]}],
        }
    }
    bare = [{"command": "COMMAND"}]
    assert installed("cursor") == {
        "version": 1,
        "hooks": {"beforeSubmitPrompt": bare, "sessionStart": bare, "preCompact": bare, "sessionEnd": bare},
    }
    assert installed("copilot") == {"version": 1, "hooks": {"sessionStart": [{**handler, "timeoutSec": 10}]}}
    kiro = {"action": handler, "enabled": True}
    assert installed("kiro") == {
        "version": "v1",
        "hooks": [
            {"name": "git-recall", "trigger": "UserPromptSubmit", "timeout": 5, **kiro},
            {"name": "git-recall-start", "trigger": "SessionStart", "timeout": 10, **kiro},
        ],
    }
    server = SERVER
    assert installed("windsurf") == installed("cline") == {"mcpServers": {"recall": server}}
    assert installed("vscode") == {"servers": {"recall": {"type": "stdio", **server}}}
    assert installed("zed") == {"context_servers": {"recall": {"source": "custom", **server}}}


def test_openclaw_gets_its_plugin_and_what_its_hooks_need(hermetic: Path) -> None:
    agents.load("openclaw").install("user")
    folder = hermetic / ".openclaw" / "extensions" / "recall-git"
    assert {path.name for path in folder.iterdir()} == {"index.js", "package.json", "openclaw.plugin.json"}
    entry = {"enabled": True, "hooks": {"allowConversationAccess": True}}
    assert json.loads(read(hermetic / ".openclaw/openclaw.json")) == {"plugins": {"entries": {"recall-git": entry}}}


def test_openclaw_settings_in_json5_are_left_alone(hermetic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = hermetic / ".openclaw" / "openclaw.json"
    settings.parent.mkdir()
    write(settings, "{plugins: {entries: {}}}\n")
    assert cli.main(["install", "openclaw"]) == 0
    assert (
        "openclaw config set plugins.entries.recall-git.hooks.allowConversationAccess true" in capsys.readouterr().out
    )
    assert (settings.parent / "extensions" / "recall-git" / "index.js").exists()
    assert cli.main(["uninstall", "openclaw"]) == 0
    assert [path.name for path in settings.parent.iterdir()] == ["openclaw.json"]
    assert read(settings) == "{plugins: {entries: {}}}\n"


def test_factory_hooks_of_the_settings_are_not_hidden(hermetic: Path) -> None:
    """Droid reads those of settings.json only while there is no hooks.json."""
    settings = hermetic / ".factory" / "settings.json"
    settings.parent.mkdir()
    write(settings, '{"hooks": {"Stop": []}}')
    agents.load("factory").install("user")
    assert not settings.with_name("hooks.json").exists()
    assert "recall-git-hook" in read(settings)
    agents.load("factory").uninstall("user")
    assert read(settings) == '{"hooks": {"Stop": []}}'


def test_a_shared_skill_stays_until_the_last_agent_leaves(hermetic: Path) -> None:
    skill = hermetic / ".agents" / "skills" / "recall" / "SKILL.md"
    agents.load("codex").install("user")
    agents.load("pi").install("user")
    agents.load("codex").uninstall("user")
    assert skill.exists()
    agents.load("gemini").uninstall("user")  # never was there
    assert skill.exists()
    agents.load("pi").uninstall("user")
    assert not (hermetic / ".agents").exists()


def test_a_file_of_somebody_else_is_neither_written_nor_removed(hermetic: Path) -> None:
    extension = hermetic / ".pi" / "agent" / "extensions" / "recall-git.ts"
    extension.parent.mkdir(parents=True)
    extension.write_text("mine\n")
    with pytest.raises(Refused, match="recall-git did not write"):
        agents.load("pi").install("user")
    assert not (hermetic / ".agents").exists()  # nothing was written before the refusal
    agents.load("pi").uninstall("user")
    assert extension.read_text() == "mine\n"


def test_an_older_extension_of_ours_is_renewed_and_an_edited_one_removed(hermetic: Path) -> None:
    extension = hermetic / ".pi" / "agent" / "extensions" / "recall-git.ts"
    extension.parent.mkdir(parents=True)
    extension.write_text(f"// {MARK}, long ago\n")
    agents.load("pi").install("user")
    assert "spawn" in extension.read_text()
    extension.write_text(extension.read_text() + "// mine\n")
    agents.load("pi").uninstall("user")
    assert not extension.exists()


def test_a_server_of_somebody_else_called_recall_is_left_alone(hermetic: Path) -> None:
    path = hermetic / ".codeium" / "windsurf" / "mcp_config.json"
    path.parent.mkdir(parents=True)
    text = '{"mcpServers": {"recall": {"command": "other-memory", "args": ["serve"]}}}'
    write(path, text)
    with pytest.raises(Refused, match="'recall' is something else already"):
        agents.load("windsurf").install("user")
    agents.load("windsurf").uninstall("user")
    assert read(path) == text


def test_an_older_server_of_ours_is_renewed(hermetic: Path) -> None:
    path = hermetic / ".codeium" / "windsurf" / "mcp_config.json"
    path.parent.mkdir(parents=True)
    write(path, '{\n  "mcpServers": {\n    "recall": {"command": "/old/git-recall", "args": ["mcp"]}\n  }\n}\n')
    agents.load("windsurf").install("user")
    assert json.loads(read(path)) == {"mcpServers": {"recall": SERVER}}


@pytest.mark.parametrize(
    ("name", "variable", "file"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("codex", "CODEX_HOME", "hooks.json"),
        ("copilot", "COPILOT_HOME", "hooks/recall-git.json"),
        ("hermes", "HERMES_HOME", "config.yaml"),
        ("openclaw", "OPENCLAW_STATE_DIR", "openclaw.json"),
    ],
)
def test_a_folder_that_was_moved_is_honoured(
    name: str, variable: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
    agents.load(name).install("user")
    assert (tmp_path / "elsewhere" / file).exists()


@pytest.mark.parametrize(
    "text",
    ['{"a": }', '{"a": 1', "[]", "null", '{"a" 1}', "{a: 1}", '{"a": 1} x', '{"a": "\x01"}', '{"hooks": []}',
     '{"hooks": {"SessionStart": {}}}', "[" * 5000, '{"a": 01}', "{,}", '{"a": 1,,}'],
)  # fmt: skip
def test_what_is_not_json_is_refused_with_the_lines_to_add(settings: Path, text: str) -> None:
    write(settings, text)
    with pytest.raises(Refused, match=r"(?s)is not JSON .*\(line 1, column.*UserPromptSubmit"):
        CLAUDE.install("user")
    assert read(settings) == text
    assert not (launcher.folder() / "installed.json").exists()


def test_bytes_that_are_not_utf8_stay(settings: Path) -> None:
    settings.write_bytes(b'{\n  "name": "caf\xe9"\n}\n')
    CLAUDE.install("user")
    assert b'"caf\xe9"' in settings.read_bytes()
    CLAUDE.uninstall("user")
    assert settings.read_bytes() == b'{\n  "name": "caf\xe9"\n}\n'


def test_an_old_command_is_renewed_in_place(settings: Path) -> None:
    old = {"type": "command", "command": "'/old place/recall-git-hook'", "timeout": 3, "statusMessage": "…"}
    other = {"type": "command", "command": "other"}
    before = {"hooks": {"UserPromptSubmit": [{"hooks": [other, old]}]}}
    write(settings, json.dumps(before, ensure_ascii=False))
    CLAUDE.install("user")
    handlers = json.loads(read(settings))["hooks"]["UserPromptSubmit"][0]["hooks"]
    assert handlers == [other, {**old, "command": str(launcher.folder() / "recall-git-hook")}]
    CLAUDE.uninstall("user")
    assert json.loads(read(settings)) == {"hooks": {"UserPromptSubmit": [{"hooks": [other]}]}}


def test_our_hook_in_a_shared_group_goes_alone(settings: Path) -> None:
    other = {"type": "command", "command": "other"}
    ours = {"type": "command", "command": "git-recall", "args": ["recall-git-hook"]}
    write(settings, json.dumps({"hooks": {"Stop": [{"hooks": [ours, other, ours]}]}}))
    CLAUDE.uninstall("user")
    assert read(settings) == json.dumps({"hooks": {"Stop": [{"hooks": [other]}]}})


def test_the_receipt_is_private(settings: Path) -> None:
    write(settings, '{"env": {"TOKEN": "secret"}}')
    CLAUDE.install("user")
    receipt = launcher.folder() / "installed.json"
    assert stat.S_IMODE(receipt.stat().st_mode) == 0o600
    assert stat.S_IMODE(receipt.parent.stat().st_mode) == 0o700
    CLAUDE.uninstall("user")
    assert not receipt.exists()


# the project's command ------------------------------------------------------------------------------


def run_project_command(home: Path, path: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ("sh", "-c", PROJECT_COMMAND), input='{"prompt": "x"}', capture_output=True, text=True, check=False,
        timeout=60, env={"HOME": str(home), "PATH": path, **environ},
    )  # fmt: skip


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_project_command_is_silent_where_recall_is_not_installed(tmp_path: Path) -> None:
    done = run_project_command(tmp_path, os.defpath)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_project_command_finds_the_launcher_then_path(tmp_path: Path) -> None:
    home = tmp_path / "my home"
    program(tmp_path / "bin" / "recall-git-hook", "echo path; cat")
    path = f"{tmp_path / 'bin'}:{os.defpath}"
    assert run_project_command(home, path).stdout == 'path\n{"prompt": "x"}'
    program(home / ".local/share/recall-git/recall-git-hook", "echo launcher")
    assert run_project_command(home, path).stdout == "launcher\n"
    program(tmp_path / "xdg/recall-git/recall-git-hook", "echo noise >&2; exit 2")
    done = run_project_command(home, path, XDG_DATA_HOME=str(tmp_path / "xdg"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# the commands ---------------------------------------------------------------------------------------


def test_commands_connect_and_disconnect(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repo.path)
    path = repo.path / ".claude" / "settings.json"
    assert cli.main(["install", "claude-code", "--project", "--dry-run"]) == 0
    assert "+          " in capsys.readouterr().out
    assert not path.parent.exists()
    assert cli.main(["install", "claude-code", "--project"]) == 0
    assert f"claude-code: {path}: connected" in capsys.readouterr().out
    assert cli.main(["install", "claude-code", "--project"]) == 0
    assert "nothing to change" in capsys.readouterr().out
    assert cli.main(["install", "claude-code"]) == 0
    assert f"also connected by {path}" in capsys.readouterr().out
    assert cli.main(["uninstall", "claude-code", "--project"]) == 0
    assert cli.main(["uninstall", "claude-code", "--user"]) == 0
    assert not path.parent.exists()
    assert cli.main(["uninstall", "claude-code"]) == 0
    assert "nothing to change" in capsys.readouterr().out


@pytest.fixture
def bare_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with Git alone, so that only what the test makes is found."""
    import shutil

    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "git").symlink_to(str(shutil.which("git")))
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_all_means_those_that_are_here(
    hermetic: Path, bare_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (hermetic / ".codex").mkdir()
    program(bare_path / "goose", "")
    assert cli.main(["install"]) == 3
    assert "(found: codex, goose)" in capsys.readouterr().err
    assert cli.main(["install", "--all", "--dry-run"]) == 0
    assert not (hermetic / ".codex" / "hooks.json").exists()
    assert cli.main(["install", "--all"]) == 0
    assert (hermetic / ".codex" / "hooks.json").exists()
    assert (hermetic / ".config" / "goose" / "config.yaml").exists()
    assert "/hooks" in capsys.readouterr().out
    assert cli.main(["uninstall", "--all"]) == 0
    assert capsys.readouterr().out.count("disconnected") == 3
    assert sorted(hermetic.iterdir()) == [hermetic / ".codex", hermetic / ".gitconfig", hermetic / ".local"]
    assert cli.main(["uninstall", "--all"]) == 0
    assert capsys.readouterr().out == ""


def test_a_refusal_does_not_keep_the_others_from_their_turn(
    settings: Path, hermetic: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(settings, "{")
    assert cli.main(["install", "claude-code", "codex"]) == 3
    shown = capsys.readouterr()
    assert "claude-code" in shown.err
    assert "codex: " in shown.out
    assert (hermetic / ".codex" / "hooks.json").exists()


def test_project_wide_only_where_there_are_project_settings(
    repo: GitRepo, hermetic: Path, bare_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repo.path)
    assert cli.main(["install", "hermes", "--project"]) == 3
    assert "Hermes has no settings in a project" in capsys.readouterr().err
    (hermetic / ".hermes").mkdir()
    (hermetic / ".cursor").mkdir()
    assert cli.main(["install", "--all", "--project"]) == 0
    assert (repo.path / ".cursor" / "hooks.json").exists()
    assert not list((hermetic / ".hermes").iterdir())


def test_mistakes_get_one_line_and_status_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["install", "emacs"]) == 3
    assert "known: claude-code, codex, " in capsys.readouterr().err
    assert cli.main(["install", "claude-code", "emacs"]) == 3
    assert not (Path.home() / ".claude").exists()
    assert cli.main(["install", "claude-code", "--project"]) == 3
    assert "not inside a Git repository" in capsys.readouterr().err
    assert cli.main(["install", "claude-code", "--all"]) == 3
    assert cli.main(["uninstall"]) == 3


@pytest.mark.parametrize("name", agents.AGENTS)
def test_every_agent_offers_what_the_commands_need(name: str) -> None:
    agent = agents.load(name)
    assert agent.name == name
    assert agent.title
    assert "user" in agent.scopes
    assert agent.folders or agent.programs


def test_the_file_for_hand_work_says_what_install_writes() -> None:
    text = (Path(__file__).parents[2] / "hooks" / "claude-code" / "settings.json").read_text()
    target = CLAUDE.targets("project", Path("/"))[0]
    assert text == target.added("")[0]
