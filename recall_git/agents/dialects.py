"""The dialects of agents' hooks: whose event this is, what it asks, and the shape of the answer.

One function reads, one writes. Anything that is no event of ours is None, and None is silence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MAX_EVENT_BYTES = 8 << 20
"""A larger event is nothing that a person typed."""


@dataclass(frozen=True)
class Event:
    """One hook event, whatever agent it comes from."""

    agent: str
    name: str
    """The event's name in the agent's words; goes back in the answer."""
    kind: str
    """``prompt``, ``start``, ``compact`` (context is about to be lost) or ``end``."""
    session: str = ""
    cwd: str = ""
    prompt: str = ""
    source: str = "user"


_KINDS = {
    "UserPromptSubmit": "prompt",
    "SessionStart": "start",
    "PreCompact": "compact",
    "SessionEnd": "end",
}


def read(data: bytes, environ: Mapping[str, str]) -> Event | None:
    """Return the event in *data* (UTF-8 JSON, replacement for what is broken), None when it is not one of ours."""
    if len(data) > MAX_EVENT_BYTES:
        return None
    try:
        raw = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(raw, dict):
        return None
    name = _text(raw, "hook_event_name")
    kind = _KINDS.get(name)
    if kind is None:
        return None
    return Event(
        agent="claude-code",
        name=name,
        kind=kind,
        session=_text(raw, "session_id"),
        cwd=_text(raw, "cwd"),
        prompt=_text(raw, "prompt"),
        source=_text(raw, "source") or "user",
    )


def write(event: Event, text: str) -> str:
    """Return the answer that puts *text* before the agent, one line of ASCII JSON."""
    output: dict[str, Any] = {"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}}
    return json.dumps(output)


def _text(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""
