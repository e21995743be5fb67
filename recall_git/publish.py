"""The static digest, kept with its commit: as a Git note, and as an ignored file for agents without hooks.

Both are functions of the commit alone: no clock, no identity (``owner:`` notes are left out), so any older
one can be computed again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from recall_git import recall
from recall_git.errors import RecallError
from recall_git.repo import Repo
from recall_git.search import Memory

NOTES_REF = "refs/notes/recall"
DIGEST_FILE = ".recall/digest.md"


def digest_text(memory: Memory) -> str:
    """Return the static digest of the memory's commit, as anybody may see it; '' when there is nothing to say."""
    return recall.start_digest(replace(memory, identity="")).text


def publish(repo: Repo, memory: Memory, *, note: bool = True) -> None:
    """Attach the digest to its commit (with *note*) and refresh ``.recall/digest.md``, as ``recall.digest`` says.

    Raises RecallError when Git refuses the note or the file cannot be written.
    """
    if memory.settings.digest != "notes":
        return
    text = digest_text(memory)
    with _alone(repo):
        if note:
            repo.set_note(NOTES_REF, memory.commit, text)
        if repo.top is not None:
            write_file(repo, repo.top, text)


def prune(repo: Repo) -> int:
    """Remove the digests of commits that Git has forgotten; return how many."""
    with _alone(repo):
        return repo.drop_notes(NOTES_REF)


@contextmanager
def _alone(repo: Repo) -> Iterator[None]:
    """Wait for others of us who publish in this repository: Git refuses two writers of one reference."""
    from filelock import FileLock, Timeout

    try:
        with FileLock(str(repo.state_dir / "publish.lock"), timeout=10):
            yield
    except Timeout as error:
        raise RecallError("another process has been publishing the digest for 10 s; try again") from error
    except OSError as error:
        where = error.filename or repo.state_dir
        raise RecallError(f"the digest cannot be written to {where} ({error.strerror}); make it writable") from error


def write_file(repo: Repo, top: Path, text: str) -> None:
    """Make ``.recall/digest.md`` of the work tree *top* hold *text*, in one step; never through a link.

    Only where Git ignores it: a commit from before ``git recall init`` has no ``.recall/.gitignore``, and there
    the file would show as untracked, so it goes. A tracked one is the user's. An unchanged one is left alone.
    """
    folder, path = top / ".recall", top / DIGEST_FILE
    if folder.is_symlink() or path.is_symlink() or not folder.is_dir() or repo.tracked(DIGEST_FILE):
        return
    if not repo.git("check-ignore", DIGEST_FILE, check=False):
        path.unlink(missing_ok=True)
        return
    data = text.encode("utf-8", "replace")
    with suppress(OSError):
        if path.read_bytes() == data:
            return
    index = folder / "index"
    if index.is_symlink():
        return
    index.mkdir(exist_ok=True)
    for left in index.glob("digest-*"):  # of one that was killed
        left.unlink(missing_ok=True)
    temporary = index / f"digest-{os.urandom(6).hex()}"
    temporary.write_bytes(data)
    temporary.replace(path)
