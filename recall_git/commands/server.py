"""``git recall server {status,stop,run}``: the resident process."""

from __future__ import annotations

import json
import os
import socket
import sys
from argparse import ArgumentParser
from pathlib import Path

from recall_git import talk
from recall_git.errors import EXIT_NOTHING, EXIT_OK, UsageError


def run(argv: list[str]) -> int:
    """Show, stop or run the resident process of this installation."""
    parser = ArgumentParser("git recall server", description="The resident process that answers prompts.")
    parser.add_argument("what", choices=("status", "stop", "run"))
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    if not hasattr(socket, "AF_UNIX"):
        raise UsageError("there is no resident process on this system; each hook answers by itself")
    folder = talk.runtime_folder(dict(os.environ))
    if not folder:
        raise UsageError("there is no private folder for a socket; set XDG_RUNTIME_DIR to one that is yours alone")
    name = talk.socket_name(str(Path(talk.__file__).resolve()))  # as the launcher calls it
    if args.what == "run":
        from recall_git import server

        return server.main((folder, name))
    answer = ask(Path(folder) / name, args.what)
    if answer is None:
        print("no resident process is running", file=sys.stderr)
        return EXIT_NOTHING
    if args.what == "status" and not args.json:
        for key, value in json.loads(answer).items():
            print(f"{key:<12} {value}")
    else:
        print(answer.decode())
    return EXIT_OK


def ask(path: Path, what: str) -> bytes | None:
    """Send one word to the resident process on the socket *path*; return its answer, None when there is none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(5)
        try:
            client.connect(str(path))
            client.sendall("\0".join((talk.VERSION, what, "5000", "/", "0", "")).encode())
            client.shutdown(socket.SHUT_WR)
            parts = []
            while part := client.recv(65536):
                parts.append(part)
        except OSError:
            return None
    return b"".join(parts)
