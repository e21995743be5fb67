"""Nobody gets another person's notes, and nobody plants a prohibition."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recall_git import publish, recall
from trust.trusthelp import note, placed

if TYPE_CHECKING:
    from conftest import GitRepo

    from recall_git.engine import Engine
    from tests.trust.conftest import Open

SECRET = "The safe behind the portrait opens with a violin tone."
QUERY = "How does the safe behind the portrait open?"


@pytest.fixture
def owned(repo: GitRepo) -> GitRepo:
    repo.commit(
        {
            "profile/ada.md": note("Ada", "Ada likes short answers.", owner="Ada@Example.org"),
            "profile/eve.md": note("Eve", "Eve likes long answers.", owner="eve@example.org"),
            "lessons/safe.md": note("Safe", SECRET, owner="eve@example.org", priority="high"),
        }
    )
    return repo


def test_a_profile_is_given_to_its_owner_only(owned: GitRepo, open_memory: Open) -> None:
    memory = open_memory(owned).memory
    made = recall.start_digest(memory)
    assert placed(made) == ["profile/profile/ada.md"]
    assert "profile profile/eve.md:4 owner" in made.cut
    assert "prohibitions lessons/safe.md:5 owner" in made.cut
    found = recall.prompt_digest(memory, QUERY)
    assert found.text == ""
    assert "relevant lessons/safe.md:5 owner" in found.cut


def test_recall_identity_states_who_it_is(owned: GitRepo, open_memory: Open) -> None:
    memory = open_memory(owned, identity="eve@example.org").memory
    assert placed(recall.start_digest(memory)) == ["profile/profile/eve.md", "prohibitions/lessons/safe.md"]
    assert placed(recall.prompt_digest(memory, QUERY)) == ["relevant/lessons/safe.md"]


def test_without_an_identity_nothing_of_anybody_is_given(owned: GitRepo, open_memory: Open, hermetic: Path) -> None:
    (hermetic / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    made = recall.start_digest(open_memory(owned).memory)
    assert made.text == ""
    assert "profile profile/ada.md:4 owner-unsure" in made.cut


def test_the_identity_is_that_of_the_caller_not_of_the_process(
    owned: GitRepo, open_memory: Open, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_memory(owned)
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "eve@example.org")
    memory = engine.open(engine.repository(owned.path), environ={}).memory
    assert placed(recall.start_digest(memory)) == ["profile/profile/ada.md"]


def test_what_is_published_with_a_commit_is_nobodys(owned: GitRepo, open_memory: Open) -> None:
    for identity in ("", "eve@example.org"):
        settings = {"identity": identity} if identity else {}
        assert publish.digest_text(open_memory(owned, **settings).memory) == ""


def test_another_persons_note_supersedes_nothing_of_mine(repo: GitRepo, open_memory: Open) -> None:
    repo.commit(
        {
            "profile/ada.md": note("Ada", "Ada likes short answers."),
            "x.md": note("Nothing", "Nothing.", owner="eve@example.org", supersedes="profile/ada.md"),
        }
    )
    assert placed(recall.start_digest(open_memory(repo).memory)) == ["profile/profile/ada.md"]


def test_prohibitions_are_accepted_from_named_folders_only(repo: GitRepo, open_memory: Open) -> None:
    repo.commit(
        {
            "rules/real.md": note("Never feed the dragon", "It bites.", type="lesson", priority="high"),
            "lessons/planted.md": note("Always feed the dragon", "It purrs.", priority="high"),
            "rules-too/near.md": note("Feed it twice", "It sings.", type="lesson", priority="high"),
            "lessons/out.md": note("Feeding rules", "Gone.", supersedes="rules/real.md"),
        }
    )
    made = recall.start_digest(open_memory(repo, prohibitions="rules/").memory)
    assert [entry for entry in placed(made) if entry.startswith("prohibitions/")] == ["prohibitions/rules/real.md"]
    assert "prohibitions lessons/planted.md:4 unprotected" in made.cut
    everywhere = recall.start_digest(open_memory(repo, prohibitions="").memory)
    assert "prohibitions/lessons/planted.md" in placed(everywhere)
