"""What the tests of this folder share: notes to write, digests to look at."""

from __future__ import annotations

from recall_git.types import Digest, Document

BASE = Document(
    path="a.md", blob="", line=1, heading=(), title="A", summary="S.", tags=(), type="note", priority="", date="",
    owner="", expires="", supersedes=(), superseded_by="", aliases=(), content_hash="0" * 16,
)  # fmt: skip


def note(title: str, text: str, **front: str) -> str:
    """Return a note with front matter."""
    rows = "".join(f"{key}: {value}\n" for key, value in front.items())
    return f"---\n{rows}---\n# {title}\n\n{text}\n" if rows else f"# {title}\n\n{text}\n"


def placed(made: Digest) -> list[str]:
    """Return ``slot/path`` of each entry."""
    return [f"{item.slot}/{item.document.path}" for item in made.placed]


def lines(made: Digest) -> list[str]:
    """Return the entries as they are shown."""
    return [line for line in made.text.split("\n") if line.startswith("- ")]
