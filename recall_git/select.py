"""Which files of a tree are notes.

From weak to strong: the file name's ending and the built-in list, ``.recallignore`` of the tree (of the
folder nearest to the file first), ``recall`` and ``-recall`` in its ``.gitattributes``, the user's
``recall.include`` and ``recall.exclude``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b

from recall_git import patterns
from recall_git.config import DEFAULT_EXCLUDE, Settings
from recall_git.patterns import Pattern
from recall_git.types import NoteEntry

IGNORE_FILE, ATTRIBUTES_FILE = ".recallignore", ".gitattributes"
MAX_RULES_BYTES = 65536
"""Of a longer rules file nothing is read: it comes with a clone."""
_SPECIAL = (IGNORE_FILE, ATTRIBUTES_FILE)
_NAMES = frozenset(name for name in DEFAULT_EXCLUDE if not name.endswith("/"))
_FOLDERS = frozenset(name[:-1] for name in DEFAULT_EXCLUDE if name.endswith("/"))

Read = Callable[[str], "bytes | None"]


def select(entries: Iterable[NoteEntry], settings: Settings, read: Read) -> list[NoteEntry]:
    """Return the *entries* of one tree (or of Git's index) that are notes; *read* returns a blob's bytes."""
    entries = list(entries)
    rules = [entry for entry in entries if entry.path.endswith(_SPECIAL) and entry.path.rpartition("/")[2] in _SPECIAL]
    is_note = selector(settings, [(entry.path, read(entry.blob) or b"") for entry in rules])
    return [entry for entry in entries if is_note(entry.path)]


def selector(settings: Settings, rules: Sequence[tuple[str, bytes]] = ()) -> Callable[[str], bool]:
    """Return a test for paths from the top; *rules* are the tree's own files: path and content."""
    endings = tuple("." + extension.lstrip(".") for extension in settings.extensions)
    excluded, included = _patterns(settings.exclude), _patterns(settings.include)
    ignored = {path[: -len(IGNORE_FILE)]: _ignores(data) for path, data in rules if path.endswith(IGNORE_FILE)}
    marked = {
        path[: -len(ATTRIBUTES_FILE)]: lines
        for path, data in rules
        if path.endswith(ATTRIBUTES_FILE) and (lines := _attributes(data))
    }

    def is_note(path: str) -> bool:
        said = patterns.verdict(excluded, path) if excluded else None
        if said or (included and not patterns.verdict(included, path)):
            return False
        mark = _nearest(marked, path, _mark)
        if mark is not None:
            return mark
        if not path.lower().endswith(endings):
            return False
        if said is None and ignored:
            said = _nearest(ignored, path, patterns.verdict)
        return not (said or (said is None and _built_in(path)))

    return is_note


def selection_id(settings: Settings) -> str:
    """Return a short id of the settings that ``selector`` depends on; what the tree says belongs to the tree."""
    parts = (settings.extensions, DEFAULT_EXCLUDE, settings.exclude, settings.include)
    return blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _built_in(path: str) -> bool:
    """Whether a default exclusion matches: a file's name anywhere, or a folder's."""
    folders = path.split("/")
    return folders.pop() in _NAMES or not _FOLDERS.isdisjoint(folders)


def _nearest(
    rules: dict[str, tuple[Pattern, ...]], path: str, say: Callable[[tuple[Pattern, ...], str], bool | None]
) -> bool | None:
    """Return what the rules of the folder nearest to *path* say that say anything about it."""
    folder = path
    while folder and rules:
        folder = folder.rstrip("/").rpartition("/")[0]
        folder += "/" if folder else ""
        said = say(rules[folder], path[len(folder) :]) if folder in rules else None
        if said is not None:
            return said
    return None


def _mark(lines: tuple[Pattern, ...], path: str) -> bool | None:
    """Return the attribute ``recall`` of *path*: the last line that matches wins; a folder's own does not count."""
    parts = path.split("/")
    for pattern in reversed(lines):
        if patterns.matches(pattern, parts, inside=False):
            return not pattern.negated
    return None


@lru_cache(maxsize=16)
def _patterns(lines: tuple[str, ...]) -> tuple[Pattern, ...]:
    return patterns.parse_all(lines)


@lru_cache(maxsize=64)
def _ignores(data: bytes) -> tuple[Pattern, ...]:
    return patterns.parse_all(_lines(data))


@lru_cache(maxsize=64)
def _attributes(data: bytes) -> tuple[Pattern, ...]:
    """Return the patterns that ``.gitattributes`` marks ``recall`` or (negated) ``-recall``."""
    found = []
    for line in _lines(data):
        name, *attributes = line.split()
        said = [attribute for attribute in attributes if attribute in ("recall", "-recall")]
        pattern = patterns.parse(name.strip('"')) if said else None
        if pattern is not None and not pattern.negated and not pattern.folders_only:
            found.append(Pattern(pattern.parts, negated=said[-1] == "-recall"))
    return tuple(found)


def _lines(data: bytes) -> list[str]:
    """Return the lines that are not blank; a BOM and CRLF do no harm."""
    if len(data) > MAX_RULES_BYTES:
        return []
    return [line for line in data.decode("utf-8-sig", "surrogateescape").split("\n") if line.strip()]
