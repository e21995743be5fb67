"""Answer one hook in this process: where there is no resident one, and on Windows."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from recall_git import hook
from recall_git.engine import Engine


def main(args: Sequence[str]) -> None:
    """Answer the agent event on stdin, or do what ``git HOOK …`` asks for; never raises a RecallError."""
    cwd = Path.cwd()
    if args[:1] == ["git"]:
        hook.git_event(args[1], args[2:], cwd, os.environ, Engine())
        return
    data = sys.stdin.buffer.read()
    answer = hook.answer(data, cwd, os.environ, Engine())
    sys.stdout.buffer.write(answer.stdout.encode("utf-8"))
    sys.stdout.buffer.flush()
    if answer.stale and answer.top:
        index_behind(answer.top)


def index_behind(top: Path) -> None:
    """Start ``git recall index`` for the repository in *top*, detached, and do not wait."""
    from recall_git import client

    command = [sys.executable, "-c", client.bootstrap("cli"), "index", "--quiet", "-C", str(top)]
    with suppress(OSError):
        subprocess.Popen(
            command,
            cwd=top.anchor,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
