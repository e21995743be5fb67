"""Every agent's own input through the whole way: what comes out holds the right note, in its shape, within its cap."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from answering import answered
from test_dialects import CASES, case

from recall_git import cli
from recall_git.engine import Engine

if TYPE_CHECKING:
    from conftest import GitRepo

PORT = "The staging database of Marmot listens on port 5433"
NOTES = {
    "ops/staging.md": f"# Staging\n\n## Database\n\n{PORT}. Which port it was before, nobody knows.\n",
    "lessons/marmot.md": (
        "---\ntype: lesson\npriority: high\n---\n# Never restart Marmot by day\n\nIt loses its queue.\n"
    ),
}
PLACE = "ops/staging.md:3"
RULE = "Never restart Marmot by day"


@pytest.fixture
def notes(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    monkeypatch.chdir(repo.path)
    repo.commit(dict(NOTES))
    assert cli.main(["init", "--hooks", "none"]) == 0
    return repo


def answer(golden: dict[str, Any], top: Path, engine: Engine, name: str = "s-1") -> str:
    """Return what is printed for a golden input, asked in the repository at *top*."""
    stdin = json.dumps(golden["stdin"]).replace("/home/ada/notes", top.as_posix()).replace('"s-1"', json.dumps(name))
    stdin = stdin.replace("/c:/Users/ada/notes", top.as_posix())
    return answered(stdin.encode("utf-8"), Path("/"), golden["environ"], engine).stdout


def context_of(stdout: str) -> str:
    """Return the text in an answer, wherever its agent wants it."""
    if not stdout.startswith("{"):
        return stdout
    value = json.loads(stdout)
    value = value.get("hookSpecificOutput", value)
    (text,) = [value[key] for key in ("additionalContext", "additional_context", "context", "text") if key in value]
    return str(text)


def test_every_golden_input_is_answered_from_the_notes(notes: GitRepo) -> None:
    engine = Engine()
    for name in CASES:
        golden = case(name)
        stdout = answer(golden, notes.path, engine, name)
        event = golden["event"]
        if event is None or golden["stdout"] is None or event.get("source") == "loop_wakeup":
            assert stdout == "", name
            continue
        text = context_of(stdout)
        assert (PLACE in text) is (event["kind"] == "prompt"), name
        assert (RULE in text) is (event["kind"] == "start" or event.get("opens", False)), name


@pytest.mark.parametrize("agent", ["claude-code", "codex", "cursor", "hermes"])
def test_a_start_keeps_to_what_the_agent_takes(notes: GitRepo, agent: str) -> None:
    """Notes in Han characters have three bytes a character: Codex counts bytes, the others UTF-16 units."""
    front = "---\ntype: lesson\npriority: high\n---\n"
    line = "此处的每一条教训都写得很长，" * 8
    notes.commit({f"lessons/{number}.md": f"{front}# 教训{number}\n\n{line}{number}。\n" for number in range(60)})
    assert cli.main(["index", "--quiet"]) == 0
    notes.git("config", "recall.budget", "9000")
    golden = case("hermes/first-prompt" if agent == "hermes" else f"{agent}/start")
    text = context_of(answer(golden, notes.path, Engine()))
    assert len(text.encode("utf-16-le")) // 2 <= 9000
    if agent == "codex":
        assert 4000 < len(text.encode("utf-8")) <= 8000
    else:
        assert len(text.encode("utf-8")) > 8000
