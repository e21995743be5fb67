"""The log takes a line whatever happens, stays small, and shows what can be read of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from recall_git import trace


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An empty folder of the test's own."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


def build(**changes: object) -> dict[str, object]:
    arguments: dict[str, object] = {"time": "2026-01-02T03:04:05Z", "event": "UserPromptSubmit", "outcome": "silent"}
    return trace.record(**{**arguments, **changes})  # type: ignore[arg-type]


def test_record_says_what_happened() -> None:
    assert build(
        outcome="injected",
        why="ok",
        session="s",
        entries=["a.md:3"],
        text="x" * 41,
        ms=12.3456,
        steps_ms={"gate": 0.1234},
        prompt="why?",
        cut=("relevant b.md:1 budget",),
        agent="codex",
    ) == {
        "time": "2026-01-02T03:04:05Z",
        "event": "UserPromptSubmit",
        "session": "s",
        "outcome": "injected",
        "why": "ok",
        "entries": ["a.md:3"],
        "chars": 41,
        "tokens": 11,
        "ms": 12.35,
        "steps_ms": {"gate": 0.12},
        "prompt_hash": trace.prompt_hash("why?"),
        "agent": "codex",
        "cut": ["relevant b.md:1 budget"],
    }


def test_prompt_is_kept_only_when_asked_and_masked() -> None:
    prompt = "use password = hunter2"
    assert "hunter2" not in json.dumps(build(prompt=prompt))
    assert build(prompt=prompt, keep_prompt=True)["prompt"] == "use password = [masked]"
    assert "prompt" not in build(prompt=prompt)


def test_prompt_hash_tells_prompts_apart() -> None:
    assert trace.prompt_hash("a") == trace.prompt_hash("a") != trace.prompt_hash("b")
    assert len(trace.prompt_hash("\ud800")) == 16


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("abcd", 1), ("abcde", 2), ("部署流程", 4), ("部署 now", 3)])
def test_tokens_are_estimated(text: str, tokens: int) -> None:
    assert trace.tokens(text) == tokens


def test_newest_comes_last(place: Path) -> None:
    folder = place / "deep" / "recall"
    for n in range(5):
        assert trace.write(folder, {"n": n, "text": "部署"})
    assert [item["n"] for item in trace.read(folder, 3)] == [2, 3, 4]
    assert trace.read(folder, 0) == []
    assert trace.read(folder, 99)[0] == {"n": 0, "text": "部署"}
    assert "部署" in (folder / trace.NAME).read_text(encoding="utf-8")


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
def test_only_the_user_can_read_it(place: Path) -> None:
    folder = place / "recall"
    trace.write(folder, {})
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / trace.NAME).stat().st_mode & 0o777 == 0o600


def test_it_rotates_and_stays_bounded(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "BYTES_MAX", 1000)
    for n in range(200):
        assert trace.write(place, {"n": n, "pad": "x" * 50})
    assert {item.name for item in place.iterdir()} == {trace.NAME, trace.OLD}
    assert sum(item.stat().st_size for item in place.iterdir()) <= 2000
    assert [item["n"] for item in trace.read(place, 15)] == list(range(185, 200))


def test_damaged_lines_are_skipped(place: Path) -> None:
    trace.write(place, {"n": 1})
    with (place / trace.NAME).open("ab") as log:
        log.write(b'{"half\n\xff\xfe\n[1]\n' + b"[" * 50_000 + b"\n")
    trace.write(place, {"n": 2})
    assert trace.read(place, 10) == [{"n": 1}, {"n": 2}]


def test_no_log_is_an_empty_list(place: Path) -> None:
    assert trace.read(place / "none", 5) == []


@pytest.mark.parametrize("name", ["file/x", "nul\x00"])
def test_a_disk_that_refuses_is_no_error(place: Path, name: str) -> None:
    (place / "file").write_text("")
    assert not trace.write(place / name, {"n": 1})
    assert trace.read(place / name, 1) == []


def test_odd_values_are_logged_as_text(place: Path) -> None:
    assert trace.write(place, {"path": Path("a"), "bad": "\ud800"})
    assert trace.read(place, 1) == [{"path": "a", "bad": "?"}]


def test_a_record_that_refers_to_itself_is_no_error(place: Path) -> None:
    loop: dict[str, object] = {}
    loop["loop"] = loop
    assert not trace.write(place, loop)


@pytest.mark.parametrize("key", ["prompt", "cut", "why", "agent"])
def test_a_huge_record_is_shortened(place: Path, key: str) -> None:
    assert trace.write(place, {**build(), key: "部" * 100_000})
    (found,) = trace.read(place, 1)
    assert found["shortened"] is True
    assert found["outcome"] == "silent"
    assert (place / trace.NAME).stat().st_size <= trace.LINE_BYTES_MAX


@pytest.mark.skipif(os.name == "nt", reason="symbolic links")
def test_a_planted_link_is_not_followed(place: Path) -> None:
    (place / "target").write_text("precious")
    (place / trace.NAME).symlink_to(place / "target")
    assert not trace.write(place, {"n": 1})
    assert (place / "target").read_text() == "precious"


WRITER = """
import sys
from pathlib import Path
from recall_git import trace
for n in range(200):
    assert trace.write(Path(sys.argv[1]), {"who": sys.argv[2], "n": n, "pad": "x" * 500})
"""


def test_lines_of_several_processes_do_not_mix(place: Path) -> None:
    top = str(Path(__file__).parents[2])
    run = [subprocess.Popen([sys.executable, "-c", WRITER, str(place), who], cwd=top) for who in "ab"]
    assert [process.wait(120) for process in run] == [0, 0]
    found = trace.read(place, 1000)
    assert {(item["who"], item["n"]) for item in found} == {(who, n) for who in "ab" for n in range(200)}


def test_import_is_light() -> None:
    code = "import sys, recall_git.trace; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=Path(__file__).parents[2]
    ).stdout.split()
    assert "recall_git.trace" in loaded
    assert not {"numpy", "whoosh", "pygit2", "recall_git.guard", "recall_git.types"} & set(loaded)


def test_runs_are_found_behind_any_number_of_opened_notes(place: Path) -> None:
    trace.write(place, build(outcome="injected"))
    for _ in range(9):
        trace.write(place, build(event="show", outcome=trace.OPENED))
    assert [record["outcome"] for record in trace.runs(place, 1)] == ["injected"]
