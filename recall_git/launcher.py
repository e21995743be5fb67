"""The launcher: a small shell script in the user's data folder that every hook runs.

Agents' settings and Git's hook files live longer than an installed program: a deleted environment must
leave hooks that end with 0 and say nothing, and `python missing.py` ends with 2, which erases the prompt
in Claude Code. So hooks name this script, and it looks before it starts anything.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from recall_git import talk
from recall_git.errors import RecallError

NAME = "recall-git-hook"
MODE = 0o755
_TEMPLATE = """\
#!/bin/sh
# Written by recall-git; every agent and Git hook starts here. It says nothing and ends with 0 when the
# program is gone or broken.
python={python}
client={client}
[ -x "$python" ] && [ -f "$client" ] || exit 0
{wake}"$python" -I -S "$client" "$@" 2>/dev/null || exit 0
"""
_WAKE = """\
# A resident process that sleeps is woken now: it gets ready while the interpreter starts. Behind us, for a pipe
# that nobody empties takes no more some day.
if [ "$1" != git ]; then
  for folder in "$XDG_RUNTIME_DIR/recall-git" {shared}; do
    [ -O "$folder" ] && [ -p "$folder"/{pipe} ] && printf . 1<>"$folder"/{pipe} && break
  done >/dev/null 2>&1 &
fi
"""


def folder(environ: Mapping[str, str] | None = None, platform: str = sys.platform) -> Path:
    """Return the user's folder for our data: XDG_DATA_HOME (absolute only), ~/.local/share, or LOCALAPPDATA."""
    environ = os.environ if environ is None else environ
    if platform == "win32" and environ.get("LOCALAPPDATA"):
        return Path(environ["LOCALAPPDATA"]) / "recall-git"
    named = environ.get("XDG_DATA_HOME", "")
    base = Path(named) if named.startswith("/") else Path.home() / ".local" / "share"
    return base / "recall-git"


def ensure(data_dir: Path | None = None) -> Path:
    """Return the launcher's path, written there if it is missing or differs.

    The folder is made private (0700), the file is 0755 and replaced in one step. Raises RecallError when
    the folder cannot be written or this interpreter does not know its own path.
    """
    from recall_git import receipt

    if not sys.executable:
        raise RecallError("this Python does not know where it is (sys.executable is empty); install with pip or uv")
    client = Path(__file__).resolve().with_name("client.py")
    wanted = receipt.FileState("file", script(sys.executable, client), MODE)
    path = (data_dir or folder()) / NAME
    try:
        receipt.private_folder(path.parent)
        if receipt.look(path) != wanted:
            receipt.put(path, wanted)
    except OSError as error:
        raise RecallError(f"cannot write {path} ({error.strerror}); make its folder writable") from error
    return path


def script(python: str | Path, client: Path) -> bytes:
    """Return the launcher's bytes for this interpreter and this client; any path is quoted safely."""
    shared, wake = talk.shared_folder(), ""
    if shared:  # where there are Unix sockets
        pipe = talk.wake_name(talk.socket_name(Path(client).with_name("talk.py").as_posix()))
        wake = _WAKE.format(shared=shlex.quote(shared), pipe=pipe)
    return os.fsencode(_TEMPLATE.format(python=quote(python), client=quote(client), wake=wake))


def quote(path: str | Path) -> str:
    """Return *path* as one word of a POSIX shell, with forward slashes (Git's sh on Windows too)."""
    return shlex.quote(Path(path).as_posix())


def targets(launcher: Path) -> tuple[Path, Path] | None:
    """Return the interpreter and the client that *launcher* starts, None when it is not one of ours."""
    try:
        text = os.fsdecode(launcher.read_bytes())
    except OSError:
        return None
    found = [re.search(rf"(?ms)^{name}=(.*?)\n(?=client=|\[ )", text) for name in ("python", "client")]
    words = [shlex.split(match[1]) for match in found if match]
    if len(words) != 2 or any(len(word) != 1 for word in words):
        return None
    return Path(words[0][0]), Path(words[1][0])


def fault(launcher: Path) -> str:
    """Return why *launcher* does nothing when it is run, '' when it works."""
    if not launcher.is_file():
        return f"{launcher} is missing"
    if not os.access(launcher, os.X_OK):
        return f"{launcher} is not executable"
    found = targets(launcher)
    if found is None:
        return f"{launcher} was not written by recall-git"
    python, client = found
    if not os.access(python, os.X_OK):
        return f"its interpreter {python} is gone"
    if not client.is_file():
        return f"its program {client} is gone"
    return ""
