"""The dialects of agents' hooks: whose event this is, what it asks, and the shape of the answer.

One command string is registered with every agent, and agents run each other's settings files, so the
dialect is found from the input. Anything that is no event of ours is None, and None is silence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from recall_git import agents
from recall_git.agents.event import Event, text_of

__all__ = ["MAX_EVENT_BYTES", "Event", "agent_of", "read", "write"]

MAX_EVENT_BYTES = 8 << 20
"""A larger event is nothing that a person typed."""

Raw = Mapping[str, Any]
_SIGNALS: tuple[tuple[str, Callable[[Raw, Mapping[str, str]], bool]], ...] = (
    ("cursor", lambda raw, env: bool(env.get("CURSOR_VERSION")) or "cursor_version" in raw or "conversation_id" in raw),
    ("vscode", lambda raw, env: "hookEventName" in raw),
    ("copilot", lambda raw, env: "sessionId" in raw or _is_copilot_in_snake_case(raw)),
    ("codex", lambda raw, env: "turn_id" in raw or _is_codex_start(raw)),
    ("gemini", lambda raw, env: _event(raw) == "BeforeAgent" or bool(env.get("GEMINI_SESSION_ID"))),
    ("qwen", lambda raw, env: bool(env.get("QWEN_PROJECT_DIR"))),
    ("factory", lambda raw, env: bool(env.get("FACTORY_PROJECT_DIR"))),
    ("cline", lambda raw, env: "clineVersion" in raw),
    ("hermes", lambda raw, env: _event(raw) in ("pre_llm_call", "on_session_reset", "on_session_end")),
    ("kiro", lambda raw, env: _event(raw) in ("userPromptSubmit", "agentSpawn", "sessionStart", "sessionEnd")),
    ("windsurf", lambda raw, env: "agent_action_name" in raw),
    ("goose", lambda raw, env: "hook_event_name" not in raw and "event" in raw),
)
"""What gives an agent away, asked in this order: the later ones are only unique once the earlier ones said no."""
EXTENSIONS = ("pi", "openclaw", "opencode", "amp")
"""Our own extensions name their agent."""


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
    return agents.load(agent_of(raw, environ)).read(raw, environ)


def write(event: Event, text: str) -> str:
    """Return the answer that puts *text* before the agent."""
    return agents.load(event.agent).write(event, text)


def agent_of(raw: Raw, environ: Mapping[str, str]) -> str:
    """Return the name of the agent that an event comes from."""
    if raw.get("agent") in EXTENSIONS:
        return str(raw["agent"])
    return next((name for name, speaks in _SIGNALS if speaks(raw, environ)), "claude-code")


def _event(raw: Raw) -> str:
    return text_of(raw, "hook_event_name")


def _is_copilot_in_snake_case(raw: Raw) -> bool:
    """Its names in PascalCase, as when it runs Claude Code's settings file, bring this shape."""
    return bool(_event(raw)) and isinstance(raw.get("timestamp"), str) and "transcript_path" not in raw


def _is_codex_start(raw: Raw) -> bool:
    """Codex's SessionStart has no turn; its transcript is a rollout file or null, and Claude Code's neither."""
    if _event(raw) not in ("SessionStart", "SessionEnd") or "transcript_path" not in raw or "timestamp" in raw:
        return False
    path = raw["transcript_path"]
    return path is None or (isinstance(path, str) and path.replace("\\", "/").rpartition("/")[2].startswith("rollout-"))
