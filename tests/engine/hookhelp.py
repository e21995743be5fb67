"""Asking as an agent does, through the client, and talking to the resident process."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recall_git import client, sync, talk
from recall_git.repo import Repo

if TYPE_CHECKING:
    from conftest import GitRepo

CLIENT = Path(client.__file__).resolve()
PATIENT = "60000"
"""Deadline, ms, of a prompt whose answer the test needs; machines that run tests are slow."""


class Hooks:
    """Asks as an agent does, through the client."""

    def __init__(self, repo: GitRepo, run: Path) -> None:
        self.repo = repo
        self.folder = run / "recall-git"
        self.path = self.folder / talk.socket_name(str(CLIENT.with_name("talk.py")))

    def start(
        self, prompt: str, session: str = "", timeout_ms: str = PATIENT, **environ: str
    ) -> subprocess.Popen[bytes]:
        """Start one prompt hook."""
        event = {"hook_event_name": "UserPromptSubmit", "prompt": prompt, "cwd": str(self.repo.path)}
        data = json.dumps({**event, "session_id": session or os.urandom(4).hex()}).encode()
        process = subprocess.Popen(
            (sys.executable, "-I", "-S", str(CLIENT)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.repo.path,
            env={**os.environ, "RECALL_TIMEOUT_MS": timeout_ms, **environ},
        )
        assert process.stdin
        process.stdin.write(data)
        process.stdin.close()
        process.stdin = None
        return process

    def ask(self, prompt: str, **how: str) -> str:
        """Return what one prompt hook puts before the agent."""
        return text_of(self.start(prompt, **how))

    def say(self, message: bytes, *, whole: bool = True) -> bytes:
        """Send *message* to the resident process; return its answer."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(30)
            connection.connect(str(self.path))
            connection.sendall(message)
            if whole:
                connection.shutdown(socket.SHUT_WR)
                return connection.recv(1 << 16)
        return b""

    def status(self) -> dict[str, Any]:
        """Return what the resident process says about itself."""
        found: dict[str, Any] = json.loads(self.say(word("status")))
        return found

    def stop(self) -> None:
        """Stop the resident process, if there is one, and wait until it has gone."""
        try:
            pid = self.status()["pid"]
            self.say(word("stop"))
        except OSError:
            return
        wait_for(lambda: not alive(pid))

    def log(self) -> list[dict[str, Any]]:
        """Return the log of the repository; the resident process answers in turn, so all before is written."""
        with suppress(OSError, ValueError):
            self.status()
        path = self.repo.path / ".git" / "recall" / "log.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def word(what: str, version: str = talk.VERSION) -> bytes:
    """Return the message that is one word."""
    return "\0".join((version, what, "5000", "/", "0", "")).encode()


def text_of(process: subprocess.Popen[bytes]) -> str:
    """Return what a started hook puts before the agent; it ends with 0 and an empty stderr."""
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, b"")
    return str(json.loads(out)["hookSpecificOutput"]["additionalContext"]) if out else ""


def alive(pid: int) -> bool:
    """Whether the process is there and no zombie."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return False


def wait_for(happened: Any, seconds: float = 60) -> None:
    """Wait until *happened* is true."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def enable(repo: GitRepo) -> Repo:
    """Opt *repo* in, without hooks, and index it."""
    repo.git("config", "recall.enabled", "true")
    found = Repo.discover(repo.path)
    found.state_dir.mkdir(exist_ok=True)
    (found.state_dir / "nonce").write_text("ab" * 32)
    sync.refresh(found, sync.settings_of(found)[0])
    return found
