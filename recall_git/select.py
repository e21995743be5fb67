"""Which files of a tree are notes: extensions and gitignore-style patterns; the only user of pathspec."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

import pathspec

from recall_git.config import DEFAULT_EXCLUDE, Settings


def selector(settings: Settings) -> Callable[[str], bool]:
    """Return a test for repository-relative paths. Patterns are Git's; a later one wins; ``!`` takes back."""
    endings = tuple("." + extension.lstrip(".") for extension in settings.extensions)
    excluded = pathspec.GitIgnoreSpec.from_lines((*DEFAULT_EXCLUDE, *settings.exclude))
    included = pathspec.GitIgnoreSpec.from_lines(settings.include) if settings.include else None

    def is_note(path: str) -> bool:
        if not path.lower().endswith(endings):
            return False
        return not excluded.match_file(path) and (included is None or included.match_file(path))

    return is_note


def selection_id(settings: Settings) -> str:
    """Return a short id of what ``selector`` depends on."""
    parts = (settings.extensions, DEFAULT_EXCLUDE, settings.exclude, settings.include)
    return blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
