"""Where a notes repository can live: submodules, bare, shallow, sparse and partial clones, folders below the top."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recall_git import sync
from recall_git.engine import Engine
from recall_git.errors import NoRepository
from recall_git.repo import Repo

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import GitRepo
    from weather import Weather

DAY = "2026-01-{:02}T00:00:00Z"


@pytest.fixture
def source(make_repo: Callable[..., GitRepo]) -> GitRepo:
    """A repository to clone from: three commits."""
    made = make_repo("source")
    for number in (1, 2, 3):
        made.commit(
            {f"n{number}.md": f"# Note {number}\n", "dir/deep.md": f"# Deep {number}\n"}, date=DAY.format(number)
        )
    made.git("config", "uploadpack.allowFilter", "true")
    made.git("config", "uploadpack.allowAnySHA1InWant", "true")
    return made


def clone(source: GitRepo, name: str, *options: str) -> GitRepo:
    path = source.path.parent / name
    source.git("-c", "protocol.file.allow=always", "clone", "-q", *options, source.path.as_uri(), str(path))
    return type(source)(path)


def add_submodule(outer: GitRepo, source: GitRepo, place: str) -> GitRepo:
    outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", source.path.as_uri(), place)
    return type(outer)(outer.path / place)


# --- submodules ---


def test_notes_that_are_a_submodule(
    make_repo: Callable[..., GitRepo], source: GitRepo, make_weather: Callable[..., Weather]
) -> None:
    outer = make_repo("outer")
    outer.commit({"outer.md": "# Outer\n"})
    notes = add_submodule(outer, source, "my notes")
    weather = make_weather(notes)
    notes.commit({"inner.md": "# Inner\n"})
    assert "inner.md" in weather.paths()
    assert "outer.md" not in weather.paths()
    notes.write({"n1.md": "# partial\n", "n2.md": "# not this\n"})
    notes.git("commit", "-qm", "x", "n1.md")
    weather.check()
    assert notes.git("status", "--porcelain").endswith(" M n2.md")


def test_notes_that_contain_a_submodule(weather: Weather, source: GitRepo) -> None:
    weather.repo.commit({"outer.md": "# Outer\n"})
    add_submodule(weather.repo, source, "vendor/notes")
    weather.repo.git("commit", "-qm", "with a submodule")
    assert weather.paths() == ["outer.md"]
    weather.repo.write({"vendor/notes/n1.md": "# changed inside\n"})
    assert weather.paths() == ["outer.md"]


def test_a_repository_inside_a_repository_that_is_no_submodule(weather: Weather) -> None:
    weather.repo.commit({"outer.md": "# Outer\n"})
    inner = type(weather.repo)(weather.repo.path / "inner")
    inner.path.mkdir()
    inner.git("init", "-q")
    inner.commit({"i.md": "# Inner\n"})
    assert Repo.discover(inner.path).git_dir == inner.path / ".git"
    assert weather.paths() == ["outer.md"]


# --- kinds of clones ---


def test_bare_repository(source: GitRepo, make_weather: Callable[..., Weather]) -> None:
    bare = clone(source, "bare.git", "--bare")
    weather = make_weather(bare, listen=False)
    weather.hook("post-merge")
    assert weather.paths() == ["dir/deep.md", "n1.md", "n2.md", "n3.md"]
    assert Repo.discover(bare.path).top is None
    assert not (bare.path / ".recall").exists()


def test_shallow_clone_and_its_deepening(source: GitRepo, make_weather: Callable[..., Weather]) -> None:
    shallow = clone(source, "shallow", "--depth=2")
    weather = make_weather(shallow)
    shallow.commit({"mine.md": "# Mine\n"}, date=DAY.format(9))
    dates = {row[0]: row[4] for row in weather.check()}
    assert (dates["n1.md"], dates["n3.md"]) == ("2026-01-02", "2026-01-03")
    shallow.git("fetch", "-q", "--unshallow")
    shallow.commit({"more.md": "# More\n"}, date=DAY.format(10))
    dates = {row[0]: row[4] for row in weather.check()}
    assert (dates["n1.md"], dates["mine.md"]) == ("2026-01-01", "2026-01-09")


@pytest.mark.parametrize("options", [(), ("--sparse-index",)])
def test_sparse_checkout_knows_all_notes(
    source: GitRepo, make_weather: Callable[..., Weather], options: tuple[str, ...]
) -> None:
    sparse = clone(source, "sparse")
    sparse.git("sparse-checkout", "init", "--cone", *options)
    weather = make_weather(sparse)
    assert not (sparse.path / "dir").exists()
    sparse.git("add", "--sparse", ".recall/.gitignore")
    sparse.write({"n1.md": "# changed\n"})
    sparse.git("commit", "-qam", "x")
    assert weather.paths() == ["dir/deep.md", "n1.md", "n2.md", "n3.md"]
    assert not (sparse.path / "dir").exists()


def test_split_index(weather: Weather) -> None:
    weather.repo.commit({"a.md": "# Apple\n"})
    weather.repo.git("update-index", "--split-index")
    weather.repo.commit({"b.md": "# Banana\n"})
    assert weather.paths() == ["a.md", "b.md"]


@pytest.mark.parametrize("filter_", ["blob:none", "tree:0"])
def test_partial_clone_fetches_nothing(source: GitRepo, make_weather: Callable[..., Weather], filter_: str) -> None:
    partial = clone(source, "partial", f"--filter={filter_}", "--no-checkout")
    weather = make_weather(partial, listen=False, ignore=False)
    partial.git("config", "remote.origin.url", "file:///nowhere")  # a fetch would fail loudly

    def objects() -> str:
        return partial.git("count-objects", "-v")

    before = objects()
    weather.hook("post-checkout", "0", "0", "1")
    assert weather.paths() == []
    assert objects() == before
    partial.git("config", "remote.origin.url", source.path.as_uri())
    partial.git("checkout", "-q", "main")
    weather.hook("post-checkout", "0", "0", "1")
    assert weather.paths() == ["dir/deep.md", "n1.md", "n2.md", "n3.md"]


# --- where one stands ---


def test_from_a_folder_below_the_top(weather: Weather) -> None:
    weather.repo.commit({"deep/er/a.md": "# Apple\n", "b.md": "# Banana\n"})
    below = weather.repo.path / "deep" / "er"
    inside = type(weather.repo)(below)
    inside.write({"a.md": "# Apple\n\nred\n"})
    inside.git("commit", "-qm", "x", "a.md")
    assert weather.paths() == ["b.md", "deep/er/a.md"]
    repo = Repo.discover(below)
    assert (repo.top, sorted(entry.path for entry in repo.staged())) == (
        weather.repo.path,
        [".recall/.gitignore", "b.md", "deep/er/a.md"],
    )


def test_inside_the_git_folder(weather: Weather) -> None:
    weather.repo.commit({"a.md": "# Apple\n"})
    assert Repo.discover(weather.repo.path / ".git" / "objects").git_dir == weather.repo.path / ".git"


def test_through_a_link_to_the_repository(weather: Weather, tmp_path: Path) -> None:
    weather.repo.commit({"a.md": "# Apple\n"})
    (tmp_path / "link").symlink_to(weather.repo.path)
    assert Repo.discover(tmp_path / "link").git_dir == Repo.discover(weather.repo.path).git_dir


def test_nowhere(tmp_path: Path) -> None:
    with pytest.raises(NoRepository):
        Engine().repository(tmp_path)


def test_a_moved_repository_goes_on(weather: Weather, tmp_path: Path) -> None:
    weather.repo.commit({"a.md": "# Apple\n"})
    weather.stop()
    documents = weather.snapshot().documents
    weather.repo.path.rename(tmp_path / "moved")
    weather.repo.path = tmp_path / "moved"
    weather.hook("post-commit")
    assert weather.paths() == ["a.md"]
    assert weather.snapshot().documents == documents


def test_a_repository_that_was_not_opted_in_is_left_alone(repo: GitRepo) -> None:
    from recall_git import gitevents
    from recall_git.errors import NotEnabled

    repo.commit({"a.md": "# Apple\n"})
    for event in gitevents.HOOKS:
        with pytest.raises(NotEnabled):
            gitevents.handle(event, (), repo.path, {}, Engine())
    assert not (repo.path / ".recall").exists()
    assert not (repo.path / ".git" / "recall").exists()


def test_git_clean_takes_the_index_and_the_question_makes_it_again(weather: Weather) -> None:
    weather.repo.commit({"a.md": "# Apple\n"})
    weather.repo.git("clean", "-qfdx")
    assert not (weather.repo.path / ".recall" / "index").exists()
    repo = Repo.discover(weather.repo.path)
    sync.refresh(repo, sync.settings_of(repo)[0], encoder=weather.encoder)
    assert weather.paths() == ["a.md"]
