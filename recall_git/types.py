"""The records that travel between the steps. Frozen, without behaviour; imports the standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class NoteEntry:
    """One Markdown file of a tree or of Git's index: where it is and which blob it has."""

    path: str
    """POSIX-relative to the repository's top; bytes that are not UTF-8 are surrogate-escaped."""
    blob: str
    """Object id, hexadecimal."""


@dataclass(frozen=True, slots=True)
class Note:
    """A parsed note. Everything but ``path`` comes from the blob's bytes."""

    path: str
    title: str
    body: str
    """Text after the front matter, line ends normalised to ``\\n``."""
    body_line: int
    """Line number (from 1, in the file) of the body's first line."""
    type: str = ""
    """From front matter, lower-cased; empty when the front matter names none (the folder decides then)."""
    tags: tuple[str, ...] = ()
    """Front matter's, and those written before the first section."""
    aliases: tuple[str, ...] = ()
    summary: str = ""
    """Front matter ``summary`` or ``description``; empty when there is none."""
    priority: str = ""
    """``high`` or empty."""
    date: str = ""
    """``YYYY-MM-DD`` from front matter, else empty (the view knows the commit's date)."""
    expires: str = ""
    owner: str = ""
    supersedes: tuple[str, ...] = ()
    superseded_by: str = ""
    links: tuple[str, ...] = ()
    """Targets of wikilinks and of relative Markdown links, in order, without repeats."""
    problem: str = ""
    """What was wrong with the front matter, one line; the note is used without it."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """One section of a note, small enough to be ranked as a unit."""

    heading: tuple[str, ...]
    """Heading path below the note's title; empty for the text before the first section."""
    line: int
    """First line in the file, from 1 (the heading's line where there is one)."""
    text: str
    """The section's text without its heading line; never blank unless the heading says it all."""
    summary: str
    """One real sentence of the section, without Markdown syntax."""
    tags: tuple[str, ...] = ()
    """``#tags`` written in this section, outside code."""


@dataclass(frozen=True, slots=True)
class Document:
    """A section as the index knows it: what may be shown of it, and nothing of its text."""

    path: str
    blob: str
    line: int
    heading: tuple[str, ...]
    title: str
    summary: str
    tags: tuple[str, ...]
    type: str
    priority: str
    date: str
    """``YYYY-MM-DD``: front matter, else the author date of the commit that last changed the note; may be empty."""
    owner: str
    expires: str
    supersedes: tuple[str, ...]
    superseded_by: str
    aliases: tuple[str, ...]
    content_hash: str
    """Of title, heading and text: equal text has an equal hash, wherever it lies."""
    mark: str = ""
    """What the entry must say: ``uncommitted``, ``changed``, ``re-confirm``, ``old``; several joined by ``, ``."""
    source: str = ""
    """Name of the repository the note comes from, when there are several."""
    author: str = ""
    """Who last set the note, when entries are to say so (``recall.authors``); '' of what is not committed."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One ranked document with the evidence for it."""

    document: Document
    score: float
    lexical: float = 0.0
    dense: float = 0.0
    coverage: float = 0.0
    """Share of the query's weight that the section matches, 0…1."""
    matched: tuple[str, ...] = ()
    strength: float = 1.0
    """Share of the weight of the query's strong words that the section has, 0…1."""
    likely: float = 0.0
    """How likely the section by itself answers, 0…1."""
    inject: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a prompt is worth a search, and with which text."""

    open: bool
    query: str = ""
    why: str = ""
    """Rule that decided, e.g. ``too-short``, ``greeting``, ``machine``, ``ok``."""


@dataclass(frozen=True, slots=True)
class Slots:
    """Candidates for the four slots of a digest, each best first."""

    profile: tuple[Document, ...] = ()
    prohibitions: tuple[Document, ...] = ()
    latest: tuple[Document, ...] = ()
    relevant: tuple[Document, ...] = ()
    resume: str = ""
    """One line on where the last session stopped."""
    cards: tuple[Document, ...] = ()
    """Identity cards from entities.md (``summary`` is the whole line), placed before the relevant entries."""
    pointer: bool = False
    """The claim is weak but real: show the relevant entries as one pointer line."""


@dataclass(frozen=True, slots=True)
class Placed:
    """One entry that made it into a digest."""

    slot: str
    document: Document


@dataclass(frozen=True, slots=True)
class Digest:
    """What is put in front of the agent; empty text always comes with a reason."""

    text: str = ""
    outcome: str = "silent"
    """``injected``, ``silent`` (looked, found nothing), ``skipped`` (did not look), ``late`` or ``failed`` (broke)."""
    why: str = ""
    placed: tuple[Placed, ...] = ()
    cut: tuple[str, ...] = ()
    """What the budget or the guardrails left out: ``slot path:line reason``."""
    commit: str = ""
    timings_ms: Mapping[str, float] = field(default_factory=dict)
