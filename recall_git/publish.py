"""The static digest, kept with its commit: as a Git note, and as an ignored file for agents without hooks.

Both are functions of the commit alone: no clock, no identity (``owner:`` notes are left out), so any older
one can be computed again.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from recall_git import recall
from recall_git.search import Memory
from recall_git.repo import Repo

NOTES_REF = "refs/notes/recall"


def digest_text(memory: Memory) -> str:
    """Return the static digest of the memory's commit, as anybody may see it; '' when there is nothing to say."""
    return recall.start_digest(replace(memory, identity="")).text


def publish(repo: Repo, memory: Memory) -> None:
    """Attach the digest to its commit and refresh ``.recall/digest.md``, as ``recall.digest`` says."""
    if memory.settings.digest == "off":
        return
    text = digest_text(memory)
    if memory.settings.digest == "notes":
        repo.set_note(NOTES_REF, memory.commit, text)
    if repo.top is not None and memory.settings.digest == "notes":
        write_file(repo.top, text)


def write_file(top: Path, text: str) -> None:
    """Replace ``.recall/digest.md`` by *text* in one step; never through a link. An unchanged file is left alone."""
    folder, path = top / ".recall", top / ".recall" / "digest.md"
    if folder.is_symlink() or path.is_symlink() or not folder.is_dir():
        return
    data = text.encode("utf-8", "replace")
    try:
        if path.read_bytes() == data:
            return
    except OSError:
        pass
    temporary = folder / "index" / "digest.new"
    temporary.parent.mkdir(exist_ok=True)
    temporary.write_bytes(data)
    temporary.replace(path)
