"""Order what both legs found: directory weights, strong hits, near-copies, two sections a note. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from math import log

from recall_git.types import Hit

PER_NOTE = 2
"""Most sections of one note among the results (fuyao v1.1 has the same bound)."""
WEIGHT_STEP = 0.02
"""Score that a directory weight of e (2.718) is worth: 1.3 moves a hit by .005, never past a strong one."""
WEAK_FLOOR = 0.65
"""Share of the best score that a hit needs when it lacks the query's strong words (fuyao F11)."""
STRONG_SHARE = 0.5
"""Share of the weight of those words that counts as having them. If any one of them does, of the entries shown fewer
are right on all of nine sets (xquad-en .71 instead of .77, scifact .25 instead of .30), and 0 to 6 % more of the right
ones are shown."""

_WORDS = re.compile(r"[^\W_]+")


def order(hits: Sequence[Hit], weights: Sequence[str]) -> list[Hit]:
    """Return *hits* best first, without near-copies and with at most ``PER_NOTE`` sections of a note.

    *weights* are ``FOLDER/=NUMBER``. Ties: by path, then line.
    """
    pairs = [(folder.strip("/"), float(value)) for folder, _, value in (weight.rpartition("=") for weight in weights)]
    weighted = [_weighted(hit, _weight(hit.document.path, pairs)) for hit in hits]
    weighted.sort(key=lambda hit: (-round(hit.score, 5), hit.document.path, hit.document.line))
    return _without_copies(weighted)


def _weighted(hit: Hit, weight: float) -> Hit:
    return hit if weight == 1 else replace(hit, score=hit.score + WEIGHT_STEP * log(weight))


def _weight(path: str, pairs: Sequence[tuple[str, float]]) -> float:
    """Return the weight of the longest folder in *pairs* that *path* lies below (the last one counts), else 1."""
    best, found = -1, 1.0
    for folder, value in pairs:
        if len(folder) >= best and path.startswith(f"{folder}/"):
            best, found = len(folder), value
    return found


def _without_copies(hits: Sequence[Hit]) -> list[Hit]:
    kept: list[Hit] = []
    contents: set[str] = set()
    words: set[tuple[str, tuple[str, ...], str]] = set()
    notes: dict[str, int] = {}
    for hit in hits:
        document = hit.document
        said = (document.title.casefold(), document.heading, document.summary.casefold())
        if document.content_hash in contents or said in words or notes.get(document.path, 0) >= PER_NOTE:
            continue
        contents.add(document.content_hash)
        words.add(said)
        notes[document.path] = notes.get(document.path, 0) + 1
        kept.append(hit)
    return kept


def named(hits: Sequence[Hit], text: str, is_name: Callable[[str], bool]) -> list[Hit]:
    """Return the best hit of each note whose whole title or alias stands in *text*, the longest name first.

    Case, width and punctuation do not matter; a Latin name must not be part of a longer word. *is_name* says
    whether a title says enough to be meant.
    """
    folded = f" {_folded(text)} "
    found: dict[str, tuple[int, Hit]] = {}
    for hit in hits:
        document = hit.document
        names = [name for name in map(_folded_name, (document.title, *document.aliases)) if _stands_in(name, folded)]
        longest = max(filter(is_name, names), key=len, default="")
        if longest:
            found.setdefault(document.path, (len(longest), hit))
    return [hit for _, hit in sorted(found.values(), key=lambda pair: -pair[0])]


def _folded(text: str) -> str:
    return " ".join(_WORDS.findall(unicodedata.normalize("NFKC", text).casefold()))


_folded_name = lru_cache(maxsize=4096)(_folded)  # names come again with every prompt; prompts are not kept


def _stands_in(name: str, folded: str) -> bool:
    at = folded.find(name) if name else -1
    while at >= 0:
        around = (folded[at - 1 : at + 1], folded[at + len(name) - 1 : at + len(name) + 1])
        if not any(pair.isascii() and pair.isalnum() for pair in around):
            return True
        at = folded.find(name, at + 1)
    return False


def strong_enough(hit: Hit, best: Hit) -> bool:
    """Whether *hit* may stand beside *best*: it has the query's strong words, or nearly the best's evidence."""
    return hit.strength >= STRONG_SHARE or hit.lexical >= WEAK_FLOOR * best.lexical
