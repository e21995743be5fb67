"""What our installers changed in other people's files, and how to take it back to the byte.

A receipt is a JSON file beside our own state. For each file it holds what was there before we wrote
and a hash of what we left: if that is still there, taking back restores every byte, the mode and
a symbolic link's target; if somebody has changed the file since, the caller removes only what is ours.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recall_git.errors import EXIT_USER, RecallError

VERSION = 1


class Refused(RecallError):
    """Something of the user's is in the way, and writing over it would lose it."""

    exit_code = EXIT_USER


@dataclass(frozen=True, slots=True)
class FileState:
    """What lies at a path: nothing, a regular file or a symbolic link (never followed)."""

    kind: str = "absent"
    """``absent``, ``file`` or ``link``."""
    data: bytes = b""
    """The file's bytes, or the link's target."""
    mode: int = 0
    """Permission bits; 0 for links."""

    @property
    def digest(self) -> str:
        """A hash of everything that restoring restores."""
        head = f"{self.kind} {self.mode:o}\n".encode("ascii")
        return hashlib.sha256(head + self.data).hexdigest()


ABSENT = FileState()


def look(path: Path) -> FileState:
    """Return what lies at *path*; raises Refused for a folder, a socket and the like."""
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT
    if stat.S_ISLNK(found.st_mode):
        return FileState("link", os.fsencode(path.readlink()))
    if not stat.S_ISREG(found.st_mode):
        raise Refused(f"{path} is not a file; move it away and try again")
    return FileState("file", path.read_bytes(), stat.S_IMODE(found.st_mode))


def put(path: Path, state: FileState) -> None:
    """Make *path* be *state*: written beside it and renamed over it, or removed. Links are not followed."""
    if state.kind == "absent":
        path.unlink(missing_ok=True)
    elif state.kind == "link":
        beside = Path(tempfile.mktemp(prefix=".recall-", dir=path.parent))
        beside.symlink_to(os.fsdecode(state.data))
        beside.replace(path)
    else:
        write_atomic(path, state.data, state.mode)


def write_atomic(path: Path, data: bytes, mode: int) -> None:
    """Write *data* to *path* with *mode*: a reader sees the old bytes or the new, never half of them."""
    handle, name = tempfile.mkstemp(prefix=".recall-", dir=path.parent)
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        beside.chmod(mode)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def private_folder(path: Path) -> Path:
    """Make *path* a folder that only its owner can enter (0700), and return it."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.stat().st_mode & 0o077:
        path.chmod(0o700)
    return path


class Receipt:
    """The record of one installation. Changes are kept in memory until ``save``."""

    def __init__(self, path: Path) -> None:
        """Read the receipt at *path*; one that is missing or damaged is empty."""
        self.path = path
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            found = {}
        usable = isinstance(found, dict) and found.get("version") == VERSION
        self._files: dict[str, dict[str, Any]] = found.get("files", {}) if usable else {}
        self.facts: dict[str, Any] = found.get("facts", {}) if usable else {}
        """Anything else that the installer wants to know when it takes back; JSON values."""

    def save(self) -> None:
        """Write the receipt (0600), or remove it when it says nothing."""
        if not self._files and not self.facts:
            self.path.unlink(missing_ok=True)
            return
        private_folder(self.path.parent)
        text = json.dumps({"version": VERSION, "files": self._files, "facts": self.facts}, indent=1)
        write_atomic(self.path, text.encode("ascii") + b"\n", 0o600)

    def paths(self) -> list[Path]:
        """Return the files that we wrote, in the order in which we first did."""
        return [self.path_of(name) for name in self._files]

    def name_of(self, path: Path) -> str:
        """Return *path* as the receipt keeps it: seen from its folder, so that a copied repository has its own."""
        try:
            return os.path.relpath(path, self.path.parent)
        except ValueError:  # another drive on Windows
            return str(path)

    def path_of(self, name: str) -> Path:
        """Return the path that ``name_of`` named."""
        return Path(os.path.normpath(self.path.parent / name))

    def write(self, path: Path, after: FileState, *, before: FileState | None = None) -> None:
        """Make *path* be *after* and remember what was there.

        What is remembered is the state before our first write, unless the file was changed by somebody
        else in between: then it is *before* (the present state without what is ours; default: the present).
        """
        now = look(path)
        self.record(path, now, after, before=before)
        if now != after:
            put(path, after)

    def record(self, path: Path, now: FileState, after: FileState, *, before: FileState | None = None) -> None:
        """Remember a write as ``write`` does, without doing it: *path* was *now* and is *after*."""
        name = self.name_of(path)
        if name not in self._files or self._files[name]["after"] != now.digest:
            kept = before or now
            data = base64.b64encode(kept.data).decode("ascii")
            self._files[name] = {"kind": kept.kind, "data": data, "mode": kept.mode}
        self._files[name]["after"] = after.digest

    def untouched(self, path: Path) -> bool:
        """Whether we wrote *path* and it is still as we left it."""
        entry = self._files.get(self.name_of(path))
        return entry is not None and look(path).digest == entry["after"]

    def before(self, path: Path) -> FileState | None:
        """Return what was at *path* before us, None when we never wrote it."""
        entry = self._files.get(self.name_of(path))
        if entry is None:
            return None
        return FileState(entry["kind"], base64.b64decode(entry["data"]), entry["mode"])

    def take_back(self, path: Path) -> bool:
        """Restore *path* if it is as we left it; return whether that was done. Forgets the path either way."""
        before, untouched = self.before(path), self.untouched(path)
        self._files.pop(self.name_of(path), None)
        if before is None or not untouched:
            return False
        put(path, before)
        return True

    def forget(self, path: Path) -> None:
        """Forget *path* without touching it."""
        self._files.pop(self.name_of(path), None)
