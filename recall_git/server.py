"""The resident process: one for each user and installed copy, on a Unix socket in a private folder.

Started by the first client, leaves after ``recall.idleMinutes`` without work. It holds a lock for its whole
life, so there is one; a killed one leaves the lock free and a socket that the next one replaces.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic, perf_counter

from recall_git import __version__, client, hook
from recall_git.engine import Engine
from recall_git.oneshot import index_behind

IDLE_MINUTES = 15
MAX_REQUEST = 16 << 20
RESTART = b"\0restart"


class Server:
    """Answers clients one after the other; Git's work runs behind the answers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / client.socket_name()
        self.engine = Engine()
        self.lock = threading.Lock()
        self.idle_s = IDLE_MINUTES * 60.0
        self.used = monotonic()
        self.busy = 0
        self.stopping = threading.Event()
        self.started = monotonic()
        self.answered = 0
        self._indexing: dict[Path, float] = {}

    def run(self) -> int:
        """Serve until idle or told to stop. Returns at once when another process serves already."""
        import fcntl

        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = self.folder.lstat()
        if status.st_uid != os.getuid() or status.st_mode & 0o077 or self.folder.is_symlink():
            return 4
        with (self.folder / f"{self.path.name}.lock").open("a") as held:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return 0
            self.path.unlink(missing_ok=True)
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
                listening.bind(str(self.path))
                self.path.chmod(0o600)
                listening.listen(128)
                listening.settimeout(1)
                self.engine.encoder()
                self._accept(listening)
            self.path.unlink(missing_ok=True)
        return 0

    def _accept(self, listening: socket.socket) -> None:
        while not self.stopping.is_set():
            try:
                talk, _ = listening.accept()
            except TimeoutError:
                if not self.busy and monotonic() - self.used > self.idle_s:
                    return
                if not self.path.exists():  # the folder was cleaned: nobody can reach us any more
                    return
                continue
            except OSError:
                return
            threading.Thread(target=self._serve, args=(talk,), daemon=True).start()

    def _serve(self, talk: socket.socket) -> None:
        self.busy += 1
        try:
            with talk:
                talk.settimeout(10)
                if _is_own(talk):
                    self._answer(talk, _receive(talk))
        except OSError:
            pass  # the client has gone: it had a deadline
        finally:
            self.busy -= 1
            self.used = monotonic()

    def _answer(self, talk: socket.socket, message: bytes) -> None:
        arrived = perf_counter()
        version, kind, deadline_ms, cwd, count, rest = message.split(b"\0", 5)
        if version.decode() != __version__:
            self.stopping.set()
            self.path.unlink(missing_ok=True)
            talk.sendall(RESTART)
            return
        words = kind.decode("utf-8", "surrogateescape").split("\x1f")
        fields = rest.split(b"\0", 2 * int(count))
        data = fields.pop()
        texts = [os.fsdecode(field) for field in fields]
        environ = dict(zip(texts[::2], texts[1::2], strict=True))
        place = Path(os.fsdecode(cwd))
        if words[0] == "hook":
            with self.lock:
                answer = hook.answer(data, place, environ, self.engine, deadline=arrived + int(deadline_ms) / 1000)
            talk.sendall(answer.stdout.encode("utf-8"))
            talk.close()
            self.answered += 1
            self._after(answer)
        elif words[0] == "git":
            self._git(talk, words[1], words[2:], place, environ)
        elif words[0] == "status":
            talk.sendall(json.dumps(self.status()).encode("ascii"))
        elif words[0] == "stop":
            self.stopping.set()
            talk.sendall(b"stopping")

    def _after(self, answer: hook.Answer) -> None:
        """Bring an index up to date that was found behind; once a minute for each repository."""
        if answer.settings is not None:
            self.idle_s = answer.settings.idle_minutes * 60.0
            if not answer.settings.server:
                (self.folder / "no-server").touch()
                self.stopping.set()
        if answer.stale and answer.top:
            self._index_behind(answer.top)

    def _git(self, talk: socket.socket, name: str, args: list[str], place: Path, environ: dict[str, str]) -> None:
        def release() -> None:
            with suppress(OSError):
                talk.sendall(b"")
                talk.shutdown(socket.SHUT_RDWR)

        with self.lock:
            hook.git_event(name, args, place, environ, self.engine, release=release, behind=self._index_behind)

    def _index_behind(self, top: Path) -> None:
        """Have a process of its own index *top*, once a minute at most."""
        if monotonic() - self._indexing.get(top, -60) >= 60:
            self._indexing[top] = monotonic()
            index_behind(top)

    def status(self) -> dict[str, object]:
        """Return what ``git recall server status`` shows."""
        return {
            "pid": os.getpid(),
            "version": __version__,
            "socket": str(self.path),
            "uptime_s": round(monotonic() - self.started),
            "idle_s": round(monotonic() - self.used),
            "answered": self.answered,
            "resident_mb": resident_mb(),
        }


def resident_mb() -> float:
    """Return the memory that this process holds, MiB; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return round(pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20), 1)


def _is_own(talk: socket.socket) -> bool:
    """Whether the other side is the same user (where the system tells)."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    _, uid, _ = struct.unpack("3i", talk.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    return bool(uid == os.getuid())


def _receive(talk: socket.socket) -> bytes:
    parts, size = [], 0
    while part := talk.recv(1 << 16):
        parts.append(part)
        size += len(part)
        if size > MAX_REQUEST:
            return b""
    return b"".join(parts)


def main(args: Sequence[str]) -> int:
    """Serve in the folder ``args[0]``."""
    return Server(Path(args[0])).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
