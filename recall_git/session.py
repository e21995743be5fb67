"""What a session has been given, so that nothing is fed to it twice.

One file a session, named by the hash of its id, in a folder under the Git directory. The file is a
list of events, one JSON line each, appended with a single ``write``: two processes of one session
(hooks run in parallel) cannot lose each other's events, and neither waits for a lock. A state file
rewritten as a whole would need one, and the prompt path has no time to wait. Only a file that has
grown large is rewritten, by atomic replacement. A damaged line, or file, costs only itself.

No clock: *now* is seconds since the epoch and the caller's.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Container, Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from recall_git.types import Document, Placed

ENTRIES_MAX = 2000
"""Notes remembered for one session, newest kept; at 5 a turn that is 400 turns between compactions."""
BYTES_MAX = 256 << 10
"""The file is rewritten past this size: at about 150 bytes an entry, just below ``ENTRIES_MAX``."""
LIFE_S = 7 * 86400
"""A session that was silent for a week is over."""
ONCE_LIFE_S = 3600
ONCE_WINDOW_S = 10.0
"""Two copies of one event arrive within this; the same words later are a new prompt."""

QUIET_S = 600
"""An agent that has no event for the end of a session is over after so long a silence."""
RESUME_NOTES = 3
RESUME_LOOKS = 8
"""Sessions that are looked at for a resume line, newest first."""

_SEP = "\x1f"
_STATE = ".jsonl"
_ONCE = ".once"
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)


class Session:
    """The state of one session; read it with ``load``, change it, then ``save``."""

    __slots__ = ("_asked", "_given", "_last", "_over", "_path", "_pending", "_prompts", "_where", "bare", "given_paths")

    def __init__(self, path: Path) -> None:
        self._path = path
        self._given: dict[str, None] = {}
        self._pending: list[dict[str, Any]] = []
        self._prompts: dict[str, float] = {}
        self._last = 0.0
        self._asked = self._where = ""
        self._over = False
        self.bare = False
        """The fixed slots are gone from the agent's context, and it has not been given them since."""
        self.given_paths: dict[str, str] = {}
        """``key(document)`` → content hash that was given for it last."""

    @classmethod
    def load(cls, folder: Path, session_id: str) -> Session:
        """Return the session's state; an unknown id or an unreadable file is an empty one. Never raises."""
        return cls._of(folder / file_name(session_id))

    @classmethod
    def _of(cls, path: Path) -> Session:
        session = cls(path)
        for event in _events(_read(session._path)):
            session._apply(event)
        return session

    @property
    def given(self) -> frozenset[str]:
        """Content hashes of the notes given since the last ``forget``."""
        return frozenset(self._given)

    def asked(self, prompt_hash: str) -> bool:
        """Tell whether this prompt was answered since the last ``forget``."""
        return prompt_hash in self._prompts

    def changed(self, document: Document, current: Container[str]) -> bool:
        """Tell whether *document* replaces one that was given.

        *current* holds the content hashes of the view: a hash that is still there was not replaced
        (a long section is several documents of one path and heading).
        """
        before = self.given_paths.get(key(document))
        return before is not None and before != document.content_hash and before not in current

    def remember(
        self,
        placed: Iterable[Placed],
        *,
        prompt_hash: str = "",
        asked: str = "",
        where: str = "",
        fixed: bool = False,
        now: float,
    ) -> None:
        """Note that *placed* was given for this prompt. Kept in memory until ``save``.

        *asked* is what stands for the prompt in a resume line, masked by the caller; *where* the folder it came from;
        *fixed* says that the fixed slots were given, be there anything in them or not.
        """
        pairs = [[key(item.document), item.document.content_hash] for item in placed]
        if pairs or prompt_hash or fixed:
            event = {"t": now, "e": "given", "p": prompt_hash, "n": pairs} | ({"s": 1} if fixed else {})
            self._record(event | ({"q": asked, "w": where} if asked else {}))

    def forget(self, *, now: float) -> None:
        """Note that the agent lost its context (compact, clear): everything may be given again, the fixed slots too."""
        self._record({"t": now, "e": "forget"})

    def end(self, *, now: float) -> None:
        """Note that the session, or a turn of it, is over: another one may take up what it was about."""
        self._record({"t": now, "e": "end"})

    def idle(self, now: float) -> bool:
        """Tell whether the session has ended, or has been silent for so long that it may have."""
        return self._over or now - self._last > QUIET_S

    def resume_line(self) -> str:
        """Return one line on when, where and about what the session was last asked; '' when it was not."""
        if not self._asked:
            return ""
        at = datetime.fromtimestamp(self._last, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
        paths = list(dict.fromkeys(name.split(_SEP)[1] for name in reversed(self.given_paths) if _SEP in name))
        where = f" in {self._where}" if self._where else ""
        used = f"; notes given: {', '.join(paths[:RESUME_NOTES])}" if paths else ""
        return f"{at}{where}: asked “{self._asked}”{used}"

    def save(self) -> bool:
        """Write what was noted since ``load``; return whether it is on disk. Never raises.

        One append; a file that is past ``BYTES_MAX`` then is rewritten. Mode 0600, folder 0700.
        """
        if not self._pending:
            return True
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            size = _append(self._path, b"".join(_line(event) for event in self._pending))
            self._pending = []
            if size > BYTES_MAX:
                _rewrite(self._path)
        except (OSError, ValueError):
            return False
        return True

    def _record(self, event: dict[str, Any]) -> None:
        self._apply(event)
        self._pending.append(event)

    def _apply(self, event: dict[str, Any]) -> None:
        self._last = event["t"]
        if event["e"] == "end":
            self._over = True
            return
        if event["e"] == "taken":
            self._asked = ""
            return
        self._over = False
        if event.get("q"):
            self._asked, self._where = event["q"], event.get("w", "")
        if event["e"] == "forget":
            self.bare = True
            self._given.clear()
            self._prompts.clear()
            return
        self.bare = self.bare and not event.get("s")
        for name, content_hash in event.get("n", ()):
            self._given.pop(content_hash, None)
            self._given[content_hash] = None
            self.given_paths.pop(name, None)
            self.given_paths[name] = content_hash
        if event.get("p"):
            self._prompts[event["p"]] = event["t"]
        for kept in (self._given, self.given_paths, self._prompts):
            _shorten(kept)

    def _folded(self) -> list[dict[str, Any]]:
        """Return events that lead to this state: what was known before a ``forget``, then what is given."""
        last = self._last
        given = [[name, hash_] for name, hash_ in self.given_paths.items() if hash_ in self._given]
        named = {hash_ for _, hash_ in given}
        given += [["", hash_] for hash_ in self._given if hash_ not in named]
        return [
            {"t": last, "e": "given", "n": [[n, h] for n, h in self.given_paths.items() if h not in self._given]},
            {"t": last, "e": "forget"},
            *({"t": time, "e": "given", "p": prompt, "n": []} for prompt, time in self._prompts.items()),
            {"t": last, "e": "given", "n": given, "q": self._asked, "w": self._where, "s": int(not self.bare)},
            *([{"t": last, "e": "end"}] if self._over else []),
        ]


def _rewrite(path: Path) -> None:
    """Replace the file by fewer events that say the same; what others append meanwhile is kept."""
    old = os.open(path, os.O_RDONLY | _NOFOLLOW)
    try:
        data = _read_from(old, 0)
        state = Session(path)
        for event in _events(data):
            state._apply(event)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NOFOLLOW, 0o600)
        try:
            _write_all(handle, b"".join(_line(event) for event in state._folded()))
        finally:
            os.close(handle)
        temporary.replace(path)
        # Who had opened the old file before it was replaced may have appended to it since.
        late = _read_from(old, len(data))
        if late:
            _append(path, late)
    finally:
        os.close(old)


def key(document: Document) -> str:
    """Return what names a section across its versions: source, path and heading path."""
    return _SEP.join((document.source, document.path, *document.heading))


def file_name(session_id: str) -> str:
    """Return a file name that is safe and different for every id, whatever the id contains."""
    return _digest(session_id) + _STATE


def first_call(folder: Path, key: str, *, now: float = 0.0, window_s: float = ONCE_WINDOW_S) -> bool:
    """Return True for exactly one of the callers that come with *key*.

    For an event that arrives twice (two installs, two settings files). With *now*, callers further
    apart than *window_s* are different events. A folder that cannot be written makes every caller
    the first: twice is better than never. Only at the edge of a window, and only in the same
    instant, can two callers both be first.
    """
    slot = int(now // window_s) if now else 0
    path = _marker(folder, key, slot)
    try:
        _make(path, folder)
        if now:
            os.utime(path, (now, now))
    except FileExistsError:
        return False
    except (OSError, ValueError):
        return True
    if not now:
        return True
    try:
        before = os.stat(_marker(folder, key, slot - 1))  # noqa: PTH116 - see _make
    except OSError:
        return True
    return before.st_mtime <= now - window_s


def take_back(folder: Path, key: str, *, now: float) -> None:
    """Undo the ``first_call`` at *now*: what came of it was lost, and the next caller is the first. Never raises."""
    slot = int(now // ONCE_WINDOW_S)
    for marker in (_marker(folder, key, slot), _marker(folder, key, slot + 1)):  # a copy may have left the second
        with contextlib.suppress(OSError):
            Path(marker).unlink()


def _marker(folder: Path, key: str, slot: int) -> str:
    return f"{folder}/{_digest(key + _SEP + str(slot))}{_ONCE}"


def _make(path: str, folder: Path) -> None:
    """Make the empty file *path* in *folder*. A string: every prompt makes one, and Path costs more than the call."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        os.close(os.open(path, flags, 0o600))
    except FileNotFoundError:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, flags, 0o600))


def resume_of(folder: Path, session_id: str, *, now: float, own: bool) -> str:
    """Return the resume line for a session that starts, '' when there is none; the same line is given once.

    *own*: of the session itself, which has been compacted. Else of the one that was at work last, if that is over
    and not older than a week.
    """
    if own:
        return _once(folder, Session.load(folder, session_id))
    found: list[tuple[float, Path]] = []
    with contextlib.suppress(OSError):
        for item in os.scandir(folder):
            if item.name.endswith(_STATE) and item.name != file_name(session_id):
                found.append((item.stat(follow_symlinks=False).st_mtime, Path(item.path)))
    for _, path in sorted(found, reverse=True)[:RESUME_LOOKS]:
        session = Session._of(path)
        if session._asked and session.idle(now):
            return _once(folder, session) if now - session._last < LIFE_S else ""
    return ""


def _once(folder: Path, session: Session) -> str:
    line = session.resume_line()
    if not line or not first_call(folder, _SEP.join(("resume", session._path.name, line))):
        return ""
    session._record({"t": session._last, "e": "taken"})
    session.save()
    return line


def sweep(folder: Path, now: float) -> int:
    """Remove sessions that were silent for a week and spent markers; return how many. Never raises."""
    removed = 0
    try:
        found = list(os.scandir(folder))
    except OSError:
        return 0
    for item in found:
        life = {_STATE: LIFE_S, _ONCE: ONCE_LIFE_S, ".tmp": ONCE_LIFE_S}.get(Path(item.name).suffix)
        if life is None:
            continue
        with contextlib.suppress(OSError):
            if item.stat(follow_symlinks=False).st_mtime < now - life:
                Path(item.path).unlink()
                removed += 1
    return removed


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _shorten(kept: dict[str, Any]) -> None:
    while len(kept) > ENTRIES_MAX:
        del kept[next(iter(kept))]


def _events(data: bytes) -> list[dict[str, Any]]:
    """Return the events in *data* that have the right shape; the rest is skipped."""
    found = []
    for line in data.split(b"\n"):
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if _sound(event):
            found.append(event)
    return found


def _sound(event: object) -> bool:
    if not isinstance(event, dict) or not isinstance(event.get("t"), int | float):
        return False
    pairs = event.get("n", [])
    return (
        event.get("e") in ("given", "forget", "end", "taken")
        and all(isinstance(event.get(name, ""), str) for name in "pqw")
        and isinstance(pairs, list)
        and all(isinstance(p, list) and len(p) == 2 and all(isinstance(part, str) for part in p) for p in pairs)
    )


def _line(event: dict[str, Any]) -> bytes:
    # ASCII, so that paths which are not UTF-8 (lone surrogates) survive. The newline in front ends a
    # line that another process could not finish.
    return b"\n" + json.dumps(event, separators=(",", ":")).encode("ascii") + b"\n"


def _read(path: Path) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | _NOFOLLOW)
    except (OSError, ValueError):
        return b""
    try:
        return _read_from(handle, 0)
    except OSError:
        return b""
    finally:
        os.close(handle)


def _read_from(handle: int, offset: int) -> bytes:
    os.lseek(handle, offset, os.SEEK_SET)
    parts = []
    while part := os.read(handle, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _append(path: Path, data: bytes) -> int:
    """Append *data* in one write and return the size of the file."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NOFOLLOW, 0o600)
    try:
        _write_all(handle, data)
        return os.fstat(handle).st_size
    finally:
        os.close(handle)


def _write_all(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]
