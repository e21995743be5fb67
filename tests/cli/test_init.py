"""``git recall init`` and ``uninit``: what they do, and that nothing of it is left afterwards."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recall_git import cli, githooks

if TYPE_CHECKING:
    from conftest import GitRepo

NOTES: dict[str, str | bytes] = {
    "lessons/ovens.md": "---\ntype: lesson\n---\n# Ovens\n\nPreheat the oven for twenty minutes.\n",
    "b c/ü.md": "# Ü\n\nUmlauts are kept.\n",
}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Run ``git recall …`` in a folder."""

    def inside(folder: Path, *args: str) -> int:
        monkeypatch.chdir(folder)
        return cli.main(list(args))

    return inside


def snapshot(top: Path) -> dict[str, tuple[str, int, bytes]]:
    """Return kind, mode and bytes of everything below *top*; Git's object store and stat cache left out."""
    found = {}
    for path in sorted(top.rglob("*")):
        name = path.relative_to(top).as_posix()
        if "/objects/" in f"/{name}/" or name.endswith((".git/index", "/index")):
            continue
        state = path.lstat()
        if stat.S_ISREG(state.st_mode):
            found[name] = ("file", stat.S_IMODE(state.st_mode), path.read_bytes())
        elif stat.S_ISLNK(state.st_mode):
            found[name] = ("link", 0, os.fsencode(path.readlink()))
        elif path.is_dir() and any(path.iterdir()):
            found[name] = ("folder", 0, b"")
    return found


def commit_in(repo: GitRepo) -> None:
    """Commit without the hooks' work behind it racing with what the test looks at next."""
    repo.git("-c", f"core.hooksPath={os.devnull}", "commit", "-q", "--allow-empty", "-m", "more")


def test_init_opts_in_here_only(repo: GitRepo, run: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    repo.commit(NOTES)
    assert run(repo.path, "init") == 0
    out = capsys.readouterr().out
    assert f"recall is on in {repo.path}" in out
    assert "post-commit" in out
    assert "2 notes" in out
    assert repo.git("config", "--local", "recall.enabled") == "true"
    assert repo.git("config", "--global", "recall.enabled", check=False) == ""
    assert repo.git("config", "--local", "--get-regexp", "^recall") == "recall.enabled true"
    state = repo.path / ".git" / "recall"
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert stat.S_IMODE((state / "nonce").stat().st_mode) == 0o600
    assert len((state / "nonce").read_text().strip()) == 64
    assert (repo.path / ".recall" / ".gitignore").read_text() == "/index/\n/digest.md\n"
    assert repo.git("status", "--porcelain", "-uall") == "?? .recall/.gitignore"
    assert githooks.BEGIN in (repo.path / ".git" / "hooks" / "post-commit").read_text()


def test_init_then_uninit_leaves_every_byte(repo: GitRepo, run: Callable[..., int]) -> None:
    repo.commit(NOTES)
    config = repo.path / ".git" / "config"
    config.write_bytes(config.read_bytes() + b"# mine\n[alias]\n\tx = y\n\n[Recall]\n\tbudget = 3000 ; mine")
    hook = repo.path / ".git" / "hooks" / "post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_bytes(b"#!/bin/sh\r\n: mine")
    hook.chmod(0o755)
    python = hook.with_name("post-merge")
    python.write_text(f"#!{sys.executable}\n")
    python.chmod(0o700)
    (repo.path / "untracked.md").write_text("# mine\n")
    before, status = snapshot(repo.path), repo.git("status", "--porcelain")
    assert run(repo.path, "init", "--digest", "notes", "--hooks", "native") == 0
    assert run(repo.path, "init") == 0
    assert run(repo.path, "uninit") == 0
    assert repo.git("status", "--porcelain") == status
    assert snapshot(repo.path) == before


def test_uninit_after_a_life_with_recall(repo: GitRepo, run: Callable[..., int]) -> None:
    """The configuration and the history changed in between: our settings go, everybody else's stay."""
    repo.commit(NOTES)
    run(repo.path, "init")
    repo.git("config", "user.signingkey", "x")
    repo.git("config", "recall.budget", "3000")
    commit_in(repo)
    assert run(repo.path, "uninit") == 0
    assert repo.git("config", "--local", "--get-regexp", "^(recall|user)") == "recall.budget 3000\nuser.signingkey x"
    assert repo.git("status", "--porcelain", "--ignored") == ""
    assert not (repo.path / ".recall").exists()
    assert not (repo.path / ".git" / "recall").exists()
    assert repo.git("for-each-ref", "refs/notes") == ""


def test_twice_changes_nothing_but_what_is_asked(repo: GitRepo, run: Callable[..., int]) -> None:
    repo.commit(NOTES)
    run(repo.path, "init")
    nonce = (repo.path / ".git/recall/nonce").read_text()
    once = snapshot(repo.path)
    run(repo.path, "init")
    again = snapshot(repo.path)
    assert {name for name in again if again[name] != once.get(name)} == set()
    run(repo.path, "init", "--digest", "tracked", "--hooks", "none")
    assert repo.git("config", "recall.digest") == "tracked"
    assert (repo.path / ".recall/.gitignore").read_text() == "/index/\n"
    assert not (repo.path / ".git/hooks/post-commit").exists()
    assert (repo.path / ".git/recall/nonce").read_text() == nonce


def test_before_the_first_commit(repo: GitRepo, run: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    before = snapshot(repo.path)
    assert run(repo.path, "init") == 0
    assert "no commit yet" in capsys.readouterr().out
    assert run(repo.path, "uninit") == 0
    assert snapshot(repo.path) == before


def test_in_a_subfolder_with_spaces(make_repo: Callable[..., GitRepo], run: Callable[..., int]) -> None:
    repo = make_repo("my notes")
    repo.commit(NOTES)
    assert run(repo.path / "b c", "init") == 0
    assert (repo.path / ".recall" / ".gitignore").exists()
    assert not (repo.path / "b c" / ".recall").exists()
    assert run(repo.path / "lessons", "uninit") == 0
    assert repo.git("status", "--porcelain", "--ignored") == ""


def test_in_a_linked_worktree_the_main_one_is_served_too(
    repo: GitRepo, run: Callable[..., int], tmp_path: Path
) -> None:
    repo.commit(NOTES)
    repo.git("worktree", "add", "-q", "../other", "-b", "side")
    other = type(repo)(tmp_path / "other")
    before = snapshot(repo.path), snapshot(other.path)
    assert run(other.path, "init") == 0
    assert (repo.path / ".git/recall/nonce").exists()
    for tree in (repo, other):
        assert tree.git("status", "--porcelain", "-uall") == "?? .recall/.gitignore"
    assert run(repo.path, "uninit") == 0
    assert (snapshot(repo.path), snapshot(other.path)) == before
    for tree in (repo, other):
        assert tree.git("status", "--porcelain", "--ignored") == ""


def test_in_a_bare_repository(make_repo: Callable[..., GitRepo], run: Callable[..., int], tmp_path: Path) -> None:
    source = make_repo("source")
    source.commit(NOTES)
    source.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    bare = tmp_path / "bare.git"
    before = snapshot(bare)
    assert run(bare, "init") == 0
    assert not (bare / "hooks" / "post-commit").exists()
    assert not (bare / ".recall").exists()
    assert run(bare, "uninit") == 0
    assert snapshot(bare) == before


@pytest.mark.parametrize("where", [".recall", ".recall/.gitignore"])
def test_a_link_is_refused_and_nothing_is_written(
    repo: GitRepo, run: Callable[..., int], tmp_path: Path, where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    repo.commit(NOTES)
    target = tmp_path / "elsewhere"
    target.mkdir()
    path = repo.path / where
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(target)
    before = snapshot(repo.path)
    assert run(repo.path, "init") == 3
    assert "symbolic link" in capsys.readouterr().err
    assert list(target.iterdir()) == []
    assert snapshot(repo.path) == before


def test_a_file_in_the_way_is_refused(repo: GitRepo, run: Callable[..., int]) -> None:
    repo.commit({".recall": "mine\n"})
    assert run(repo.path, "init") == 3
    assert (repo.path / ".recall").read_text() == "mine\n"


def test_config_hooks_of_an_old_git_are_refused_before_anything_is_written(
    repo: GitRepo, run: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(githooks, "version", lambda text: (2, 39))
    repo.commit(NOTES)
    before = snapshot(repo.path)
    assert run(repo.path, "init", "--hooks", "config") == 3
    assert snapshot(repo.path) == before


def test_config_hooks_come_and_go(repo: GitRepo, run: Callable[..., int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(githooks, "version", lambda text: (2, 54))
    repo.commit(NOTES)
    before = snapshot(repo.path)
    assert run(repo.path, "init") == 0
    assert repo.git("config", "hook.recall-post-commit.event") == "post-commit"
    assert not (repo.path / ".git/hooks/post-commit").exists()
    assert run(repo.path, "uninit") == 0
    assert snapshot(repo.path) == before


def test_lines_of_others_in_the_ignore_file_stay(repo: GitRepo, run: Callable[..., int]) -> None:
    repo.commit({**NOTES, ".recall/.gitignore": "/drafts/\n/index/"})
    assert run(repo.path, "init") == 0
    path = repo.path / ".recall" / ".gitignore"
    assert path.read_text() == "/drafts/\n/index/\n/digest.md\n"
    assert run(repo.path, "uninit") == 0
    assert repo.git("status", "--porcelain", "--ignored") == ""


def test_what_was_committed_since_stays(
    repo: GitRepo, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    repo.commit(NOTES)
    run(repo.path, "init", "--hooks", "none")
    repo.commit({".recall/config": "[recall]\n\tentries = 3\n"})
    assert run(repo.path, "uninit") == 0
    assert "is committed and stays" in capsys.readouterr().out
    assert repo.git("status", "--porcelain", "--ignored") == ""
    assert sorted(path.name for path in (repo.path / ".recall").iterdir()) == [".gitignore", "config"]


def test_uninit_removes_nothing_through_a_link(repo: GitRepo, run: Callable[..., int], tmp_path: Path) -> None:
    repo.commit(NOTES)
    precious = tmp_path / "precious"
    (precious / "index").mkdir(parents=True)
    (precious / "digest.md").write_text("mine")
    (repo.path / ".recall").symlink_to(precious)
    run(repo.path, "uninit")
    assert (precious / "digest.md").exists()
    (repo.path / ".recall").unlink()
    (repo.path / ".recall").mkdir()
    (repo.path / ".recall" / "index").symlink_to(precious)
    run(repo.path, "uninit")
    assert (precious / "digest.md").exists()


def test_uninit_where_nothing_was_done(
    repo: GitRepo, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    repo.commit(NOTES)
    before = snapshot(repo.path)
    assert run(repo.path, "uninit") == 0
    assert "nothing to take back" in capsys.readouterr().out
    assert snapshot(repo.path) == before


def test_mistakes_get_one_line_and_status_3(
    tmp_path: Path, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plain").mkdir()
    assert run(tmp_path / "plain", "init") == 3
    assert run(tmp_path / "plain", "uninit") == 3
    assert capsys.readouterr().err.count("not inside a Git repository") == 2
    assert run(tmp_path / "plain", "init", "--hooks", "magic") == 3


def test_hooks_of_a_real_commit_never_fail_it(repo: GitRepo, run: Callable[..., int]) -> None:
    """The launcher that init wrote, run by Git, whatever the resident process thinks of it."""
    repo.commit(NOTES)
    run(repo.path, "init", "--hooks", "native")
    repo.write({"new.md": "# New\n\nA new note.\n"})
    repo.git("add", "new.md")
    done = subprocess.run(("git", "commit", "-qm", "x"), cwd=repo.path, capture_output=True, check=False, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_progress_is_a_bar_on_a_terminal_only(
    repo: GitRepo, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    repo.commit(NOTES)
    run(repo.path, "init")
    assert capsys.readouterr().err == ""


def test_a_rebase_carries_the_digests_of_all_commits(repo: GitRepo, run: Callable[..., int]) -> None:
    """Git copies them with ``notes.rewriteRef``; the hook computes only that of HEAD again."""
    repo.commit(NOTES, date="2026-03-01T00:00:00Z")
    run(repo.path, "init", "--hooks", "none")
    repo.git("checkout", "-q", "-b", "side")
    for number in (1, 2):
        repo.commit(
            {f"lessons/l{number}.md": f"# Lesson {number}\n\nIt holds.\n"}, date=f"2026-03-0{number + 1}T00:00:00Z"
        )
        run(repo.path, "index", "--quiet")
    repo.git("checkout", "-q", "main")
    repo.commit({"other.md": "# Other\n"}, date="2026-03-05T00:00:00Z")
    repo.git("checkout", "-q", "side")
    repo.git("rebase", "-q", "main")
    for commit in ("HEAD", "HEAD~1"):
        assert "Lesson 1" in repo.git("notes", "--ref=recall", "show", commit)
    assert run(repo.path, "uninit") == 0
    assert repo.git("config", "--local", "--get-regexp", "^notes", check=False) == ""


def test_a_demo_that_was_kept_gets_its_hooks_from_init(
    tmp_path: Path, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "kept"
    assert run(tmp_path, "demo", "--keep", str(folder)) == 0
    assert not (folder / ".git" / "hooks" / "post-commit").exists()
    capsys.readouterr()
    assert run(folder, "init") == 0
    assert "post-commit" in capsys.readouterr().out
    assert run(folder, "uninit") == 0
