"""The thin client behind every hook: hands the event to the resident process and prints its answer.

Imports nothing that a bare interpreter has not loaded, but sockets (tests/test_startup.py lists the modules).
It always ends with 0 and says nothing on stderr. Without a resident process it starts one and waits for it as
long as the deadline allows; where there can be none (no Unix sockets, no private folder for one,
``recall.server = false``) a full interpreter answers once.

The talk: the client sends ``VERSION NUL kind NUL deadline_ms NUL cwd NUL count NUL (name NUL value NUL)… stdin``
and shuts its side; the server answers with the bytes to print and closes.
"""

import sys
from time import monotonic, sleep

if sys.platform != "win32":
    import _socket
    import posix

VERSION = "0.1.0"
"""Equal to ``recall_git.__version__``; a server of another version leaves and makes room."""
TIMEOUT_MS = 250
START_TIMEOUT_MS = 1500
GIT_TIMEOUT_MS = 10000
BASE_CHARS = 70
"""Longest folder above ours: with our names a socket's path then stays below the 104 bytes that it may have."""
RESTART = b"\0restart"
"""Answer of a server that makes room for another version."""
ENV = (
    "HOME", "GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_AUTHOR_EMAIL", "CURSOR_VERSION", "GEMINI_SESSION_ID",
    "QWEN_PROJECT_DIR", "FACTORY_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "USER_PROMPT",
)  # fmt: skip
"""What the server may need to know of our environment, beside RECALL_*."""
DOWN = ("false", "no", "off", "0")


def main(argv: list[str] | None = None) -> int:
    """Run one hook; return 0, whatever happens."""
    args = sys.argv[1:] if argv is None else argv
    try:
        if sys.platform == "win32":  # no Unix sockets: a full interpreter answers, and this is one
            from recall_git import oneshot

            oneshot.main(args)
        else:
            _run(args)
    except BaseException:  # noqa: BLE001, S110 - an agent must never see this program fail
        pass
    return 0


def leave() -> None:
    """End this process with 0; an interpreter that takes itself apart first needs a sixth of its whole time for it."""
    if sys.platform == "win32":
        sys.exit(0)
    posix._exit(0)


def _run(args: list[str]) -> None:
    started = monotonic()
    environ = {_text(name): _text(value) for name, value in posix.environ.items()}
    is_git = args[:1] == ["git"]
    data = b"" if is_git else _read_stdin()
    if not is_git and not data.strip():
        return
    cwd = posix.getcwd()
    where = "" if environ.get("RECALL_SERVER", "").lower() in DOWN else runtime_folder(environ)
    if not where or _exists(off_mark(where, cwd)):
        _one_shot(args, data)
        return
    timeout_ms = _timeout(environ, data, is_git=is_git)
    message = _message(args, environ, timeout_ms, cwd, data)
    patient = args[:2] != ["git", "pre-commit"] or tracks_digest(cwd)
    answer = _ask(where, message, started + timeout_ms / 1000, patient=patient)
    if answer:
        _write(1, answer)


STARTS = (b'essionStart"', b'"agentSpawn"', b'"is_first_turn": true', b'"is_first_turn":true')
"""What marks the start of a session, in all dialects."""


def _timeout(environ: dict[str, str], data: bytes, *, is_git: bool) -> int:
    """Deadline in ms. RECALL_TIMEOUT_MS and RECALL_START_TIMEOUT_MS replace the defaults."""
    if is_git:
        return GIT_TIMEOUT_MS
    name, usual = (
        ("RECALL_START_TIMEOUT_MS", START_TIMEOUT_MS)
        if any(mark in data[:65536] for mark in STARTS)
        else ("RECALL_TIMEOUT_MS", TIMEOUT_MS)
    )
    text = environ.get(name, "")
    return int(text) if is_number(text) else usual


def is_number(text: str) -> bool:
    """Whether *text* is a whole number of milliseconds, and no joke."""
    return text.isascii() and text.isdigit() and len(text) < 10


def runtime_folder(environ: dict[str, str]) -> str:
    """Return the private folder of the socket, made if need be; '' when there can be none.

    Below XDG_RUNTIME_DIR, else in /tmp with the user's number. Anybody may make a folder in /tmp, so it must
    be a real folder, of this user, closed to all others.
    """
    base = environ.get("XDG_RUNTIME_DIR", "")
    folders = [f"{base}/recall-git"] if base.startswith("/") and len(base) <= BASE_CHARS else []
    folders.append(shared_folder())
    for where in folders:
        try:
            if not _exists(where):
                posix.mkdir(where, 0o700)
        except OSError:  # read-only, full, or just made by another client
            pass
        if is_private(where):
            return where
    return ""


def shared_folder() -> str:
    """Return the folder of the socket where the system gives no private one; '' where there are no Unix sockets."""
    return "" if sys.platform == "win32" else f"/tmp/recall-git-{posix.getuid()}"


def is_private(where: str) -> bool:
    """Whether *where* is a folder (no link) of this user that nobody else may enter."""
    try:
        status = posix.lstat(where)
    except OSError:
        return False
    return status.st_uid == posix.getuid() and (status.st_mode & 0o170077) == 0o040000


def socket_name(path: str = __file__) -> str:
    """Return the socket's file name: one for each installed copy."""
    return f"{_hash(path)}.sock"


def wake_name(socket: str) -> str:
    """Return the name of the pipe beside *socket* into which a launcher writes that a prompt is coming."""
    return f"{socket}.wake"


def off_mark(where: str, cwd: str) -> str:
    """Return the path of the mark that says: prompts from the folder *cwd* are not for a resident process."""
    return f"{where}/off-{_hash(cwd)}"


def tracks_digest(top: str) -> bool:
    """Whether the commits of the work tree *top* are to hold the digest: ``.recall/.gitignore`` does not hide it."""
    try:
        handle = posix.open(f"{top}/.recall/.gitignore", posix.O_RDONLY)
        try:
            return b"/digest.md" not in posix.read(handle, 65536)
        finally:
            posix.close(handle)
    except OSError:
        return False


def _hash(text: str) -> str:
    number = 0xCBF29CE484222325  # FNV-1a: hashlib is not loaded here
    for byte in text.encode("utf-8", "surrogateescape"):
        number = ((number ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{number:016x}"


def _message(args: list[str], environ: dict[str, str], timeout_ms: int, cwd: str, data: bytes) -> bytes:
    pairs = [(name, value) for name, value in environ.items() if name in ENV or name.startswith("RECALL_")]
    kind = "\x1f".join(args if args[:1] == ["git"] else ["hook", *args])
    head = [VERSION, kind, str(timeout_ms), cwd, str(len(pairs))]
    for name, value in pairs:
        head += (name, value)
    return "\0".join(head).encode("utf-8", "surrogateescape") + b"\0" + data


def _ask(where: str, message: bytes, deadline: float, *, patient: bool) -> bytes:
    """Return the server's answer, b'' when there is none in time. Not *patient*: start a server, do not wait for it."""
    path = f"{where}/{socket_name()}"
    spawned = False
    while True:
        left = deadline - monotonic()
        if left <= 0:
            return b""
        talk = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            talk.settimeout(left)
            talk.connect(path)
            if not _is_ours(talk):
                return b""
        except OSError:  # there is none, or it was killed and left its socket
            talk.close()
            if not spawned:
                _spawn(where)
                spawned = True
                if not patient:
                    return b""
            sleep(0.01)
            continue
        try:
            answer = _exchange(talk, message, deadline)
        except TimeoutError:
            return b""
        except OSError:  # it left just now
            answer = RESTART
        finally:
            talk.close()
        if answer != RESTART:
            return answer
        sleep(0.02)


def _exchange(talk: "_socket.socket", message: bytes, deadline: float) -> bytes:
    talk.sendall(message)
    talk.shutdown(_socket.SHUT_WR)
    parts: list[bytes] = []
    while True:
        talk.settimeout(max(0.001, deadline - monotonic()))
        part = talk.recv(65536)
        if not part:
            return b"".join(parts)
        parts.append(part)


def _is_ours(talk: "_socket.socket") -> bool:
    """Whether the other side is this user (where the system tells)."""
    option = getattr(_socket, "SO_PEERCRED", None)
    if option is None:
        return True
    found = talk.getsockopt(_socket.SOL_SOCKET, option, 12)  # pid, uid, gid
    return int.from_bytes(found[4:8], sys.byteorder) == posix.getuid()


def _spawn(where: str) -> None:
    """Start the resident process, detached: own session, no streams of ours, no folder of the user's as cwd."""
    if posix.fork():
        return
    try:
        posix.setsid()
        if posix.fork():
            posix._exit(0)
        posix.chdir("/")
        null = posix.open("/dev/null", posix.O_RDWR)
        log = posix.open(f"{where}/server.log", posix.O_WRONLY | posix.O_CREAT | posix.O_APPEND, 0o600)
        for stream, source in enumerate((null, null, log)):
            posix.dup2(source, stream)
        posix.execv(sys.executable, [sys.executable, "-E", "-c", bootstrap("server"), where, socket_name()])
    finally:
        posix._exit(0)


def _one_shot(args: list[str], data: bytes) -> None:
    """Let a full interpreter answer this one event; it ends by itself in time."""
    feed_out, feed_in = posix.pipe()
    child = posix.fork()
    if child == 0:
        try:
            posix.dup2(feed_out, 0)
            posix.close(feed_in)
            null = posix.open("/dev/null", posix.O_WRONLY)
            posix.dup2(null, 2)
            posix.execv(sys.executable, [sys.executable, "-E", "-c", bootstrap("oneshot"), *args])
        finally:
            posix._exit(0)
    posix.close(feed_out)
    try:  # noqa: SIM105 - contextlib is not loaded here
        _write(feed_in, data)
    except OSError:  # it has ended already
        pass
    posix.close(feed_in)
    posix.waitpid(child, 0)


def bootstrap(module: str) -> str:
    """Return the program of a full interpreter: our package first, the current folder (anybody's) not at all.

    Start it with ``-E``: PYTHONPATH may name that folder too.
    """
    root = __file__.replace("\\", "/").rsplit("/", 2)[0]
    clean = f"sys.path[:] = [{root!r}] + [path for path in sys.path if path]"
    return f"import sys; {clean}; from recall_git import {module}; {module}.main(sys.argv[1:])"


def _exists(path: str) -> bool:
    try:
        posix.lstat(path)
    except OSError:
        return False
    return True


def _read_stdin() -> bytes:
    parts: list[bytes] = []
    while True:
        part = posix.read(0, 1 << 20)
        if not part:
            return b"".join(parts)
        parts.append(part)


def _write(stream: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[posix.write(stream, view) :]


def _text(raw: str | bytes) -> str:
    return raw.decode("utf-8", "surrogateescape") if isinstance(raw, bytes) else raw
