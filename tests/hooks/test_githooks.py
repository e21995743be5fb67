"""Git hooks through real Git: what was there stays, nothing waits, no status changes, every byte comes back."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from recall_git import githooks, launcher
from recall_git.receipt import Receipt, Refused
from recall_git.repo import Repo

if TYPE_CHECKING:
    from conftest import GitRepo

OLD, NEW = (2, 39), (2, 54)


class Installed:
    """A repository, a stub launcher that writes down its calls, and a receipt."""

    def __init__(self, repo: GitRepo, folder: Path) -> None:
        self.repo = repo
        folder.mkdir()
        self.log = folder / "calls"
        self.gate = folder / "gate"
        self.launcher = folder / "recall-git-hook"
        self.script("")

    def script(self, more: str) -> None:
        """Make the launcher write its arguments to the log and then run *more*."""
        write = f'echo "$*" >>{shlex.quote(str(self.log))}'
        self.launcher.write_text(f"#!/bin/sh\n{more}\n{write}\necho noise; echo noise >&2\nexit 3\n")
        self.launcher.chmod(0o755)

    def install(self, mode: str = "native", git: tuple[int, int] = OLD) -> githooks.Outcome:
        receipt = self.receipt()
        outcome = githooks.install(self.open(), mode, self.launcher, receipt, git=git)
        receipt.save()
        return outcome

    def uninstall(self) -> list[str]:
        receipt = self.receipt()
        lines = githooks.uninstall(self.open(), receipt)
        receipt.save()
        return lines

    def open(self) -> Repo:
        return Repo.discover(self.repo.path)

    def receipt(self) -> Receipt:
        return Receipt(self.open().state_dir / "receipt.json")

    def calls(self, count: int = 1) -> list[str]:
        """Return the calls, once there are *count*: the hooks run behind Git's back."""
        for _ in range(600):
            lines = self.log.read_text().splitlines() if self.log.exists() else []
            if len(lines) >= count:
                return lines
            time.sleep(0.05)
        raise AssertionError(f"{count} calls expected, got {lines}")

    @property
    def hooks(self) -> Path:
        return self.open().common_dir / "hooks"

    def user_hook(self, name: str, data: str, mode: int = 0o755) -> Path:
        path = self.hooks / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data.encode())
        path.chmod(mode)
        return path


@pytest.fixture
def installed(repo: GitRepo, tmp_path: Path) -> Installed:
    return Installed(repo, tmp_path / "it's a stub")


def snapshot(top: Path) -> dict[str, tuple[str, int, bytes]]:
    """Return everything below *top*: kind, mode and content of each path; logs and objects of Git left out."""
    found = {}
    for path in sorted(top.rglob("*")):
        name = path.relative_to(top).as_posix()
        if name.startswith((".git/objects", ".git/logs", ".git/index", ".git/COMMIT_EDITMSG")):
            continue
        state = path.lstat()
        if stat.S_ISLNK(state.st_mode):
            found[name] = ("link", 0, os.fsencode(path.readlink()))
        elif stat.S_ISREG(state.st_mode):
            found[name] = ("file", stat.S_IMODE(state.st_mode), path.read_bytes())
        else:
            found[name] = ("folder", 0, b"")
    return found


def captured(repo: GitRepo, *args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run Git with both streams in pipes, as agents do: a child that holds one keeps this waiting."""
    return subprocess.run(
        ("git", *args), cwd=cwd or repo.path, capture_output=True, check=False, timeout=120, stdin=subprocess.DEVNULL
    )


def test_each_event_reaches_the_launcher_with_its_arguments(installed: Installed) -> None:
    assert installed.install().events == githooks.EVENTS
    repo = installed.repo
    repo.commit({"a.md": "# A\n"})
    assert sorted(installed.calls(2)) == ["git post-commit", "git pre-commit"]
    repo.git("checkout", "-q", "-b", "side")
    assert "git post-checkout" in installed.calls(3)[2]
    repo.commit({"b.md": "# B\n"})
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "side")
    assert "git post-merge 0" in installed.calls(7)
    repo.git("commit", "-q", "--amend", "-m", "again")
    assert "git post-rewrite amend" in installed.calls(10)


def test_checkout_of_a_file_starts_nothing(installed: Installed) -> None:
    installed.repo.commit({"a.md": "# A\n"})
    installed.install()
    installed.repo.write({"a.md": "changed\n"})
    installed.repo.git("checkout", "--", "a.md")
    installed.repo.git("checkout", "-q", "-b", "side")
    assert len(installed.calls(1)) == 1
    assert installed.calls(1)[0].endswith(" 1")


@pytest.mark.parametrize("mode", ["native", "config"])
def test_captured_commit_does_not_wait_for_what_runs_behind_it(installed: Installed, mode: str) -> None:
    if mode == "config" and githooks.version(captured(installed.repo, "version").stdout) < NEW:
        pytest.skip("this Git has no config hooks")
    installed.script(f'[ "$2" = pre-commit ] || while [ ! -e "{installed.gate}" ]; do sleep 0.05; done')
    installed.install(mode, NEW)
    installed.repo.write({"a.md": "# A\n"})
    installed.repo.git("add", "a.md")
    done = captured(installed.repo, "commit", "-m", "x")
    assert done.returncode == 0
    assert installed.calls(1) == ["git pre-commit"]  # post-commit is still at the gate
    assert b"noise" not in done.stdout + done.stderr
    installed.gate.touch()
    assert "git post-commit" in installed.calls(2)


def test_no_status_changes_and_checkout_succeeds_whatever_the_launcher_says(installed: Installed) -> None:
    installed.install()
    installed.repo.commit({"a.md": "# A\n"})
    assert captured(installed.repo, "checkout", "-b", "side").returncode == 0
    assert captured(installed.repo, "worktree", "add", "../tree").returncode == 0
    installed.launcher.unlink()
    assert captured(installed.repo, "checkout", "-b", "gone").returncode == 0
    done = captured(installed.repo, "commit", "--allow-empty", "-qm", "y")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_post_checkout_status_of_the_user_stays_the_commands_status(installed: Installed) -> None:
    installed.repo.commit({"a.md": "# A\n"})
    installed.user_hook("post-checkout", "#!/bin/sh\nexit 7\n")
    installed.install()
    assert captured(installed.repo, "checkout", "-b", "side").returncode == 1


@pytest.mark.parametrize(
    "script",
    [
        "#!/bin/sh\nexit 1\n",
        "#!/bin/sh\n# comment\nset -e\nfalse\n",
        "#!/bin/bash -eu\nfalse\n",
        "#!/usr/bin/env bash\nset -euo pipefail\nexec false\n",
        "exit 1\n",
        "#!/bin/sh\nexit 1",
        f"#!{sys.executable}\nraise SystemExit(1)\n",
    ],
)
def test_a_users_hook_still_stops_a_commit(installed: Installed, script: str) -> None:
    hook = installed.user_hook("pre-commit", script)
    before = snapshot(installed.repo.path)
    installed.install()
    installed.repo.write({"a.md": "# A\n"})
    installed.repo.git("add", "a.md")
    assert captured(installed.repo, "commit", "-m", "x").returncode != 0
    assert installed.calls(1) == ["git pre-commit"]  # and ours ran, though the hook ends early
    installed.repo.git("reset", "-q", check=False)
    (installed.repo.path / "a.md").unlink()
    installed.uninstall()
    shutil.rmtree(installed.open().state_dir, ignore_errors=True)
    assert snapshot(installed.repo.path) == before
    assert hook.read_bytes() == script.encode()


def test_set_e_and_set_u_scripts_go_on_after_our_lines(installed: Installed) -> None:
    marker = installed.repo.path / ".git" / "went-on"
    installed.user_hook("pre-commit", f"#!/bin/sh -eu\ntouch '{marker}'\n")
    installed.user_hook("post-commit", f"#!/bin/sh -eu\ntouch '{marker}2'\n")
    installed.launcher.unlink()
    installed.install()
    installed.repo.commit({"a.md": "# A\n"})
    assert marker.exists()
    assert marker.with_name("went-on2").exists()


@pytest.mark.parametrize("kind", ["shell", "python", "link"])
def test_post_rewrite_of_the_user_gets_its_lines(installed: Installed, tmp_path: Path, kind: str) -> None:
    got = tmp_path / "got"
    shell = f"#!/bin/sh\nexec cat >'{got}'\n"
    python = f"#!{sys.executable}\nimport sys\nopen({str(got)!r}, 'w').write(sys.stdin.read())\n"
    if kind == "link":
        installed.user_hook("target", shell)
        (installed.hooks / "post-rewrite").symlink_to("target")
    else:
        installed.user_hook("post-rewrite", shell if kind == "shell" else python)
    installed.repo.commit({"a.md": "# A\n"})
    old = installed.repo.head()
    installed.install()
    installed.repo.git("commit", "-q", "--amend", "-m", "again")
    assert got.read_text() == f"{old} {installed.repo.head()}\n"
    assert "git post-rewrite amend" in installed.calls(3)


def test_a_linked_hook_keeps_the_name_it_looks_at(installed: Installed, tmp_path: Path) -> None:
    """Overcommit links one program to every hook and asks for the name that it was called by."""
    got = tmp_path / "got"
    installed.user_hook("master", f"#!/bin/sh\nbasename \"$0\" >'{got}'\n")
    (installed.hooks / "pre-commit").symlink_to("master")
    before = snapshot(installed.repo.path)
    installed.install()
    installed.install()
    assert captured(installed.repo, "commit", "--allow-empty", "-qm", "x").returncode == 0
    assert got.read_text() == "pre-commit\n"
    installed.uninstall()
    shutil.rmtree(installed.open().state_dir, ignore_errors=True)
    after = {name: value for name, value in snapshot(installed.repo.path).items() if "refs/" not in name}
    assert after == {name: value for name, value in before.items() if "refs/" not in name}


def test_a_hook_that_git_ignores_stays_ignored(installed: Installed) -> None:
    installed.user_hook("pre-commit", "#!/bin/sh\nexit 1\n", mode=0o644)
    before = snapshot(installed.repo.path)
    installed.install()
    assert captured(installed.repo, "commit", "--allow-empty", "-qm", "x").returncode == 0
    assert installed.calls(1)[0] == "git pre-commit"
    installed.uninstall()
    hook = installed.hooks / "pre-commit"
    assert (hook.stat().st_mode & 0o777, hook.read_bytes()) == (0o644, before[".git/hooks/pre-commit"][2])


def test_twice_is_once(installed: Installed) -> None:
    installed.user_hook("post-commit", "#!/bin/sh\necho mine\n")
    installed.user_hook("post-merge", f"#!{sys.executable}\nprint('mine')\n")
    installed.install()
    once = snapshot(installed.repo.path)
    installed.install()
    assert snapshot(installed.repo.path) == once


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("#!/bin/sh\nmake\n", "#!/bin/sh\n@make\n"),
        ("#!/bin/sh\n# why\n# more\n\nmake\n", "#!/bin/sh\n# why\n# more\n@\nmake\n"),
        ("#!/bin/sh\n# >>> other >>>\nx\n# <<< other <<<\n", "#!/bin/sh\n@# >>> other >>>\nx\n# <<< other <<<\n"),
        ("#!/bin/sh\n# BEGIN beads\nx\n", "#!/bin/sh\n@# BEGIN beads\nx\n"),
        ("#!/bin/sh", "#!/bin/sh\n@"),
        ("make\n", "@make\n"),
        ("", "@"),
    ],
)
def test_our_lines_go_where_they_run_whatever_follows(before: str, after: str) -> None:
    assert githooks.insert(before.encode(), b"@") == after.encode()


@pytest.mark.parametrize(
    ("line", "shell"),
    [
        ("#!/bin/sh", True), ("#! /bin/bash -e", True), ("#!/usr/bin/env bash", True),
        ("#!/usr/bin/env -S zsh -f", True), ("#!/usr/bin/env python3", False), ("#!/usr/bin/fish", False),
        ("#!/bin/csh", False), ("#!/usr/bin/perl", False),
        ("#!/usr/bin/env -S shellharden", False), ("echo hello", True), ("\x7fELF\0", False),
    ],
)  # fmt: skip
def test_what_is_a_shell_script(line: str, shell: bool) -> None:
    assert githooks.is_shell(line.encode() + b"\nrest\n") is shell


def test_edits_made_since_are_kept(installed: Installed) -> None:
    hook = installed.user_hook("post-commit", "#!/bin/sh\necho mine\n")
    installed.install()
    hook.write_bytes(hook.read_bytes() + b"echo more\n")
    (installed.hooks / "post-merge").write_bytes((installed.hooks / "post-merge").read_bytes() + b"echo new\n")
    installed.uninstall()
    assert hook.read_bytes() == b"#!/bin/sh\necho mine\necho more\n"
    assert (installed.hooks / "post-merge").read_bytes() == b"#!/bin/sh\necho new\n"
    assert not (installed.hooks / "pre-commit").exists()


def test_edits_made_between_two_installations_are_kept(installed: Installed) -> None:
    hook = installed.user_hook("post-commit", "#!/bin/sh\necho mine\n")
    installed.install()
    hook.write_bytes(hook.read_bytes() + b"echo more\n")
    installed.install()
    installed.uninstall()
    assert hook.read_bytes() == b"#!/bin/sh\necho mine\necho more\n"


def test_without_the_receipt_hooks_come_back_too(installed: Installed) -> None:
    python = installed.user_hook("post-merge", f"#!{sys.executable}\nprint('mine')\n")
    shell = installed.user_hook("post-commit", "#!/bin/sh\necho mine\n")
    before = snapshot(installed.repo.path)
    installed.install()
    shutil.rmtree(installed.open().state_dir)
    installed.uninstall()
    assert python.read_text().endswith("print('mine')\n")
    assert shell.read_text() == "#!/bin/sh\necho mine\n"
    assert snapshot(installed.repo.path) == before


def test_a_copy_of_the_repository_takes_back_its_own_hooks_only(installed: Installed, tmp_path: Path) -> None:
    installed.install()
    copy = tmp_path / "copy"
    shutil.copytree(installed.repo.path, copy, symlinks=True)
    receipt = Receipt(copy / ".git" / "recall" / "receipt.json")
    githooks.uninstall(Repo.discover(copy), receipt)
    assert not (copy / ".git" / "hooks" / "post-commit").exists()
    assert (installed.hooks / "post-commit").exists()


# other tools ----------------------------------------------------------------------------------------

PRE_COMMIT = (
    "#!/usr/bin/env bash\n# File generated by pre-commit: https://pre-commit.com\n"
    "# ID: 138fd403232d2ddd5efb44317e38bf03\n"
)


def test_pre_commits_own_file_is_not_edited(installed: Installed) -> None:
    hook = installed.user_hook("pre-commit", PRE_COMMIT)
    installed.install()
    assert hook.read_text() == PRE_COMMIT
    assert githooks.BEGIN in (installed.hooks / "pre-commit.legacy").read_text()
    assert githooks.BEGIN in (installed.hooks / "post-commit").read_text()
    states = {state.event: state for state in githooks.inspect(installed.open(), git=OLD)}
    assert states["pre-commit"].where.endswith("pre-commit.legacy")
    installed.uninstall()
    assert not (installed.hooks / "pre-commit.legacy").exists()
    assert hook.read_text() == PRE_COMMIT


@pytest.mark.parametrize("first", ["recall", "framework"])
def test_beside_the_real_pre_commit_framework_both_run(installed: Installed, first: str) -> None:
    program = Path(sys.executable).with_name("pre-commit")
    if not program.exists():
        pytest.skip("pre-commit is not installed")
    repo = installed.repo
    entry = f"touch '{repo.path / '.git' / 'framework-ran'}'"
    config = (
        "repos:\n- repo: local\n  hooks:\n  - {id: t, name: t, language: unsupported, always_run: true,"
        f" pass_filenames: false, entry: \"sh -c '{entry.replace(chr(39), '')}'\"}}\n"
    )
    repo.commit({".pre-commit-config.yaml": config})
    if first == "recall":
        installed.install()
    done = subprocess.run((program, "install"), cwd=repo.path, capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    if first == "framework":
        installed.install()
    repo.write({"a.md": "# A\n"})
    repo.git("add", "-A")
    committed = captured(repo, "commit", "-m", "x")
    assert committed.returncode == 0, committed.stderr
    assert (repo.path / ".git" / "framework-ran").exists()
    assert set(installed.calls(2)) == {"git pre-commit", "git post-commit"}
    installed.uninstall()
    assert b"File generated by pre-commit" in (installed.hooks / "pre-commit").read_bytes()
    assert not (installed.hooks / "post-commit").exists()


def test_git_lfs_hooks_are_kept_and_run(installed: Installed, tmp_path: Path) -> None:
    got = tmp_path / "lfs"
    text = f"#!/bin/sh\ncommand -v true >/dev/null 2>&1 || {{ exit 2; }}\necho \"$@\" >>'{got}'\n"
    hook = installed.user_hook("post-checkout", text)
    installed.repo.commit({"a.md": "# A\n"})
    installed.install()
    installed.repo.git("checkout", "-q", "-b", "side")
    assert got.read_text().endswith(" 1\n")
    assert len(installed.calls(1)) == 1
    installed.uninstall()
    assert hook.read_text() == text


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("lefthook", '#!/bin/sh\ncall_lefthook()\n{\n  lefthook "$@"\n}\ncall_lefthook run "post-commit" "$@"\n'),
        ("husky", '#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n'),
    ],
)
def test_files_that_their_tool_rewrites_are_left_alone(installed: Installed, tool: str, text: str) -> None:
    hook = installed.user_hook("post-commit", text)
    outcome = installed.install()
    assert hook.read_text() == text
    assert "post-commit" not in outcome.events
    assert any(tool in line for line in outcome.lines)
    assert "post-merge" in outcome.events


def test_our_manifest_is_valid_and_runs_at_every_event() -> None:
    program = Path(sys.executable).with_name("pre-commit")
    if not program.exists():
        pytest.skip("pre-commit is not installed")
    manifest = Path(__file__).parents[2] / ".pre-commit-hooks.yaml"
    done = subprocess.run((program, "validate-manifest", manifest), capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout
    (index,) = (hook for hook in yaml.safe_load(manifest.read_text()) if hook["id"] == "recall-index")
    assert tuple(index["stages"]) == githooks.EVENTS
    assert index["always_run"] is True  # without it the post-* stages, which get no files, are skipped


# where Git looks ------------------------------------------------------------------------------------


def test_relative_hooks_path_is_honoured(installed: Installed) -> None:
    installed.repo.git("config", "core.hooksPath", ".githooks")
    outcome = installed.install("auto")
    assert outcome.mode == "native"
    installed.repo.write({"a.md": "# A\n"})
    installed.repo.git("add", "a.md")
    installed.repo.git("commit", "-qm", "x")
    assert set(installed.calls(2)) == {"git pre-commit", "git post-commit"}
    installed.uninstall()
    assert not (installed.repo.path / ".githooks").exists()


def test_tracked_hooks_folder_is_not_written_unless_asked(installed: Installed) -> None:
    installed.repo.commit({".githooks/README": "shared\n"})
    installed.repo.git("config", "core.hooksPath", ".githooks")
    assert installed.install("auto").mode == "none"
    assert installed.repo.git("status", "--porcelain") == ""
    assert installed.install("native").mode == "native"


def test_global_hooks_folder_is_never_written(installed: Installed, tmp_path: Path) -> None:
    shared = tmp_path / "everyone"
    shared.mkdir()
    installed.repo.git("config", "--global", "core.hooksPath", str(shared))
    outcome = installed.install("auto")
    assert outcome.mode == "none"
    assert str(shared) in outcome.lines[0]
    assert list(shared.iterdir()) == []
    with pytest.raises(Refused, match="every repository"):
        installed.install("native")
    assert installed.install("auto", NEW).mode == "config"


def test_hooks_that_are_switched_off_stay_off(installed: Installed) -> None:
    installed.repo.git("config", "core.hooksPath", os.devnull)
    assert installed.install("auto").mode == "none"


def test_linked_worktree_and_subfolder_share_the_hooks(make_repo: Callable[..., GitRepo], tmp_path: Path) -> None:
    main = make_repo("my notes")
    main.commit({"deep/er/a.md": "# A\n"})
    main.git("worktree", "add", "-q", "../other tree", "-b", "side")
    installed = Installed(type(main)(tmp_path / "other tree"), tmp_path / "stub")
    installed.install()
    for folder in (tmp_path / "other tree" / "deep" / "er", tmp_path / "my notes" / "deep"):
        assert captured(main, "commit", "--allow-empty", "-qm", "x", cwd=folder).returncode == 0
    assert sorted(installed.calls(4)) == ["git post-commit"] * 2 + ["git pre-commit"] * 2
    installed.uninstall()
    assert not (main.path / ".git" / "hooks" / "post-commit").exists()


def test_bare_repository_gets_no_hooks(make_repo: Callable[..., GitRepo], tmp_path: Path) -> None:
    installed = Installed(make_repo("bare.git", "--bare"), tmp_path / "stub")
    assert installed.install("native").mode == "none"


def test_a_folder_in_the_way_costs_one_hook_and_is_named(installed: Installed) -> None:
    (installed.hooks / "post-merge").mkdir(parents=True)
    outcome = installed.install()
    assert "post-merge" not in outcome.events
    assert len(outcome.events) == 4
    assert "post-merge" in outcome.lines[0]


# config hooks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("git", "mode"), [(OLD, "native"), ((2, 53), "native"), (NEW, "config"), ((3, 0), "config")])
def test_auto_prefers_config_hooks_where_git_has_them(installed: Installed, git: tuple[int, int], mode: str) -> None:
    assert installed.install("auto", git).mode == mode


def test_config_hooks_need_a_new_git(installed: Installed) -> None:
    with pytest.raises(Refused, match=r"2\.54"):
        installed.install("config", OLD)


def test_config_hooks_touch_only_the_configuration(installed: Installed) -> None:
    before = snapshot(installed.repo.path)
    installed.install("config", NEW)
    assert installed.repo.git("config", "hook.recall-post-merge.event") == "post-merge"
    after = snapshot(installed.repo.path)
    assert {name for name in after if after[name] != before.get(name)} == {
        ".git/config", ".git/recall", ".git/recall/receipt.json",
    }  # fmt: skip
    installed.uninstall()
    shutil.rmtree(installed.open().state_dir, ignore_errors=True)
    assert snapshot(installed.repo.path) == before


@pytest.mark.parametrize("event", githooks.EVENTS)
def test_config_hook_command_runs_as_git_would_run_it(installed: Installed, event: str) -> None:
    """Git hands the command to ``sh -c`` with ``"$@"`` behind it; an alias with ``!`` is run by the same code."""
    installed.repo.git("config", "alias.try", "!" + githooks.config_command(event, installed.launcher))
    done = captured(installed.repo, "try", "one", "two words")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert installed.calls(1) == [f"git {event} one two words"]
    installed.launcher.unlink()
    done = captured(installed.repo, "try")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_another_way_takes_the_first_one_out(installed: Installed) -> None:
    installed.install("native")
    installed.install("config", NEW)
    assert not (installed.hooks / "post-commit").exists()
    installed.install("native")
    assert installed.repo.git("config", "--get-regexp", "^hook", check=False) == ""


def test_pre_commit_way_writes_nothing_and_says_what_to_add(installed: Installed) -> None:
    outcome = installed.install("pre-commit")
    assert outcome.mode == "pre-commit"
    assert any("id: recall-index" in line for line in outcome.lines)
    assert any("pre-commit install -t pre-commit -t post-commit" in line for line in outcome.lines)
    assert not (installed.hooks / "post-commit").exists()


# inspect --------------------------------------------------------------------------------------------


def test_inspect_tells_hooks_that_run_from_those_that_do_not(installed: Installed, tmp_path: Path) -> None:
    installed.launcher = launcher.ensure(tmp_path / "data")
    client = Path(launcher.__file__).with_name("client.py")
    installed.install()
    states = {state.event: state for state in githooks.inspect(installed.open(), git=OLD)}
    assert {state.state for state in states.values()} == {"ok" if client.exists() else "dead"}
    (installed.hooks / "post-merge").chmod(0o644)
    (installed.hooks / "post-commit").unlink()
    states = {state.event: state for state in githooks.inspect(installed.open(), git=OLD)}
    assert states["post-merge"].state == "not-executable"
    assert states["post-commit"].state == "missing"
    installed.repo.git("config", "core.hooksPath", ".githooks")
    states = {state.event: state for state in githooks.inspect(installed.open(), git=OLD)}
    assert states["pre-commit"].state == "ignored"
    installed.repo.git("config", "--unset", "core.hooksPath")
    installed.launcher.unlink()
    states = {state.event: state for state in githooks.inspect(installed.open(), git=OLD)}
    assert states["pre-commit"].state == "dead"
    assert "missing" in states["pre-commit"].why


def test_inspect_knows_that_an_old_git_ignores_config_hooks(installed: Installed) -> None:
    installed.install("config", NEW)
    assert {state.state for state in githooks.inspect(installed.open(), git=OLD)} == {"ignored"}


# the launcher ---------------------------------------------------------------------------------------


@pytest.fixture
def program(tmp_path: Path) -> tuple[Path, Path]:
    """A folder with an odd name that holds an interpreter and a client."""
    folder = tmp_path / 'odd "name" it\'s $HOME `x`'
    folder.mkdir()
    python = folder / "python"
    python.symlink_to(sys.executable)
    client = folder / "client.py"
    client.write_text("import sys\nprint(sys.argv[1:], sys.stdin.read(), sys.flags.isolated, sys.flags.no_site)\n")
    return python, client


def run_launcher(tmp_path: Path, program: tuple[Path, Path], *args: str) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "launcher"
    path.write_bytes(launcher.script(*program))
    path.chmod(0o755)
    return subprocess.run((path, *args), input="in", capture_output=True, text=True, check=False, timeout=60)


def test_launcher_passes_everything_on_through_odd_paths(tmp_path: Path, program: tuple[Path, Path]) -> None:
    done = run_launcher(tmp_path, program, "git", "a b", "'")
    assert (done.returncode, done.stdout, done.stderr) == (0, "['git', 'a b', \"'\"] in 1 1\n", "")
    assert launcher.targets(tmp_path / "launcher") == program
    assert launcher.fault(tmp_path / "launcher") == ""


@pytest.mark.parametrize("gone", ["client", "python", "broken", "status 2"])
def test_launcher_is_silent_and_ends_with_0_when_the_program_is_gone(
    tmp_path: Path, program: tuple[Path, Path], gone: str
) -> None:
    python, client = program
    if gone == "client":
        client.unlink()
    elif gone == "python":
        python.unlink()
        python.symlink_to(tmp_path / "deleted environment")
    elif gone == "broken":
        python.unlink()
        python.write_text("#!/no/such/interpreter\n")
        python.chmod(0o755)
    else:
        client.write_text("import sys\nprint('usage', file=sys.stderr)\nsys.exit(2)\n")
    done = run_launcher(tmp_path, program, "git", "post-commit")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert bool(launcher.fault(tmp_path / "launcher")) is (gone in ("client", "python"))


def test_ensure_writes_once_and_makes_the_folder_private(tmp_path: Path) -> None:
    path = launcher.ensure(tmp_path / "data" / "recall-git")
    first = path.stat()
    assert launcher.ensure(path.parent) == path
    assert path.stat().st_ino == first.st_ino
    assert stat.S_IMODE(first.st_mode) == 0o755
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.write_text("something else")
    assert launcher.targets(launcher.ensure(path.parent)) == (
        Path(sys.executable), Path(launcher.__file__).resolve().with_name("client.py"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("environ", "platform", "folder"),
    [
        ({"XDG_DATA_HOME": "/x"}, "linux", "/x/recall-git"),
        ({"XDG_DATA_HOME": "relative"}, "linux", "~/.local/share/recall-git"),
        ({}, "darwin", "~/.local/share/recall-git"),
        ({"LOCALAPPDATA": "/l"}, "win32", "/l/recall-git"),
    ],
)
def test_the_folder_of_our_data(environ: dict[str, str], platform: str, folder: str) -> None:
    assert launcher.folder(environ, platform) == Path(folder).expanduser()
