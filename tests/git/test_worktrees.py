"""Several linked worktrees at once: one index, no mix-up, whatever Git left in the environment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recall_git.repo import LOCAL_ENV, Repo

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import GitRepo
    from weather import Weather


@pytest.fixture
def tree(weather: Weather, tmp_path: Path) -> Path:
    """A linked worktree on a branch of its own."""
    weather.repo.commit({"a.md": "# Apple\n", "b.md": "# Banana\n"})
    weather.repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "linked tree"))
    return tmp_path / "linked tree"


def at(repo: GitRepo, path: Path) -> GitRepo:
    return type(repo)(path)


def test_worktree_add_indexes_nothing_again(weather: Weather, tree: Path) -> None:
    documents = weather.snapshot().documents
    assert weather.check(where=tree) == weather.check()
    assert weather.snapshot().documents == documents


def test_each_worktree_sees_its_own_commit(weather: Weather, tree: Path) -> None:
    other = at(weather.repo, tree)
    other.commit({"only-there.md": "# There\n"})
    weather.repo.commit({"only-here.md": "# Here\n"})
    here = {row[0] for row in weather.check()}
    there = {row[0] for row in weather.check(where=tree, seen=False)}
    assert here == {"a.md", "b.md", "only-here.md"}
    assert there == {"a.md", "b.md", "only-there.md"}


def test_one_index_is_shared(weather: Weather, tree: Path) -> None:
    at(weather.repo, tree).commit({"c.md": "# Cherry\n"})
    assert Repo.discover(tree).index_home == Repo.discover(weather.repo.path).index_home
    assert not any((tree / ".recall" / "index").glob("v*"))
    assert at(weather.repo, tree).git("status", "--porcelain") == ""


def test_partial_commit_in_a_worktree_with_gits_variables(weather: Weather, tree: Path) -> None:
    other = at(weather.repo, tree)
    other.write({"a.md": "# Apple\n\nred\n", "b.md": "# Banana\n\nyellow\n"})
    other.git("commit", "-qm", "x", "a.md")
    assert other.git("status", "--porcelain") == " M b.md"
    weather.check(where=tree)
    weather.check(seen=False)


def test_variables_of_another_repository_do_not_lead_astray(
    weather: Weather, tree: Path, make_repo: Callable[..., GitRepo], monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = make_repo("stranger")
    stranger.commit({"s.md": "# Stranger\n"})
    for name in LOCAL_ENV:
        if name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY"):
            value = stranger.path / {"GIT_INDEX_FILE": ".git/index", "GIT_WORK_TREE": "."}.get(name, ".git")
            monkeypatch.setenv(name, str(value / "objects" if "OBJECT" in name else value))
    repo = Repo.discover(tree)
    head = repo.head()
    assert head is not None
    assert sorted(entry.path for entry in repo.staged()) == [".recall/.gitignore", "a.md", "b.md"]
    assert sorted(entry.path for entry in repo.files(head.tree)) == [".recall/.gitignore", "a.md", "b.md"]
    assert repo.history(head.oid)[0].oid == head.oid


def test_gc_keeps_what_any_worktree_has(weather: Weather, tree: Path) -> None:
    from recall_git import sync

    other = at(weather.repo, tree)
    other.git("checkout", "-q", "--detach")
    other.commit({"detached.md": "# Detached\n"})
    gone = weather.repo.commit({"gone.md": "# Gone\n"})
    weather.repo.git("reset", "-q", "--hard", f"{gone}~1")
    repo = Repo.discover(weather.repo.path)
    before, after = sync.collect(repo, sync.settings_of(repo)[0])
    assert before - after == 1
    assert "detached.md" in {row[0] for row in weather.check(where=tree, seen=False)}


def test_worktrees_of_a_bare_repository(
    make_repo: Callable[..., GitRepo], make_weather: Callable[..., Weather], tmp_path: Path
) -> None:
    source = make_repo("source")
    source.commit({"a.md": "# Apple\n"})
    source.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    bare = at(source, tmp_path / "bare.git")
    bare.git("worktree", "add", "-q", str(tmp_path / "one"))
    weather = make_weather(at(source, tmp_path / "one"))
    weather.repo.commit({"b.md": "# Banana\n"})
    assert weather.paths() == ["a.md", "b.md"]
    assert Repo.discover(tmp_path / "one").index_home == tmp_path / "bare.git" / "recall" / "index"


def test_a_removed_worktree_breaks_nothing(weather: Weather, tree: Path) -> None:
    at(weather.repo, tree).commit({"c.md": "# Cherry\n"})
    weather.repo.git("worktree", "remove", "--force", str(tree))
    weather.check(seen=False)
