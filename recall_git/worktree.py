"""What is read from the work tree, the exception to 'Git objects only': the dictionary and uncommitted notes.

Regular files inside the repository only. No link is followed, neither the file nor a folder on the way.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

NOTE_BYTES_MAX = 256 << 10
"""A longer file is not recalled as an uncommitted note."""
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def read(top: Path, path: str, limit: int) -> bytes | None:
    """Return the bytes of the file at *path* (POSIX, from *top*), None when it is no regular file of at most *limit*.

    None also for a path that leaves *top*, a link, a pipe, a file that cannot be read.
    """
    parts = path.split("/")
    if not path or any(part in ("", ".", "..") or "\0" in part for part in parts) or Path(path).is_absolute():
        return None
    place = top
    try:
        for part in parts[:-1]:
            place /= part
            if not stat.S_ISDIR(place.lstat().st_mode):
                return None
        handle = os.open(place / parts[-1], os.O_RDONLY | _NOFOLLOW)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
            return None
        data = b""
        while part_read := os.read(handle, limit + 1 - len(data)):
            data += part_read
        return data if len(data) <= limit else None
    except OSError:
        return None
    finally:
        os.close(handle)
