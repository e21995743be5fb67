"""Every way to commit: what is indexed is what was committed, and nothing of the user's moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from recall_git import publish

if TYPE_CHECKING:
    from weather import Weather

A, B = "# Apple\n\nRed and round.\n", "# Banana\n\nYellow and bent.\n"


@pytest.fixture
def two(weather: Weather) -> Weather:
    """Two notes, committed."""
    weather.repo.commit({"a.md": A, "b.md": B}, date="2026-01-02T00:00:00Z")
    return weather


def bodies(weather: Weather) -> dict[str, str]:
    """Return path → blob of the notes of HEAD, after the check."""
    return {row[0]: row[1] for row in weather.check()}


def blob(weather: Weather, text: str) -> str:
    weather.repo.write({"../blob": text})
    return weather.repo.git("hash-object", "../blob")


def test_first_commit(weather: Weather) -> None:
    weather.repo.commit({"a.md": A})
    assert weather.paths() == ["a.md"]
    assert weather.events == ["pre-commit", "post-commit"]


def test_partial_commit_indexes_what_was_committed(two: Weather) -> None:
    repo = two.repo
    repo.write({"a.md": A + "Sweet.\n", "b.md": B + "Soft.\n"})
    repo.git("add", "b.md")
    repo.git("commit", "-qm", "only a", "a.md")
    assert bodies(two) == {"a.md": blob(two, A + "Sweet.\n"), "b.md": blob(two, B)}
    assert repo.git("status", "--porcelain") == "M  b.md"


@pytest.mark.parametrize("option", ["-o", "-i"])
def test_only_and_include(two: Weather, option: str) -> None:
    repo = two.repo
    repo.write({"a.md": A + "Sweet.\n", "b.md": B + "Soft.\n"})
    repo.git("add", "b.md")
    repo.git("commit", "-qm", "x", option, "a.md")
    soft = B + "Soft.\n" if option == "-i" else B
    assert bodies(two) == {"a.md": blob(two, A + "Sweet.\n"), "b.md": blob(two, soft)}
    assert repo.git("status", "--porcelain") == ("" if option == "-i" else "M  b.md")


def test_hunks_left_out_are_not_indexed_and_stay_unstaged(two: Weather) -> None:
    repo = two.repo
    long = "# Long\n\n## One\n\nfirst\n" + "\nfiller\n" * 20 + "\n## Two\n\nsecond\n"
    repo.commit({"a.md": long})
    edited = long.replace("first", "FIRST").replace("second", "SECOND")
    repo.write({"a.md": edited, "answers": "y\nn\n"})
    import subprocess

    with (repo.path / "answers").open() as answers:
        subprocess.run(
            ("git", "commit", "-qp", "-m", "half"), cwd=repo.path, stdin=answers, check=True, capture_output=True
        )
    assert bodies(two)["a.md"] == blob(two, long.replace("first", "FIRST"))
    assert (repo.path / "a.md").read_text() == edited
    assert repo.git("status", "--porcelain", "a.md") == " M a.md"


def test_staged_and_then_edited(two: Weather) -> None:
    repo = two.repo
    repo.write({"a.md": A + "staged\n"})
    repo.git("add", "a.md")
    repo.write({"a.md": A + "staged\nedited\n"})
    repo.git("commit", "-qm", "x")
    assert bodies(two)["a.md"] == blob(two, A + "staged\n")
    assert (repo.path / "a.md").read_text() == A + "staged\nedited\n"


def test_commit_all(two: Weather) -> None:
    two.repo.write({"a.md": A + "more\n"})
    two.repo.git("commit", "-qam", "x")
    assert bodies(two)["a.md"] == blob(two, A + "more\n")


def test_empty_commit_adds_nothing(two: Weather) -> None:
    before = two.snapshot().documents
    two.repo.git("commit", "-q", "--allow-empty", "-m", "nothing")
    two.check()
    assert two.snapshot().documents == before


def test_no_verify_skips_pre_commit_and_loses_nothing(two: Weather) -> None:
    two.events.clear()
    two.repo.write({"c.md": "# Cherry\n"})
    two.repo.git("add", "c.md")
    two.repo.git("commit", "-q", "--no-verify", "-m", "x")
    assert "pre-commit" not in two.events
    assert two.paths() == ["a.md", "b.md", "c.md"]


def test_without_any_hook_the_question_catches_up(two: Weather) -> None:
    two.repo.write({"c.md": "# Cherry\n"})
    two.repo.git("add", "c.md")
    two.repo.git("-c", "core.hooksPath=/dev/null", "commit", "-qm", "x")
    assert two.paths(seen=False) == ["a.md", "b.md", "c.md"]


def test_amend(two: Weather) -> None:
    repo = two.repo
    repo.write({"b.md": B + "Soft.\n"})
    repo.git("commit", "-q", "--amend", "-am", "better")
    assert two.events[-3:] == ["pre-commit", "post-commit", "post-rewrite"]
    assert bodies(two)["b.md"] == blob(two, B + "Soft.\n")


def test_deletion_only_commit(two: Weather) -> None:
    two.repo.git("rm", "-q", "a.md")
    two.repo.git("commit", "-qm", "x")
    assert two.paths() == ["b.md"]


def test_all_notes_deleted(two: Weather) -> None:
    two.repo.git("rm", "-q", "a.md", "b.md")
    two.repo.git("commit", "-qm", "x")
    assert two.paths() == []
    two.repo.commit({"a.md": A})
    assert two.paths() == ["a.md"]


def test_rename_and_exact_copy(two: Weather) -> None:
    repo = two.repo
    repo.git("mv", "a.md", "apple pie.md")
    repo.commit({"copy.md": B}, date="2026-02-02T00:00:00Z")
    assert two.paths() == ["apple pie.md", "b.md", "copy.md"]
    times = {row[0]: row[4] for row in two.check()}
    assert times == {"apple pie.md": "2026-02-02", "b.md": "2026-01-02", "copy.md": "2026-02-02"}


def test_a_file_becomes_a_folder_and_back(two: Weather) -> None:
    repo = two.repo
    repo.git("rm", "-q", "a.md")
    repo.commit({"a.md/inside.md": A})
    assert two.paths() == ["a.md/inside.md", "b.md"]
    repo.git("rm", "-rq", "a.md")
    repo.commit({"a.md": A})
    assert two.paths() == ["a.md", "b.md"]


def test_mode_change_is_no_change_of_the_note(two: Weather) -> None:
    two.repo.git("update-index", "--chmod=+x", "a.md")
    two.repo.git("commit", "-qm", "x", GIT_AUTHOR_DATE="2026-05-05T00:00:00Z")
    assert {row[4] for row in two.check()} == {"2026-01-02"}


def test_detached_head(two: Weather) -> None:
    repo = two.repo
    first = repo.head()
    repo.commit({"c.md": "# Cherry\n"})
    repo.git("checkout", "-q", "--detach", first)
    assert two.paths() == ["a.md", "b.md"]
    repo.commit({"d.md": "# Date\n"})
    assert two.paths() == ["a.md", "b.md", "d.md"]
    repo.git("checkout", "-q", "main")
    assert two.added_by("post-checkout", first, "x", "1") == 0
    assert two.paths() == ["a.md", "b.md", "c.md"]


def test_orphan_branch(two: Weather) -> None:
    repo = two.repo
    repo.git("checkout", "-q", "--orphan", "new")
    repo.git("rm", "-rqf", ".")
    repo.commit({"z.md": "# Zucchini\n"})
    assert two.paths() == ["z.md"]


def test_a_failed_commit_changes_nothing(two: Weather) -> None:
    repo = two.repo
    repo.write({"a.md": A + "never\n"})
    repo.git("add", "a.md")
    (repo.path / ".git" / "hooks" / "commit-msg").write_text("#!/bin/sh\nexit 1\n")
    (repo.path / ".git" / "hooks" / "commit-msg").chmod(0o755)
    repo.git("commit", "-qm", "x", check=False)
    assert bodies(two)["a.md"] == blob(two, A)


def test_intent_to_add_and_conflict_entries_are_no_notes(two: Weather) -> None:
    repo = two.repo
    repo.write({"later.md": "# Later\n", "c.md": "# Cherry\n"})
    repo.git("add", "-N", "later.md")
    repo.git("add", "c.md")
    repo.git("commit", "-qm", "x")
    assert two.paths() == ["a.md", "b.md", "c.md"]
    assert repo.git("status", "--porcelain") == " A later.md"


def test_the_digest_is_noted_on_the_commit_and_shown_by_git(two: Weather) -> None:
    two.repo.commit({"lessons/x.md": "---\npriority: high\n---\n# Never deploy on Friday\n\nIt broke twice.\n"})
    assert "Never deploy on Friday" in two.repo.git("log", "-1", "--notes=recall")
    assert "Never deploy on Friday" in (two.repo.path / publish.DIGEST_FILE).read_text()
    assert two.repo.git("status", "--porcelain") == ""


def test_a_commit_from_before_init_shows_no_file_of_ours(weather: Weather) -> None:
    repo = weather.repo
    lesson = "---\npriority: high\n---\n# Never deploy on Friday\n\nIt broke twice.\n"
    (repo.path / ".recall" / ".gitignore").unlink()
    repo.commit({"lessons/x.md": lesson})
    repo.commit({".recall/.gitignore": "/index/\n/digest.md\n"})
    assert (repo.path / publish.DIGEST_FILE).exists()
    repo.git("checkout", "-q", "HEAD~1")
    assert repo.git("status", "--porcelain", "--untracked-files=all") == ""
    weather.check()
    repo.git("checkout", "-q", "main")
    assert (repo.path / publish.DIGEST_FILE).exists()
