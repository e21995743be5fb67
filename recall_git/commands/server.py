"""``git recall server {status,stop,run}``: the resident process."""

from __future__ import annotations

import json
import os
import socket
import sys
from argparse import ArgumentParser
from pathlib import Path

from recall_git import client
from recall_git.errors import EXIT_NOTHING, EXIT_OK, UsageError


def run(argv: list[str]) -> int:
    """Show, stop or run the resident process of this installation."""
    parser = ArgumentParser("git recall server", description="The resident process that answers prompts.")
    parser.add_argument("what", choices=("status", "stop", "run"))
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    if not hasattr(socket, "AF_UNIX"):
        raise UsageError("there is no resident process on this system; each hook answers by itself")
    folder = Path(client.runtime_folder(dict(os.environ)))
    if args.what == "run":
        from recall_git.server import Server

        return Server(folder).run()
    answer = ask(folder, args.what)
    if answer is None:
        print("no resident process is running", file=sys.stderr)
        return EXIT_NOTHING
    if args.what == "status" and not args.json:
        for name, value in json.loads(answer).items():
            print(f"{name:<12} {value}")
    else:
        print(answer.decode())
    return EXIT_OK


def ask(folder: Path, what: str) -> bytes | None:
    """Send one word to the resident process; return its answer, None when there is none running."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as talk:
        talk.settimeout(5)
        try:
            talk.connect(str(folder / client.socket_name()))
            talk.sendall("\0".join((client.VERSION, what, "5000", "/", "0", "")).encode())
            talk.shutdown(socket.SHUT_WR)
            parts = []
            while part := talk.recv(65536):
                parts.append(part)
        except OSError:
            return None
    return b"".join(parts)
