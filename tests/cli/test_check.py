"""``git recall check``: problems of the notes that are about to be committed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recall_git.commands import check

if TYPE_CHECKING:
    from conftest import GitRepo

GOOD = "---\ntags: [a]\n---\n# Good\n"
BROKEN = "---\ntags: [a\n---\n# Broken\n"


@pytest.fixture
def run(repo: GitRepo, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run the check; return what it says. The status is 1 exactly when it says something."""

    def inside(*files: str, folder: str = ".") -> str:
        monkeypatch.chdir(repo.path / folder)
        status = check.run(list(files))
        out = capsys.readouterr().out
        assert status == (1 if out else 0)
        return out

    return inside


def test_good_notes_pass_in_silence(repo: GitRepo, run: Callable[..., str]) -> None:
    repo.write({"a.md": GOOD, "b.md": "# No front matter\n", "c.png": b"\0\1"})
    repo.git("add", "-A")
    assert run() == ""


def test_broken_front_matter_is_one_line(repo: GitRepo, run: Callable[..., str]) -> None:
    repo.write({"a.md": BROKEN, "b.md": GOOD})
    repo.git("add", "-A")
    assert run().startswith("a.md:1: front matter: ")
    assert run().count("\n") == 1


def test_only_changed_notes_are_looked_at(repo: GitRepo, run: Callable[..., str]) -> None:
    repo.commit({"old.md": BROKEN})
    repo.write({"new.md": GOOD})
    repo.git("add", "-A")
    assert run() == ""
    assert "old.md" in run("old.md")


def test_the_staged_content_counts(repo: GitRepo, run: Callable[..., str]) -> None:
    repo.write({"a.md": BROKEN})
    repo.git("add", "-A")
    repo.write({"a.md": GOOD})
    assert "a.md:1" in run()


@pytest.mark.parametrize(
    "target", ["old", "old.md", "notes/old", "notes/old.md", "[[Old|that]]", "Old title", "other name"]
)
def test_supersedes_that_leads_somewhere(repo: GitRepo, run: Callable[..., str], target: str) -> None:
    repo.write({"notes/old.md": "---\naliases: [other name]\n---\n# Old title\n"})
    repo.write({"new.md": f"---\nsupersedes: '{target}'\n---\n# New\n"})
    repo.git("add", "-A")
    assert run() == ""


def test_supersedes_that_leads_nowhere(repo: GitRepo, run: Callable[..., str]) -> None:
    repo.write({"new.md": "---\nsupersedes: gone\nsuperseded_by: later\n---\n# New\n"})
    repo.git("add", "-A")
    assert "new.md:1: supersedes 'gone'" in run()
    assert "later" in run()


def test_files_are_named_from_where_one_stands(repo: GitRepo, run: Callable[..., str], tmp_path: Path) -> None:
    repo.write({"in/a.md": BROKEN})
    repo.git("add", "-A")
    assert "in/a.md:1" in run("a.md", folder="in")
    assert run("../b.md", folder="in") == ""


def test_before_the_first_commit_and_with_nothing_staged(repo: GitRepo, run: Callable[..., str]) -> None:
    assert run() == ""


def test_a_credential_is_named_before_it_is_in_the_history(repo: GitRepo, run: Callable[..., str]) -> None:
    repo.write({"a.md": "# Access\n\nNothing here.\n\nkey: AKIA" + "Q3EXAMPLE7KEY234\n"})
    repo.git("add", "-A")
    assert run() == "a.md:5: looks like a credential; take it out before it is in the history\n"
