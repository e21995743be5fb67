"""``git recall doctor``: finds each fault, and says what to do about it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recall_git import agents, cli, launcher, trace
from recall_git.agents.base import hook_command
from recall_git.commands import doctor

if TYPE_CHECKING:
    from conftest import GitRepo

CLAUDE = agents.load("claude-code")
Report = dict[str, list[dict[str, str]]]


@pytest.fixture
def examine(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., tuple[int, Report]]:
    """Run the doctor with our program on PATH; return status and checks by name. *real*: run the hook, too."""
    folder = tmp_path / "bin"
    folder.mkdir()
    ours = folder / "git-recall"
    ours.write_text(f"#!{sys.executable}\nfrom recall_git.cli import main\n")
    ours.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(doctor, "RUNS", 1)
    check_runs = doctor._check_runs

    def run(folder: Path = repo.path, *, real: bool = False) -> tuple[int, Report]:
        stub = doctor.Check("hook", "ok", "not run")
        monkeypatch.setattr(doctor, "_check_runs", check_runs if real else lambda *where: [stub])
        monkeypatch.chdir(folder)
        capsys.readouterr()
        status = cli.main(["doctor", "--json"])
        answer = json.loads(capsys.readouterr().out)
        assert answer["ok"] is (status == 0)
        found: Report = {}
        for check in answer["checks"]:
            found.setdefault(check["name"], []).append(check)
        return status, found

    return run


def worst(found: Report, name: str) -> str:
    return max((check["level"] for check in found[name]), key=("ok", "warn", "fail").index)


def said(found: Report, name: str) -> str:
    return "\n".join(f"{check['what']} {check['do']}" for check in found[name])


@pytest.fixture
def well(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    """A repository where everything works."""
    monkeypatch.chdir(repo.path)
    repo.commit({"a.md": "# Apples\n\nApples keep well in the cellar.\n"})
    assert cli.main(["init", "--hooks", "native"]) == 0
    CLAUDE.install("user")
    return repo


def test_all_is_well(well: GitRepo, examine: Callable[..., tuple[int, Report]]) -> None:
    status, found = examine(real=True)
    assert status == 0, found
    assert {check["level"] for checks in found.values() for check in checks} == {"ok"}
    assert set(found) == {
        "git",
        "path",
        "launcher",
        "repository",
        "index",
        "git hooks",
        "notes",
        "log",
        "claude-code",
        "hook",
    }
    assert "trust" in said(found, "claude-code")
    assert " ms a prompt" in said(found, "hook")


def test_text_for_people(well: GitRepo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "RUNS", 1)
    well.git("config", "recall.budget", "lots")
    cli.main(["doctor"])
    out = capsys.readouterr().out
    assert "warn  settings: recall.budget = 'lots'" in out
    assert "      → see 'git config" in out


def test_not_opted_in(repo: GitRepo, examine: Callable[..., tuple[int, Report]]) -> None:
    status, found = examine()
    assert status == 1
    assert "git recall init" in said(found, "repository")
    assert worst(found, "launcher") == "fail"
    assert worst(found, "agents") == "warn"


def test_outside_a_repository_the_machine_is_checked(
    tmp_path: Path, examine: Callable[..., tuple[int, Report]]
) -> None:
    launcher.ensure()
    status, found = examine(tmp_path)
    assert status == 0
    assert worst(found, "repository") == "warn"


def test_a_foreign_program_of_our_name(
    well: GitRepo, examine: Callable[..., tuple[int, Report]], tmp_path: Path
) -> None:
    (tmp_path / "bin" / "git-recall").write_text("#!/bin/sh\necho another tool\n")
    status, found = examine()
    assert status == 1
    assert str(tmp_path / "bin" / "git-recall") in said(found, "path")


def test_no_program_on_path(
    well: GitRepo, examine: Callable[..., tuple[int, Report]], monkeypatch: pytest.MonkeyPatch
) -> None:
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "git-recall" else which(name))
    _, found = examine()
    assert worst(found, "path") == "warn"


def test_a_dead_launcher_is_found_everywhere(well: GitRepo, examine: Callable[..., tuple[int, Report]]) -> None:
    path = launcher.folder() / launcher.NAME
    path.write_bytes(launcher.script("/gone/python", Path("/gone/client.py")))
    status, found = examine(real=True)
    assert status == 1
    for name in ("launcher", "git hooks", "claude-code", "hook"):
        assert worst(found, name) == "fail", name
    assert "/gone/python" in said(found, "launcher")
    assert len(found["git hooks"]) == 1  # five hooks with one fault are one line


@pytest.mark.parametrize(
    ("break_it", "level", "words"),
    [
        (lambda hooks: (hooks / "post-commit").chmod(0o644), "fail", "post-commit"),
        (lambda hooks: (hooks / "post-merge").unlink(), "warn", "not installed: post-merge"),
    ],
)
def test_hooks_that_never_fire(
    well: GitRepo,
    examine: Callable[..., tuple[int, Report]],
    break_it: Callable[[Path], None],
    level: str,
    words: str,
) -> None:
    break_it(well.path / ".git" / "hooks")
    _, found = examine()
    assert worst(found, "git hooks") == level
    assert words in said(found, "git hooks")


def test_hooks_path_that_hides_ours(well: GitRepo, examine: Callable[..., tuple[int, Report]], tmp_path: Path) -> None:
    shared = tmp_path / "everyone"
    shared.mkdir()
    well.git("config", "core.hooksPath", str(shared))
    status, found = examine()
    assert status == 1
    assert str(shared) in said(found, "git hooks")


def test_framework_without_its_stages(well: GitRepo, examine: Callable[..., tuple[int, Report]]) -> None:
    assert cli.main(["init", "--hooks", "pre-commit"]) == 0
    well.write({".pre-commit-config.yaml": "repos:\n- repo: x\n  rev: v1\n  hooks: [{id: recall-index}]\n"})
    status, found = examine()
    assert status == 1
    assert "pre-commit install -t pre-commit -t post-commit" in said(found, "git hooks")


def test_index_that_is_behind_missing_or_not_ours(well: GitRepo, examine: Callable[..., tuple[int, Report]]) -> None:
    well.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "more")
    _, found = examine()
    assert worst(found, "index") == "warn"
    assert well.head()[:10] in said(found, "index")
    (well.path / ".git/recall/nonce").write_text("0" * 64)
    status, found = examine()
    assert status == 1
    assert "git recall index" in said(found, "index")
    (well.path / ".git/recall/nonce").unlink()
    _, found = examine()
    assert "git recall init" in said(found, "index")


def test_a_tracked_index_is_not_trusted(well: GitRepo, examine: Callable[..., tuple[int, Report]]) -> None:
    well.git("add", "-f", ".recall/index")
    status, found = examine()
    assert status == 1
    assert "git rm -r -q --cached" in said(found, "index")


def test_broken_front_matter_is_named_up_to_five(well: GitRepo, examine: Callable[..., tuple[int, Report]]) -> None:
    broken = "---\ntags: [a\n---\n# Broken\n"
    good = "---\ntags: [a]\n---\n# Good\n"
    well.commit({**{f"broken{number}.md": broken for number in range(7)}, "good.md": good})
    _, found = examine()
    assert worst(found, "notes") == "warn"
    assert "broken0.md" in said(found, "notes")
    assert "and 2 more" in said(found, "notes")
    assert "good.md" not in said(found, "notes")


def test_failed_runs_show(well: GitRepo, examine: Callable[..., tuple[int, Report]]) -> None:
    record = trace.record(time="2026-03-01T12:00:00Z", event="UserPromptSubmit", outcome="failed", why="disk on fire")
    trace.write(well.path / ".git" / "recall", record)
    _, found = examine()
    assert worst(found, "log") == "warn"
    assert "disk on fire" in said(found, "log")


def test_settings_of_an_agent_that_are_not_json(well: GitRepo, examine: Callable[..., tuple[int, Report]]) -> None:
    CLAUDE.targets("user", None)[0].path.write_text("{")
    status, found = examine()
    assert status == 1
    assert "is not JSON" in said(found, "claude-code")


def test_connected_twice(well: GitRepo, examine: Callable[..., tuple[int, Report]]) -> None:
    CLAUDE.install("project", well.path)
    _, found = examine()
    assert worst(found, "claude-code") == "warn"
    assert "twice" in said(found, "claude-code")


def test_the_same_hook_twice_in_one_file(well: GitRepo, examine: Callable[..., tuple[int, Report]]) -> None:
    path = CLAUDE.targets("user", None)[0].path
    settings = json.loads(path.read_text())
    settings["hooks"]["SessionStart"] *= 2
    path.write_text(json.dumps(settings))
    _, found = examine()
    assert worst(found, "claude-code") == "warn"
    assert "more than once for SessionStart" in said(found, "claude-code")


def test_a_plugin_beside_the_settings(well: GitRepo, examine: Callable[..., tuple[int, Report]]) -> None:
    path = CLAUDE.targets("user", None)[0].path
    settings = json.loads(path.read_text())
    path.write_text(json.dumps({**settings, "enabledPlugins": {"git-recall@recall-git": True}}))
    _, found = examine()
    assert "by its plugin git-recall@recall-git" in said(found, "claude-code")


def test_settings_that_were_never_ours_are_not_our_business(
    well: GitRepo, examine: Callable[..., tuple[int, Report]], hermetic: Path
) -> None:
    (hermetic / ".codex").mkdir()
    (hermetic / ".codex" / "hooks.json").write_text("{")
    status, found = examine()
    assert status == 0
    assert "codex" not in found


def test_a_server_whose_program_is_gone(
    well: GitRepo, examine: Callable[..., tuple[int, Report]], hermetic: Path
) -> None:
    agents.load("windsurf").install("user")
    _, found = examine()
    assert worst(found, "windsurf") == "ok"
    path = hermetic / ".codeium" / "windsurf" / "mcp_config.json"
    settings = json.loads(path.read_text())
    settings["mcpServers"]["recall"]["command"] = "/gone/git-recall"
    path.write_text(json.dumps(settings))
    status, found = examine()
    assert status == 1
    assert "there is no program /gone/git-recall" in said(found, "windsurf")


def claude_trusts(home: Path, top: Path, *, yes: bool) -> None:
    projects = {str(top): {"hasTrustDialogAccepted": yes}}
    (home / ".claude.json").write_text(json.dumps({"projects": projects}))


def codex_trusts(home: Path, top: Path, *, yes: bool) -> None:
    other = '[hooks.state."/elsewhere/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:1"\n'
    ours = f'[hooks.state."{home}/.codex/hooks.json:user_prompt_submit:0:0"]\ntrusted_hash = "sha256:2"\n'
    (home / ".codex" / "config.toml").write_text(f'model = "x"\n\n{other}\n{ours if yes else ""}')


def hermes_trusts(home: Path, top: Path, *, yes: bool) -> None:
    approvals = [{"event": "pre_llm_call", "command": hook_command("user")}] if yes else []
    (home / ".hermes" / "shell-hooks-allowlist.json").write_text(json.dumps({"approvals": approvals}))


def openclaw_trusts(home: Path, top: Path, *, yes: bool) -> None:
    hooks = {"allowConversationAccess": True, "allowPromptInjection": yes}
    settings = {"plugins": {"entries": {"recall-git": {"enabled": True, "hooks": hooks}}}}
    (home / ".openclaw" / "openclaw.json").write_text(json.dumps(settings))


def gemini_trusts(home: Path, top: Path, *, yes: bool) -> None:
    (home / ".gemini").mkdir(exist_ok=True)
    answer = "TRUST_FOLDER" if yes else "DO_NOT_TRUST"
    (home / ".gemini" / "trustedFolders.json").write_text(f'{{\n  // mine\n  "{top.parent}": "{answer}"\n}}')


def qwen_trusts(home: Path, top: Path, *, yes: bool) -> None:
    (home / ".qwen").mkdir(exist_ok=True)
    (home / ".qwen" / "trustedFolders.json").write_text(json.dumps({str(top): "TRUST_FOLDER"} if yes else {}))


def copilot_trusts(home: Path, top: Path, *, yes: bool) -> None:
    (home / ".copilot").mkdir(exist_ok=True)
    (home / ".copilot" / "config.json").write_text(json.dumps({"trusted_folders": [str(top)] if yes else ["/x"]}))


def pi_trusts(home: Path, top: Path, *, yes: bool) -> None:
    (home / ".pi" / "agent").mkdir(parents=True, exist_ok=True)
    (home / ".pi" / "agent" / "trust.json").write_text(json.dumps({str(top): yes}))


@pytest.mark.parametrize(
    ("name", "scope", "trust", "words"),
    [
        ("claude-code", "user", claude_trusts, "accept its question"),
        ("codex", "user", codex_trusts, "open /hooks in Codex"),
        ("hermes", "user", hermes_trusts, "start 'hermes' in a terminal"),
        ("openclaw", "user", openclaw_trusts, "openclaw config set"),
        ("gemini", "project", gemini_trusts, "start 'gemini' here once"),
        ("qwen", "project", qwen_trusts, "start 'qwen' here once"),
        ("copilot", "project", copilot_trusts, "start 'copilot' here once"),
        ("pi", "project", pi_trusts, "start 'pi' here once"),
    ],
)
def test_what_an_agent_still_waits_for(
    well: GitRepo,
    examine: Callable[..., tuple[int, Report]],
    hermetic: Path,
    name: str,
    scope: str,
    trust: Callable[..., None],
    words: str,
) -> None:
    agents.load(name).install(scope, well.path)
    trust(hermetic, well.path, yes=False)
    status, found = examine()
    assert status == 0  # waiting for a person is no fault
    assert worst(found, name) == "warn"
    assert words in said(found, name)
    trust(hermetic, well.path, yes=True)
    _, found = examine()
    assert worst(found, name) == "ok"
    assert words not in said(found, name)


def test_trust_that_cannot_be_seen_is_named_without_alarm(
    well: GitRepo, examine: Callable[..., tuple[int, Report]]
) -> None:
    agents.load("gemini").install("project", well.path)
    _, found = examine()
    assert worst(found, "gemini") == "ok"
    assert "cannot be seen from here" in said(found, "gemini")


def test_each_connected_agent_is_measured_as_it_would_ask(
    well: GitRepo, examine: Callable[..., tuple[int, Report]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The program gets every agent's own input; a variable of the agent that runs the doctor stays away."""
    path = launcher.folder() / launcher.NAME
    names = ("codex", "gemini", "kiro", "hermes", "cursor", "copilot", "pi")
    for name in names:
        agents.load(name).install("user")
    agents.load("zed").install("user")
    path.write_text(
        f'#!/bin/sh\n(cat; echo; echo "cursor=$CURSOR_VERSION gemini=$GEMINI_SESSION_ID") >> {tmp_path}/seen\n'
    )
    monkeypatch.setattr(launcher, "fault", lambda path: "")
    monkeypatch.setenv("CURSOR_VERSION", "9")
    monkeypatch.setenv("SHELL", "/bin/sh")
    _, found = examine(real=True)
    titles = {check["what"].split(":", 1)[0] for check in found["hook"]}
    assert titles == {"Claude Code", *(agents.load(name).title for name in names)}
    lines = (tmp_path / "seen").read_text().splitlines()
    assert sum("cursor=9" in line for line in lines) == 0
    assert any(line.startswith("cursor=3.20.17") for line in lines)
    assert any("gemini=recall-doctor-" in line for line in lines)


def check_of(well: GitRepo) -> doctor.Check:
    (check,) = doctor._check_runs(well.path, well.path)
    return check


def test_a_hook_that_speaks_on_stderr_is_a_fault(well: GitRepo) -> None:
    path = launcher.folder() / launcher.NAME
    path.write_text(path.read_text().replace('"$python" -I', 'echo oops >&2; "$python" -I'))
    check = check_of(well)
    assert check.level == "fail"
    assert "oops" in check.what


def test_a_profile_that_prints_is_a_fault(well: GitRepo) -> None:
    """Codex starts hooks through a login shell."""
    path = launcher.folder() / launcher.NAME
    path.write_text(path.read_text().replace('"$python" -I', 'echo "Welcome!"; "$python" -I'))
    check = check_of(well)
    assert check.level == "fail"
    assert "'Welcome!'" in check.what
