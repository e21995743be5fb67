"""What Linux tells about folders: whether anything in them was written since it was asked last.

There is no such call in the standard library; three functions of the C library are asked through ctypes. On other
systems, and where the kernel grants no watch, ``Folders`` cannot be made, and the caller looks for itself.
"""

from __future__ import annotations

import ctypes
import os
import struct
import weakref
from collections.abc import Collection, Iterable

_CREATE, _MOVED_FROM, _MOVED_TO, _DELETE, _CLOSE_WRITE, _ATTRIB, _MODIFY = 0x100, 0x40, 0x80, 0x200, 0x8, 0x4, 0x2
_MOVE_SELF, _ONLY_FOLDERS = 0x800, 0x01000000
_ASKED = (
    _CREATE | _MOVED_FROM | _MOVED_TO | _DELETE | _CLOSE_WRITE | _ATTRIB | _MODIFY | _MOVE_SELF | _ONLY_FOLDERS
)  # fmt: skip
_IS_FOLDER, _WHOLE = 0x40000000, 0x4000 | 0x2000 | 0x8000 | 0x400 | _MOVE_SELF
"""An entry that is a folder; what concerns a watched folder itself, or all: overflow, unmounted, moved, deleted."""
_HEAD = struct.Struct("iIII")
_FLAGS = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class Folders:
    """Watches *folders*, not what lies below them. Raises OSError when it cannot.

    Nothing is told of what other machines write to a network file system.
    """

    def __init__(self, folders: Iterable[str], extensions: Collection[str]) -> None:
        self.made: list[str] = []
        """Folders that were made in the watched ones, or moved there: nobody watches them."""
        self._names: dict[int, str] = {}
        if os.name != "posix":  # Windows has no library without a name
            raise OSError("this system has no inotify")
        library = ctypes.CDLL(None, use_errno=True)
        if not hasattr(library, "inotify_init1"):
            raise OSError("this system has no inotify")
        self._library = library
        self._handle = library.inotify_init1(_FLAGS)
        if self._handle < 0:
            raise OSError(ctypes.get_errno(), "no inotify handle")
        self._close = weakref.finalize(self, os.close, self._handle)
        self._endings = tuple(f".{extension.lstrip('.').lower()}".encode() for extension in extensions)
        try:
            self.watch(folders)
        except OSError:
            self._close()
            raise

    def watch(self, folders: Iterable[str]) -> None:
        """Watch *folders* too. Raises OSError at the first of them that it cannot; those before are watched."""
        for folder in folders:
            watch = self._library.inotify_add_watch(self._handle, os.fsencode(folder), _ASKED)
            if watch < 0:
                raise OSError(ctypes.get_errno(), "no watch", folder)
            self._names[watch] = folder

    def changed(self) -> bool:
        """Whether a file with one of the extensions, or a folder, has changed since this was asked last."""
        found = False
        while True:
            try:
                data = os.read(self._handle, 1 << 16)
            except BlockingIOError:
                return found
            at = 0
            while at < len(data):
                watch, mask, _, size = _HEAD.unpack_from(data, at)
                name = data[at + _HEAD.size : at + _HEAD.size + size].rstrip(b"\0")
                at += _HEAD.size + size
                is_folder = mask & _IS_FOLDER and not mask & (_ATTRIB | _MODIFY)
                if mask & _IS_FOLDER and mask & (_CREATE | _MOVED_TO) and watch in self._names:
                    self.made.append(f"{self._names[watch]}/{os.fsdecode(name)}")
                found = found or bool(mask & _WHOLE or is_folder or name.lower().endswith(self._endings))
