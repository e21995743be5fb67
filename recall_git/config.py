"""Settings: flag > environment > ``git config recall.*`` > ``.recall/config`` of the commit > default.

Values come in as text from whoever reads them (``repo`` for Git's configuration) and leave as one
frozen ``Settings``. A value that does not fit is named in ``problems`` and the default is used: a
typing error must never stop a conversation. ``.recall/config`` arrives with a clone, so it may set
only keys marked ``shared``, and numbers there are clamped to what lets the product say less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

DEFAULT_EXCLUDE = (
    "MEMORY.md", "AGENTS.md", "SOUL.md", "USER.md", "IDENTITY.md", "TOOLS.md", "HEARTBEAT.md", "CLAUDE.md",
    "CLAUDE.local.md", ".hermes.md", "HERMES.md", ".cursorrules", "README.md", ".recall/", "entities.md",
)  # fmt: skip
"""Files that agents load by themselves (recalling them says everything twice), and our own."""

DEFAULT_TYPES = (
    "profile=profile", "profiles=profile", "lesson=lesson", "lessons=lesson", "conclusion=conclusion",
    "conclusions=conclusion", "decision=decision", "decisions=decision", "adr=decision", "adrs=decision",
    "knowledge=knowledge", "knowledge-base=knowledge", "kb=knowledge",
)  # fmt: skip
"""``folder=type``: the type of notes below a folder of that name, when front matter names none."""

DEFAULT_WEIGHTS = ("memory/=1.3", "knowledge-base/=0.95", "workspace/=0.85")
"""Directory weights of fuyao-agent-recall (DESIGN F14)."""

DEFAULT_AGES = ("profile=365/never", "prohibition=365/never")
"""``TYPE=RECENT/STALE`` days; what is always given (DESIGN A4) never lapses by age alone, it is only marked."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set, with its default. Field names are the keys without ``recall.``."""

    enabled: bool = False
    digest: str = "notes"
    hooks: str = "auto"
    budget: int = 6000
    entries: int = 5
    relevant_chars: int = 700
    latest: int = 5
    static: str = "session"
    gate: str = "normal"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ("md",)
    types: tuple[str, ...] = ()
    weight: tuple[str, ...] = ()
    model: str = ""
    server: bool = True
    idle_minutes: int = 15
    timeout_ms: int = 250
    start_timeout_ms: int = 1500
    overlay: bool = True
    source: tuple[str, ...] = ()
    identity: str = ""
    entities: str = "entities.md"
    prohibitions: tuple[str, ...] = ()
    recent_days: int = 30
    stale_days: int = 180
    age: tuple[str, ...] = ()
    authors: bool = False
    log_prompts: bool = False


def _flag(text: str) -> bool:
    if text.strip().lower() in ("", "true", "yes", "on", "1"):
        return True
    if text.strip().lower() in ("false", "no", "off", "0"):
        return False
    raise ValueError("wants true or false")


def _whole(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        value = int(text.strip())
        if not low <= value <= high:
            raise ValueError(f"wants a whole number from {low} to {high}")
        return value

    return parse


def _choice(*allowed: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.strip().lower() not in allowed:
            raise ValueError(f"wants one of {', '.join(allowed)}")
        return text.strip().lower()

    return parse


def _pairs(check: Callable[[str], object]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        name, equals, value = text.rpartition("=")
        if not equals or not name.strip():
            raise ValueError("wants NAME=VALUE")
        check(value)
        return f"{name.strip()}={value.strip()}"

    return parse


def _weight(text: str) -> float:
    if not 0.1 <= float(text) <= 3:
        raise ValueError("wants a weight from 0.1 to 3")
    return float(text)


def _ages(text: str) -> str:
    recent, slash, stale = text.partition("/")
    if not slash or not all(part == "never" or (part.isascii() and part.isdigit()) for part in (recent, stale)):
        raise ValueError("wants TYPE=DAYS/DAYS, where DAYS may be never")
    return text


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: how it is written, read and explained."""

    name: str
    """As in ``git config recall.<name>``."""
    parse: Callable[[str], Any]
    help: str
    many: bool = False
    """Multi-valued: ``git config --add``; the values of one level replace those of a lower one."""
    shared: str = ""
    """What ``.recall/config`` may do: '' nothing, 'any' any valid value, 'less' only a value that says less."""

    @property
    def field(self) -> str:
        """The name of the field of ``Settings``."""
        return "".join("_" + c.lower() if c.isupper() else c for c in self.name)


KEYS = (
    Key("enabled", _flag, "Whether recall works in this repository. Written by 'git recall init' to .git/config; "
        "only that file counts."),
    Key("digest", _choice("notes", "tracked", "off"), "Where the static digest of a commit is kept: a Git note and "
        "an ignored file (notes), a tracked file (tracked), nowhere (off)."),
    Key("hooks", _choice("auto", "native", "config", "pre-commit", "none"), "How the Git hooks were installed."),
    Key("budget", _whole(0, 9000), "Most characters of one digest; hosts cut at 10,000.", shared="less"),
    Key("entries", _whole(0, 50), "Most relevant notes for one prompt.", shared="less"),
    Key("relevantChars", _whole(0, 9000), "Most characters of the relevant notes for one prompt.", shared="less"),
    Key("latest", _whole(0, 50), "How many of the newest lessons and conclusions are given at the start.",
        shared="less"),
    Key("static", _choice("session", "turn"), "When profile, prohibitions and latest lessons are given: at the "
        "start of a session, or at every turn."),
    Key("gate", _choice("strict", "normal", "open"), "How sure recall must be before it says anything."),
    Key("include", str, "Gitignore-style patterns; when set, only matching files are notes.", many=True, shared="any"),
    Key("exclude", str, "Gitignore-style patterns of files that are not notes; added to the built-in list "
        "(!pattern takes one back).", many=True, shared="any"),
    Key("extensions", str.lower, "File name extensions of notes, without the dot.", many=True),
    Key("types", _pairs(str), "FOLDER=TYPE: type of notes below a folder of that name.", many=True, shared="any"),
    Key("weight", _pairs(_weight), "FOLDER/=NUMBER: factor on the score of notes below it.", many=True, shared="any"),
    Key("model", str, "Folder of another model2vec model (or, on explicit request, a hub id)."),
    Key("server", _flag, "Whether a resident process answers prompts."),
    Key("idleMinutes", _whole(1, 1440), "Minutes without work after which the resident process leaves."),
    Key("timeoutMs", _whole(20, 30000), "Deadline of the prompt hook, milliseconds."),
    Key("startTimeoutMs", _whole(20, 60000), "Deadline of the session-start hook, milliseconds."),
    Key("overlay", _flag, "Whether notes that are not committed yet are recalled, marked as such."),
    Key("source", str, "Another repository of the user's to recall from (global setting).", many=True),
    Key("identity", str, "The e-mail whose profile may be given; default: Git's user.email."),
    Key("entities", str, "Path of the entity dictionary in the repository."),
    Key("prohibitions", str, "Folders from which prohibitions are accepted; default: anywhere.", many=True),
    Key("recentDays", _whole(0, 36500), "Notes younger than this are given as they are."),
    Key("staleDays", _whole(0, 36500), "Notes older than this leave the fixed slots.", shared="less"),
    Key("age", _pairs(_ages), "TYPE=RECENT/STALE: days for notes of a type instead of recentDays and staleDays; "
        "'never' for no limit; 'prohibition' is a lesson of high priority.", many=True),
    Key("authors", _flag, "Whether an entry says who last set its note: the author of the commit, by the names of that "
        "commit's .mailmap."),
    Key("logPrompts", _flag, "Whether the log keeps the prompt's text instead of a hash."),
)  # fmt: skip
assert {key.field for key in KEYS} == {f.name for f in fields(Settings)}


def resolve(
    git: Mapping[str, Sequence[str]],
    *,
    shared: Mapping[str, Sequence[str]] | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
) -> tuple[Settings, tuple[str, ...]]:
    """Return the effective settings and one line for each value that could not be used.

    *git* and *shared* map lower-case names without ``recall.`` to their values, in file order (the
    last one counts for single-valued keys). *environ* is read for ``RECALL_<NAME>`` (upper case,
    words joined by ``_``; values of a multi-valued key separated by newlines). ``enabled`` is taken
    from *git* only; the caller passes there what the repository's own file says.
    """
    defaults = Settings()
    values: dict[str, Any] = {}
    problems: list[str] = []
    for key in KEYS:
        for origin, texts in (
            ("command line", _one((flags or {}).get(key.field))),
            ("environment", _environment(key, environ or {})),
            ("git config", git.get(key.name.lower())),
            (".recall/config", (shared or {}).get(key.name.lower())),
        ):
            if texts is None or (key.name == "enabled" and origin != "git config"):
                continue
            if origin == ".recall/config" and not key.shared:
                problems.append(f"recall.{key.name} cannot be set by .recall/config; ignored")
                continue
            try:
                parsed = tuple(key.parse(text) for text in texts) if key.many else key.parse(texts[-1])
            except ValueError as error:
                hint = str(error) if str(error).startswith("wants") else "is not understood"
                problems.append(f"recall.{key.name} = '{texts[-1]}' ({origin}) {hint}; using the default")
                continue
            if origin == ".recall/config" and key.shared == "less":
                parsed = min(parsed, getattr(defaults, key.field))
            values[key.field] = parsed
            break
    return Settings(**values), tuple(problems)


def _one(text: str | None) -> list[str] | None:
    return None if text is None else [text]


def _environment(key: Key, environ: Mapping[str, str]) -> list[str] | None:
    text = environ.get("RECALL_" + key.field.upper())
    if text is None:
        return None
    return [line for line in text.split("\n") if line] if key.many else [text]
