"""Nothing is given twice, whatever a session goes through; the next one learns where the last one stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from answering import answered

from recall_git import hook, session, trace
from trust.trusthelp import note

if TYPE_CHECKING:
    from conftest import GitRepo

    from recall_git.engine import Engine
    from tests.trust.conftest import Open

Tell = Callable[..., str]
GOLDEN = Path(__file__).parents[1] / "agents" / "golden"
TOPICS = (
    "zeppelin",
    "glacier",
    "violin",
    "saffron",
    "lighthouse",
    "beehive",
    "tapestry",
    "volcano",
    "submarine",
    "orchid",
)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that the hook sees; set ``clock[0]``."""
    now = [1_772_366_400.0]
    monkeypatch.setattr(hook, "time", lambda: now[0])
    return now


@pytest.fixture
def tell(repo: GitRepo, engine: Engine, open_memory: Open, clock: list[float]) -> Tell:
    """Send one event; return the text that the agent is given. Time goes on by a minute."""
    repo.commit(
        {
            f"notes/{topic}.md": note(
                f"The {topic}",
                f"Intro.\n\n## Storage\n\nThe {topic} is stored in hall {n}.\n\n## Cleaning\n\nThe {topic} "
                f"is cleaned with soap number {n}.\n\n## Owner\n\nThe {topic} belongs to the museum of town {n}.",
            )
            for n, topic in enumerate(TOPICS)
        }
        | {"lessons/keys.md": note("Keys", "Never lend the keys to visitors.", priority="high")}
    )
    open_memory(repo)

    def send(event: str, session_id: str = "s", cwd: Path | None = None, **more: str) -> str:
        clock[0] += 60
        data = {"hook_event_name": event, "session_id": session_id, "cwd": str(cwd or repo.path), **more}
        answer = answered(json.dumps(data).encode(), repo.path, os.environ, engine)
        assert answer.digest.outcome != "failed", answer.digest.why
        if not answer.stdout:
            return ""
        return str(json.loads(answer.stdout)["hookSpecificOutput"]["additionalContext"])

    return send


def ask(tell: Tell, topic: str, session_id: str = "s") -> str:
    return tell("UserPromptSubmit", session_id, prompt=f"Where is the {topic} stored, and how is it cleaned?")


def entries(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.startswith("- ")]


def test_fifty_prompts_and_two_compactions_repeat_nothing(tell: Tell) -> None:
    given: list[str] = []
    blocks = repeated = 0

    def take(text: str) -> None:
        nonlocal blocks, repeated
        for entry in entries(text):
            blocks += 1
            repeated += entry in given
            given.append(entry)

    take(tell("SessionStart", source="startup"))
    for number in range(50):
        if number in (17, 34):
            tell("PreCompact", trigger="auto")
            given.clear()
            take(tell("SessionStart", source="compact"))
        take(ask(tell, TOPICS[number % len(TOPICS)]))
    assert (repeated, blocks >= 60) == (0, True), blocks


def test_static_every_turn_repeats_only_the_fixed_slots(tell: Tell, repo: GitRepo) -> None:
    repo.git("config", "recall.static", "turn")
    first, second = (
        ask(tell, "glacier"),
        tell("UserPromptSubmit", prompt="And where is the glacier stored again, please?"),
    )
    assert "glacier.md" in first
    assert ["keys.md" in entry for entry in entries(first) if entry in entries(second)] == [True]


def test_without_a_start_after_a_compaction_the_next_prompt_brings_it(tell: Tell) -> None:
    start = tell("SessionStart", source="startup")
    first = ask(tell, "orchid")
    assert "keys.md" in start
    assert "keys.md" not in first
    tell("PreCompact", trigger="auto")
    again = ask(tell, "orchid")
    assert "keys.md" in again
    assert set(entries(first)) < set(entries(again))
    assert [entry for entry in entries(again) if "asked" in entry]
    after = ask(tell, "violin")
    assert "violin.md" in after
    assert "keys.md" not in after


def test_small_talk_after_a_compaction_brings_the_fixed_slots_and_nothing_else(tell: Tell) -> None:
    tell("PreCompact", trigger="auto")
    assert [("keys.md" in entry) for entry in entries(tell("UserPromptSubmit", prompt="thanks!"))] == [True]
    assert tell("UserPromptSubmit", prompt="ok thanks") == ""


@pytest.mark.parametrize(
    ("agent", "compaction", "prompt", "starts"),
    [
        ("claude-code", "before-compaction", "prompt", True),
        ("codex", "before-compaction", "prompt", True),
        ("gemini", "before-compaction", "prompt", False),
        ("cursor", "before-compaction", "prompt", False),
        ("hermes", "reset", "prompt", False),
        ("amp", "compaction", "prompt", False),
    ],
)
def test_after_a_compaction_every_agent_has_the_fixed_slots_once(
    tell: Tell,
    repo: GitRepo,
    engine: Engine,
    clock: list[float],
    agent: str,
    compaction: str,
    prompt: str,
    starts: bool,
) -> None:
    def send(name: str, **more: str) -> str:
        clock[0] += 60
        golden = json.loads((GOLDEN / agent / f"{name}.json").read_text("utf-8"))
        text = json.dumps({**golden["stdin"], **more}).replace("/home/ada/notes", repo.path.as_posix())
        return answered(text.encode(), repo.path, golden["environ"], engine).stdout

    assert "keys.md" not in send(prompt)
    assert send(compaction) == ""
    found = [send("start", source="compact")] if starts else []
    found += [send(prompt), send(prompt)]
    assert ["keys.md" in text for text in found] == [True, *[False] * (len(found) - 1)]


@pytest.mark.parametrize("source", ["clear", "compact"])
def test_clear_and_compact_forget(tell: Tell, source: str) -> None:
    first = ask(tell, "orchid")
    assert first
    assert ask(tell, "orchid") == ""
    tell("SessionStart", source=source)
    assert entries(ask(tell, "orchid")) == entries(first)


@pytest.mark.parametrize("source", ["resume", "fork"])
def test_what_the_agent_replays_is_not_given_again(tell: Tell, source: str) -> None:
    assert ask(tell, "orchid")
    tell("SessionEnd", reason="other")
    assert tell("SessionStart", source=source) == ""
    assert ask(tell, "orchid") == ""


def test_a_changed_note_is_given_again_and_says_so(tell: Tell, repo: GitRepo) -> None:
    assert "[changed]" not in ask(tell, "orchid")
    repo.commit({"notes/orchid.md": "# The orchid\n\n## Storage\n\nThe orchid is stored in the cellar now.\n"})
    again = tell("UserPromptSubmit", prompt="Tell me please: where is the orchid stored now?")
    assert "the cellar" in again
    assert "[changed]" in again


def test_the_same_event_twice_is_answered_once(tell: Tell, clock: list[float]) -> None:
    assert ask(tell, "violin")
    clock[0] -= 60
    assert ask(tell, "violin") == ""


def test_sessions_do_not_know_of_each_other(tell: Tell) -> None:
    assert ask(tell, "violin", "one")
    assert ask(tell, "violin", "two")


def test_the_next_session_learns_where_the_last_one_stopped_once(tell: Tell, repo: GitRepo) -> None:
    (repo.path / "notes").mkdir(exist_ok=True)
    tell("UserPromptSubmit", "old", cwd=repo.path / "notes", prompt="Where is the beehive stored? My password=hunter2x")
    tell("SessionEnd", "old", reason="other")
    start = tell("SessionStart", "new", source="startup")
    (line,) = [entry for entry in entries(start) if "asked" in entry]
    assert "in notes: asked “Where is the beehive stored?" in line
    assert "notes/beehive.md" in line
    assert "hunter2x" not in start
    assert "[masked]" in line
    assert "Where the last session stopped:" in start
    assert "asked" not in tell("SessionStart", "third", source="startup")


def test_after_a_compaction_the_session_learns_it_of_itself(tell: Tell) -> None:
    ask(tell, "beehive")
    tell("PreCompact", trigger="auto")
    assert "beehive stored" in tell("SessionStart", source="compact")


def test_a_clear_wants_no_past(tell: Tell) -> None:
    ask(tell, "beehive")
    tell("SessionEnd", reason="clear")
    assert "asked" not in tell("SessionStart", "next", source="clear")


def test_the_end_of_a_turn_is_noted_and_never_answered(tell: Tell, clock: list[float]) -> None:
    tell("PreCompact", trigger="auto")  # something is owed, and yet
    assert tell("Stop", stop_hook_active="") == ""
    for topic in ("beehive", "orchid"):  # two turns within the time in which copies of one event arrive
        ask(tell, topic, "busy")
        assert "asked" not in tell("SessionStart", f"during-{topic}", source="startup")
        clock[0] -= 175
        assert tell("Stop", "busy", last_assistant_message="In a hall.") == ""
    assert "orchid stored" in tell("SessionStart", "new", source="startup")


def test_a_session_that_is_at_work_is_not_taken_up(tell: Tell, clock: list[float]) -> None:
    ask(tell, "beehive", "busy")
    assert "asked" not in tell("SessionStart", "new", source="startup")
    clock[0] += session.QUIET_S
    assert "asked" in tell("SessionStart", "newer", source="startup")


def test_what_is_a_week_old_is_not_taken_up(tell: Tell, clock: list[float]) -> None:
    ask(tell, "beehive", "old")
    tell("SessionEnd", "old", reason="other")
    clock[0] += session.LIFE_S
    assert "asked" not in tell("SessionStart", "new", source="startup")


def test_small_talk_is_nothing_to_resume(tell: Tell) -> None:
    tell("UserPromptSubmit", "old", prompt="thanks!")
    tell("SessionEnd", "old", reason="other")
    assert "asked" not in tell("SessionStart", "new", source="startup")


def test_what_came_too_late_was_not_given(
    tell: Tell, repo: GitRepo, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(repo.path),
             "prompt": "Where is the orchid stored, and how is it cleaned?"}  # fmt: skip
    answer = answered(json.dumps(event).encode(), repo.path, os.environ, engine, deadline=1e-9)
    assert (answer.stdout, answer.digest.outcome) == ("", "late")
    assert ask(tell, "orchid")


def event_of(repo: GitRepo, name: str = "UserPromptSubmit", **more: str) -> bytes:
    return json.dumps({"hook_event_name": name, "session_id": "s", "cwd": str(repo.path), **more}).encode()


def test_a_start_that_came_too_late_comes_with_the_next_prompt(
    tell: Tell, repo: GitRepo, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = answered(event_of(repo, "SessionStart", source="startup"), repo.path, os.environ, engine, deadline=1e-9)
    assert (late.stdout, late.digest.outcome) == ("", "late")
    assert "keys.md" in ask(tell, "orchid")
    assert "keys.md" not in ask(tell, "violin")
    clock = iter([0.0, 0.0])  # ready in time for the search, and not after it
    monkeypatch.setattr(hook, "perf_counter", lambda: next(clock, 9.0))
    data = event_of(repo, "SessionStart", source="clear")
    assert answered(data, repo.path, os.environ, engine, deadline=5.0).digest.why == "past the deadline"
    monkeypatch.undo()
    assert "keys.md" in ask(tell, "glacier")


def test_a_resumed_session_that_came_too_late_is_owed_nothing(tell: Tell, repo: GitRepo, engine: Engine) -> None:
    tell("SessionStart", source="startup")
    answered(event_of(repo, "SessionStart", source="resume"), repo.path, os.environ, engine, deadline=1e-9)
    assert "keys.md" not in ask(tell, "orchid")


def test_what_did_not_reach_the_agent_is_given_again(tell: Tell, repo: GitRepo, engine: Engine) -> None:
    kept = ask(tell, "violin")
    asked = event_of(repo, prompt="Where is the orchid stored, and how is it cleaned?")
    answer = hook.prepare(asked, repo.path, os.environ, engine)
    assert "orchid.md" in answer.stdout
    answer.settle(False)
    (last,) = trace.read(repo.path / ".git" / "recall", 1)
    assert (last["outcome"], last["why"], last["entries"]) == ("late", "the client had gone", [])
    assert entries(ask(tell, "orchid")) == entries(json.loads(answer.stdout)["hookSpecificOutput"]["additionalContext"])
    assert ask(tell, "orchid") == ""
    assert kept
    assert ask(tell, "violin") == ""


@pytest.mark.parametrize("way", ["gone", "late", "failed"])
def test_the_same_prompt_is_answered_when_it_comes_again_at_once_after_its_answer_was_lost(
    tell: Tell, repo: GitRepo, engine: Engine, clock: list[float], monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    asked = event_of(repo, prompt="Where is the orchid stored, and how is it cleaned?")
    with monkeypatch.context() as broken:
        if way == "late":
            times = iter([0.0, 0.0])  # ready in time for the search, and not after it
            broken.setattr(hook, "perf_counter", lambda: next(times, 9.0))
        elif way == "failed":
            broken.setattr(hook, "_for_prompt", lambda *_, **__: 1 / 0)
        lost = hook.prepare(asked, repo.path, os.environ, engine, deadline=5.0 if way == "late" else 0.0)
        lost.settle(way != "gone")
    (last,) = trace.read(repo.path / ".git" / "recall", 1)
    assert last["outcome"] == ("failed" if way == "failed" else "late")
    clock[0] += 2 - 60
    assert "orchid.md" in ask(tell, "orchid")
    clock[0] += 2 - 60
    assert ask(tell, "orchid") == ""


def test_a_start_that_did_not_reach_the_agent_comes_with_the_next_prompt(
    tell: Tell, repo: GitRepo, engine: Engine
) -> None:
    hook.prepare(event_of(repo, "SessionStart", source="startup"), repo.path, os.environ, engine).settle(False)
    assert "keys.md" in ask(tell, "orchid")
    assert "keys.md" not in ask(tell, "violin")


def test_the_log_masks_and_names(tell: Tell, repo: GitRepo) -> None:
    repo.git("config", "recall.logPrompts", "true")
    tell("UserPromptSubmit", prompt="Where is the beehive stored? My password=hunter2x")
    (last,) = trace.read(repo.path / ".git" / "recall", 1)
    assert "hunter2x" not in json.dumps(last)
    assert last["outcome"] == "injected"
    assert last["entries"][0].startswith("notes/beehive.md:")
    assert {"gate", "search"} <= set(last["steps_ms"])
