"""Git's patterns (``gitignore``, ``gitattributes``), matched in linear time. Pure.

Patterns may arrive with a clone and are tried on paths that arrive with it, so nothing here backtracks:
a component is one regular expression without nested choice, and ``**`` is a set of states.
Against Git there is one difference, on purpose: of the patterns that match, the last one wins, also
when an earlier one matched a folder around it.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

_ANY = "**"
_WILD = re.compile(r"[*?\[\\]")


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line, taken apart."""

    parts: tuple[str, ...]
    """Components from the top; ``**`` stands for any number of folders."""
    negated: bool = False
    folders_only: bool = False


def parse(line: str, *, comments: bool = True) -> Pattern | None:
    """Return the pattern on a line of an ignore file, None for a blank one or (with *comments*) a comment."""
    text = re.sub(r"(?<!\\) +$", "", line.rstrip("\r\n"))
    if not text or (comments and text.startswith("#")):
        return None
    negated = text.startswith("!")
    text = text[negated:]
    folders_only = text.endswith("/")
    text = text.rstrip("/")
    anchored = "/" in text
    parts = [part for part in text.split("/") if part]
    if not parts:
        return None
    if not anchored and parts != [_ANY]:
        parts.insert(0, _ANY)
    if parts[-1] == _ANY:
        parts.append("*")  # what is inside, not the folder itself
    return Pattern(tuple(parts), negated, folders_only)


def parse_all(lines: Iterable[str]) -> tuple[Pattern, ...]:
    """Return the patterns of *lines*, in order."""
    return tuple(found for found in map(parse, lines) if found is not None)


def verdict(patterns: Sequence[Pattern], path: str) -> bool | None:
    """Return what the last pattern that matches the file *path*, or a folder around it, says; None when none does.

    True: listed; False: taken back by ``!``.
    """
    parts = path.split("/")
    for pattern in reversed(patterns):
        if matches(pattern, parts):
            return not pattern.negated
    return None


def matches(pattern: Pattern, path: Sequence[str], *, inside: bool = True) -> bool:
    """Whether *pattern* matches the file whose components are *path* or, with *inside*, a folder around it."""
    wanted, end = pattern.parts, len(pattern.parts)
    states = _closed({0}, wanted)
    for place, name in enumerate(path, start=1):
        reached = set()
        for state in states:
            if state < end and wanted[state] == _ANY:
                reached.add(state)
            elif state < end and _fits(wanted[state], name):
                reached.add(state + 1)
        states = _closed(reached, wanted)
        if not states:
            return False
        if end in states and (inside or place == len(path)) and (place < len(path) or not pattern.folders_only):
            return True
    return False


def _closed(states: set[int], wanted: Sequence[str]) -> set[int]:
    """Return *states* and those that follow without a component: ``**`` may stand for no folder."""
    for state in sorted(states):
        while state < len(wanted) and wanted[state] == _ANY:
            state += 1
            states.add(state)
    return states


@lru_cache(maxsize=4096)
def _fits(pattern: str, name: str) -> bool:
    return pattern == name if not _WILD.search(pattern) else _compiled(pattern).match(name) is not None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    """Return one component as a regular expression; ``fnmatch`` writes its stars so that they never backtrack."""
    text = re.sub(r"\\(.)", lambda found: f"[{found[1]}]" if found[1] in "*?[" else found[1], pattern)
    text = text.replace("[^", "[!")
    try:
        return re.compile(fnmatch.translate(text))
    except re.error:
        return re.compile(re.escape(pattern) + r"\Z")
