"""Each agent's input, real in shape, and the exact bytes of the answer. The files in ``golden/`` name their source."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_git import agents
from recall_git.agents import dialects
from recall_git.agents.event import Event

GOLDEN = Path(__file__).parent / "golden"
CASES = sorted(path.relative_to(GOLDEN).with_suffix("").as_posix() for path in GOLDEN.rglob("*.json"))
TEXT = "Notes: a <b> & c → 漢字 “x”"
NOT_TOLD = asdict(Event(agent="", name="", kind=""))


def case(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))
    return loaded


def read(stdin: object, environ: dict[str, str] | None = None) -> Event | None:
    return dialects.read(json.dumps(stdin).encode("utf-8"), environ or {})


@pytest.mark.parametrize("name", CASES)
def test_input_to_output(name: str) -> None:
    golden = case(name)
    event = read(golden["stdin"], golden["environ"])
    assert (event and asdict(event)) == (golden["event"] and {**NOT_TOLD, **golden["event"]})
    if golden["stdout"] is not None:
        assert event is not None
        assert dialects.write(event, TEXT) == golden["stdout"]


def test_every_agent_with_a_dialect_has_a_prompt_or_a_start_here() -> None:
    for name in agents.AGENTS:
        if agents.load(name).events:
            assert any(case(found)["stdout"] for found in CASES if found.startswith(f"{name}/")), name


@pytest.mark.parametrize("name", [name for name in CASES if case(name)["event"]])
def test_the_agent_is_known_without_its_environment_or_by_it_alone(name: str) -> None:
    """What decides is the input; only those that copy Claude Code's to the letter need their variable."""
    golden = case(name)
    agent = name.split("/", 1)[0]
    stdin = {key: value for key, value in golden["stdin"].items() if key not in ("cursor_version", "conversation_id")}
    assert dialects.agent_of(stdin, golden["environ"]) == agent or agent == "cursor"
    if agent not in ("qwen", "factory", "gemini"):
        assert dialects.agent_of(golden["stdin"], {}) == agent


@pytest.mark.parametrize(
    ("signals", "agent"),
    [
        (("cursor_version", "hookEventName", "sessionId", "turn_id"), "cursor"),
        (("hookEventName", "sessionId", "turn_id"), "vscode"),
        (("sessionId", "turn_id", "clineVersion"), "copilot"),
        (("turn_id", "clineVersion", "agent_action_name"), "codex"),
        (("clineVersion", "agent_action_name"), "cline"),
        (("agent_action_name", "event"), "windsurf"),
        (("event",), "goose"),
        ((), "claude-code"),
    ],
)
def test_the_first_signal_counts(signals: tuple[str, ...], agent: str) -> None:
    assert dialects.agent_of(dict.fromkeys(signals, "x"), {}) == agent


@pytest.mark.parametrize(
    ("environ", "agent"),
    [
        (
            {"CURSOR_VERSION": "1", "GEMINI_SESSION_ID": "1", "QWEN_PROJECT_DIR": "/", "FACTORY_PROJECT_DIR": "/"},
            "cursor",
        ),
        ({"GEMINI_SESSION_ID": "1", "QWEN_PROJECT_DIR": "/", "FACTORY_PROJECT_DIR": "/"}, "gemini"),
        ({"QWEN_PROJECT_DIR": "/", "FACTORY_PROJECT_DIR": "/"}, "qwen"),
        ({"FACTORY_PROJECT_DIR": "/", "CLAUDE_PROJECT_DIR": "/"}, "factory"),
        ({"CLAUDE_PROJECT_DIR": "/"}, "claude-code"),  # four agents set it: it proves nothing
    ],
)
def test_the_first_variable_counts(environ: dict[str, str], agent: str) -> None:
    raw = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "transcript_path": "/t", "prompt": "p"}
    assert dialects.agent_of(raw, environ) == agent


def test_an_extension_names_itself_and_nobody_else_can() -> None:
    assert dialects.agent_of({"agent": "pi", "cursor_version": "1"}, {"CURSOR_VERSION": "1"}) == "pi"
    assert dialects.agent_of({"agent": "cursor"}, {}) == "claude-code"
    assert dialects.agent_of({"agent": ["pi"]}, {}) == "claude-code"


@pytest.mark.parametrize(
    "data",
    [
        b"", b"null", b"[]", b"3", b'"text"', b"{", b"\xff\xfe", b"[" * 100_000, b'{"hook_event_name": 3}',
        b'{"hook_event_name": "UserPromptSubmit"', b'{"hook_event_name": null, "sessionId": []}',
        b'{"event": "prompt"}',
    ],
)  # fmt: skip
def test_what_is_no_event_is_none(data: bytes) -> None:
    assert dialects.read(data, {}) is None


KEYS = st.sampled_from(
    sorted({key for name in CASES for key in case(name)["stdin"]} | {"extra", "user_message", "hookEventName"})
)
NAMES = st.sampled_from(sorted({event for name in agents.AGENTS for event in agents.load(name).events}))
ENVIRON = st.dictionaries(
    st.sampled_from(["CURSOR_VERSION", "GEMINI_SESSION_ID", "QWEN_PROJECT_DIR", "USER_PROMPT"]), st.text()
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | NAMES | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)


def test_each_agent_that_is_told_of_an_end_or_a_compaction_is_told_by_an_event_that_it_has() -> None:
    """What the installers register and the dialects read is the same."""
    for name in ("claude-code", "codex", "gemini", "qwen", "factory", "cursor"):
        agent = agents.load(name)
        registered = set(json.loads(agent.targets("project", Path("/"))[0].by_hand())["hooks"])
        assert {agent.events[event] for event in registered} == {"prompt", "start", "compact", "end"}, name


@given(st.dictionaries(KEYS, VALUES, max_size=8), ENVIRON)
def test_nothing_that_is_json_breaks_it(raw: dict[str, Any], environ: dict[str, str]) -> None:
    event = read(raw, environ)
    if event is not None:
        assert event.kind in ("prompt", "start", "compact", "end")
        assert all(isinstance(part, str) for part in (event.session, event.cwd, event.prompt, event.source))
        dialects.write(event, TEXT).encode("utf-8")


def test_an_event_of_megabytes_is_none() -> None:
    data = json.dumps({"hook_event_name": "UserPromptSubmit", "prompt": "x" * dialects.MAX_EVENT_BYTES}).encode()
    assert dialects.read(data, {}) is None


@pytest.mark.parametrize("name", [name for name in CASES if case(name)["stdout"]])
@pytest.mark.parametrize("value", [None, 3, [], {}, True])
def test_fields_of_a_wrong_type_are_as_good_as_missing(name: str, value: object) -> None:
    golden = case(name)
    for key in golden["stdin"]:
        event = read({**golden["stdin"], key: value}, golden["environ"])
        assert event is None or all(isinstance(part, str) for part in (event.session, event.cwd, event.prompt))


@pytest.mark.parametrize("name", [name for name in CASES if case(name)["stdout"]])
def test_lone_surrogates_and_control_characters_survive(name: str) -> None:
    golden = case(name)
    event = read(golden["stdin"], golden["environ"])
    assert event is not None
    answer = dialects.write(event, 'a\ud800\x00"\\\n😀')
    answer.encode("utf-8")
    if not name.startswith("kiro/"):
        assert answer.isascii()
        assert "\n" not in answer
        json.loads(answer)


def test_codex_gets_no_key_that_it_does_not_know() -> None:
    for name in CASES:
        golden = case(name)
        if name.startswith("codex/") and golden["stdout"]:
            answer = json.loads(golden["stdout"])
            assert set(answer) == {"hookSpecificOutput"}
            assert set(answer["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}


@pytest.mark.parametrize("name", [name for name in agents.AGENTS if agents.load(name).events])
def test_the_doctor_asks_as_the_agent_would(name: str) -> None:
    agent = agents.load(name)
    raw, environ = agent.sample("s-1", "/home/ada/notes", "what do the notes say")
    if name == "vscode":  # has no hooks of its own to measure
        return
    assert dialects.agent_of(raw, environ) == name
    event = read(raw, environ)
    assert event is not None
    assert (event.session, event.cwd) == ("s-1", "/home/ada/notes")
    assert event.kind == ("start" if name == "copilot" else "prompt")
    assert agent.understands(agent.write(event, TEXT))
    assert agent.understands("")
