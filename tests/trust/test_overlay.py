"""Uncommitted notes are ranked with the commit's, marked, read from regular files inside, and never written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from recall_git import beside, overlay, recall
from trust.trusthelp import lines, note, placed

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import GitRepo

    from recall_git.engine import Engine
    from recall_git.types import Digest
    from tests.trust.conftest import Open

QUERY = "How long must the zeppelin be inflated before departure?"
OLD = note("Inflation", "The zeppelin must be inflated for nine hours before departure.")
NEW = note("Inflation", "The zeppelin must be inflated for two hours before departure.")


@pytest.fixture
def ask(repo: GitRepo, engine: Engine, open_memory: Open) -> Callable[..., Digest]:
    repo.commit({"a.md": OLD, "b.md": "# Other\n\nNothing about it.\n", ".recallignore": "drafts/\n"})
    open_memory(repo)

    def asked(prompt: str = QUERY, **settings: str) -> Digest:
        for name, value in settings.items():
            repo.git("config", f"recall.{name}", value)
        opened = engine.open(engine.repository(repo.path))
        overlay._watches.clear()  # a test edits faster than anybody types
        return recall.prompt_digest(opened.memory, prompt, beside=beside.beside(engine, opened))

    return asked


def test_a_clean_work_tree_changes_nothing(ask: Callable[..., Digest]) -> None:
    assert "[uncommitted]" not in ask().text
    assert placed(ask()) == ["relevant/a.md"]


@pytest.mark.parametrize("stage", [False, True])
def test_a_changed_note_stands_for_its_committed_version(
    ask: Callable[..., Digest], repo: GitRepo, stage: bool
) -> None:
    repo.write({"a.md": NEW})
    if stage:
        repo.git("add", "a.md")
    made = ask()
    assert placed(made) == ["relevant/a.md"]
    assert "two hours" in made.text
    assert lines(made)[0].endswith("[uncommitted]")


@pytest.mark.parametrize("path", ["new.md", "deep/er/new.md", "ünï 名.MD"])
def test_a_new_note_is_recalled(ask: Callable[..., Digest], repo: GitRepo, path: str) -> None:
    repo.write({path: note("Airship paint", "The zeppelin is painted with silver dope."), "a.md": OLD})
    made = ask("With what is the zeppelin painted, silver dope?")
    assert placed(made)[0] == f"relevant/{path}"
    assert "[uncommitted]" in made.text


def test_a_deleted_note_is_not_recalled(ask: Callable[..., Digest], repo: GitRepo) -> None:
    (repo.path / "a.md").unlink()
    assert ask().text == ""


def test_what_is_no_note_is_not_laid_over(ask: Callable[..., Digest], repo: GitRepo) -> None:
    repo.write({"drafts/x.md": NEW, "ignored.md": NEW, ".gitignore": "ignored.md\n", "README.md": NEW, "x.txt": NEW})
    made = ask()
    assert placed(made) == ["relevant/a.md"]
    assert "uncommitted" not in made.text


def test_links_are_not_followed(ask: Callable[..., Digest], repo: GitRepo) -> None:
    outside = repo.path.parent / "outside"
    outside.mkdir()
    (outside / "x.md").write_text(NEW)
    (repo.path / "link.md").symlink_to(outside / "x.md")
    (repo.path / "folder").symlink_to(outside)
    (repo.path / "a.md").unlink()
    (repo.path / "a.md").symlink_to(outside / "x.md")
    assert "two hours" not in ask().text


def test_it_can_be_switched_off(ask: Callable[..., Digest], repo: GitRepo) -> None:
    repo.write({"a.md": NEW})
    assert "nine hours" in ask(overlay="false").text


def test_nothing_is_written(ask: Callable[..., Digest], repo: GitRepo) -> None:
    ask()
    before = {path: path.read_bytes() for path in sorted(repo.path.rglob("*")) if path.is_file()}
    repo.write({"new.md": NEW})
    ask()
    after = {path: path.read_bytes() for path in sorted(repo.path.rglob("*")) if path.is_file()}
    assert {path for path in after if before.get(path) != after[path]} == {repo.path / "new.md"}


def test_fixed_slots_stay_the_commits(ask: Callable[..., Digest], repo: GitRepo) -> None:
    repo.write({"lessons/p.md": note("Planted", "Obey.", priority="high"), "profile/me.md": "# Me\n"})
    made = ask(static="turn")
    assert not [entry for entry in placed(made) if entry.split("/")[0] != "relevant"]


def test_an_uncommitted_note_can_replace_a_committed_one(ask: Callable[..., Digest], repo: GitRepo) -> None:
    repo.write({"new.md": note("Filling", "Four hours since the new pump.", supersedes="a.md")})
    assert placed(ask()) == ["relevant/new.md"]


def test_files_and_bytes_are_bounded(
    ask: Callable[..., Digest], repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overlay, "FILE_BYTES_MAX", 200)
    repo.write({"a.md": NEW + "x" * 500})
    assert "nine hours" in ask().text, "a file that is not read does not hide its committed version"
    monkeypatch.setattr(overlay, "FILES_MAX", 1)
    repo.write({"a.md": OLD, "0.md": note("Cats", "Cats purr."), "1.md": NEW})
    assert "two hours" not in ask().text


def test_conflicts_leave_the_committed_version(ask: Callable[..., Digest], repo: GitRepo) -> None:
    repo.git("checkout", "-q", "-b", "side")
    repo.commit({"a.md": NEW})
    repo.git("checkout", "-q", "main")
    repo.commit({"a.md": OLD.replace("nine", "eight")})
    repo.git("merge", "side", check=False)
    made = ask()
    assert "eight hours" in made.text
    assert "<<<" not in made.text
    assert "uncommitted" not in made.text


def test_git_that_is_too_slow_is_not_waited_for(
    ask: Callable[..., Digest], repo: GitRepo, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from threading import Event

    from recall_git.repo import Repo

    go, real = Event(), Repo.git

    def slow(self: Repo, *args: str, **more: object) -> bytes:
        if args[0] == "status":
            go.wait(30)
        return real(self, *args, **more)  # type: ignore[arg-type]

    repo.write({"a.md": NEW})
    opened = engine.open(engine.repository(repo.path))
    overlay._watches.clear()
    monkeypatch.setattr(Repo, "git", slow)
    try:
        assert overlay.lay_over(opened.repo, opened.memory, wait_s=0.0) is opened.memory
    finally:
        go.set()
    assert "uncommitted" in ask().text


def test_an_old_revision_has_no_overlay(ask: Callable[..., Digest], repo: GitRepo, engine: Engine) -> None:
    repo.write({"a.md": NEW})
    opened = engine.open(engine.repository(repo.path), revision="HEAD")
    around = beside.beside(engine, opened, revision="HEAD")
    assert "nine hours" in recall.prompt_digest(opened.memory, QUERY, beside=around).text
