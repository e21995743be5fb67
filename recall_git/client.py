"""The thin client behind every hook: hands the event to the resident process and prints its answer.

Runs as ``PYTHON -I -S client.py`` and imports nothing that a bare interpreter has not loaded, but sockets
(tests/test_startup.py lists the modules). It always ends with 0 and says nothing on stderr. Without a
resident process it starts one and waits for it as long as the deadline allows; where there can be none
(no Unix sockets, ``recall.server = false``) a full interpreter answers once.

    client.py                     an agent's hook: event on stdin, answer on stdout
    client.py git HOOK [ARGS…]    a Git hook: no output

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
ONE_SHOT_TIMEOUT_MS = 4000
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


def _run(args: list[str]) -> None:
    started = monotonic()
    environ = {_text(name): _text(value) for name, value in posix.environ.items()}
    is_git = bool(args) and args[0] == "git"
    data = b"" if is_git else _read_stdin()
    if not is_git and not data.strip():
        return
    timeout_ms = _timeout(environ, data, is_git=is_git)
    where = runtime_folder(environ)
    message = _message(args, environ, timeout_ms, data)
    if environ.get("RECALL_SERVER", "").lower() in DOWN or _exists(f"{where}/no-server"):
        _one_shot(args, data)
        return
    answer = _ask(where, message, started + timeout_ms / 1000)
    if answer:
        _write(answer)


def _timeout(environ: dict[str, str], data: bytes, *, is_git: bool) -> int:
    """Deadline in ms. RECALL_TIMEOUT_MS and RECALL_START_TIMEOUT_MS replace the defaults."""
    if is_git:
        return 10000
    name, usual = (
        ("RECALL_START_TIMEOUT_MS", START_TIMEOUT_MS)
        if b'"SessionStart"' in data[:65536]
        else ("RECALL_TIMEOUT_MS", TIMEOUT_MS)
    )
    text = environ.get(name, "")
    return int(text) if text.isdigit() else usual


def runtime_folder(environ: dict[str, str]) -> str:
    """Return the private folder of the socket: below XDG_RUNTIME_DIR, else /tmp with the user's number."""
    base = environ.get("XDG_RUNTIME_DIR", "")
    if base.startswith("/") and len(base) < 70 and _exists(base):
        return f"{base}/recall-git"
    return f"/tmp/recall-git-{posix.getuid()}"


def socket_name(path: str = __file__) -> str:
    """Return the socket's file name: one for each installed copy (FNV-1a of its path)."""
    number = 0xCBF29CE484222325
    for byte in path.encode("utf-8", "surrogateescape"):
        number = ((number ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{number:016x}.sock"


def _message(args: list[str], environ: dict[str, str], timeout_ms: int, data: bytes) -> bytes:
    pairs = [(name, value) for name, value in environ.items() if name in ENV or name.startswith("RECALL_")]
    kind = "\x1f".join(args) or "hook"
    head = [VERSION, kind, str(timeout_ms), posix.getcwd(), str(len(pairs))]
    for name, value in pairs:
        head += (name, value)
    return "\0".join(head).encode("utf-8", "surrogateescape") + b"\0" + data


def _ask(where: str, message: bytes, deadline: float) -> bytes:
    """Return the server's answer, b'' when there is none in time."""
    path = f"{where}/{socket_name()}"
    spawned = False
    while True:
        left = deadline - monotonic()
        if left <= 0:
            return b""
        talk = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            talk.settimeout(left)
            if not _is_ours(where):
                raise OSError
            talk.connect(path)
        except OSError:
            talk.close()
            if not spawned:
                _spawn(where)
                spawned = True
                if message.split(b"\0", 2)[1] == b"git\x1fpre-commit":
                    return b""  # a commit does not wait for a start; post-commit indexes
            sleep(0.01)
            continue
        try:
            talk.sendall(message)
            talk.shutdown(_socket.SHUT_WR)
            parts = []
            while True:
                talk.settimeout(max(0.001, deadline - monotonic()))
                part = talk.recv(65536)
                if not part:
                    break
                parts.append(part)
        except OSError:
            return b""
        finally:
            talk.close()
        answer = b"".join(parts)
        if answer == b"\0restart":
            sleep(0.02)
            continue
        return answer


def _is_ours(where: str) -> bool:
    """Whether the socket's folder is a private folder of this user: anybody may make a folder in /tmp."""
    status = posix.lstat(where)
    return status.st_uid == posix.getuid() and (status.st_mode & 0o170077) == 0o040000


def _spawn(where: str) -> None:
    """Start the resident process, detached: own session, no streams, no folder of the user's as cwd."""
    if posix.fork():
        return
    try:
        posix.setsid()
        if posix.fork():
            posix._exit(0)
        posix.chdir("/")
        null = posix.open("/dev/null", posix.O_RDWR)
        for stream in (0, 1, 2):
            posix.dup2(null, stream)
        posix.execv(sys.executable, [sys.executable, "-c", bootstrap("server"), where])
    finally:
        posix._exit(0)


def _one_shot(args: list[str], data: bytes) -> None:
    """Let a full interpreter answer this one event."""
    feed_out, feed_in = posix.pipe()
    child = posix.fork()
    if child == 0:
        try:
            posix.dup2(feed_out, 0)
            posix.close(feed_in)
            null = posix.open("/dev/null", posix.O_WRONLY)
            posix.dup2(null, 2)
            posix.execv(sys.executable, [sys.executable, "-c", bootstrap("oneshot"), *args])
        finally:
            posix._exit(0)
    posix.close(feed_out)
    try:
        view = memoryview(data)
        while view:
            view = view[posix.write(feed_in, view) :]
    except OSError:
        pass
    posix.close(feed_in)
    posix.waitpid(child, 0)


def bootstrap(module: str) -> str:
    """Return the program of a full interpreter: our package first, the current folder (anybody's) not at all."""
    root = __file__.rsplit("/", 2)[0]
    clean = f"sys.path[:] = [{root!r}] + [path for path in sys.path if path]"
    return f"import sys; {clean}; from recall_git import {module}; {module}.main(sys.argv[1:])"


def _exists(path: str) -> bool:
    try:
        posix.stat(path)
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


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[posix.write(1, view) :]


def _text(raw: str | bytes) -> str:
    return raw.decode("utf-8", "surrogateescape") if isinstance(raw, bytes) else raw


if __name__ == "__main__":
    main()
    sys.exit(0)
