"""Connecting an agent: only our lines change, and taking them out leaves every byte as it was."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recall_git import agents, cli, launcher
from recall_git.agents import claude_code, hookfile, jsontext
from recall_git.receipt import Refused

if TYPE_CHECKING:
    from conftest import GitRepo

COMMAND = "/data/recall-git/recall-git-hook"
ENTRIES = claude_code.entries(COMMAND)

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


@pytest.fixture
def settings(hermetic: Path) -> Path:
    path = hermetic / ".claude" / "settings.json"
    path.parent.mkdir()
    return path


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def write(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8"))


@pytest.mark.parametrize("name", ODD)
def test_install_then_uninstall_leaves_every_byte(settings: Path, name: str) -> None:
    write(settings, ODD[name])
    settings.chmod(0o640)
    claude_code.install("user")
    assert {found.event for found in claude_code.inspect("user")} == {"UserPromptSubmit", "SessionStart"}
    assert stat.S_IMODE(settings.stat().st_mode) == 0o640
    claude_code.uninstall("user")
    assert read(settings) == ODD[name]
    assert stat.S_IMODE(settings.stat().st_mode) == 0o640


@pytest.mark.parametrize("name", ODD)
def test_twice_is_once(settings: Path, name: str) -> None:
    write(settings, ODD[name])
    claude_code.install("user")
    once = read(settings)
    (change,) = claude_code.install("user")
    assert not change.changed
    assert read(settings) == once


@pytest.mark.parametrize("name", ODD)
def test_everything_else_stays_in_its_place(name: str) -> None:
    text = ODD[name]
    after, _ = hookfile.added(text, ENTRIES)
    rest = iter(after)
    lost = [char for char in text if not char.isspace() and char not in rest]
    assert not lost  # every character of the old text is in the new one, in order
    before = jsontext.parse(text.lstrip("\ufeff")).plain() if text.strip() else {}
    now = jsontext.parse(after.lstrip("\ufeff")).plain()
    for event, groups in before.get("hooks", {}).items():
        assert now["hooks"][event][: len(groups)] == groups
    assert {key: value for key, value in now.items() if key != "hooks"} == {
        key: value for key, value in before.items() if key != "hooks"
    }
    assert ("\r\n" in text) == ("\r\n" in after)


@pytest.mark.parametrize("name", ODD)
def test_a_file_edited_since_loses_only_our_lines(settings: Path, name: str) -> None:
    """Without the receipt's bytes too: what we made and is empty goes, what was there stays."""
    write(settings, ODD[name])
    claude_code.install("user")
    write(settings, read(settings) + "\n")
    claude_code.uninstall("user")
    text = read(settings)
    assert hookfile.found(text) == []
    before = jsontext.parse(ODD[name].lstrip("\ufeff")).plain() if ODD[name].strip() else {}
    assert jsontext.parse(text.lstrip("\ufeff")).plain() == before


def test_what_is_written(settings: Path) -> None:
    claude_code.install("user")
    path = launcher.folder() / "recall-git-hook"
    handler = {"type": "command", "command": str(path)}
    assert json.loads(read(settings)) == {
        "hooks": {
            "UserPromptSubmit": [{"hooks": [{**handler, "timeout": 5}]}],
            "SessionStart": [{"matcher": "startup|clear|compact", "hooks": [{**handler, "timeout": 10}]}],
        }
    }
    assert os.access(path, os.X_OK)


def test_missing_file_and_folder_come_and_go(hermetic: Path) -> None:
    claude_code.install("user")
    assert (hermetic / ".claude" / "settings.json").exists()
    claude_code.uninstall("user")
    assert not (hermetic / ".claude").exists()


def test_config_dir_of_claude_is_honoured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "elsewhere"))
    claude_code.install("user")
    assert (tmp_path / "elsewhere" / "settings.json").exists()


def test_a_link_stays_a_link_and_its_target_is_written(settings: Path, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.json"
    target.write_text("{}\n")
    settings.symlink_to(target)
    claude_code.install("user")
    assert settings.is_symlink()
    assert "recall-git-hook" in target.read_text()
    claude_code.uninstall("user")
    assert settings.is_symlink()
    assert target.read_text() == "{}\n"


@pytest.mark.parametrize(
    "text",
    ['{"a": }', '{"a": 1', "[]", "null", '{"a" 1}', "{a: 1}", '{"a": 1} x', '{"a": "\x01"}', '{"hooks": []}',
     '{"hooks": {"SessionStart": {}}}', "[" * 5000, '{"a": 01}', "{,}", '{"a": 1,,}'],
)  # fmt: skip
def test_what_is_not_json_is_refused_with_the_lines_to_add(settings: Path, text: str) -> None:
    write(settings, text)
    with pytest.raises(Refused, match=r"(?s)is not JSON \(line 1, column.*UserPromptSubmit"):
        claude_code.install("user")
    assert read(settings) == text
    assert not (launcher.folder() / "installed.json").exists()


def test_bytes_that_are_not_utf8_stay(settings: Path) -> None:
    settings.write_bytes(b'{\n  "name": "caf\xe9"\n}\n')
    claude_code.install("user")
    assert b'"caf\xe9"' in settings.read_bytes()
    claude_code.uninstall("user")
    assert settings.read_bytes() == b'{\n  "name": "caf\xe9"\n}\n'


def test_an_old_command_is_renewed_in_place(settings: Path) -> None:
    old = {"type": "command", "command": "'/old place/recall-git-hook'", "timeout": 3, "statusMessage": "…"}
    other = {"type": "command", "command": "other"}
    write(settings, json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [other, old]}]}}, ensure_ascii=False))
    claude_code.install("user")
    handlers = json.loads(read(settings))["hooks"]["UserPromptSubmit"][0]["hooks"]
    assert handlers == [other, {**old, "command": str(launcher.folder() / "recall-git-hook")}]


def test_our_hook_in_a_shared_group_goes_alone(settings: Path) -> None:
    other = {"type": "command", "command": "other"}
    ours = {"type": "command", "command": "git-recall", "args": ["recall-git-hook"]}
    write(settings, json.dumps({"hooks": {"Stop": [{"hooks": [ours, other, ours]}]}}))
    claude_code.uninstall("user")
    assert read(settings) == json.dumps({"hooks": {"Stop": [{"hooks": [other]}]}})


def test_the_receipt_is_private(settings: Path) -> None:
    write(settings, '{"env": {"TOKEN": "secret"}}')
    claude_code.install("user")
    receipt = launcher.folder() / "installed.json"
    assert stat.S_IMODE(receipt.stat().st_mode) == 0o600
    assert stat.S_IMODE(receipt.parent.stat().st_mode) == 0o700
    claude_code.uninstall("user")
    assert not receipt.exists()


# the project's command ------------------------------------------------------------------------------


def run_project_command(home: Path, path: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ("sh", "-c", claude_code.PROJECT_COMMAND), input='{"prompt": "x"}', capture_output=True, text=True, check=False,
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
    assert f"{path}: connected" in capsys.readouterr().out
    assert str(repo.path.parent) not in path.read_text()  # nothing of this machine in a committed file
    assert cli.main(["install", "claude-code", "--project"]) == 0
    assert "nothing to change" in capsys.readouterr().out
    assert cli.main(["install", "claude-code"]) == 0
    assert "also connected by" in capsys.readouterr().out
    assert cli.main(["uninstall", "claude-code", "--project"]) == 0
    assert cli.main(["uninstall", "claude-code", "--user"]) == 0
    assert not path.parent.exists()
    assert cli.main(["uninstall", "claude-code"]) == 0
    assert "nothing to change" in capsys.readouterr().out


def test_mistakes_get_one_line_and_status_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["install", "emacs"]) == 3
    assert "known: claude-code" in capsys.readouterr().err
    assert cli.main(["install", "claude-code", "--project"]) == 3
    assert "not inside a Git repository" in capsys.readouterr().err
    assert cli.main(["install"]) == 3


@pytest.mark.parametrize("name", agents.AGENTS)
def test_every_agent_offers_what_the_commands_need(name: str) -> None:
    agent = agents.load(name)
    assert agent.TITLE
    assert "user" in agent.SCOPES
    offered: tuple[Callable[..., object], ...] = (agent.install, agent.uninstall, agent.inspect, agent.notes)
    assert all(map(callable, offered))


def test_the_file_for_hand_work_says_what_install_writes() -> None:
    text = (Path(__file__).parents[2] / "hooks" / "claude-code" / "settings.json").read_text()
    assert text == hookfile.added("", claude_code.entries(claude_code.PROJECT_COMMAND))[0]
