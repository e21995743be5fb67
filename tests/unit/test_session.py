"""A session is fed nothing twice, whatever its id, whoever writes beside it, whatever the disk holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_git import session
from recall_git.session import Session
from recall_git.types import Document, Placed

BASE = Document(
    path="a.md",
    blob="b",
    line=1,
    heading=("H",),
    title="T",
    summary="S",
    tags=(),
    type="",
    priority="",
    date="",
    owner="",
    expires="",
    supersedes=(),
    superseded_by="",
    aliases=(),
    content_hash="h1",
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An empty folder of the test's own."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


def put(*hashes: str) -> list[Placed]:
    return [Placed("relevant", replace(BASE, path=f"{h}.md", content_hash=h)) for h in hashes]


def give(folder: Path, name: str, *hashes: str, now: float = 1.0, prompt: str = "") -> None:
    state = Session.load(folder, name)
    state.remember(put(*hashes), prompt_hash=prompt, now=now)
    assert state.save()


def test_a_session_is_bare_from_a_forget_to_the_fixed_slots(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = Session.load(place, "s")
    assert state.bare is False
    state.forget(now=1.0)
    state.remember(put("a"), now=2.0)
    assert state.bare is True
    state.save()
    monkeypatch.setattr(session, "BYTES_MAX", 1)
    give(place, "s", "b")
    assert Session.load(place, "s").bare is True
    state = Session.load(place, "s")
    state.remember((), fixed=True, now=3.0)
    state.save()
    assert Session.load(place, "s").bare is False
    give(place, "s", "c")
    assert Session.load(place, "s").bare is False


def test_what_was_given_is_known_to_the_next_process(place: Path) -> None:
    give(place, "s", "a", "b", prompt="p1")
    give(place, "s", "c")
    state = Session.load(place, "s")
    assert state.given == {"a", "b", "c"}
    assert state.asked("p1")
    assert not state.asked("p2")
    assert state.given_paths["\x1f" + "a.md" + "\x1fH"] == "a"


def test_unknown_session_is_empty(place: Path) -> None:
    assert Session.load(place / "none", "s").given == frozenset()


def test_sessions_are_apart(place: Path) -> None:
    give(place, "one", "a")
    assert Session.load(place, "two").given == frozenset()


def test_nothing_is_written_before_save(place: Path) -> None:
    state = Session.load(place, "s")
    state.remember(put("a"), now=1.0)
    assert state.given == {"a"}
    assert Session.load(place, "s").given == frozenset()
    assert list(place.iterdir()) == []


def test_forget_allows_everything_again_and_still_knows_what_changed(place: Path) -> None:
    give(place, "s", "a", prompt="p")
    state = Session.load(place, "s")
    state.forget(now=2.0)
    assert state.save()
    state = Session.load(place, "s")
    assert state.given == frozenset()
    assert not state.asked("p")
    assert state.given_paths


def test_a_replaced_section_is_changed(place: Path) -> None:
    state = Session.load(place, "s")
    state.remember([Placed("relevant", BASE)], now=1.0)
    newer = replace(BASE, content_hash="h2")
    assert state.changed(newer, {"h2"})
    assert not state.changed(BASE, {"h1"})
    assert not state.changed(newer, {"h1", "h2"}), "two parts of one section"
    assert not state.changed(replace(newer, path="other.md"), {"h2"})


@pytest.mark.parametrize("name", ["../../x", "", "a/b", "\x00", "x" * 5000, "\ud800", "CON", ".", "日本"])
def test_hostile_ids_stay_in_the_folder(place: Path, name: str) -> None:
    folder = place / "sessions"
    give(folder, name, "a")
    assert Session.load(folder, name).given == {"a"}
    assert [item.name for item in folder.iterdir()] == [session.file_name(name)]
    assert list(place.iterdir()) == [folder]


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
def test_only_the_user_can_read_it(place: Path) -> None:
    folder = place / "sessions"
    give(folder, "s", "a")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / session.file_name("s")).stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.name == "nt", reason="symbolic links")
def test_a_planted_link_is_not_followed(place: Path) -> None:
    target = place / "target"
    target.write_text("precious")
    folder = place / "sessions"
    folder.mkdir()
    (folder / session.file_name("s")).symlink_to(target)
    state = Session.load(folder, "s")
    state.remember(put("a"), now=1.0)
    assert not state.save()
    assert target.read_text() == "precious"


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_state(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("s")
    (folder / session.file_name("s")).write_bytes(data)
    assert isinstance(Session.load(folder, "s").given, frozenset)


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b"null",
        b'{"t":1}',
        b'{"t":"x","e":"given"}',
        b'{"t":1,"e":"given","n":[1]}',
        b'{"t":1,"e":"given","n":[["a",2]]}',
        b'{"t":1,"e":"given","n":{"a":1}}',
        b'{"t":1,"e":"given","p":[]}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_a_damaged_line_costs_only_itself(place: Path, line: bytes) -> None:
    give(place, "s", "a")
    path = place / session.file_name("s")
    path.write_bytes(path.read_bytes() + line)
    give(place, "s", "b")
    assert Session.load(place, "s").given == {"a", "b"}


def test_save_says_when_it_could_not(place: Path) -> None:
    (place / "file").write_text("")
    state = Session.load(place / "file", "s")
    state.remember(put("a"), now=1.0)
    assert not state.save()
    assert state.given == {"a"}


def test_paths_that_are_not_utf8_survive(place: Path) -> None:
    state = Session.load(place, "s")
    odd = replace(BASE, path="\udcff.md")
    state.remember([Placed("relevant", odd)], now=1.0)
    assert state.save()
    assert session.key(odd) in Session.load(place, "s").given_paths


def test_it_is_bounded_and_keeps_the_newest(place: Path) -> None:
    for start in range(0, 6000, 100):
        give(place, "s", *(f"{n:064d}" for n in range(start, start + 100)), now=float(start))
    state = Session.load(place, "s")
    assert len(state.given) <= session.ENTRIES_MAX
    assert f"{5999:064d}" in state.given
    assert (place / session.file_name("s")).stat().st_size <= 2 * session.BYTES_MAX
    assert [item.name for item in place.iterdir()] == [session.file_name("s")]


def test_rewriting_changes_nothing_that_is_known(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(place, "s", "a", "b", prompt="p0")
    state = Session.load(place, "s")
    state.forget(now=2.0)
    assert state.save()
    monkeypatch.setattr(session, "BYTES_MAX", 10)
    give(place, "s", "c", prompt="p1", now=3.0)
    state = Session.load(place, "s")
    assert state.given == {"c"}
    assert set(state.given_paths.values()) == {"a", "b", "c"}
    assert state.asked("p1")
    assert not state.asked("p0")


def test_what_is_appended_while_it_is_rewritten_is_kept(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(place, "s", "a")
    monkeypatch.setattr(session, "BYTES_MAX", 10)
    real = session._write_all

    def slow(handle: int, data: bytes) -> None:
        real(handle, data)
        if b'"forget"' in data:  # the folded state: another process comes in before it is put in place
            monkeypatch.setattr(session, "BYTES_MAX", 1 << 20)
            monkeypatch.setattr(session, "_write_all", real)
            give(place, "s", "late")

    monkeypatch.setattr(session, "_write_all", slow)
    give(place, "s", "b")
    assert Session.load(place, "s").given == {"a", "b", "late"}


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from tests.unit.test_session import give
for n in range(60):
    give(Path(sys.argv[1]), "s", f"{sys.argv[2]}-{n}")
"""


def test_two_processes_lose_nothing_of_each_other(place: Path) -> None:
    top = str(Path(__file__).parents[2])
    run = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(place), name, top], cwd=top, env={**os.environ})
        for name in "xyz"
    ]
    assert [process.wait(120) for process in run] == [0, 0, 0]
    assert Session.load(place, "s").given == {f"{name}-{n}" for name in "xyz" for n in range(60)}


def test_exactly_one_caller_is_first(place: Path) -> None:
    ready = threading.Barrier(16)
    firsts: list[bool] = []

    def call() -> None:
        ready.wait()
        firsts.append(session.first_call(place / "once", "session prompt hash"))

    threads = [threading.Thread(target=call) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(firsts) == [False] * 15 + [True]


def test_first_call_is_by_key_and_time(place: Path) -> None:
    assert session.first_call(place, "a", now=1000.0)
    assert session.first_call(place, "b", now=1000.0)
    assert not session.first_call(place, "a", now=1001.0)
    assert not session.first_call(place, "a", now=1009.0)
    assert session.first_call(place, "a", now=1025.0), "the same words later are a new prompt"


def test_first_call_holds_across_the_edge_of_a_window(place: Path) -> None:
    assert session.first_call(place, "a", now=1009.9)
    assert not session.first_call(place, "a", now=1010.1)


def test_a_first_call_that_was_taken_back_does_not_count(place: Path) -> None:
    assert session.first_call(place, "a", now=1009.9)
    assert not session.first_call(place, "a", now=1010.1)
    session.take_back(place, "a", now=1009.9)
    assert session.first_call(place, "a", now=1010.2)
    assert not session.first_call(place, "a", now=1010.3)
    session.take_back(place / "gone", "a", now=1010.2)


def test_without_a_folder_everybody_is_first(place: Path) -> None:
    (place / "file").write_text("")
    assert session.first_call(place / "file", "a")
    assert session.first_call(place / "file", "a")


def test_sweep_removes_what_is_over_and_nothing_else(place: Path) -> None:
    now = 1_800_000_000.0
    ages = {
        "old.jsonl": 8 * 86400,
        "new.jsonl": 6 * 86400,
        "old.once": 3601,
        "new.once": 3599,
        "old.tmp": 4000,
        "other.txt": 99 * 86400,
    }
    for name, age in ages.items():
        (place / name).write_text("")
        os.utime(place / name, (now - age, now - age))
    assert session.sweep(place, now) == 3
    assert {item.name for item in place.iterdir()} == {"new.jsonl", "new.once", "other.txt"}
    assert session.sweep(place / "none", now) == 0


def test_the_file_is_json_lines(place: Path) -> None:
    give(place, "s", "a", now=5.0, prompt="p")
    lines = (place / session.file_name("s")).read_text().split()
    assert [json.loads(line) for line in lines] == [
        {"t": 5.0, "e": "given", "p": "p", "n": [["\x1fa.md\x1fH", "a"]]},
    ]
