"""Our hooks run by a real pre-commit: no commit fails for them, no edit is lost, the view is that of HEAD.

The manifest's ``language: python`` would install from the network, so each test runs the manifest's entries from
``repo: local``, with this interpreter behind the name ``git-recall``.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from recall_git import sync, trace
from recall_git.cli import COMMANDS
from recall_git.commands import index, init
from recall_git.engine import Engine
from recall_git.errors import IndexBusy
from recall_git.gitevents import HOOKS
from recall_git.repo import Repo
from recall_git.search import document_at
from recall_git.types import Document

if TYPE_CHECKING:
    from conftest import GitRepo

ROOT = Path(__file__).parents[2]
MANIFEST = ROOT / ".pre-commit-hooks.yaml"
ENGINE = Engine()
"""One for all tests, so that the model is loaded once."""
UNHOOKED = ("-c", "core.hooksPath=nowhere")
FIRST = "# Postgres\n\nThe development database listens on port 5433.\n"
SECOND = "# Redis\n\nThe cache listens on port 6380.\n"


def manifest() -> list[dict[str, Any]]:
    """Return the hooks that we offer."""
    hooks: list[dict[str, Any]] = yaml.safe_load(MANIFEST.read_text("utf-8"))
    return hooks


def pre_commit(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Run pre-commit in *folder*."""
    command = (sys.executable, "-m", "pre_commit", *args)
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, encoding="utf-8", stdin=subprocess.DEVNULL
    )


@pytest.fixture(autouse=True)
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a ``git-recall`` of this source tree on PATH, and pre-commit's store below the test's folder."""
    program = tmp_path / "bin" / "git-recall"
    program.parent.mkdir()
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from recall_git.cli import main; sys.exit(main())"
    program.write_text(f'#!/bin/sh\nexec {shlex.join((sys.executable, "-c", code))} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "pre-commit"))


def use_framework(repo: GitRepo) -> None:
    """Commit a configuration with our hooks, and let pre-commit run them at every stage of the manifest."""
    hooks = [{**hook, "language": "system"} for hook in manifest()]
    repo.commit({".pre-commit-config.yaml": json.dumps({"repos": [{"repo": "local", "hooks": hooks}]})})
    done = pre_commit(repo.path, "install", *(word for stage in HOOKS for word in ("-t", stage)))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def ready(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    """A repository that is opted in and has one note and, from here on, the framework's hooks."""
    monkeypatch.chdir(repo.path)
    repo.commit({"a.md": FIRST})
    init.run(["--hooks", "pre-commit"])
    use_framework(repo)
    return repo


def documents(repo: GitRepo) -> list[Document]:
    """Return what the view of HEAD holds, indexing nothing; fails when there is no such view."""
    opened = ENGINE.open(ENGINE.repository(repo.path), catch_up=False)
    assert not opened.behind
    assert opened.memory.commit == repo.head()
    view = opened.memory.view
    found = [document_at(view, number) for number in range(len(view.live)) if view.live[number]]
    return sorted(found, key=lambda document: (document.path, document.line))


def assert_current(repo: GitRepo) -> None:
    """The view of HEAD is there, and equal to that of an index that is made from nothing."""
    found = documents(repo)
    opened = Repo.discover(repo.path)
    sync.refresh(opened, sync.settings_of(opened)[0], full=True, encoder=ENGINE.encoder())
    assert found == documents(repo)


def paths(repo: GitRepo) -> list[str]:
    return [document.path for document in documents(repo)]


def test_the_manifest_is_valid() -> None:
    done = pre_commit(ROOT, "validate-manifest", MANIFEST.name)
    assert (done.returncode, done.stdout) == (0, "")


def test_each_entry_is_a_verb_of_a_program_that_the_wheel_installs() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    for hook in manifest():
        program, verb, *_ = shlex.split(hook["entry"])
        assert f'\n{program} = "recall_git.' in project
        assert verb in COMMANDS


def test_the_index_hook_runs_at_each_event_that_we_know() -> None:
    hook = next(hook for hook in manifest() if hook["id"] == "recall-index")
    assert tuple(hook["stages"]) == HOOKS
    assert hook["always_run"]  # there is no list of files in post-* stages
    assert hook["require_serial"]


def test_the_first_commit_is_indexed_and_gets_its_digest(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repo.path)
    init.run(["--hooks", "pre-commit"])
    use_framework(repo)
    repo.git("update-ref", "-d", "HEAD")
    repo.commit({"lessons/a.md": FIRST})
    assert repo.git("rev-list", "--count", "HEAD") == "1"
    assert paths(repo) == ["lessons/a.md"]
    assert "listens on port 5433" in repo.git("log", "-1", "--notes=recall")
    assert_current(repo)


def test_the_staged_content_is_indexed_and_unstaged_edits_stay(ready: GitRepo) -> None:
    ready.write({"other.md": SECOND})
    ready.git("add", "other.md")
    ready.git(*UNHOOKED, "commit", "-q", "-m", "other")
    ready.write({"a.md": FIRST.replace("5433", "5434")})
    ready.git("add", "a.md")
    edited = {"a.md": FIRST.replace("5433", "9999"), "other.md": SECOND + "\nNot committed.\n"}
    ready.write({**edited})
    ready.git("commit", "-q", "-m", "port")
    assert {name: (ready.path / name).read_text("utf-8") for name in edited} == edited
    assert ready.git("status", "--porcelain") == " M a.md\n M other.md"
    assert [document.summary for document in documents(ready)] == [
        "The development database listens on port 5434.",
        "The cache listens on port 6380.",
    ]
    assert_current(ready)


def test_a_partial_commit_holds_its_path_only(ready: GitRepo) -> None:
    ready.write({"b.md": SECOND, "c.md": "# Staged for later\n\nNot in this commit.\n"})
    ready.git("add", "b.md", "c.md")
    ready.git("commit", "-q", "-m", "one of two", "b.md")
    assert paths(ready) == ["a.md", "b.md"]
    assert ready.git("status", "--porcelain") == "A  c.md"
    assert_current(ready)


def test_a_commit_that_only_deletes(ready: GitRepo) -> None:
    ready.write({"b.md": SECOND})
    ready.git("add", "b.md")
    ready.git(*UNHOOKED, "commit", "-q", "-m", "b")
    ready.git("rm", "-q", "a.md")
    ready.git("commit", "-q", "-m", "gone")
    assert paths(ready) == ["b.md"]
    assert_current(ready)


def test_all_files(ready: GitRepo) -> None:
    ready.write({"a.md": FIRST + "\nUnstaged.\n"})
    done = pre_commit(ready.path, "run", "--all-files")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("Passed") == len(manifest())
    assert ready.git("status", "--porcelain") == " M a.md"
    assert_current(ready)


def test_checkout_merge_and_rebase_each_leave_the_view_of_head(ready: GitRepo) -> None:
    ready.git(*UNHOOKED, "checkout", "-q", "-b", "side")
    ready.write({"side.md": SECOND})
    ready.git("add", "side.md")
    ready.git(*UNHOOKED, "commit", "-q", "-m", "side")
    ready.git(*UNHOOKED, "checkout", "-q", "-b", "other", "main")
    ready.write({"other.md": SECOND})
    ready.git("add", "other.md")
    ready.git(*UNHOOKED, "commit", "-q", "-m", "other")
    ready.git("checkout", "-q", "main")
    assert paths(ready) == ["a.md"]
    ready.git("merge", "-q", "side")
    assert paths(ready) == ["a.md", "side.md"]
    ready.git(*UNHOOKED, "checkout", "-q", "other")
    ready.git("rebase", "-q", "main")
    assert paths(ready) == ["a.md", "other.md", "side.md"]
    assert_current(ready)


def test_nothing_fails_and_nothing_is_written_where_recall_is_not_on(repo: GitRepo) -> None:
    repo.commit({"a.md": FIRST})
    repo.git("checkout", "-q", "-b", "side")
    repo.commit({"b.md": SECOND})
    repo.git("checkout", "-q", "main")
    use_framework(repo)
    repo.commit({"a.md": FIRST + "\nMore.\n"})
    repo.git("merge", "-q", "--no-edit", "side")
    assert not (repo.path / ".recall").exists()
    assert not (repo.path / ".git" / "recall").exists()
    assert repo.git("for-each-ref", "refs/notes") == ""


def test_a_note_with_broken_front_matter_stops_the_commit_and_is_named(ready: GitRepo) -> None:
    before = ready.head()
    ready.write({"b.md": "---\ntags: [a\n---\n# Broken\n"})
    ready.git("add", "b.md")
    with pytest.raises(AssertionError, match=r"b\.md:1: front matter"):
        ready.git("commit", "-q", "-m", "broken")
    assert ready.head() == before


@pytest.mark.parametrize("environ", [{}, {"PRE_COMMIT": "1"}, {"PRE_COMMIT": "1", "GIT_INDEX_FILE": ".git/index"}])
def test_the_quiet_index_ends_well_before_it_can_do_anything(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], environ: dict[str, str]
) -> None:
    monkeypatch.chdir(repo.path)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert index.run(["--quiet"]) == 0  # not opted in
    repo.git("config", "recall.enabled", "true")
    assert index.run(["--quiet"]) == 0  # opted in by hand, without a nonce
    init.run(["--hooks", "none"])
    capfd.readouterr()
    assert index.run(["--quiet"]) == 0  # no commit
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("files", [(), ("model.safetensors", "tokenizer.json", "config.json")], ids=["gone", "broken"])
def test_a_model_that_cannot_be_loaded_stops_no_commit_and_is_logged(
    ready: GitRepo, tmp_path: Path, files: tuple[str, ...]
) -> None:
    for name in files:
        (tmp_path / name).write_bytes(b"cut off")
    ready.git("config", "recall.model", str(tmp_path if files else tmp_path / "gone"))
    ready.write({"b.md": SECOND})
    ready.git("add", "b.md")
    ready.git("commit", "-q", "-m", "b")
    assert "cannot be loaded" in trace.read(ready.path / ".git" / "recall", 1)[0]["why"]


def test_the_quiet_index_ends_well_while_somebody_else_writes(ready: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    refresh: Callable[..., sync.SyncResult] = sync.refresh
    monkeypatch.setattr(sync, "refresh", partial(refresh, lock_timeout_s=0.01))
    ready.git("commit", "-q", "--allow-empty", "-m", "unseen", SKIP="recall-index")
    opened = Repo.discover(ready.path)
    with sync.open_store(opened, sync.settings_of(opened)[0]).writing():
        assert index.run(["--quiet"]) == 0
        with pytest.raises(IndexBusy):
            index.run([])
    assert index.run(["--quiet"]) == 0
    assert_current(ready)


def test_the_stage_before_a_commit_adds_the_staged_blobs(ready: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    ready.write({"b.md": SECOND})
    ready.git("add", "b.md")
    monkeypatch.setenv("PRE_COMMIT", "1")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")
    assert index.run(["--quiet"]) == 0
    monkeypatch.delenv("GIT_INDEX_FILE")
    ready.git(*UNHOOKED, "commit", "-q", "-m", "b")
    opened = Repo.discover(ready.path)
    done = sync.refresh(opened, sync.settings_of(opened)[0], encoder=ENGINE.encoder())
    assert done.documents_added == 0
    assert paths(ready) == ["a.md", "b.md"]
