"""The resident process: one, found by everybody, and whatever happens to it, the next prompt works."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hookhelp import CLIENT, PATIENT, Hooks, alive, enable, text_of, wait_for, word

from recall_git import hook, launcher, sync, talk
from recall_git.repo import Repo
from recall_git.resident import Resident

if sys.platform != "win32":
    from recall_git.server import Server

if TYPE_CHECKING:
    from conftest import GitRepo


pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no Unix sockets")

QUINCE = "How do I store quince jelly in the pantry?"


def test_clients_that_come_at_once_start_one_process_and_get_equal_answers(hooks: Hooks) -> None:
    answers = [text_of(process) for process in [hooks.start(QUINCE) for _ in range(8)]]
    assert "jam.md:1" in answers[0]
    assert len(set(answers)) == 1
    status = hooks.status()
    assert status["answered"] == 8
    assert hooks.ask(QUINCE, RECALL_SERVER="false") == answers[0]
    assert hooks.status()["pid"] == status["pid"]
    assert (hooks.folder / "server.log").read_text() == ""
    assert hooks.path.stat().st_mode & 0o777 == 0o600


def test_next_prompt_works_after_kill_wiped_folder_and_stop(hooks: Hooks) -> None:
    right = hooks.ask(QUINCE)
    first = hooks.status()["pid"]
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: not alive(first))
    assert hooks.path.exists()  # a stale socket
    assert hooks.ask(QUINCE) == right
    second = hooks.status()["pid"]
    assert second != first
    shutil.rmtree(hooks.folder)
    assert hooks.ask(QUINCE) == right
    wait_for(lambda: not alive(second))  # nobody could reach it any more
    hooks.stop()
    assert hooks.ask(QUINCE) == right


def test_odd_clients_disturb_nobody(hooks: Hooks) -> None:
    right = hooks.ask(QUINCE)
    for message in (
        b"",
        b"\0" * 9,
        b"x",
        word("hook"),
        word("git"),
        b"\0".join([b"1"] * 4) + b"\0-1\0\0",
        os.urandom(99),
    ):
        if message[:5] == talk.VERSION.encode() or message.count(b"\0") < 5:
            hooks.say(message)
    hooks.say(word("hook")[:-9], whole=False)
    assert hooks.ask(QUINCE) == right


@pytest.mark.parametrize("field", [2, 4])
def test_a_number_that_is_too_large_stops_nothing(hooks: Hooks, field: int) -> None:
    hooks.ask(QUINCE)
    pid = hooks.status()["pid"]
    fields = [talk.VERSION, "hook", "5000", str(hooks.repo.path), "0", "{}"]
    fields[field] = "9" * 400
    hooks.say("\0".join(fields).encode())
    assert hooks.status()["pid"] == pid


def test_process_of_another_version_makes_room(hooks: Hooks) -> None:
    hooks.ask(QUINCE)
    pid = hooks.status()["pid"]
    assert hooks.say(word("hook", version="0.0.0")) == talk.RESTART
    wait_for(lambda: not alive(pid))
    assert "jam.md" in hooks.ask(QUINCE)


def test_server_false_in_a_repository_is_answered_by_a_process_of_its_own(hooks: Hooks) -> None:
    right = hooks.ask(QUINCE)
    hooks.repo.git("config", "recall.server", "false")
    assert hooks.ask(QUINCE) == right  # answered once more, for it had to be asked to be known
    mark = Path(talk.off_mark(str(hooks.folder), str(hooks.repo.path)))
    wait_for(mark.exists)
    hooks.stop()
    assert hooks.ask(QUINCE) == right
    assert not hooks.path.exists()  # it was not started
    hooks.repo.git("config", "recall.server", "true")
    assert hooks.ask(QUINCE) == right
    assert not mark.exists()
    assert hooks.ask(QUINCE) == right, hooks.log()[-1]
    assert hooks.status()["answered"] == 1


def test_changes_are_noticed_without_any_hook(hooks: Hooks) -> None:
    assert "jam.md" in hooks.ask(QUINCE)
    pid = hooks.status()["pid"]
    hooks.repo.commit({"fig.md": "# Fig chutney\n\nFig chutney wants cardamom and slow heat.\n"})
    wait_for(lambda: "fig.md" in hooks.ask("What does the fig chutney want, cardamom or heat?"))
    hooks.repo.git("config", "recall.gate", "strict")
    hooks.repo.git("config", "recall.entries", "0")
    assert hooks.ask(QUINCE) == ""
    hooks.repo.git("config", "--unset", "recall.entries")
    extra = hooks.repo.path / ".git" / "more"
    hooks.repo.git("config", "include.path", "more")
    assert "jam.md" in hooks.ask(QUINCE)
    extra.write_text("[recall]\n\tentries = 0\n")
    assert hooks.ask(QUINCE) == ""
    extra.unlink()
    shutil.rmtree(hooks.repo.path / ".recall" / "index")
    enable(hooks.repo)
    assert "jam.md" in hooks.ask(QUINCE)
    (hooks.repo.path / ".git" / "recall" / "nonce").unlink()
    assert hooks.ask(QUINCE) == ""  # no longer opted in
    assert hooks.status()["pid"] == pid


def test_late_answer_is_dropped_and_logged(hooks: Hooks) -> None:
    hooks.ask(QUINCE)
    before = len(hooks.log())
    message = "\0".join((talk.VERSION, "hook", "0", str(hooks.repo.path), "0")).encode() + b"\0"
    answer = hooks.say(
        message + b'{"hook_event_name": "UserPromptSubmit", "session_id": "late", "prompt": "quince jelly"}'
    )
    assert answer == b""
    assert [row["outcome"] for row in hooks.log()[before:]] == ["late"]


def test_an_answer_that_its_client_did_not_wait_for_was_not_given(
    notes: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    server = Server(tmp_path, "s.sock")
    server.resident = resident = Resident(tmp_path)

    def ask(prompt: str, *, stay: bool) -> bytes:
        ours, theirs = socket.socketpair()
        event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(notes.path), "prompt": prompt}
        head = "\0".join((talk.VERSION, "hook", "60000", str(notes.path), "0", ""))
        prepare = hook.prepare

        def prepare_slowly(*args: Any, **named: Any) -> Any:
            made = prepare(*args, **named)
            if not stay:
                ours.close()
            return made

        with monkeypatch.context() as patched:
            patched.setattr(hook, "prepare", prepare_slowly)
            server._answer(theirs, head.encode() + json.dumps(event).encode())
        with ours:
            return ours.recv(1 << 16) if stay else b""

    try:
        ask(QUINCE, stay=False)
        assert [row["outcome"] for row in Hooks(notes, tmp_path).log()] == ["late"]
        assert b"jam.md:1" in ask("Where should the jars of quince jelly be stored?", stay=True)
        assert ask("And in which pantry do I store the quince jelly?", stay=True) == b""
    finally:
        resident.close()


def test_a_broken_model_is_silent_and_logged_as_what_it_is(hooks: Hooks, tmp_path: Path) -> None:
    for name in ("model.safetensors", "tokenizer.json", "config.json"):
        (tmp_path / name).write_bytes(b"cut off")
    hooks.repo.git("config", "recall.model", str(tmp_path))
    assert hooks.ask(QUINCE) == ""
    assert "cannot be loaded" in hooks.log()[-1]["why"]
    hooks.repo.git("config", "--unset", "recall.model")
    assert "jam.md" in hooks.ask(QUINCE)


def test_fifty_clients_while_commits_go_on(hooks: Hooks) -> None:
    right = hooks.ask(QUINCE)
    running = []
    for number in range(50):
        running.append(hooks.start(QUINCE, timeout_ms="3000"))
        if number % 10 == 0:
            hooks.repo.commit(
                {f"more{number}.md": f"# Marrow {number}\n\nThe marrow of batch {number} went to the soup.\n"}
            )
    for text in map(text_of, running):
        assert not text or "jam.md:1" in text
    wait_for(lambda: "more40.md" in hooks.ask("Which soup had the marrow of batch 40?"))
    assert {row["outcome"] for row in hooks.log()} <= {"injected", "silent", "late", "skipped"}
    assert (hooks.folder / "server.log").read_text() == ""
    found = Repo.discover(hooks.repo.path)
    settings = sync.settings_of(found)[0]
    result = sync.refresh(found, settings)
    assert (result.notes, result.documents_added) == (8, 0)
    assert "jam.md:1" in right


def test_git_hooks_go_through_the_client(hooks: Hooks, notes: GitRepo) -> None:
    hooks.ask(QUINCE)
    notes.write({"plum.md": "# Plum\n\nThe plum tree was pruned hard.\n"})
    notes.git("add", "plum.md")
    client = Path(talk.__file__).with_name("client.py")
    command = f'#!/bin/sh\n"{sys.executable}" -I -S "{client}" git "$(basename "$0")" "$@"\n'
    for name in ("pre-commit", "post-commit"):
        path = notes.path / ".git" / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(command)
        path.chmod(0o755)
    notes.git("commit", "-q", "-m", "plum")
    found = Repo.discover(notes.path)
    store = sync.open_store(found, sync.settings_of(found)[0])
    wait_for(lambda: store.open().last["commit"] == notes.head())
    wait_for(lambda: "plum" in notes.git("log", "-1", "--format=%s"))
    assert sync.refresh(found, sync.settings_of(found)[0]).documents_added == 0


@pytest.mark.parametrize("kind", ["absent", "link", "open", "file"])
def test_only_a_private_folder_of_ours_is_used(tmp_path: Path, kind: str) -> None:
    where = tmp_path / "recall-git"
    if kind == "link":
        (tmp_path / "real").mkdir(mode=0o700)
        where.symlink_to(tmp_path / "real")
    elif kind == "open":
        where.mkdir()
        where.chmod(0o755)
    elif kind == "file":
        where.touch(0o700)
    assert not talk.is_private(str(where))


def test_a_launcher_wakes_the_resident_process_and_changes_nothing_by_it(
    hooks: Hooks, notes: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = launcher.ensure(tmp_path / "data")
    event = json.dumps({"hook_event_name": "UserPromptSubmit", "prompt": QUINCE, "cwd": str(notes.path)}).encode()
    right = hooks.ask(QUINCE)
    pipe = hooks.path.with_name(talk.wake_name(hooks.path.name))
    status = pipe.lstat()
    assert stat.S_ISFIFO(status.st_mode)
    assert stat.S_IMODE(status.st_mode) == 0o600
    before = len(hooks.log())
    for _ in range(3):
        with pipe.open("r+b", buffering=0) as woken:
            woken.write(b"." * 70)
    assert len(hooks.log()) == before
    assert hooks.ask(QUINCE, session="a") == right
    environ = {**os.environ, "RECALL_TIMEOUT_MS": PATIENT}
    woken = subprocess.run((str(script),), input=event, capture_output=True, cwd=notes.path, env=environ, check=True)
    assert b"jam.md:1" in woken.stdout
    hooks.stop()
    assert not pipe.exists()


@pytest.mark.parametrize(
    "kind", ["pipe without a reader", "full pipe", "file", "link", "not ours", "no folder", "no variable"]
)
def test_a_launcher_never_waits_for_a_resident_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    script = launcher.ensure(tmp_path / "data")
    run = tmp_path / "run"
    folder = run / "recall-git"
    folder.mkdir(parents=True, mode=0o700)
    pipe = folder / talk.wake_name(talk.socket_name(str(CLIENT.with_name("talk.py"))))
    kept = tmp_path / "kept"
    kept.write_text("mine")
    if kind == "link":
        pipe.symlink_to(kept)
    elif kind == "file":
        pipe.write_text("mine")
    elif kind == "no folder":
        folder.rmdir()
    else:
        os.mkfifo(pipe, 0o600)
    if kind == "not ours":
        if os.getuid():
            pytest.skip("only root can give a folder away")
        os.chown(folder, 12345, 12345)
    handle = os.open(pipe, os.O_RDWR | os.O_NONBLOCK) if kind == "full pipe" else -1
    with suppress(BlockingIOError):
        while kind == "full pipe":  # of a process that is stopped
            os.write(handle, b".")
    environ = {**os.environ, "XDG_RUNTIME_DIR": str(run), "RECALL_SERVER": "false", "HOME": str(tmp_path)}
    if kind == "no variable":
        del environ["XDG_RUNTIME_DIR"]
    done = subprocess.run(
        (str(script),), input=b"{}", capture_output=True, cwd=tmp_path, env=environ, timeout=60, check=True
    )
    assert (done.stdout, done.stderr) == (b"", b"")
    if handle >= 0:
        assert os.read(handle, 1 << 16)  # who still waits can go
        os.close(handle)
    assert kept.read_text() == "mine"
    assert kind != "file" or pipe.read_text() == "mine"


def test_getting_ready_stops_as_soon_as_a_client_is_there(
    notes: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recall_git.resident.READY_S", 60.0)  # a slow machine stops earlier
    monkeypatch.setattr("recall_git.resident._cores", lambda: 2)
    resident = Resident(tmp_path)
    try:
        asked = []
        resident.get_ready(until=lambda: bool(asked.append(1)))  # nothing was answered yet: there is nothing to touch
        assert not asked
        event = json.dumps({"hook_event_name": "UserPromptSubmit", "prompt": QUINCE, "cwd": str(notes.path)}).encode()
        assert "jam.md:1" in resident.answer(event, notes.path, {}, 0.0, lambda text: True).stdout
        resident.get_ready(until=lambda: bool(asked.append(1)))
        steps = len(asked)
        resident.get_ready(until=lambda: len(asked) > steps + 1 or bool(asked.append(1)))
        assert steps > 3
        assert len(asked) == steps + 2
    finally:
        resident.close()


def test_getting_ready_for_a_damaged_index_breaks_nothing(
    notes: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resident, guarded, broke = Resident(tmp_path), hook.guarded, []
    try:
        event = json.dumps({"hook_event_name": "UserPromptSubmit", "prompt": QUINCE, "cwd": str(notes.path)}).encode()
        answer = resident.answer(event, notes.path, {}, 0.0, lambda text: True)
        assert answer.memory is not None
        for path in (notes.path / ".recall" / "index").rglob("rows.jsonl"):
            with path.open("r+b") as rows:  # in its place: the open index maps it
                rows.write(b"?" * path.stat().st_size)
        answer.memory.view.documents.clear()
        monkeypatch.setattr("recall_git.resident._cores", lambda: 2)
        monkeypatch.setattr(hook, "guarded", lambda work: broke.append(guarded(work)))
        resident.get_ready(until=lambda: False)
        assert [digest.outcome for digest in broke] == ["failed"]
    finally:
        resident.close()
