"""Writes one note into the work tree: a proper name, front matter, the folder of its type. Never overwrites."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from recall_git import chunks, guard, notes, worktree
from recall_git.config import Settings
from recall_git.errors import HoldsSecret, NoSuchNote, NotWritable
from recall_git.repo import Repo
from recall_git.select import select
from recall_git.sync import folder_type

FOLDERS = {
    "lesson": "lessons",
    "conclusion": "conclusions",
    "decision": "decisions",
    "knowledge": "knowledge",
    "profile": "profile",
    "note": "notes",
}
"""Where a note of a type goes when the repository has no folder for it."""
TYPES = tuple(FOLDERS)
TITLE_CHARS = 80
SLUG_CHARS = 60
SLUG_BYTES = 150
"""A name in Han characters has three bytes each, and 255 is what file systems take."""
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)", re.I)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A note to be written."""

    text: str
    type: str
    title: str = ""
    priority: str = ""
    tags: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    date: str = ""


def write(repo: Repo, settings: Settings, wanted: Wanted, *, force: bool = False) -> str:
    """Write the note and return its path from the repository's top.

    Raises HoldsSecret (unless *force*), NoSuchNote for a superseded note that is not there, NotWritable.
    """
    if repo.top is None:
        raise NotWritable("a bare repository has no work tree")
    content = text_of(wanted, [_known(repo, path) for path in wanted.supersedes])
    masked = guard.mask(content)
    if masked != content and not force:
        raise HoldsSecret(_around_mask(masked))
    folder = folder_for(repo, settings, wanted.type)
    base, number = slug(title_of(wanted)), 1
    while True:
        path = f"{folder}{base}{f'-{number}' if number > 1 else ''}.md"
        if not _is_note(repo, settings, path):
            raise NotWritable(f"'{path}' would be no note by recall.include, recall.exclude or .recallignore")
        if _create(repo.top, path, content):
            return path
        number += 1


def text_of(wanted: Wanted, supersedes: Sequence[str] = ()) -> str:
    """Return the note as it will be written."""
    front: dict[str, object] = {"type": wanted.type, "date": wanted.date}
    if wanted.priority:
        front["priority"] = wanted.priority
    if wanted.tags:
        front["tags"] = [tag.lstrip("#") for tag in wanted.tags]
    if supersedes:
        front["supersedes"] = list(supersedes)
    title, text = title_of(wanted), wanted.text.strip()
    text = re.sub(r"\A#\s+[^\n]*\n*", "", text)
    if notes.plain(text).rstrip(".。") == title.rstrip("."):
        text = ""  # one sentence says it all
    # JSON's scalars and lists are YAML's too, and leave nothing to guess.
    rows = [f"{key}: {_yaml(value)}" for key, value in front.items() if value]
    return "\n".join(("---", *rows, "---", f"# {title}", *(("", text) if text else ()), ""))


def _yaml(value: object) -> str:
    plain = isinstance(value, str) and re.fullmatch(r"[a-z][a-z-]*|\d{4}-\d\d-\d\d", value)
    return str(value) if plain else json.dumps(value, ensure_ascii=False)


def title_of(wanted: Wanted) -> str:
    """Return the title: given, else the text's own H1, else its first sentence."""
    heading = re.match(r"#\s+([^\n]+)", wanted.text.strip())
    written = wanted.title or (heading[1] if heading else next(chunks.sentences(notes.plain(wanted.text)), ""))
    return notes.shorten(notes.plain(written), TITLE_CHARS).rstrip(".。") or "Untitled"


def slug(title: str) -> str:
    """Return a file name without its ending: letters and digits of any script, joined by dashes, never empty."""
    folded = unicodedata.normalize("NFKC", title).casefold()
    words = re.sub(r"[^\w]+|_+", "-", folded).strip("-")
    while len(words) > SLUG_CHARS or len(words.encode()) > SLUG_BYTES:
        words = words[: min(len(words) - 1, SLUG_CHARS)]
        shorter = words.rpartition("-")[0]
        words = shorter if len(shorter) > SLUG_CHARS // 2 else words
    words = words.strip("-")
    if not words or _RESERVED.fullmatch(words):
        words = f"note-{blake2b(title.encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}"
    return words


def folder_for(repo: Repo, settings: Settings, kind: str) -> str:
    """Return the folder (with '/') that has most notes of this type by its name, else the usual one at the top."""
    head = repo.head()
    found: Counter[str] = Counter()
    for entry in select(repo.files(head.tree), settings, repo.read) if head else ():
        folder = entry.path.rpartition("/")[0]
        if folder and folder_type(entry.path, settings) == kind and kind != "note":
            found[f"{folder}/"] += 1
    if not found:
        return f"{FOLDERS.get(kind, 'notes')}/"
    return min(found, key=lambda folder: (-found[folder], folder.count("/"), folder))


def commit(repo: Repo, path: str, message: str) -> str:
    """Commit *path* and nothing else; what is staged besides stays staged. Returns the commit's id."""
    repo.git("add", "--", path)
    repo.git("commit", "--quiet", "--only", "-m", message, "--", path)
    return repo.git("rev-parse", "HEAD").decode("ascii").strip()


def _known(repo: Repo, path: str) -> str:
    """Return *path* from the top; raises NoSuchNote when neither the work tree nor the commit has it."""
    assert repo.top is not None
    head = repo.head()
    here = Path(os.path.normpath(Path.cwd() / path))
    for name in (path, here.relative_to(repo.top).as_posix() if here.is_relative_to(repo.top) else ""):
        if name and (
            worktree.read(repo.top, name, 1 << 30) is not None or (head and repo.file_in_tree(head.tree, name))
        ):
            return name
    raise NoSuchNote(path)


def _is_note(repo: Repo, settings: Settings, path: str) -> bool:
    from recall_git.types import NoteEntry

    head = repo.head()
    rules = [e for e in repo.files(head.tree) if e.path.endswith((".recallignore", ".gitattributes"))] if head else []
    return any(entry.path == path for entry in select([*rules, NoteEntry(path, "")], settings, repo.read))


def _create(top: Path, path: str, content: str) -> bool:
    """Create the file, never through a link; False when something is there already."""
    place = top
    *folders, name = path.split("/")
    try:
        for folder in folders:
            place /= folder
            place.mkdir(exist_ok=True)
            if place.is_symlink():
                raise NotWritable(f"'{folder}' is a link")
        with (place / name).open("x", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            file.write(content)
    except FileExistsError:
        if not place.is_dir():
            raise NotWritable(f"'{place.name}' is no folder") from None
        return False
    except OSError as error:
        raise NotWritable(f"{path}: {error.strerror}") from error
    return True


def _around_mask(masked: str) -> str:
    at = masked.index(guard.MASK)
    line = masked[masked.rfind("\n", 0, at) + 1 :].split("\n", 1)[0]
    return guard.line(line, 100)
