"""Promises of the mission that only the whole way, from a commit to an answer, can keep or break."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from math import log
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from answering import answered

from recall_git import client, recall, trace
from recall_git.agents.files import own_text
from recall_git.config import DEFAULT_EXCLUDE, Settings
from recall_git.rank import WEIGHT_STEP
from recall_git.search import search
from trust.trusthelp import lines, note, placed

if TYPE_CHECKING:
    from conftest import GitRepo

    from recall_git.engine import Engine
    from tests.trust.conftest import Open

QUERY = "How long must the zeppelin be inflated before departure?"
TEXT = "The zeppelin must be inflated for nine hours before departure."
ROOT = Path(client.__file__).parents[1]


def event(repo: GitRepo, name: str = "UserPromptSubmit", **more: str) -> bytes:
    return json.dumps({"hook_event_name": name, "session_id": "s", "cwd": str(repo.path), **more}).encode()


def text_of(answer: str) -> str:
    return str(json.loads(answer)["hookSpecificOutput"]["additionalContext"]) if answer else ""


# A7 -------------------------------------------------------------------------------------------------

ASK = """
import json, os, sys, time
from pathlib import Path
time.time = lambda: float(sys.argv[2])
from recall_git import hook
from recall_git.engine import Engine
engine, top = Engine(), Path(sys.argv[1])
for event in json.load(sys.stdin):
    answer = hook.prepare(json.dumps({**event, "cwd": str(top)}).encode(), top, os.environ, engine)
    answer.settle(True)
    print(answer.stdout)
"""


def test_equal_commits_give_equal_bytes_in_any_clone_process_and_year(repo: GitRepo, open_memory: Open) -> None:
    """One index grown commit by commit, one made at once in a clone; other hash seeds, decades apart."""
    repo.git("config", "recall.authors", "true")
    for number in range(6):
        more = note(f"L{number}", f"{TEXT} Since {number}.", tags=f"[b{number}, a]", date=f"2026-02-{10 + number}")
        repo.commit({f"lessons/{number}.md": more, f"notes/{number}.md": note(f"Hangar {number}", TEXT)})
        open_memory(repo)
    clone = type(repo)(repo.path.parent / "another" / "clone")
    repo.git("clone", "-q", repo.path.as_uri(), str(clone.path))
    open_memory(clone, authors="true")
    (clone.path / ".git" / "recall" / "nonce").write_text("another", encoding="ascii")
    start = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s"}
    prompt = {"hook_event_name": "UserPromptSubmit", "prompt": QUERY, "session_id": "s"}
    answers = []
    for number, (place, now) in enumerate(((repo, "1772366400"), (clone, "2500000000"))):
        done = subprocess.run(
            (sys.executable, "-c", ASK, str(place.path), now),
            input=json.dumps([start, prompt]), capture_output=True, text=True, check=True, encoding="utf-8",
            env={**os.environ, "PYTHONHASHSEED": str(number), "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        answers.append(done.stdout)
    assert answers[0] == answers[1]
    first, second = map(text_of, answers[0].splitlines())
    assert len(first.split("\n- ")) == 1 + Settings().latest
    assert " · by Ada" in second


# A9 -------------------------------------------------------------------------------------------------


def test_a_bug_is_silence_and_a_line_in_the_log(
    repo: GitRepo, open_memory: Open, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no such luck")

    repo.commit({"a.md": note("Inflation", TEXT)})
    open_memory(repo)
    with monkeypatch.context() as patched:
        patched.setattr(recall, "prompt_digest", broken)
        answer = answered(event(repo, prompt=QUERY), repo.path, os.environ, engine)
    assert (answer.stdout, answer.digest.outcome) == ("", "failed")
    (last,) = trace.read(repo.path / ".git" / "recall", 1)
    assert (last["outcome"], last["why"]) == ("failed", "bug: RuntimeError: no such luck")
    assert "a.md:1" in answered(event(repo, prompt=f"{QUERY} Really?"), repo.path, os.environ, engine).stdout


@pytest.mark.parametrize("broken", ["config", "HEAD", "objects"])
def test_a_hook_in_a_broken_repository_ends_with_0_and_says_nothing(
    repo: GitRepo, open_memory: Open, broken: str
) -> None:
    repo.commit({"a.md": note("Inflation", TEXT)})
    open_memory(repo)
    place = repo.path / ".git" / broken
    if place.is_dir():
        place.rename(place.with_name("gone"))
    else:
        place.write_bytes(b"[[[\0")
    done = subprocess.run(
        (sys.executable, "-I", "-S", str(Path(client.__file__).resolve())),
        input=event(repo, prompt=QUERY), capture_output=True, cwd=repo.path, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


# F5, F9, F14, F15, F18 ------------------------------------------------------------------------------


def test_by_default_at_most_five_entries_in_700_characters(repo: GitRepo, open_memory: Open) -> None:
    """Each with a sentence of the note, and nothing of its front matter."""
    assert (Settings().entries, Settings().relevant_chars) == (5, 700)
    short = {f"{number}.md": note(f"Z{number}", f"Zeppelin departure {number}.", tags="[x]") for number in range(9)}
    repo.commit(dict(short))
    found = lines(recall.prompt_digest(open_memory(repo, gate="open").memory, "zeppelin departure"))
    assert len(found) == 5
    assert all(f"— Zeppelin departure {line[3]}" in line and "tags:" not in line for line in found)
    long = {path: f"{text} {'And it takes long. ' * 9}" for path, text in short.items()}
    repo.commit(
        {path: text.replace("Zeppelin", "The large zeppelin of the northern line,") for path, text in long.items()}
    )
    made = recall.prompt_digest(open_memory(repo, relevantChars="300").memory, "zeppelin departure northern line")
    assert 0 < sum(len(line) + 1 for line in lines(made)) <= 300


def test_the_next_turn_brings_what_this_one_had_no_room_for(repo: GitRepo, open_memory: Open, engine: Engine) -> None:
    repo.commit({f"{part}.md": note(f"Zeppelin {part}", TEXT.replace("nine", part)) for part in ("two", "six", "ten")})
    open_memory(repo, entries="1")
    prompts = (QUERY, f"Again: {QUERY}", f"And again: {QUERY}", f"Once more: {QUERY}")
    answers = [answered(event(repo, prompt=prompt), repo.path, os.environ, engine) for prompt in prompts]
    given = [path for answer in answers for path in placed(answer.digest)]
    assert sorted(given) == ["relevant/six.md", "relevant/ten.md", "relevant/two.md"]
    assert answers[3].stdout == ""


def test_directory_weights_are_applied_ones_own_over_the_built_in(repo: GitRepo, open_memory: Open) -> None:
    hours = {"memory": "nine", "knowledge-base": "five", "workspace": "four", "plain": "six"}
    repo.commit({f"{folder}/a.md": note("Inflation", TEXT.replace("nine", word)) for folder, word in hours.items()})

    def scores(*weights: str) -> dict[str, float]:
        repo.git("config", "--unset-all", "recall.weight", check=False)
        for weight in weights:
            repo.git("config", "--add", "recall.weight", weight)
        return {hit.document.path.split("/")[0]: hit.score for hit in search(open_memory(repo).memory, QUERY).hits}

    even = scores("memory/=1", "knowledge-base/=1", "workspace/=1")
    assert set(even) == set(hours)
    for found, weights in (
        (scores(), {"memory": 1.3, "knowledge-base": 0.95, "workspace": 0.85, "plain": 1}),
        (scores("workspace/=3", "plain/=0.1"), {"memory": 1.3, "knowledge-base": 0.95, "workspace": 3, "plain": 0.1}),
    ):
        moved = {folder: found[folder] - even[folder] for folder in even}
        assert moved == pytest.approx(
            {folder: WEIGHT_STEP * log(weight) for folder, weight in weights.items()}, abs=1e-4
        )
    assert next(iter(scores("workspace/=3"))) == "workspace"


NAMES = (
    "MEMORY.md", "AGENTS.md", "SOUL.md", "USER.md", "IDENTITY.md", "TOOLS.md", "HEARTBEAT.md", "CLAUDE.md",
    "CLAUDE.local.md", ".hermes.md", "HERMES.md", ".cursorrules", "README.md",
)  # fmt: skip


def test_files_that_agents_load_by_themselves_are_no_notes_unless_one_says_so(repo: GitRepo, open_memory: Open) -> None:
    assert set(NAMES) < set(DEFAULT_EXCLUDE)
    places = [f"{folder}{name}" for name in NAMES for folder in ("", "deep/er/")]
    repo.commit({**{path: note(path, TEXT) for path in places}, "a.md": note("Inflation", TEXT)})
    memory = open_memory(repo, extensions="md").memory
    assert [hit.document.path for hit in search(memory, QUERY, limit=99).hits] == ["a.md"]
    memory = open_memory(repo, exclude="!README.md").memory
    assert {hit.document.path for hit in search(memory, QUERY, limit=99).hits} > {"README.md"}


def test_the_skill_says_to_ask_first_and_to_open_a_few_lines() -> None:
    skill = own_text("skill.md")
    ask, show, around = skill.find("git recall query"), skill.find("git recall show"), skill.find("-C 5")
    assert -1 < ask < show < around
