"""One hook event, whatever agent it comes from, and how its parts are read. Imports the standard library only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Event:
    """What an agent tells its hook."""

    agent: str
    name: str
    """The event's name in the agent's words; goes back in the answer."""
    kind: str
    """``prompt``, ``start``, ``compact`` (context is about to be lost, or was) or ``end`` (also of a turn)."""
    session: str = ""
    cwd: str = ""
    prompt: str = ""
    source: str = "user"
    """Of a prompt: who wrote it. Of a start: ``startup``, ``resume``, ``clear``, ``compact`` …"""
    opens: bool = False
    """A prompt that is its session's first, of an agent without a start event: it gets the start's text too."""
    cap_chars: int = 0
    """What the agent takes in one answer, in UTF-16 units; 0 when it sets no limit."""
    cap_bytes: int = 0
    """The same in UTF-8 bytes."""


def text_of(raw: Mapping[str, Any], *keys: str) -> str:
    """Return the text at *keys* (one level each), '' when there is none or it is no text."""
    value: Any = raw
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def nested(event: Event, text: str) -> str:
    """Return *text* as Claude Code takes it, and those who took over its protocol: one line of ASCII JSON."""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}})
