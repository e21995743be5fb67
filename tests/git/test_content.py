"""What a note can be called and contain, and which files are notes at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_git import patterns, sync
from recall_git.config import Settings
from recall_git.repo import Repo
from recall_git.search import search
from recall_git.select import selector

if TYPE_CHECKING:
    from conftest import GitRepo
    from weather import Weather

NAMES = {
    "spaces": "my notes/the big  note .md",
    "emoji": "🍎/🍏 apple.md",
    "chinese": "笔记/苹果.md",
    "japanese": "メモ/りんご.md",
    "combining": "cafe\u0301.md",
    "composed": "café.md",
    "newline": "two\nlines.md",
    "tab": "a\tb.md",
    "quotes": 'it\'s "quoted" \\ `back`.md',
    "dash": "-rf.md",
    "glob": "[a-z]*?.md",
    "colon": ":(top)x.md",
    "upper": "SHOUT.MD",
    "control": "bell\x07\x01.md",
    "long": "x" * 200 + ".md",
    "deep": "/".join("abcdefghij" * 3) + "/deep.md",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
def test_names(weather: Weather, name: str) -> None:
    weather.repo.commit({name: "# Quince\n\nA hard fruit.\n"}, date="2026-01-05T00:00:00Z")
    weather.repo.commit({"other.md": "# Other\n"}, date="2026-01-06T00:00:00Z")
    rows = weather.check()
    assert {(row[0], row[4]) for row in rows} == {(name, "2026-01-05"), ("other.md", "2026-01-06")}
    engine = weather.new_engine()
    memory = engine.open(engine.repository(weather.repo.path)).memory
    assert search(memory, "hard quince fruit").hits[0].document.path == name


def test_a_name_that_is_not_utf8(weather: Weather) -> None:
    path = os.fsencode(weather.repo.path) + b"/caf\xe9 \xff.md"
    try:
        Path(os.fsdecode(path)).write_text("# Quince\n")
    except OSError:
        pytest.skip("this file system takes only UTF-8")
    weather.repo.commit()
    assert weather.paths() == [os.fsdecode(b"caf\xe9 \xff.md")]
    assert weather.hook("post-commit").endswith("ms")


def test_names_that_differ_only_in_case_are_two_notes(weather: Weather) -> None:
    try:
        weather.repo.commit({"Note.md": "# One\n", "note.md": "# Two\n", "NOTE.md": "# Three\n"})
    except AssertionError:
        pytest.skip("this file system folds case")
    assert len(weather.check()) == len({path.name for path in weather.repo.path.iterdir()} - {".git", ".recall"})


CONTENT = {
    "crlf": (b"# Quince\r\n\r\nA hard fruit.\r\n\r\n## Use\r\n\r\nJelly.\r\n", [1, 5]),
    "old mac": (b"# Quince\r\rA hard fruit.\r\r## Use\r\rJelly.\r", [1, 5]),
    "bom": (b"\xef\xbb\xbf# Quince\n\nA hard fruit.\n", [1]),
    "utf-16": ("# Quince\n\nA hard fruit.\n".encode("utf-16"), [1]),
    "utf-16be": (b"\xfe\xff" + "# Quince\n\nA hard fruit.\n".encode("utf-16-be"), [1]),
    "latin-1": ("# Quince\n\nA hard fruit für Gelée, déjà vu.\n".encode("latin-1"), [1]),
    "broken utf-8": ("# Quince\n\nA hard fruit 榅桲榅桲".encode() + b"\xe6\xa6\n", [1]),
    "late nul": (b"# Quince\n\nA hard fruit.\n" + b"\nx" * 9000 + b"\0\n", [1]),
    "binary": (b"\x89PNG\0\0\0# Quince\n", []),
    "lfs pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 9\n", []),
    "empty": (b"", None),
    "only front matter": (b"---\ntitle: Quince\n---\n", None),
    "unclosed fence": (b"# Quince\n\n```\n## not a heading\n", [1]),
    "no newline": (b"# Quince", [1]),
    "half a megabyte in one line": (b"# Quince\n\n" + b"hard fruit " * 45000 + b"\n", None),
    "two megabytes": (b"# Quince\n\n" + (b"## Part\n\n" + b"A hard fruit.\n" * 150 + b"\n") * 1000, None),
    "too large": (b"# Quince\n\n" + b"x\n" * (3 << 20), []),
}


@pytest.mark.parametrize(("data", "lines"), CONTENT.values(), ids=CONTENT.keys())
def test_content(weather: Weather, data: bytes, lines: list[int] | None) -> None:
    weather.repo.commit({"a.md": data, "b.md": "# Banana\n"})
    rows = [row for row in weather.check() if row[0] == "a.md"]
    if lines is not None:
        assert [row[2] for row in rows][: len(lines)] == lines
        assert bool(rows) == bool(lines)


def test_ten_thousand_notes_in_one_folder(weather: Weather) -> None:
    feed = [b"commit refs/heads/main\ncommitter A <a@example.org> 1767225600 +0000\ndata 1\nx\n"]
    for number in range(10_000):
        body = b"# N%d\n" % number
        feed.append(b"M 100644 inline all/n%05d.md\ndata %d\n%s\n" % (number, len(body), body))
    subprocess.run(("git", "fast-import", "--quiet"), cwd=weather.repo.path, input=b"".join(feed), check=True)
    weather.repo.git("reset", "-q", "--hard")
    weather.hook("post-commit")
    assert weather.snapshot().documents == 10_000
    weather.repo.git("rm", "-q", "all/n00007.md")
    weather.repo.commit({"all/n00008.md": "# Changed\n"})
    engine = weather.new_engine()
    assert engine.open(engine.repository(weather.repo.path)).memory.view.notes == 9_999
    assert weather.snapshot().documents == 10_001


# --- which files are notes ---


def test_links_are_never_followed(weather: Weather, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("# Secret\n")
    weather.repo.write({"a.md": "# Apple\n"})
    (weather.repo.path / "out.md").symlink_to(tmp_path / "secret.md")
    (weather.repo.path / "in.md").symlink_to("a.md")
    (weather.repo.path / "folder").symlink_to(tmp_path)
    weather.repo.commit()
    assert weather.paths() == ["a.md"]


def test_a_note_becomes_a_link(weather: Weather) -> None:
    weather.repo.commit({"a.md": "# Apple\n", "b.md": "# Banana\n"})
    (weather.repo.path / "a.md").unlink()
    (weather.repo.path / "a.md").symlink_to("b.md")
    weather.repo.commit()
    assert weather.paths() == ["b.md"]


def test_ignored_files_count_only_when_they_are_tracked(weather: Weather) -> None:
    repo = weather.repo
    repo.write({".gitignore": "private/\n", "private/a.md": "# A\n", "private/b.md": "# B\n", "c.md": "# C\n"})
    (repo.path / ".git" / "info" / "exclude").write_text("c.md\n")
    repo.commit({"d.md": "# D\n"})
    assert weather.paths() == ["d.md"]
    repo.git("add", "-f", "private/b.md")
    repo.git("commit", "-qm", "x")
    assert weather.paths() == ["d.md", "private/b.md"]


def test_extensions_by_setting(weather: Weather) -> None:
    names = ("a.md", "b.mdx", "c.markdown", "d.txt", "e.org", "f.rst", "README.txt")
    for extension in ("md", "mdx", "markdown", ".txt", "org"):
        weather.repo.git("config", "--add", "recall.extensions", extension)
    weather.repo.commit(dict.fromkeys(names, "Title\n=====\n\nText.\n"))
    assert weather.paths() == ["README.txt", "a.md", "b.mdx", "c.markdown", "d.txt", "e.org"]


def test_recallignore_is_read_from_the_commit(weather: Weather) -> None:
    repo = weather.repo
    repo.commit({
        ".recallignore": "# comment\n\ndrafts/\n*.private.md\n!keep.private.md\n",
        "sub/.recallignore": "/top.md\n!x.private.md\n",
        "drafts/a.md": "# A\n", "b.private.md": "# B\n", "keep.private.md": "# K\n",
        "sub/top.md": "# T\n", "sub/deep/top.md": "# D\n", "sub/x.private.md": "# X\n", "c.md": "# C\n",
    })  # fmt: skip
    kept = ["c.md", "keep.private.md", "sub/deep/top.md", "sub/x.private.md"]
    assert weather.paths() == kept
    repo.write({".recallignore": "*\n"})
    assert weather.paths() == kept  # not committed yet
    repo.git("commit", "-qam", "x")
    assert weather.paths() == ["sub/x.private.md"]
    repo.git("checkout", "-q", "HEAD~1")
    assert weather.paths() == kept


def test_a_note_that_was_ignored_has_its_own_date(weather: Weather) -> None:
    repo = weather.repo
    repo.commit({"a.md": "# A\n", ".recallignore": "a.md\n"}, date="2026-01-01T00:00:00Z")
    repo.commit({"b.md": "# B\n"}, date="2026-01-02T00:00:00Z")
    repo.git("rm", "-q", ".recallignore")
    repo.commit(date="2026-01-03T00:00:00Z")
    assert {row[0]: row[4] for row in weather.check()} == {"a.md": "2026-01-01", "b.md": "2026-01-02"}


def test_include_and_exclude(weather: Weather) -> None:
    repo = weather.repo
    repo.commit(dict.fromkeys(("a.md", "notes/b.md", "notes/old/c.md", "README.md", "notes/README.md"), "# N\n"),
                date="2026-01-01T00:00:00Z")  # fmt: skip
    assert weather.paths() == ["a.md", "notes/b.md", "notes/old/c.md"]
    repo.git("config", "recall.include", "notes/")
    repo.git("config", "--add", "recall.exclude", "old/")
    repo.git("config", "--add", "recall.exclude", "!README.md")
    assert weather.paths(seen=False) == ["notes/README.md", "notes/b.md"]
    assert {row[4] for row in weather.check()} == {"2026-01-01"}


def test_gitattributes_mark_notes(weather: Weather) -> None:
    weather.repo.commit({
        ".gitattributes": "*.md text\nvendor/** -recall\n*.howto recall diff\n/README.md recall\n"
        "both.md recall -recall\n",
        "sub/.gitattributes": "*.howto -recall\n",
        "vendor/a.md": "# A\n", "vendor/deep/b.md": "# B\n", "c.howto": "# C\n", "sub/d.howto": "# D\n",
        "README.md": "# R\n", "sub/README.md": "# S\n", "both.md": "# X\n", "e.md": "# E\n",
    })  # fmt: skip
    assert weather.paths() == ["README.md", "c.howto", "e.md"]
    weather.repo.git("config", "recall.exclude", "*.howto")
    assert weather.paths(seen=False) == ["README.md", "e.md"]


def test_types_by_setting_make_new_documents(weather: Weather) -> None:
    weather.repo.commit({"til/a.md": "# A\n"})
    weather.repo.git("config", "recall.types", "til=lesson")
    weather.check(seen=False)
    engine = weather.new_engine()
    memory = engine.open(engine.repository(weather.repo.path)).memory
    assert len(memory.view.flagged(4)) == 1


# --- patterns, against Git itself ---

PATTERNS = (
    "*.md", "/a.md", "a.md", "docs/", "docs", "docs/*.md", "docs/**", "**/deep", "a/**/b.md", "/docs/", "*", "?.md",
    "[ab].md", "[!a].md", "[^a].md", "x*y*z.md", r"\#hash.md", r"\!bang.md", "sp ace.md", "trail.md   ", "docs/a.md",
    "**/docs/*.md", "d*s/", "*/a.md", "**", "a", "/*", "/*/", "/*/*.md",
)  # fmt: skip
PATHS = (
    "a.md", "b.md", "docs/a.md", "docs/deep/a.md", "x/docs/a.md", "a/b.md", "a/x/b.md", "a/x/y/b.md", "deep", "x/deep",
    "xAyBz.md", "#hash.md", "!bang.md", "sp ace.md", "trail.md", "docs", "q/docs/deep/b.md", "a/docs/x",
)  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_agree_with_git(repo: GitRepo, pattern: str) -> None:
    (repo.path / ".git" / "info" / "exclude").write_text(pattern + "\n")
    for path in PATHS:
        done = subprocess.run(("git", "check-ignore", "--no-index", "-q", path), cwd=repo.path, check=False)
        said = done.returncode == 0
        assert bool(patterns.verdict(patterns.parse_all([pattern]), path)) == said, path


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("ab*?/![]\\#. ", max_size=12), max_size=5), st.text("ab/.", min_size=1, max_size=20))
def test_no_pattern_raises(lines: list[str], path: str) -> None:
    patterns.verdict(patterns.parse_all(lines), path)
    selector(Settings(), [(".recallignore", "\n".join(lines).encode()), (".gitattributes", b"\n".join(
        f"{line} recall".encode() for line in lines))])(path)  # fmt: skip


def test_hostile_patterns_cost_little() -> None:
    lines = ["*a" * 30 + "b", "**/a/" * 40 + "b", "[" * 100, "*" * 500 + "b", "a**" * 50]
    steps = 0

    def count(*_: object) -> None:
        nonlocal steps
        steps += 1

    sys.setprofile(count)
    try:
        patterns.verdict(patterns.parse_all(lines), "a" * 250 + "/a" * 500)
    finally:
        sys.setprofile(None)
    assert steps < 1_000_000


def test_collect_and_index_again_need_no_work_tree(weather: Weather) -> None:
    weather.repo.commit({"a.md": "# A\n"})
    for path in weather.repo.path.glob("*.md"):
        path.unlink()
    repo = Repo.discover(weather.repo.path)
    sync.refresh(repo, sync.settings_of(repo)[0], full=True, encoder=weather.encoder)
    assert weather.paths() == ["a.md"]
