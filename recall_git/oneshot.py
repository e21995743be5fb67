"""Answer one hook in this process: where there is no resident one, and on Windows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import perf_counter

from recall_git import talk

STARTED = perf_counter()
TIMEOUT_S = 4.0
"""Deadline of an agent's event here, unless RECALL_TIMEOUT_MS is more; loading everything takes most of a second."""
LOCK_S = 0.05
"""How long another writer is waited for."""


def main(args: Sequence[str]) -> None:
    """Answer the agent event on stdin, or do what ``git HOOK …`` asks for; never raises a RecallError."""
    if args[:1] == ["git"]:
        _git(args[1], args[2:])
        return
    asked = os.environ.get("RECALL_TIMEOUT_MS", "")
    timeout_s = max(TIMEOUT_S, int(asked) / 1000 if talk.is_number(asked) else 0)
    if hasattr(signal, "setitimer"):  # whatever hangs, ends; the client waits for us
        signal.setitimer(signal.ITIMER_REAL, timeout_s + 1)
    data = sys.stdin.buffer.read()
    cwd = Path.cwd()

    from recall_git import hook
    from recall_git.engine import Engine

    answer = hook.prepare(data, cwd, os.environ, Engine(LOCK_S), deadline=STARTED + timeout_s)
    try:
        sys.stdout.buffer.write(answer.stdout.encode("utf-8"))
        sys.stdout.buffer.flush()
    except OSError:
        answer.settle(False)
    else:
        answer.settle(True)
    if answer.settings is not None and answer.settings.server:
        _take_mark_away(cwd)
    if answer.stale and answer.top:
        index_behind(answer.top)


def _git(name: str, args: Sequence[str]) -> None:
    from recall_git import hook
    from recall_git.engine import Engine

    hook.git_event(name, args, Path.cwd(), os.environ, Engine(LOCK_S))


def _take_mark_away(cwd: Path) -> None:
    """Let a resident process answer here again: ``recall.server`` is no longer false."""
    if hasattr(os, "getuid"):
        where = talk.runtime_folder(dict(os.environ))
        if where:
            Path(talk.off_mark(where, str(cwd))).unlink(missing_ok=True)


def index_behind(top: Path) -> None:
    """Start ``git recall index`` for the repository in *top*, detached, and do not wait."""
    command = [sys.executable, "-E", "-c", talk.bootstrap("cli"), "index", "--quiet", "-C", str(top)]
    with suppress(OSError):
        subprocess.Popen(
            command,
            cwd=top.anchor,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
