"""Uncommitted notes are ranked with the commit's, marked, read from regular files inside, and never written."""

from __future__ import annotations

import importlib
import shutil
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from recall_git import beside, inotify, overlay, recall, worktree
from recall_git.search import document_at
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
    monkeypatch.setattr(worktree, "NOTE_BYTES_MAX", 200)
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


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what was written")
def test_git_is_waited_for_only_when_something_was_written(
    repo: GitRepo, engine: Engine, open_memory: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit({"a.md": OLD, "deep/er/b.md": "# Other\n\nNothing about it.\n"})
    open_memory(repo)
    overlay._watches.clear()
    monkeypatch.setattr(overlay, "FRESH_S", -1.0)  # what Git said is always too old
    ask_git, asked, free = overlay._Watch._ask, [], threading.Event()

    def slowly(self: overlay._Watch, *args: Any) -> None:
        asked.append(args)
        assert free.wait(20)
        ask_git(self, *args)

    def said(wait_s: float) -> str:
        opened = engine.open(engine.repository(repo.path))
        around = replace(recall.ALONE, overlay=lambda memory: overlay.lay_over(opened.repo, memory, wait_s=wait_s))
        return recall.prompt_digest(opened.memory, QUERY, beside=around).text

    monkeypatch.setattr(overlay._Watch, "_ask", slowly)
    free.set()
    assert "nine hours" in said(20)
    free.clear()
    assert "nine hours" in said(20)  # Git is asked, and has not answered: nothing was written, so nobody waits
    assert len(asked) == 2
    free.set()
    overlay._watches[repo_of(repo)]._thread.join()  # type: ignore[union-attr]
    for path in ("a.md", "deep/er/b.md", "deep/new.md", "quite/new/c.md"):
        repo.write({path: NEW})
        assert "two hours" in said(20), path
        repo.git("checkout", "-q", "--", "a.md", "deep/er/b.md")
        repo.git("clean", "-fdq")
        assert "two hours" not in said(20), path
    repo.write({"deep/build.o": "x"})  # no note
    free.clear()
    assert "nine hours" in said(20)
    free.set()


def repo_of(repo: GitRepo) -> Path:
    return repo.path.resolve() / ".git"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what was written")
def test_only_notes_and_folders_count(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    folders = inotify.Folders([str(tmp_path), str(tmp_path / "sub")], ("md",))
    assert not folders.changed()
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "sub" / "a.txt").touch()
    (tmp_path / "a.txt").unlink()
    assert not folders.changed()
    steps = (
        lambda: (tmp_path / "a.MD").write_text("x"),
        lambda: (tmp_path / "sub" / "b.md").write_text("x"),
        lambda: (tmp_path / "sub" / "b.md").rename(tmp_path / "c.txt"),
        (tmp_path / "a.MD").unlink,
        (tmp_path / "new").mkdir,
        lambda: (tmp_path / "new").rename(tmp_path / "newer"),
        lambda: shutil.rmtree(tmp_path / "sub"),
    )
    for number, step in enumerate(steps):
        step()
        assert folders.changed(), number
        assert not folders.changed(), number
    with pytest.raises(OSError, match="watch"):
        inotify.Folders([str(tmp_path / "none")], ("md",))


def test_a_system_without_inotify_is_told_from_one_that_grants_no_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as windows:  # neither the flag nor a C library without a name is there
        windows.delattr(inotify.os, "O_NONBLOCK")
        importlib.reload(inotify)
        windows.setattr(inotify.os, "name", "nt")
        with pytest.raises(OSError, match="no inotify"):
            inotify.Folders([], ("md",))
    importlib.reload(inotify)


def test_without_the_system_telling_git_is_asked_as_often(
    ask: Callable[..., Digest], repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise OSError("this system has no inotify")

    monkeypatch.setattr(inotify, "Folders", none)
    assert "nine hours" in ask().text
    repo.write({"a.md": NEW})
    assert "two hours" in ask().text


@pytest.fixture
def laid(repo: GitRepo, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Callable[[], set[str]]:
    """Return which uncommitted notes there are, as far as Linux tells of them: nobody asks Git behind an answer."""
    overlay._watches.clear()
    monkeypatch.setattr(overlay, "FRESH_S", -1.0)
    ask_git = overlay._Watch._ask

    def never_behind(self: overlay._Watch, *args: Any) -> None:
        if not args[-1]:
            ask_git(self, *args)

    monkeypatch.setattr(overlay._Watch, "_ask", never_behind)

    def look() -> set[str]:
        opened = engine.open(engine.repository(repo.path))
        view = overlay.lay_over(opened.repo, opened.memory).view
        found = (document_at(view, int(number)) for number in view.live.nonzero()[0])
        return {document.path for document in found if document.mark}

    return look


class AtOnce:
    """A timer that does not wait."""

    def __init__(self, _: float, work: Callable[..., None], given: tuple[Any, ...]) -> None:
        self.start = lambda: work(*given)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what was written")
@pytest.mark.parametrize("path", ["bare/a.md", "bare/of/notes/a.md", "deep/bare/a.md", "code/a.md"])
def test_the_first_note_in_a_folder_that_was_there_before_is_told(
    repo: GitRepo, open_memory: Open, laid: Callable[[], set[str]], monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(overlay, "Timer", AtOnce)
    repo.commit({"a.md": OLD, "deep/er/b.md": "# Other\n\nNothing about it.\n", ".gitignore": "ignored/\n"})
    repo.write({"code/a.py": "", "ignored/a.py": ""})
    for folder in ("bare/of/notes", "deep/bare", "another/repository"):
        (repo.path / folder).mkdir(parents=True)
    repo.git("init", "-q", "another/repository")
    open_memory(repo)
    assert laid() == set()
    repo.write({"ignored/a.md": NEW, "another/repository/a.md": NEW, "another/repository/.git/made/a.md": NEW})
    (told,) = (watch._told for watch in overlay._watches.values())
    assert told is not None
    assert not told.changed()
    repo.write({path: NEW})
    assert laid() == {path}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what was written")
def test_what_is_written_where_no_commit_has_a_folder_is_told_too(
    repo: GitRepo, open_memory: Open, laid: Callable[[], set[str]]
) -> None:
    repo.commit({"a.md": OLD, "deep/er/b.md": "# Other\n\nNothing about it.\n"})
    repo.write({"there/before/x.md": "# X\n\nUnrelated.\n"})
    open_memory(repo)
    assert laid() == {"there/before/x.md"}
    (repo.path / "empty" / "one").mkdir(parents=True)
    laid()
    (repo.path / "deep").rename(repo.path / "moved")
    laid()
    for path in ("there/before/y.md", "there/z.md", "new/er/c.md", "new/er/d.md", "new/e.md", "new/est/f.md",
                 "empty/g.md", "empty/one/h.md", "moved/er/i.md"):  # fmt: skip
        repo.write({path: NEW})
        assert path in laid(), path
        (repo.path / path).unlink()
        assert path not in laid(), path
    repo.write({"there/before/.gitignore": "x.md\n"})
    assert "there/before/x.md" not in laid()
    repo.write({"there/before/.gitignore": "\n"})
    assert "there/before/x.md" in laid()
    shutil.copytree(repo.path, repo.path.with_name("copy"), copy_function=shutil.copy2)
    laid()
    repo.path.rename(repo.path.with_name("aside"))
    repo.path.with_name("copy").rename(repo.path)
    for path in ("j.md", "k.md"):
        repo.write({path: NEW})
        assert path in laid(), path


def test_a_change_while_git_is_being_asked_is_seen_by_the_prompt_after_it(
    repo: GitRepo, engine: Engine, open_memory: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit({"a.md": OLD})
    open_memory(repo)
    overlay._watches.clear()
    monkeypatch.setattr(overlay, "BEHIND_S", 0.0)
    ask_git, looked, free = overlay._Watch._ask, threading.Event(), threading.Event()

    def answers_late(self: overlay._Watch, *args: Any) -> None:
        ask_git(self, *args)
        looked.set()
        assert free.wait(20)

    def laid(wait_s: float) -> bool:
        opened = engine.open(engine.repository(repo.path))
        return overlay.lay_over(opened.repo, opened.memory, wait_s=wait_s) is not opened.memory

    monkeypatch.setattr(overlay._Watch, "_ask", answers_late)
    assert not laid(0.0)
    assert looked.wait(20)
    repo.write({"new.md": NEW})
    threading.Timer(0.2, free.set).start()
    assert laid(20)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody asks behind an answer")
def test_who_waits_does_not_wait_for_what_was_to_be_asked_later(
    repo: GitRepo, engine: Engine, open_memory: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit({"a.md": OLD})
    open_memory(repo)
    overlay._watches.clear()
    monkeypatch.setattr(overlay, "FRESH_S", -1.0)
    monkeypatch.setattr(overlay, "BEHIND_S", 3600.0)

    def laid() -> bool:
        opened = engine.open(engine.repository(repo.path))
        return overlay.lay_over(opened.repo, opened.memory, wait_s=20.0) is not opened.memory

    assert not laid()
    assert not laid()  # Git is to be asked behind this one
    repo.write({"new.md": NEW})
    assert laid()
