"""Builds the text that is put in front of the agent: four slots, one frame, one budget.

Pure: no clock, no randomness, no I/O. Equal arguments give equal bytes, so a host's prefix cache
holds. The frame is plain Markdown without angle brackets (Gemini CLI escapes them) and states
facts, never instructions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from recall_git import guard
from recall_git.freshness import OLD, RECONFIRM
from recall_git.types import Digest, Document, Placed, Slots

ENTRY_CHARS = 240
"""Most characters of one entry; ``path:line`` is never cut, so a very long path may exceed it."""
TITLE_CHARS = 90
SUMMARY_CHARS_MIN = 24
"""A summary with less room than this says nothing and is left out."""
TAGS_MAX = 4
TAG_CHARS = 24
SOURCE_CHARS = 40
ARROW = " › "
"""Between the parts of a title, and between a repository's name and a path in it."""
FIELD_CHARS = 2000
"""How much of a field is looked at; the write side keeps fields far shorter."""

CUT_ORDER = ("relevant", "cards", "resume", "profile", "latest", "prohibitions")
"""Slots in the order in which the budget shortens them, each from its tail (DESIGN A8)."""
SLOT_ORDER = ("profile", "prohibitions", "latest", "resume", "cards", "relevant")
POINTER = "- Possibly related: "
RESUME_CHARS = 400


@dataclass(slots=True)
class _Row:
    """One line of the digest and the documents it stands for."""

    slot: str
    text: str
    documents: tuple[Document, ...] = ()


def compose(
    slots: Slots,
    *,
    commit: str,
    budget_chars: int,
    relevant_chars: int,
    max_entries: int,
    given: frozenset[str] = frozenset(),
    fixed: bool,
    budget_bytes: int = 0,
) -> Digest:
    """Return the digest of *slots*, whole lines within both budgets, frame included.

    A note is shown once, in the first slot that has it, whatever path it lies at. The latest notes
    are shown only if *fixed* (the session starts, or every turn is told to give them). What is in
    *given* (content hashes that the session has seen) is left out of the relevant slot, and of all
    slots unless *fixed*. *budget_chars* counts UTF-16 units, as hosts do; *budget_bytes* counts
    UTF-8 bytes when it is above 0. Over budget, lines go in ``CUT_ORDER``. When nothing is left the
    text is empty, the outcome ``silent`` and ``why`` one of ``nothing-relevant``, ``already-given``
    and ``budget``.
    """
    cut: list[str] = []
    rows = _rows(slots, given, cut, fixed=fixed, relevant_chars=relevant_chars, max_entries=max_entries)
    wanted = bool(rows) or any(reason.endswith((" relevant-chars", " max-entries")) for reason in cut)
    rows = _fit(rows, _header(commit), budget_chars, budget_bytes, cut)
    if not rows:
        why = "budget" if wanted else "already-given" if any(c.endswith(" given") for c in cut) else "nothing-relevant"
        return Digest(why=why, cut=tuple(cut), commit=commit)
    placed = tuple(Placed(row.slot, document) for row in rows for document in row.documents)
    return Digest(text=_text(rows, commit), outcome="injected", why="ok", placed=placed, cut=tuple(cut), commit=commit)


def entry(document: Document, limit_chars: int = ENTRY_CHARS) -> str:
    """Return *document* as one line ``- Title › Section — summary  #tag · path:line · date · by author``.

    At most *limit_chars* characters, unless the part that is never cut (path, line, date, marks) is
    longer by itself. What has no room goes in this order: tags, summary, end of the title.
    """
    tail = _tail(document)
    room = max(limit_chars - len(tail) - len("- "), 0)
    title = _title(document, min(TITLE_CHARS, max(room, 1)))
    summary = _field(document.summary, FIELD_CHARS)
    if _same(summary, title) or _same(summary, document.title):
        summary = ""
    tags = _tags(document)
    room -= len(title)
    if summary and room - len(tags) < len(" — ") + min(len(summary), SUMMARY_CHARS_MIN):
        tags = ""
    if len(tags) > room:
        tags = ""
    room -= len(tags) + len(" — ")
    if summary and room >= min(len(summary), SUMMARY_CHARS_MIN):
        title += " — " + _field(document.summary, room)
    return f"- {title}{tags}{tail}"


def _rows(
    slots: Slots, given: frozenset[str], cut: list[str], *, fixed: bool, relevant_chars: int, max_entries: int
) -> list[_Row]:
    """Return the lines that want a place, in display order; what is left out is named in *cut*."""
    adopted: set[str] = set()
    rows: list[_Row] = []
    static = (
        ("profile", slots.profile),
        ("prohibitions", slots.prohibitions),
        ("latest", slots.latest if fixed else ()),
    )
    for slot, documents in static:
        fresh = _fresh(slot, documents, frozenset() if fixed else given, adopted, cut)
        rows += [_Row(slot, entry(document), (document,)) for document in fresh]
    resume = _field(slots.resume, RESUME_CHARS)
    rows += [_Row("resume", f"- {resume}")] if resume else []
    for card in _fresh("cards", slots.cards, given, adopted, cut):
        rows += [_Row("cards", f"- {text}", (card,)) for text in (_field(card.summary, ENTRY_CHARS),) if text]
    relevant = _fresh("relevant", slots.relevant, given, adopted, cut)
    for document in relevant[max(max_entries, 0) :]:
        cut.append(reason("relevant", document, "max-entries"))
    relevant = relevant[: max(max_entries, 0)]
    return rows + (_pointer if slots.pointer else _relevant)(relevant, relevant_chars, cut)


def _fresh(
    slot: str, documents: Iterable[Document], given: frozenset[str], adopted: set[str], cut: list[str]
) -> list[Document]:
    """Return the documents that neither an earlier slot nor the session has, and adopt them."""
    fresh: list[Document] = []
    for document in documents:
        if document.content_hash in adopted:
            cut.append(reason(slot, document, "duplicate"))
        elif document.content_hash in given:
            cut.append(reason(slot, document, "given"))
        else:
            adopted.add(document.content_hash)
            fresh.append(document)
    return fresh


def _relevant(documents: list[Document], limit: int, cut: list[str]) -> list[_Row]:
    rows: list[_Row] = []
    used = 0
    for position, document in enumerate(documents):
        text = entry(document)
        used += _units(text) + 1
        if used > limit:
            cut += [reason("relevant", left, "relevant-chars") for left in documents[position:]]
            break
        rows.append(_Row("relevant", text, (document,)))
    return rows


def _pointer(documents: list[Document], limit: int, cut: list[str]) -> list[_Row]:
    """Return one line that names as many of *documents* as fit, or none."""
    items: list[str] = []
    used = _units(POINTER) + 1
    for position, document in enumerate(documents):
        item = f"{_title(document, TITLE_CHARS)} ({_where(document)}{_by(document)})"
        used += _units(item) + (len("; ") if items else 0)
        if used > limit:
            cut += [reason("relevant", left, "relevant-chars") for left in documents[position:]]
            break
        items.append(item)
    if not items:
        return []
    return [_Row("relevant", POINTER + "; ".join(items), tuple(documents[: len(items)]))]


def _fit(rows: list[_Row], header: str, budget_chars: int, budget_bytes: int, cut: list[str]) -> list[_Row]:
    """Return *rows* without the lines that the budgets do not allow, the least protected ones first."""
    left = {slot: [row for row in rows if row.slot == slot] for slot in SLOT_ORDER}
    frame = (header, guard.FOOTER)
    chars = sum(_units(text) + 1 for text in frame) - 1
    size = sum(_bytes(text) + 1 for text in frame) - 1
    for row in rows:
        chars += _units(row.text) + 1
        size += _bytes(row.text) + 1
    headings = {_heading(slot) for slot in SLOT_ORDER if left[slot]}
    chars += sum(_units(text) + 1 for text in headings)
    size += sum(_bytes(text) + 1 for text in headings)
    for slot in CUT_ORDER:
        while left[slot] and (chars > budget_chars or 0 < budget_bytes < size):
            gone = left[slot].pop()
            texts = [gone.text]
            if not any(left[other] for other in SLOT_ORDER if _heading(other) == _heading(slot)):
                texts.append(_heading(slot))
            chars -= sum(_units(text) + 1 for text in texts)
            size -= sum(_bytes(text) + 1 for text in texts)
            cut += [reason(slot, document, "budget") for document in gone.documents] or [f"{slot} budget"]
    return [row for slot in SLOT_ORDER for row in left[slot]]


def _text(rows: list[_Row], commit: str) -> str:
    lines = [_header(commit)]
    heading = ""
    for row in rows:
        if _heading(row.slot) != heading:
            heading = _heading(row.slot)
            lines.append(heading)
        lines.append(row.text)
    return "\n".join((*lines, guard.FOOTER))


def _header(commit: str) -> str:
    known = re.fullmatch(r"[0-9a-f]{4,64}", commit)
    version = f"recall-git, commit {commit[:10]}" if known else "recall-git"
    return (
        f"{guard.HEADER} ({version}). Reference only, may be outdated or wrong; "
        "the current request is authoritative. Open one with: git recall show PATH:LINE"
    )


def _heading(slot: str) -> str:
    return guard.HEADINGS["relevant" if slot == "cards" else slot]


def _title(document: Document, limit: int) -> str:
    """Return title and heading path, ``A › B``, without what only repeats the part before it."""
    parts = [_field(document.title, limit) or _field(_stem(document.path), limit) or "untitled"]
    for heading in document.heading:
        part = _field(heading, limit)
        if part and not _same(part, parts[-1]) and not _same(part, parts[0]):
            parts.append(part)
    whole = ARROW.join(parts)
    if len(whole) > limit and len(parts) > 2:
        whole = f"{parts[0]}{ARROW}{parts[-1]}"
    return guard.line(whole, limit)


def _tail(document: Document) -> str:
    marks = document.mark.split(", ")
    aging = [mark for mark in (OLD, RECONFIRM) if mark in marks]
    others = _field(", ".join(mark for mark in marks if mark not in aging), 40)
    tail = f" · {_where(document)}"
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", document.date):
        tail += f" (noted {', '.join((document.date, *aging))})" if aging else f" · {document.date}"
    tail += _by(document)
    return f"{tail} [{others}]" if others else tail


def _by(document: Document) -> str:
    author = _field(document.author, guard.NAME_CHARS)
    return f" · by {author}" if author else ""


def _where(document: Document) -> str:
    """Return ``path:line``, with the name of its repository in front when there are several."""
    source = source_name(document.source)
    where = f"{guard.location(document.path)}:{document.line}"
    return f"{source}{ARROW}{where}" if source else where


def source_name(name: str) -> str:
    """Return how an entry spells the name of its repository."""
    return _field(name, SOURCE_CHARS).replace(ARROW, " ")


def _tags(document: Document) -> str:
    names = (re.sub(r"\s", "-", _field(tag.lstrip("#"), TAG_CHARS)) for tag in document.tags)
    shown = list(dict.fromkeys(name for name in names if name))[:TAGS_MAX]
    return "  " + " ".join(f"#{name}" for name in shown) if shown else ""


def _field(text: str, limit: int) -> str:
    """Return note text fit to stand between this module's separators."""
    return guard.line(guard.mask(text[:FIELD_CHARS]).replace(" · ", " - "), limit)


def reason(slot: str, document: Document, why: str) -> str:
    """Return how the log names a document that was left out of a slot."""
    return f"{slot} {guard.location(document.path)}:{document.line} {why}"


def _stem(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[0] or name


def _same(left: str, right: str) -> bool:
    return left.strip(" .。!！").casefold() == right.strip(" .。!！").casefold()


def _units(text: str) -> int:
    """Return the length in UTF-16 code units, which is what hosts count."""
    return len(text) if text.isascii() else len(text) + sum(char > "\uffff" for char in text)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
