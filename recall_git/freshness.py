"""How old a note is, and whether it still counts. Pure; measured from the commit, never from a clock.

Equal commits give equal answers: a note ages when the repository moves on, not while it rests.
"""

from __future__ import annotations

from datetime import date

from recall_git.config import DEFAULT_AGES, Settings
from recall_git.types import Document

RECENT, AGING, STALE = "recent", "aging", "stale"
RECONFIRM = "re-confirm"
OLD = "old"
"""What ``Document.mark`` says of an aging note (``re-confirm``) and of a stale one (both)."""
NEVER = "never"
_EPOCH = date(1970, 1, 1).toordinal()


def day_of(written: str) -> int | None:
    """Return ``YYYY-MM-DD`` as days since 1970, None when it is no date."""
    try:
        return date.fromisoformat(written).toordinal() - _EPOCH
    except ValueError:
        return None


def age_days(document: Document, commit_time: int) -> int:
    """Return how many days *document* is older than the commit; 0 when it is newer or has no date."""
    day = day_of(document.date)
    return max(0, commit_time // 86400 - day) if day is not None else 0


def tier(document: Document, commit_time: int, settings: Settings) -> str:
    """Return ``recent`` (as it is), ``aging`` (say so) or ``stale`` (not in the fixed slots)."""
    recent, stale = _limits(document, settings)
    age = age_days(document, commit_time)
    if stale is not None and age > stale:
        return STALE
    return AGING if recent is not None and age > recent else RECENT


def aged(document: Document, commit_time: int, settings: Settings) -> Document:
    """Return *document* with its age in ``mark``, where the reader should know it."""
    found = tier(document, commit_time, settings)
    if found == RECENT:
        return document
    return marked(document, RECONFIRM if found == AGING else f"{OLD}, {RECONFIRM}")


def marked(document: Document, word: str) -> Document:
    """Return *document* with *word* added to its marks."""
    from dataclasses import replace

    return replace(document, mark=f"{document.mark}, {word}" if document.mark else word)


def expired(document: Document, commit_time: int) -> bool:
    """Whether the day that *document* names as its last is over at the commit."""
    day = day_of(document.expires)
    return day is not None and day < commit_time // 86400


def names(path: str) -> set[str]:
    """Return the ways in which a note at *path* is named: whole, without its extension, and by its last part."""
    low = path.casefold().removeprefix("./").lstrip("/")
    stem = low.rpartition(".")[0] if "." in low.rpartition("/")[2] else low
    return {low, stem, low.rpartition("/")[2], stem.rpartition("/")[2]}


def _limits(document: Document, settings: Settings) -> tuple[int | None, int | None]:
    """Return after how many days *document* is aging, and stale; None: never."""
    ages = dict(pair.rsplit("=", 1) for pair in (*DEFAULT_AGES, *settings.age))
    kind = "prohibition" if document.priority == "high" and document.type in PROHIBITING else document.type
    if kind not in ages:
        return settings.recent_days, settings.stale_days
    recent, _, stale = ages[kind].partition("/")
    return _days(recent), _days(stale)


PROHIBITING = ("lesson", "prohibition", "rule")
"""Types whose notes are prohibitions when their priority is high."""


def _days(text: str) -> int | None:
    return None if text == NEVER else int(text)
