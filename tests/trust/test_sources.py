"""Several repositories, one digest, one budget; each opted in by itself, never by a folder's name."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from answering import answered

from recall_git import beside, recall, trace
from trust.trusthelp import lines, note

if TYPE_CHECKING:
    from conftest import GitRepo

    from recall_git.engine import Engine
    from tests.trust.conftest import Open

QUERY = "How long must the zeppelin be inflated before departure?"


@pytest.fixture
def two(make_repo: Callable[..., GitRepo], open_memory: Open) -> tuple[GitRepo, GitRepo]:
    work, mine = make_repo("work"), make_repo("mine")
    work.commit({"a.md": note("Inflation", "The zeppelin must be inflated for nine hours before departure.")})
    mine.commit(
        {
            "z.md": note("Zeppelin", "Before departure the zeppelin is inflated and checked."),
            "profile/me.md": note("Me", "Likes short answers."),
            "lessons/l.md": note("Ropes", "Check the ropes.", priority="high"),
        }
    )
    open_memory(work)
    open_memory(mine)
    work.git("config", "--global", "--add", "recall.source", str(mine.path))
    return work, mine


def test_both_answer_and_each_entry_names_its_source(two: tuple[GitRepo, GitRepo], engine: Engine) -> None:
    opened = engine.open(engine.repository(two[0].path))
    made = recall.prompt_digest(opened.memory, QUERY, beside=beside.beside(engine, opened))
    assert sorted(item.document.source for item in made.placed) == ["mine", "work"]
    assert " · work › a.md:1" in made.text
    assert " · mine › z.md:1" in made.text
    assert made.text.count("(end of notes)") == 1


def test_fixed_slots_of_both(two: tuple[GitRepo, GitRepo], engine: Engine) -> None:
    opened = engine.open(engine.repository(two[0].path))
    made = recall.start_digest(opened.memory, beside=beside.beside(engine, opened))
    assert ["mine › profile/me.md" in line for line in lines(made)] == [True, False]


def test_alone_no_entry_names_a_source(two: tuple[GitRepo, GitRepo], engine: Engine) -> None:
    two[0].git("config", "recall.source", "")
    opened = engine.open(engine.repository(two[0].path))
    made = recall.prompt_digest(opened.memory, QUERY, beside=beside.beside(engine, opened))
    assert " · a.md:1" in made.text


def test_a_source_must_be_opted_in_itself(two: tuple[GitRepo, GitRepo], engine: Engine) -> None:
    two[1].git("config", "recall.enabled", "false")
    opened = engine.open(engine.repository(two[0].path))
    made = recall.prompt_digest(opened.memory, QUERY, beside=beside.beside(engine, opened))
    assert "mine" not in made.text
    assert "source mine NotEnabled" in made.cut


@pytest.mark.parametrize("place", ["/nowhere/at/all", "~/none", "", "."])
def test_a_source_that_is_not_there_does_no_harm(two: tuple[GitRepo, GitRepo], engine: Engine, place: str) -> None:
    two[0].git("config", "--global", "--replace-all", "recall.source", place)
    opened = engine.open(engine.repository(two[0].path))
    assert recall.prompt_digest(opened.memory, QUERY, beside=beside.beside(engine, opened)).text


def test_itself_is_not_asked_twice(two: tuple[GitRepo, GitRepo], engine: Engine) -> None:
    opened = engine.open(engine.repository(two[1].path))
    made = recall.prompt_digest(opened.memory, QUERY, beside=beside.beside(engine, opened))
    assert len(made.placed) == 1


def send(engine: Engine, place: Path) -> str:
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(place), "prompt": QUERY}
    environ = {**os.environ}
    return answered(json.dumps(event).encode(), place, environ, engine).stdout


def test_the_users_own_notes_answer_where_recall_is_not_on(
    two: tuple[GitRepo, GitRepo], engine: Engine, make_repo: Callable[..., GitRepo], tmp_path: Path
) -> None:
    clone = make_repo("clone")
    clone.commit({"a.md": "# Zeppelin\n\nThe zeppelin must be inflated for ever before departure.\n"})
    answer = send(engine, clone.path)
    assert "z.md:1" in answer
    assert "for ever" not in answer, "a clone says nothing until its owner says so"
    assert not (clone.path / ".git" / "recall").exists()
    assert trace.read(two[1].path / ".git" / "recall", 1)[0]["outcome"] == "injected"
    (tmp_path / "plain").mkdir()
    clone.git("config", "--global", "recall.idleMinutes", "1")
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "t", "cwd": str(tmp_path / "plain"), "prompt": QUERY}
    assert "z.md:1" in answered(json.dumps(event).encode(), tmp_path / "plain", {**os.environ}, engine).stdout


def test_a_clones_settings_name_no_source(
    two: tuple[GitRepo, GitRepo], engine: Engine, make_repo: Callable[..., GitRepo], open_memory: Open
) -> None:
    third = make_repo("third")
    third.commit({".recall/config": f'[recall]\n\tsource = "{two[1].path}"\n', "a.md": "# A\n"})
    two[0].git("config", "--global", "--unset-all", "recall.source")
    opened = open_memory(third)
    assert opened.memory.settings.source == ()
    assert [problem for problem in opened.problems if "source" in problem]
