"""Git's own settings, and repositories that Git or libgit2 refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from answering import answered

from recall_git import hook, sync
from recall_git.engine import Engine
from recall_git.errors import RecallError
from recall_git.repo import Repo, _Library, _Plumbing

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import GitRepo
    from weather import Weather


@pytest.mark.parametrize("kind", ["global", "relative"])
def test_hooks_path(repo: GitRepo, make_weather: Callable[..., Weather], hermetic: Path, kind: str) -> None:
    if kind == "global":
        repo.git("config", "--global", "core.hooksPath", str(hermetic / "my hooks"))
    else:
        repo.git("config", "core.hooksPath", ".githooks")
    weather = make_weather(repo)
    repo.commit({"a.md": "# Apple\n"})
    assert weather.events == ["pre-commit", "post-commit"]
    assert weather.paths() == ["a.md"]


@pytest.mark.parametrize("autocrlf", ["true", "input"])
def test_autocrlf(weather: Weather, autocrlf: str) -> None:
    repo = weather.repo
    repo.git("config", "core.autocrlf", autocrlf)
    repo.git("config", "core.safecrlf", "false")
    repo.commit({"a.md": b"# Apple\r\n\r\nRed.\r\n\r\n## Sort\r\n\r\nBoskoop\r\n"})
    rows = weather.check()
    assert [row[2] for row in rows] == [1, 5]
    assert repo.git("status", "--porcelain") == ""
    (repo.path / "a.md").unlink()
    repo.git("checkout", "--", "a.md")
    assert weather.check() == rows


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "GBK"])
def test_commit_encoding(weather: Weather, encoding: str) -> None:
    weather.repo.git("config", "i18n.commitEncoding", encoding)
    weather.repo.git("config", "i18n.logOutputEncoding", encoding)
    weather.repo.git("config", "user.name", "Jürgen")
    weather.repo.write({"a.md": "# Äpfel\n", "message": "Größe".encode("latin-1")})
    weather.repo.git("add", "a.md")
    weather.repo.git("commit", "-q", "-F", "message")
    assert weather.paths() == ["a.md"]
    assert Repo.discover(weather.repo.path).head().author_email == "ada@example.org"  # type: ignore[union-attr]


def test_settings_of_git_log_do_not_bend_the_dates(weather: Weather) -> None:
    repo = weather.repo
    for name, value in {
        "log.showRoot": "false", "log.diffMerges": "first-parent", "log.showSignature": "true",
        "diff.renames": "copies", "diff.noprefix": "true", "core.quotePath": "true", "color.ui": "always",
        "diff.relative": "true",
        "log.follow": "true", "format.pretty": "oneline", "diff.orderFile": "/dev/null", "core.pager": "false",
    }.items():  # fmt: skip
        repo.git("config", name, value)
    repo.commit({"a.md": "# Apple\n", "ü.md": "# Umlaut\n"}, date="2026-01-01T00:00:00Z")
    repo.git("mv", "a.md", "b.md")
    repo.commit(date="2026-01-05T00:00:00Z")
    assert {row[0]: row[4] for row in weather.check()} == {"b.md": "2026-01-05", "ü.md": "2026-01-01"}


# --- what libgit2 does not open ---


def test_sha256_repository(make_repo: Callable[..., GitRepo], make_weather: Callable[..., Weather]) -> None:
    repo = make_repo("notes", "--object-format=sha256")
    weather = make_weather(repo)
    repo.commit({"a.md": "# Apple\n", "dir/b.md": "# Banana\n"})
    assert isinstance(Repo.discover(repo.path)._objects, _Plumbing)
    assert weather.paths() == ["a.md", "dir/b.md"]
    repo.write({"a.md": "# Apple\n\nred\n", "dir/b.md": "# not yet\n"})
    repo.git("commit", "-qm", "x", "a.md")
    weather.check()
    assert repo.git("status", "--porcelain") == " M dir/b.md"
    repo.git("worktree", "add", "-q", "../linked")
    weather.check(where=repo.path.parent / "linked")
    repo.git("checkout", "-q", "HEAD~1")
    weather.check()


def test_both_ways_to_objects_agree(repo: GitRepo) -> None:
    repo.git("config", "recall.exclude", "x")
    repo.git("config", "--add", "recall.exclude", "y")
    repo.git("config", "--global", "recall.budget", "100")
    repo.git("config", "recall.budget", "200")
    repo.git("config", "recall.server", "")
    repo.commit({"a.md": "# Apple\n", "d/b.md": "# Banana\n"})
    repo.git("tag", "-a", "-m", "t", "v1")
    one = Repo.discover(repo.path)
    two = Repo.discover(repo.path)
    assert isinstance(one._objects, _Library)
    two._objects = _Plumbing(("git", f"--git-dir={two.git_dir}"), repo.path)
    assert one.head() == two.head()
    assert one.resolve("v1") == two.resolve("v1")
    assert one.settings() == two.settings()
    assert one.settings()["exclude"] == ["x", "y"]
    assert one.identity() == two.identity() == "ada@example.org"
    tree = one.resolve("HEAD").tree
    assert list(one.files(tree)) == list(two.files(tree))
    entry = next(one.files(tree))
    for limit in (1, 1 << 20):
        assert one.read(entry.blob, limit) == two.read(entry.blob, limit)
    assert len(one.read(entry.blob, 1) or b"") == 2
    for nonsense in ("0" * 40, "", "HEAD^{x}", "a b"):
        assert one.read(nonsense) is None
        assert two.read(nonsense) is None
    for wrong in ("nope", "v2", "--all", "HEAD:a.md", "a\0b"):
        for each in (one, two):
            with pytest.raises(RecallError):
                each.resolve(wrong)


def test_an_unknown_extension_is_refused_in_one_line(repo: GitRepo) -> None:
    repo.commit({"a.md": "# Apple\n"})
    repo.git("config", "core.repositoryFormatVersion", "1")
    repo.git("config", "extensions.fromTheFuture", "true")
    with pytest.raises(RecallError, match="refuses"):
        Repo.discover(repo.path)


# --- owners ---


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give a folder away")
def test_a_repository_of_somebody_else(weather: Weather, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = weather.repo
    repo.commit({"a.md": "# Apple\n"})
    weather.stop()
    for folder in (repo.path, repo.path / ".git"):
        os.chown(folder, 12345, 12345)
    with pytest.raises(RecallError, match="dubious ownership") as caught:
        Repo.discover(repo.path)
    assert "\n" not in str(caught.value)
    answer = answered(b'{"hook_event_name": "UserPromptSubmit", "prompt": "What of apples?", "session_id": "s"}',
                         repo.path, {}, Engine())  # fmt: skip
    assert answer.stdout == ""
    hook.git_event("post-commit", (), repo.path, {}, Engine())
    repo.git("config", "--global", "--add", "safe.directory", str(repo.path))
    assert Repo.discover(repo.path).head() is not None
    repo.git("config", "--global", "--replace-all", "safe.directory", "*")
    assert Repo.discover(repo.path).head() is not None
    assert weather.paths() == ["a.md"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give a folder away")
def test_an_index_of_somebody_else_is_neither_read_nor_written(weather: Weather) -> None:
    weather.repo.commit({"a.md": "# Apple\n"})
    repo = Repo.discover(weather.repo.path)
    settings = sync.settings_of(repo)[0]
    os.chown(repo.index_home, 12345, 12345)
    with pytest.raises(RecallError, match="somebody else"):
        sync.open_store(repo, settings).open()
    with pytest.raises(RecallError, match="somebody else"):
        sync.refresh(repo, settings, full=True, encoder=weather.encoder)


def test_git_that_is_not_there(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit({"a.md": "# Apple\n"})
    opened = Repo.discover(repo.path)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(RecallError, match="PATH"):
        opened.staged()


# --- a whole commit, from the hook file to the index, by real processes ---


def test_end_to_end_with_init(repo: GitRepo) -> None:
    program = "import sys; sys.path.insert(0, sys.argv.pop(1)); from recall_git.cli import main; sys.exit(main())"
    package = Path(sync.__file__).parents[1]

    def recall(*args: str) -> str:
        command = (sys.executable, "-c", program, str(package), *args)
        done = subprocess.run(command, cwd=repo.path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    recall("init")
    repo.write({"a.md": "# Apple\n\nThe boskoop is a sour apple.\n", "b.md": "# not this\n"})
    repo.git("add", "-A")
    repo.git("commit", "-qm", "only a", "a.md", ".recall")
    assert repo.git("status", "--porcelain") == "A  b.md"
    assert "a.md" in recall("query", "boskoop apple")
