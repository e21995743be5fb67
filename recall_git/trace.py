"""One line for each run of a hook: what happened, why, and how long it took.

What makes failing open honest: a hook that says nothing leaves its reason here. Standard library
only and light, because the prompt path loads it. Nothing in it raises: a full disk must not stop a
conversation.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

NAME = "log.jsonl"
OLD = "log.1.jsonl"
BYTES_MAX = 1 << 20
"""The log is moved to ``log.1.jsonl`` when it has grown past this; the one before that is dropped."""
EVERYTHING = 1_000_000
"""More records than two files of ``BYTES_MAX`` can hold."""
LINE_BYTES_MAX = 16 << 10
OUTCOMES = ("injected", "silent", "skipped", "late", "failed")
"""Of a hook that ran."""
OPENED = "opened"
"""Of a note that was read: with ``git recall show``, or with the tool of that name."""


def record(
    *,
    time: str,
    event: str,
    outcome: str,
    why: str = "",
    session: str = "",
    entries: Iterable[str] = (),
    text: str = "",
    ms: float = 0.0,
    steps_ms: Mapping[str, float] | None = None,
    prompt: str = "",
    keep_prompt: bool = False,
    cut: Iterable[str] = (),
    **more: object,
) -> dict[str, Any]:
    """Return the record of one run, ready for ``write``.

    *time* is ISO 8601 and the caller's. *entries* are ``path:line``, *text* what was injected (its
    length is kept, not the text). The prompt is kept as a hash, and as text, with credentials
    masked, only if *keep_prompt*.
    """
    kept: dict[str, Any] = {
        "time": time,
        "event": event,
        "session": session,
        "outcome": outcome,
        "why": why,
        "entries": list(entries),
        "chars": len(text),
        "tokens": tokens(text),
        "ms": round(ms, 2),
        "steps_ms": {step: round(value, 2) for step, value in (steps_ms or {}).items()},
        "prompt_hash": prompt_hash(prompt) if prompt else "",
        **more,
    }
    left_out = list(cut)
    if left_out:
        kept["cut"] = left_out
    if keep_prompt and prompt:
        from recall_git import guard

        kept["prompt"] = guard.mask(prompt[:2000])
    return kept


def prompt_hash(prompt: str) -> str:
    """Return 16 hexadecimal digits that are equal for equal prompts."""
    return hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def tokens(text: str) -> int:
    """Return roughly how many tokens *text* costs: 4 Latin characters or 1 CJK character are one.

    An estimate for people; tokenizers differ by a third from each other.
    """
    if text.isascii():
        return (len(text) + 3) // 4
    wide = sum(char >= "\u2e80" for char in text)
    return wide + (len(text) - wide + 3) // 4


def write(folder: Path, record: Mapping[str, object]) -> bool:
    """Append *record* as one line of ``<folder>/log.jsonl``; return whether that worked. Never raises.

    One ``write`` to a file opened for appending, so lines of several processes do not mix. Two
    processes that rotate in the same instant can cost the older file, nothing else.
    """
    path = folder / NAME
    try:
        line = _encode(record)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _rotate(path, folder / OLD, len(line))
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        handle = os.open(path, flags, 0o600)
        try:
            return os.write(handle, line) == len(line)
        finally:
            os.close(handle)
    except (OSError, ValueError, TypeError, RecursionError):
        # ValueError and TypeError: a path with a NUL, a record that JSON cannot hold.
        return False


def now() -> str:
    """Return the present time as records have it."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


def runs(folder: Path, limit: int) -> list[dict[str, Any]]:
    """Return the last *limit* records of hooks that ran, oldest first; what was opened is left out."""
    return [record for record in read(folder, EVERYTHING) if record.get("outcome") != OPENED][-limit:]


def read(folder: Path, limit: int) -> list[dict[str, Any]]:
    """Return the last *limit* records, newest last; damaged lines are skipped, no log is an empty list."""
    records: list[dict[str, Any]] = []
    for name in (NAME, OLD):
        if len(records) >= limit:
            break
        records = _records(folder / name)[-(limit - len(records)) :] + records
    return records


def _records(path: Path) -> list[dict[str, Any]]:
    try:
        data = path.read_bytes()
    except (OSError, ValueError):
        return []
    found = []
    for line in data.split(b"\n"):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def _encode(record: Mapping[str, object]) -> bytes:
    """Return one line of UTF-8; a record too long for one keeps what tells most."""
    line = _dump(record)
    if len(line) > LINE_BYTES_MAX:
        short = {key: value for key, value in record.items() if key not in ("prompt", "cut", "entries")}
        line = _dump({**short, "shortened": True})
    if len(line) > LINE_BYTES_MAX:
        kept = ("time", "event", "session", "outcome", "why")
        line = _dump({**{key: str(record.get(key, ""))[:200] for key in kept}, "shortened": True})
    return line


def _dump(record: Mapping[str, object]) -> bytes:
    # default=str: a value of a foreign type is better logged as text than lost.
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"), default=str)
    return text.encode("utf-8", "replace") + b"\n"


def _rotate(path: Path, old: Path, coming: int) -> None:
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return
    if size + coming > BYTES_MAX:
        path.replace(old)
