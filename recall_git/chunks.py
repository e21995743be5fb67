"""``Note`` → sections small enough to be ranked and shown as a unit, each with one sentence that stands for it.

Pure; linear in the length of the note.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from recall_git.notes import (
    BLANK,
    CLOSE,
    CODE,
    COMMENT,
    HEADING,
    MAX_TAGS,
    OPEN,
    TEXT,
    UNDERLINE,
    Line,
    heading_text,
    inline_tags,
    plain,
    scan,
    shorten,
)
from recall_git.types import Chunk, Note

__all__ = ["SUMMARY_CHARS", "plain", "sentences", "split", "summarise"]

SUMMARY_CHARS = 160
_TAIL_SHARE = 8
"""A last piece shorter than the limit divided by this joins the one before it."""
_BARE_CHARS = 400
"""What is longer stands alone even when it has no words."""
_PARAGRAPH_CHARS = 2000
"""How much of a paragraph is read for its first sentences."""


def split(note: Note, *, limit_chars: int = 1500) -> list[Chunk]:
    """Return the sections of *note* in the order of the file; at least one, whatever the note holds.

    Sections begin at H1 and H2. One longer than *limit_chars* is cut at its sub-headings, then between
    paragraphs, lines and sentences, and only then anywhere; a fence is cut only when it alone is too
    long. A short rest, a lone picture and a heading without text join a neighbour, so a text may exceed
    the limit a little. No line is lost but blank ones, headings that are in the path, and tables of
    contents, which only repeat the headings.

    The first section takes the note's own summary when it has one.
    """
    rows = [Row(line, number) for number, line in enumerate(scan(note.body), start=note.body_line)]
    sections = _sections(_without_contents(rows), 2, (), note.title)
    pieces = _carry_bare([piece for section in sections for piece in _fit(section, limit_chars)], limit_chars)
    chunks = [_chunk(piece) for piece in pieces] or [Chunk((), note.body_line, "", "")]
    if note.summary:
        first = chunks[0]
        summary = shorten(note.summary, SUMMARY_CHARS)
        chunks[0] = Chunk(first.heading, first.line, first.text, summary, first.tags)
    return chunks


class Row(NamedTuple):
    """A line, or a part of one that is too long, and its number in the file."""

    line: Line
    number: int
    glued: bool = False
    """Goes on in the line of the row before it."""


@dataclass(slots=True)
class Piece:
    """What becomes one chunk."""

    path: tuple[tuple[int, str], ...]
    """Level and text of the headings above, its own last."""
    number: int
    """First line in the file, the heading's where there is one."""
    rows: list[Row] = field(default_factory=list)
    title: Row | None = None
    """The row of its own heading; None for what follows the note's title and for later parts."""
    later: bool = False
    """A further part of a section, never its first."""

    @property
    def blank(self) -> bool:
        return all(row.line.kind == BLANK for row in self.rows)

    @property
    def bare(self) -> bool:
        """Whether nothing here could stand alone: no words, or only badges and links above the first heading."""
        if _size(self.rows) > _BARE_CHARS:
            return False
        lead = self.title is None and not self.later
        return all(_is_wordless(row.line) or (lead and _is_decoration(row.line)) for row in self.rows)


def _size(rows: Iterable[Row]) -> int:
    return sum(len(row.line.text) + (not row.glued) for row in rows)


# --- cutting ---


def _sections(rows: list[Row], level: int, path: tuple[tuple[int, str], ...], own: str = "") -> list[Piece]:
    """Cut *rows* at headings of *level* or above; the first H1 called *own* is the note's title and in no path."""
    pieces = [Piece(path, rows[0].number if rows else 1)]
    for row in rows:
        line = row.line
        if line.kind != HEADING or line.level > level:
            if line.kind != UNDERLINE or pieces[-1].rows:
                pieces[-1].rows.append(row)
            continue
        name = heading_text(line.heading)
        path = tuple(step for step in path if step[0] < line.level)
        if own and line.level == 1 and name == own:
            own = ""
            pieces.append(Piece(path, row.number))
        else:
            path = (*path, (line.level, name))
            pieces.append(Piece(path, row.number, title=row))
    return [piece for piece in pieces if piece.title or not piece.blank]


def _fit(piece: Piece, limit: int) -> list[Piece]:
    """Return *piece* in parts of about *limit* characters."""
    if _size(piece.rows) <= limit:
        return [piece]
    levels = [row.line.level for row in piece.rows if row.line.kind == HEADING]
    if not levels:
        return _pack(piece, limit)
    parts = _sections(piece.rows, min(levels), piece.path)
    if parts[0].title is None:
        parts[0].number, parts[0].title = piece.number, piece.title
    return [small for part in parts for small in _fit(part, limit)]


def _pack(piece: Piece, limit: int) -> list[Piece]:
    """Fill parts with whole blocks while they fit; a block that is too long alone is taken apart in its place."""
    parts = [Piece(piece.path, piece.number, title=piece.title)]
    room = limit
    for block in _blocks(piece.rows):
        for unit in [block] if _size(block) <= limit else _taken_apart(block, limit):
            size = _size(unit)
            if size > room and parts[-1].rows:
                parts.append(Piece(piece.path, unit[0].number, later=True))
                room = limit
            if parts[-1].rows or unit[0].line.kind != BLANK:
                parts[-1].rows += unit
                room -= size
    if len(parts) > 1 and _size(parts[-1].rows) < limit // _TAIL_SHARE:
        rest = parts.pop()
        parts[-1].rows += rest.rows
    return [part for part in parts if part.rows]


def _blocks(rows: list[Row]) -> Iterator[list[Row]]:
    """Yield runs of rows that belong together: a fence, a paragraph, a table, the items of a tight list."""
    block: list[Row] = []
    fenced = False
    for row in rows:
        kind = row.line.kind
        if not fenced and block and (kind in (BLANK, OPEN) or block[-1].line.kind in (BLANK, CLOSE)):
            yield block
            block = []
        # A fence in a quote ends without a closing line, with the first row that is no code.
        fenced = kind == OPEN or (fenced and kind == CODE)
        block.append(row)
    if block:
        yield block


def _taken_apart(block: list[Row], limit: int) -> Iterator[list[Row]]:
    for row in block:
        text = row.line.text
        if len(text) < limit:
            yield [row]
            continue
        parts = sentences(text) if row.line.kind == TEXT else iter([text])
        glued = False
        for part in parts:
            for small in _hard_cut(part, limit - 1) if len(part) >= limit else (part,):
                yield [Row(row.line._replace(text=small), row.number, glued)]
                glued = True


def _hard_cut(text: str, limit: int) -> Iterator[str]:
    """Yield *text* in parts of at most *limit* characters, after a space where there is one near the end."""
    limit = max(limit, 1)
    at = 0
    while at < len(text):
        end = min(at + limit, len(text))
        space = text.rfind(" ", at + limit // 2, end) if end < len(text) else -1
        end = space + 1 if space >= 0 else end
        yield text[at:end]
        at = end


def _carry_bare(pieces: list[Piece], limit: int) -> list[Piece]:
    """Give what cannot stand alone to the piece that follows, at the end to the one before.

    A heading that is in the path of the next piece needs no place in its text.
    """
    kept: list[Piece] = []
    waiting: list[Row] = []
    room = limit
    for at, piece in enumerate(pieces):
        if not piece.bare:
            kept.append(_led_by(waiting, piece))
            waiting, room = [], limit
            continue
        above = at + 1 < len(pieces) and piece.path == pieces[at + 1].path[: len(piece.path)]
        rows = piece.rows if above or piece.title is None else [piece.title, *piece.rows]
        waiting += rows
        room -= _size(rows)
        if room < 0:
            kept.append(Piece(piece.path[:-1], waiting[0].number, waiting))
            waiting, room = [], limit
    if all(row.line.kind == BLANK for row in waiting):
        return kept
    if kept:
        kept[-1].rows += waiting
        return kept
    return [Piece((), waiting[0].number, waiting)]


def _led_by(waiting: list[Row], piece: Piece) -> Piece:
    if all(row.line.kind == BLANK for row in waiting):
        return piece
    return Piece(piece.path, min(waiting[0].number, piece.number), waiting + piece.rows, piece.title, piece.later)


_CONTENTS_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[[^\n]{1,300}\]\(#[^\s]{0,500}\)[ \t]*")


def _without_contents(rows: list[Row]) -> list[Row]:
    """Leave out tables of contents (two or more list items in a row that only link to an anchor).

    They would make the text before the first section match every question about the note.
    """
    flags = [row.line.kind == TEXT and _CONTENTS_ITEM.fullmatch(row.line.text) is not None for row in rows]
    last = len(rows) - 1
    return [
        row
        for at, row in enumerate(rows)
        if not (flags[at] and ((at > 0 and flags[at - 1]) or (at < last and flags[at + 1])))
    ]


def _chunk(piece: Piece) -> Chunk:
    return Chunk(
        heading=tuple(name for _, name in piece.path if name),
        line=piece.number,
        text=_text(piece.rows),
        summary=summarise([row.line for row in piece.rows]),
        tags=tuple(list(dict.fromkeys(inline_tags(row.line for row in piece.rows)))[:MAX_TAGS]),
    )


def _text(rows: list[Row]) -> str:
    """Return the rows' text without blank lines around it."""
    text = "".join(part for row in rows for part in ("" if row.glued else "\n", row.line.text))
    return _BLANK_EDGES.sub("", text.rstrip())


_BLANK_EDGES = re.compile(r"\A(?:[^\S\n]*\n)+")


# --- sentences ---

_END = re.compile(r"""[.!?…]+["'”’)\]*_]*(?:\s+|\Z)|(?:[。！？｡]|．(?!\d))+["'”’」』）)\]*_]*\s*""")
_ABBREVIATION = re.compile(
    r"e\.g|i\.e|eg|ie|vs|cf|mrs?|ms|dr|prof|st|no|figs?|sec|ch|vol|pp|ca|approx|incl|resp|al|viz|dept|ed|rev"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|(?:[^\W\d_]\.)*[^\W\d_]",
    re.IGNORECASE,
)
"""What a full stop does not end: 'e.g.', 'Dr.', single letters and 'U.S.'."""


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of *text* with the space after them; joined they are *text*. Linear.

    '。', '！' and '？' end a sentence anywhere; '.', '!' and '?' before a space, except after an
    abbreviation, a single letter, a list number, or before a small letter.
    """
    start = 0
    for match in _END.finditer(text):
        if match[0][0] == "." and not _ends_sentence(text, start, match):
            continue
        yield text[start : match.end()]
        start = match.end()
    if start < len(text):
        yield text[start:]


def _ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    following = text[match.end() : match.end() + 1]
    if not following:
        return True
    if match[0].startswith("..") or following.islower():
        return not following.islower()
    before = text[max(start, match.start() - 24) : match.start()].split()
    word = before[-1].lstrip("(\"'“*_[") if before else ""
    number = len(before) == 1 and word.isdigit()
    return not number and _ABBREVIATION.fullmatch(word) is None


# --- summary ---

_TABLE_ROW = re.compile(r"[ \t>]*\||[ \t>]*:?-{2,}:?[ \t]*\|")
_TABLE_RULE = re.compile(r"[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)*")
_LIST_ITEM = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_DIRECTIVE = re.compile(
    r"[ \t]*(?::::|\{%|\{\{[<%]|\$\$|%%|\[toc\]|\[\[toc\]\]|(?:import|export)\s.*from\s+['\"]|</?[a-z][^>]*>\s*\Z"
    r"|[-*_=~#\s]{3,}\Z)",
    re.IGNORECASE,
)
_ONLY_LINKS = re.compile(
    r"(?:[\s>|·•,/←→«»<-]|&\w{2,8};|!?\[[^\[\]]{0,300}\](?:\([^()\s]{0,500}(?:\s[^()]{0,200})?\)|\[[^\[\]]{0,100}\])"
    r"|!?\[\[[^\[\]]{0,300}\]\]|https?://\S{1,500})+"
)
_CODE_COMMENT = re.compile(r"\s*(?:#(?!!)|//|--|;|/\*|%|<!--|REM )[#/*;-]*\s*(\S.*?)\s*(?:\*/|-->)?\s*")


def _is_wordless(line: Line) -> bool:
    """Whether a line of prose has no word in it, not even in a picture's description."""
    if line.kind in (BLANK, COMMENT):
        return True
    return line.kind == TEXT and not any(map(str.isalnum, heading_text(line.text)))


def _is_decoration(line: Line) -> bool:
    """Whether a line of text says nothing by itself: rules, directives, pictures, badges, links alone."""
    if line.kind != TEXT:
        return False
    text = line.text
    return bool(_DIRECTIVE.match(text) or _ONLY_LINKS.fullmatch(text)) or not plain(text[:_PARAGRAPH_CHARS])


def summarise(lines: Sequence[Line]) -> str:
    """Return one sentence that stands for *lines*, as plain text of at most ``SUMMARY_CHARS`` characters.

    The first sentence of prose that says something; else the first list item; else what there is, in
    this order: a short sentence, a table's first row, code (a comment before a command), a link or
    picture, a sub-heading. Empty only when the lines hold no words.
    """
    short = ""
    for paragraph in _paragraphs(lines):
        for sentence in sentences(plain(paragraph)):
            weight = _weight(sentence)
            if weight >= 2:
                return _shown(sentence)
            if weight and not short:
                short = _shown(sentence)
    item = next((_LIST_ITEM.sub("", line.text) for line in lines if _is_item(line) and _weight(plain(line.text))), "")
    if item:
        return _shown(next(sentences(plain(item[:_PARAGRAPH_CHARS]))))
    return short or _shown(_fallback(lines))


def _shown(text: str) -> str:
    return shorten(text.strip(), SUMMARY_CHARS)


def _is_item(line: Line) -> bool:
    return line.kind == TEXT and _LIST_ITEM.match(line.text) is not None and not _is_decoration(line)


def _paragraphs(lines: Sequence[Line]) -> Iterator[str]:
    """Yield the paragraphs of prose: no lists, tables, decoration, code or comments."""
    paragraph: list[str] = []
    in_item = in_table = False
    for at, line in enumerate(lines):
        text = line.text
        if line.kind != TEXT:
            in_item = in_item and line.kind == BLANK
            in_table = False
        elif _LIST_ITEM.match(text):
            in_item = True
        elif in_item and not text[0].isspace() and (at == 0 or lines[at - 1].kind == BLANK):
            in_item = False
        in_table = line.kind == TEXT and (in_table or _begins_table(lines, at))
        if line.kind == TEXT and not in_item and not in_table and not _is_decoration(line):
            paragraph.append(text[:_PARAGRAPH_CHARS])
        elif paragraph:
            yield "\n".join(paragraph)[:_PARAGRAPH_CHARS]
            paragraph = []
    if paragraph:
        yield "\n".join(paragraph)[:_PARAGRAPH_CHARS]


def _begins_table(lines: Sequence[Line], at: int) -> bool:
    if _TABLE_ROW.match(lines[at].text):
        return True
    below = lines[at + 1].text if at + 1 < len(lines) else ""
    return "|" in lines[at].text and "|" in below and _TABLE_RULE.fullmatch(below) is not None


def _weight(sentence: str) -> int:
    """Return 2 for a sentence that says something, 1 for one with a word in it, else 0; its beginning tells."""
    sentence = sentence[:SUMMARY_CHARS]
    letters = sum(map(str.isalpha, sentence))
    wide = 0 if sentence.isascii() else sum(char >= "\u2e80" for char in sentence)
    if wide >= 8 or (letters >= 15 and sentence.count(" ") >= 3):
        return 2
    return 1 if letters >= 2 else 0


def _fallback(lines: Sequence[Line]) -> str:
    texts = [line.text for line in lines if line.kind == TEXT]
    row = next((line.text for at, line in enumerate(lines) if line.kind == TEXT and _begins_table(lines, at)), "")
    cells = [cell for cell in (plain(cell) for cell in row[:_PARAGRAPH_CHARS].split("|")) if cell]
    if cells:
        return ", ".join(cells)
    code = [line.text.strip()[:_PARAGRAPH_CHARS] for line in lines if line.kind == CODE and line.text.strip()]
    comments = (match[1] for match in map(_CODE_COMMENT.fullmatch, code) if match)
    if code:
        return plain_code(next((text for text in comments if _weight(text) >= 2), code[0]))
    words = (heading_text(text) for text in (*texts, *(line.heading for line in lines if line.heading)))
    return next((text for text in words if any(map(str.isalnum, text))), "")


def plain_code(text: str) -> str:
    """Return a line of code without its prompt, on one line."""
    return " ".join(text.removeprefix("$ ").split())
