"""The resident process: one for each user and installed copy, on a Unix socket in a private folder.

Started by the first client, leaves after ``recall.idleMinutes`` without work. It holds a lock for its whole
life, so there is one; a killed one leaves the lock free and a socket that the next one replaces. Only the
standard library is imported before the lock is held: of fifty clients that come at once, forty-nine start
a process that ends at once.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import select
import socket
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import TYPE_CHECKING

from recall_git import __version__, talk

if TYPE_CHECKING:
    from recall_git.resident import Resident

IDLE_MINUTES = 15
MAX_REQUEST = 16 << 20
BUSY = 50
"""Answers after which garbage is collected and pages are given back even if nobody pauses."""
FAST_S = 0.02
"""A client sends all of its message at once; one that does not is read by a thread of its own."""


class Server:
    """Accepts clients: prompts are answered one after the other, Git's hooks behind them."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.path = folder / name
        self.started = self.used = monotonic()
        self.answered = self.wanted = self.inode = 0
        self.stopping = False
        self.resident: Resident | None = None

    def run(self) -> int:
        """Serve until idle or told to stop. Returns at once when another process serves already."""
        if not talk.is_private(str(self.folder)):
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
                with suppress(OSError):
                    os.truncate(self.folder / "server.log", 0)
                self.inode = self.path.stat().st_ino
                try:
                    self._serve(listening)
                finally:
                    self._unlink()  # whatever ended us: the next client must not find a socket that nobody serves
        return 0

    def _unlink(self) -> None:
        """Take our socket away; in a folder that was cleaned meanwhile there may be another process's."""
        if self._is_reachable():
            self.path.unlink(missing_ok=True)

    def _is_reachable(self) -> bool:
        try:
            return self.path.stat().st_ino == self.inode
        except OSError:
            return False

    def _serve(self, listening: socket.socket) -> None:
        from recall_git.resident import Resident

        self.resident = resident = Resident(self.folder)
        resident.warm_up()
        # Garbage is collected when nobody waits, and what is loaded by now is never looked through again.
        gc.disable()
        gc.collect()
        gc.freeze()
        sys.setswitchinterval(0.0005)  # how long a prompt may wait for a thread that indexes
        self.used = monotonic()
        listening.setblocking(False)
        since = 0
        with _Wake(self.path.with_name(talk.wake_name(self.path.name))) as wake:
            while not self.stopping:
                ready = _ready(1, listening, wake)
                if wake in ready and wake.drained():
                    resident.get_ready(until=lambda: bool(_ready(0, listening)))
                if listening in ready:
                    client = _accepted(listening)
                    if client is not None:
                        self._take(client)
                if not ready and self._is_over():
                    break
                if since != self.answered and (not ready or self.answered - since >= BUSY):
                    since = self.answered
                    resident.rest()
                    gc.collect()
        resident.close()

    def _is_over(self) -> bool:
        """Whether nobody needs us any more, or nobody can reach us: the folder was cleaned."""
        assert self.resident is not None
        is_idle = not self.resident.busy and monotonic() - self.used > 60 * self.resident.idle_minutes
        return is_idle or not self._is_reachable()

    def _take(self, client: socket.socket) -> None:
        """Answer one client. Whatever goes wrong with it concerns nobody else."""
        from threading import Thread

        if not _is_own(client):
            client.close()
            return
        parts: list[bytes] = []
        client.settimeout(FAST_S)
        try:
            _receive(client, parts)
        except TimeoutError:
            Thread(target=self._take_slowly, args=(client, parts), daemon=True).start()
        except OSError:
            client.close()
        else:
            self._answer(client, b"".join(parts))

    def _take_slowly(self, client: socket.socket, parts: list[bytes]) -> None:
        client.settimeout(10)
        try:
            _receive(client, parts)
        except OSError:
            client.close()
        else:
            self._answer(client, b"".join(parts))

    def _answer(self, client: socket.socket, message: bytes) -> None:
        arrived = perf_counter()
        client.settimeout(5)
        self.used = monotonic()
        request = Request.parse(message)
        with client, suppress(OSError):  # OSError: the client has gone, it had a deadline
            if request is None:
                return
            if request.version != __version__:
                self.stopping = True
                self._unlink()
                client.sendall(talk.RESTART)
            elif request.words[0] == "hook":
                self._hook(client, request, arrived)
            elif request.words[0] == "git" and len(request.words) > 1:
                assert self.resident is not None
                self.resident.git_event(request.words[1:], request.cwd, request.environ, client.dup())
            elif request.words[0] == "status":
                client.sendall(json.dumps(self.status()).encode("ascii"))
            elif request.words[0] == "stop":
                self.stopping = True
                self._unlink()
                client.sendall(b"stopping")

    def _hook(self, client: socket.socket, request: Request, arrived: float) -> None:
        assert self.resident is not None
        gone = _has_gone(client)
        deadline = arrived if gone else arrived + request.deadline_s

        def send(text: str) -> bool:
            try:
                client.sendall(text.encode("utf-8"))
            except OSError:
                return not text
            with suppress(OSError):  # our side only: macOS refuses to shut the other again
                client.shutdown(socket.SHUT_WR)
            return not gone

        answer = self.resident.answer(request.data, request.cwd, request.environ, deadline, send)
        self.answered += 1
        if answer.settings is not None and not answer.settings.server:
            # The next prompt from there starts a process of its own; if all do, we are not needed.
            Path(talk.off_mark(str(self.folder), str(request.cwd))).touch()
            self.stopping = self.wanted == 0
        else:
            self.wanted += 1
        self.resident.after(answer)
        self.used = monotonic()

    def status(self) -> dict[str, object]:
        """Return what ``git recall server status`` shows."""
        assert self.resident is not None
        return {
            "pid": os.getpid(),
            "version": __version__,
            "socket": str(self.path),
            "uptime_s": round(monotonic() - self.started),
            "idle_minutes": self.resident.idle_minutes,
            "answered": self.answered,
            "repositories": self.resident.repositories,
            "resident_mb": resident_mb(),
        }


class _Wake:
    """The pipe into which a launcher writes before it starts the client; there may be none (a file system without)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle = -1
        self._inode = 0

    def __enter__(self) -> _Wake:
        with suppress(OSError, AttributeError):
            self.path.unlink(missing_ok=True)
            os.mkfifo(self.path, 0o600)
            self._handle = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)
            self._inode = os.fstat(self._handle).st_ino
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
            with suppress(OSError):
                if self.path.lstat().st_ino == self._inode:  # in a folder that was cleaned it may be another's
                    self.path.unlink()

    def fileno(self) -> int:
        return self._handle

    def drained(self) -> bool:
        """Whether something was written; it is gone then."""
        with suppress(OSError):
            return bool(os.read(self._handle, 1 << 16))
        return False


def _accepted(listening: socket.socket) -> socket.socket | None:
    """Return the next client, None when it has gone or cannot be had."""
    try:
        return listening.accept()[0]
    except BlockingIOError:
        return None
    except OSError:  # too many open files, for instance: it stays in the queue
        sleep(0.01)
        return None


def _ready(timeout_s: float, *sources: socket.socket | _Wake) -> list[socket.socket | _Wake]:
    """Return which of *sources* can be read, after *timeout_s* at most."""
    poll = select.poll()
    by_handle = {source.fileno(): source for source in sources if source.fileno() >= 0}
    for handle in by_handle:
        poll.register(handle, select.POLLIN)
    return [by_handle[handle] for handle, _ in poll.poll(1000 * timeout_s)]


class Request:
    """One message of a client; see ``talk``."""

    def __init__(self, fields: Sequence[str], pairs: Sequence[str], data: bytes) -> None:
        self.version, kind, deadline_ms, cwd = fields
        self.words = kind.split("\x1f")
        self.deadline_s = int(deadline_ms) / 1000
        self.cwd = Path(cwd)
        self.environ = dict(zip(pairs[::2], pairs[1::2], strict=True))
        self.data = data

    @classmethod
    def parse(cls, message: bytes) -> Request | None:
        """Return the request in *message*, None when it is not whole (its client died while it sent) or senseless."""
        *head, rest = message.split(b"\0", 5)
        try:
            count = 2 * int(head[4])
            *pairs, data = rest.split(b"\0", count)
            return cls(list(map(os.fsdecode, head[:4])), list(map(os.fsdecode, pairs)), data)
        except (IndexError, ValueError, OverflowError):
            return None


def resident_mb() -> float:
    """Return the memory that this process holds, MiB; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return round(pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20), 1)


def _is_own(client: socket.socket) -> bool:
    """Whether the other side is the same user (where the system tells)."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    try:
        found = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    except OSError:
        return False
    return bool(struct.unpack("3i", found)[1] == os.getuid())


def _has_gone(client: socket.socket) -> bool:
    """Whether the client has closed its side, since its deadline is over."""
    poll = select.poll()
    poll.register(client, 0)
    return any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0))


def _receive(client: socket.socket, parts: list[bytes]) -> None:
    """Append what the client sends to *parts*, until it has sent all; raises OSError when that is too much."""
    size = sum(map(len, parts))
    while part := client.recv(1 << 16):
        parts.append(part)
        size += len(part)
        if size > MAX_REQUEST:
            raise OSError("too long")


def main(args: Sequence[str]) -> int:
    """Serve in the folder ``args[0]`` on the socket called ``args[1]``."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one small product after the other: threads only wait
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    return Server(Path(args[0]), args[1]).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
