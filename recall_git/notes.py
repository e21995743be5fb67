"""Blob bytes → ``Note``: text, front matter, title, tags, links; and the Markdown reading that ``chunks`` shares.

Pure: nothing is read but the bytes given, nothing is raised for any bytes. PyYAML is imported when a
note has front matter.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from functools import lru_cache
from itertools import chain, islice, takewhile
from typing import Any, NamedTuple

from recall_git.types import Note

SNIFF_BYTES = 8192
"""A NUL byte in that many first bytes means a binary file, as for ``git diff``."""
MAX_FRONT_MATTER = 65_536
"""Longest front matter that is read, in characters."""
MAX_DEPTH = 8
MAX_TAGS = 64
MAX_ALIASES = 32
MAX_LINKS = 256
MAX_SUPERSEDED = 64
MAX_TITLE = 200
MAX_TEXT = 500
"""Longest summary and problem, in characters; names and targets end at ``MAX_NAME``."""
MAX_NAME = 200
MAX_TAG = 64

_LFS_POINTER = "version https://git-lfs.github.com/spec/"


def decode(data: bytes) -> str | None:
    """Return the text of a blob with ``\\n`` line ends and without NULs, or None when it is not text.

    A byte order mark decides first (UTF-8, UTF-16, UTF-32), then UTF-8, then Windows-1252. A file
    that is UTF-8 but for a few bad bytes stays UTF-8 with U+FFFD in their place. Binary files and Git
    LFS pointers give None. Decoding the UTF-8 bytes of the result again gives the same text.
    """
    text = _decode(data)
    if text is None:
        return None
    text = text.replace("\0", "").lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return None if text.startswith(_LFS_POINTER) else text


def _decode(data: bytes) -> str | None:
    for mark, encoding in ((b"\xff\xfe\0\0", "utf-32"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    if b"\0" in data[:SNIFF_BYTES]:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    text = data.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    if sum(not char.isascii() for char in text) - bad > bad:
        return text
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def parse(path: str, data: bytes) -> Note | None:
    """Return the note in a blob, or None when the blob is not text.

    Front matter that cannot be used costs only itself: the note is read without it, and
    ``Note.problem`` says in one line what was wrong. Every string and collection is bounded, free of
    control characters, and (collections) in order without repeats.
    """
    text = decode(data)
    if text is None:
        return None
    front, body, body_line, problem = _front_matter(text)
    lines = scan(body)
    expires = _date(_first(front, "expires"))
    if not problem and _first(front, "expires") and not expires:
        problem = f"expires: {_first(front, 'expires')!r} is not a date"
    return Note(
        path=path,
        title=_title(front, lines, path),
        body=body,
        body_line=body_line,
        type=_clean(_first(front, "type"), 40).lower(),
        tags=_unique(chain(_tags(front), inline_tags(_preamble(lines))), MAX_TAGS),
        aliases=_unique((_clean(alias, MAX_NAME) for alias in front.get("aliases", ())), MAX_ALIASES),
        summary=shorten(plain(_first(front, "summary")[: 4 * MAX_TEXT]), MAX_TEXT),
        priority="high" if _first(front, "priority").casefold() in _HIGH else "",
        date=next(filter(None, (_date(_first(front, key)) for key in ("date", "updated", "created"))), ""),
        expires=expires,
        owner=_clean(_first(front, "owner"), MAX_NAME),
        supersedes=_unique(map(_target, front.get("supersedes", ())), MAX_SUPERSEDED),
        superseded_by=next(map(_target, front.get("superseded_by", ())), ""),
        links=_unique(_links(lines), MAX_LINKS),
        problem=_clean(problem, MAX_TEXT),
    )


# --- front matter ---

_KEYS = {
    spelling: key
    for key, spellings in {
        "title": "title 标题 標題 タイトル 題名 제목",
        "name": "name",
        "type": "type kind 类型 類型 種類 種別 类别",
        "tags": "tags tag keywords keyword 标签 標籤 タグ 关键词 关键字 キーワード 태그",
        "categories": "categories category 分类 分類 カテゴリ カテゴリー",
        "aliases": "aliases alias 别名 別名 エイリアス",
        "summary": "summary description abstract 摘要 简介 描述 概要 要約 説明",
        "priority": "priority 优先级 優先級 優先度 重要度",
        "date": "date 日期 日付 날짜",
        "updated": "updated modified updatedat lastmodified lastmod 更新 更新日期 更新时间 修改时间 更新日",
        "created": "created createdat 创建 创建日期 创建时间 作成日",
        "expires": "expires expiry expiresat validuntil 过期 到期 有效期 期限 有効期限",
        "owner": "owner 所有者 负责人 担当 担当者",
        "supersedes": "supersedes replaces 取代 替代 置換",
        "superseded_by": "supersededby replacedby 被取代",
        "metadata": "metadata",
    }.items()
    for spelling in spellings.split()
}
_HIGH = frozenset(
    (
        "high",
        "highest",
        "critical",
        "must",
        "urgent",
        "blocker",
        "p0",
        "高",
        "最高",
        "紧急",
        "緊急",
        "必须",
        "必須",
        "重要",
    )
)
_NOTHING = frozenset({"", "~", "null", "none"})
_MAX_VALUES = 512

Front = dict[str, list[str]]
"""Values by our own name of their key, as text, flattened; never blank."""


class _FrontMatterError(Exception):
    """What is wrong with front matter, in words for the note's owner."""


def _front_matter(text: str) -> tuple[Front, str, int, str]:
    """Return the front matter, the text after it, that text's line number, and the problem or ''."""
    first, _, rest = text.partition("\n")
    if first.rstrip() != "---":
        return {}, text, 1, ""
    end = _FENCE_END.search(rest, 0, MAX_FRONT_MATTER)
    if end is None:
        return {}, text, 1, f"front matter is not closed with '---' within {MAX_FRONT_MATTER // 1024} kB"
    block = rest[: end.start()]
    problem = ""
    try:
        loaded, problem = _load(block)
        front = _fields(loaded)
        if not front.get("tags") and (match := _HASH_TAGS.search(block)):
            front["tags"] = match[1].split()  # a comment to YAML, but tags to the one who wrote it
    except _FrontMatterError as error:
        problem = str(error)
        front = _fields(_recover(block))
        if not front:
            # Nothing that we know: most likely a note that opens with a rule, and then its text must stay.
            return {}, text, 1, problem
    return front, rest[end.end() :], 2 + rest.count("\n", 0, end.end()), problem


_FENCE_END = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.MULTILINE)

_HASH_TAGS = re.compile(r"^(?:tags?|标签|タグ):[ \t]+(#\S.*)$", re.MULTILINE | re.IGNORECASE)


def _load(block: str) -> tuple[dict[str, Any], str]:
    """Return YAML's mapping with every scalar as it is written, and a complaint about it or ''.

    The events are read one by one: nothing is constructed, expanded or nested beyond ``MAX_DEPTH``, so
    no document can cost more than its length, and '1.10' or '2026-03-05' stay what their author wrote.
    """
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    reader = _Reader(yaml, yaml.parse(block, Loader=loader))
    try:
        value = reader.document()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 2})" if mark else ""
        what = getattr(error, "problem", None) or str(error)
        raise _FrontMatterError(f"front matter is not valid YAML: {what}{where}") from None
    if value == "":
        return {}, ""
    if not isinstance(value, dict):
        raise _FrontMatterError("front matter is not a list of 'key: value' lines")
    return value, reader.problem


class _Reader:
    """Builds dicts, lists and strings from YAML's events."""

    def __init__(self, yaml: Any, events: Iterator[Any]) -> None:
        self.yaml = yaml
        self.events = events
        self.problem = ""

    def document(self) -> Any:
        """Return the first document's value; an empty one gives ''."""
        beginnings = (self.yaml.StreamStartEvent, self.yaml.DocumentStartEvent)
        return self.value(next(event for event in self.events if not isinstance(event, beginnings)), 0)

    def value(self, event: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise _FrontMatterError("front matter is nested too deeply")
        if isinstance(event, self.yaml.SequenceStartEvent):
            return list(self.items(self.yaml.SequenceEndEvent, depth))
        if isinstance(event, self.yaml.MappingStartEvent):
            return self.mapping(depth)
        if isinstance(event, self.yaml.AliasEvent):
            self.problem = "front matter uses YAML aliases, which are not followed"
        return getattr(event, "value", "")

    def items(self, end: type, depth: int) -> Iterator[Any]:
        for event in self.events:
            if isinstance(event, end):
                return
            yield self.value(event, depth + 1)

    def mapping(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        items = self.items(self.yaml.MappingEndEvent, depth)
        for key, value in zip(items, items):  # noqa: B905 - keys and values take turns
            if str(key) in found:
                self.problem = f"front matter has {str(key)!r} twice, the last one counts"
            found[str(key)] = value
        return found


_RECOVERABLE = re.compile(r"([^\s:#\-\[{\"'][^:]{0,40}?)[ \t]*:(?:[ \t]+(.*))?")
_COMMENT = re.compile(r"[ \t]+#.*")


def _recover(block: str) -> dict[str, Any]:
    """Return the 'key: value' lines of broken YAML, and the '- item' lines below a key without a value.

    Only what has one reading is taken: 'title: Foo: bar' yes, block scalars and open quotes no.
    """
    found: dict[str, Any] = {}
    items: list[str] | None = None
    for line in block.split("\n"):
        if match := _RECOVERABLE.fullmatch(line):
            value = (match[2] or "").strip()
            items = [] if not value else None
            found[match[1]] = items if items is not None else _recovered_value(value)
        elif items is not None and line.lstrip().startswith("- "):
            items.append(_unquoted(line.lstrip()[2:].strip()))
    return found


def _recovered_value(value: str) -> str | list[str]:
    if value[0] in "|>{&*!%@`":
        return ""
    if value[0] == "[":
        return [_unquoted(item.strip()) for item in value.strip("[]").split(",")] if value[-1] == "]" else ""
    return _unquoted(value)


def _unquoted(value: str) -> str:
    if value[:1] in ("'", '"'):
        return value[1:-1] if len(value) > 1 and value[-1] == value[0] else ""
    return _COMMENT.sub("", value)


def _fields(loaded: dict[str, Any]) -> Front:
    """Return the values of the keys that we know; several spellings of one key add up."""
    front: Front = {}
    nested: Front = {}
    for written, value in loaded.items():
        key = _KEYS.get(_SEPARATORS.sub("", unicodedata.normalize("NFKC", written).casefold()))
        if key == "metadata" and isinstance(value, dict):
            nested = _fields(value)
        elif key:
            several = _several(key, value) if isinstance(value, str) else islice(_scalars(value), _MAX_VALUES)
            texts = (text.strip() for text in several)
            front[key] = front.get(key, []) + [text for text in texts if text.casefold() not in _NOTHING]
    return {**nested, **front}


_SEPARATORS = re.compile(r"[-_\s]+")
_COMMAS = re.compile(r"\s*[,，、;；]\s*")


def _several(key: str, value: str) -> list[str]:
    """Return what one string names: 'a, b c' are two tags, 'a b' and '#a #b' too; a list's 'two words' stay one."""
    if key in ("tags", "categories"):
        return _COMMAS.split(value) if _COMMAS.search(value) else value.split()
    return _COMMAS.split(value) if key in ("aliases", "supersedes") else [value]


def _scalars(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _scalars(item)


# --- fields ---


def _first(front: Front, key: str) -> str:
    return next(iter(front.get(key, ())), "")


def _tags(front: Front) -> Iterator[str]:
    for value in chain(front.get("tags", ()), front.get("categories", ())):
        tag = _clean(value.strip("#\"'[] "), MAX_TAG)
        if any(map(str.isalnum, tag)):
            yield tag


def _title(front: Front, lines: Sequence[Line], path: str) -> str:
    """Return the title from front matter, else the first H1, else ``name``, else the file's name."""
    headings = [line.heading for line in lines if line.level == 1]
    # A note of numbered H1 chapters has no title among them.
    heading = headings[0] if len(headings) == 1 or (headings and not _CHAPTER.match(headings[0])) else ""
    for candidate in (_first(front, "title"), heading, _first(front, "name")):
        if title := heading_text(candidate):
            return title
    return _title_of_path(path)


_CHAPTER = re.compile(
    r"(?:[一二三四五六七八九十]+\s*[、.．]|第\s*[一二三四五六七八九十\d]+\s*[章节節部]|\d+\s*[、.)．]\s*\D|chapter \d)",
    re.I,
)


def heading_text(written: str) -> str:
    """Return a heading as plain text; one that is only an image gives the image's description."""
    written = written[: 4 * MAX_TITLE]
    return shorten(plain(written) or _described(written), MAX_TITLE)


def _described(written: str) -> str:
    """Return the descriptions of pictures, without the size that Obsidian writes after a '|'."""
    return _clean(" ".join(alt.partition("|")[0] for alt in chain(*_ALT.findall(written))), MAX_TITLE)


_DATE_PREFIX = re.compile(r"\d{4}-?\d\d-?\d\d[-_ ]+(?=\S)")


def _title_of_path(path: str) -> str:
    names = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace").split("/")
    stem = names[-1].rpartition(".")[0] or names[-1]
    if stem.lower() in ("index", "_index", "readme") and len(names) > 1:
        stem = names[-2]
    readable = _clean(_DATE_PREFIX.sub("", stem, count=1).replace("-", " ").replace("_", " "), MAX_TITLE)
    return readable or _clean(stem, MAX_TITLE) or "untitled"


_DATE = re.compile(
    r"\s*(\d{4})\s*(?:[-/.]|年)\s*(\d{1,2})\s*(?:[-/.]|月)\s*(\d{1,2})(?!\d)|\s*(\d{4})(\d\d)(\d\d)(?!\d)"
)


def _date(written: str) -> str:
    """Return the day at the start of *written* as YYYY-MM-DD, or '' when there is none."""
    match = _DATE.match(written)
    if match is None:
        return ""
    year, month, day = (int(group) for group in match.groups() if group)
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""


def _target(written: str) -> str:
    """Return what a link points at: '[[note#part|shown]]' gives 'note'."""
    target = written.strip().strip("[]").partition("|")[0].partition("#")[0]
    return _clean(target.rstrip("\\"), MAX_NAME)


# --- text ---

# Control characters, bidirectional overrides, invisible and tag characters, lone surrogates: what a reader
# cannot see must not reach a terminal or a model. Joiners stay, emoji and several scripts need them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]+"
)


def _clean(text: str, limit: int) -> str:
    """Return *text* on one line, without unseen characters, at most *limit* characters."""
    return " ".join(_UNSEEN.sub("", text).split())[:limit].rstrip()


def shorten(text: str, limit: int) -> str:
    """Return *text* in at most *limit* characters, cut between words with '…' at the end when it is longer."""
    if len(text) <= limit:
        return text
    kept = text[: limit - 1]
    if kept[-1].isalnum() and text[limit - 1].isalnum() and kept[-1] < "\u2e80":
        word = kept.rfind(" ")
        kept = kept[:word] if word > limit // 2 else kept
    return kept.rstrip(" ,;:，、；：—–-([（「") + "…"


def _unique(items: Iterable[str], limit: int) -> tuple[str, ...]:
    """Return the items that are not blank, each once whatever its case, in order, at most *limit*."""
    found: dict[str, str] = {}
    for item in items:
        if item:
            found.setdefault(item.casefold(), item)
            if len(found) >= limit:
                break
    return tuple(found.values())


_CODE_SPAN = re.compile(r"``[^\n]{1,500}?``|`[^`\n]{1,500}`")
_IMAGE = re.compile(
    r"!\[([^\[\]]{0,300})\](?:\([^()\n]{0,2000}(?:\([^()\n]{0,200}\)[^()\n]{0,200})?\)|\[[^\[\]]{0,100}\])"
)
_ALT = re.compile(_IMAGE.pattern + r"|<img\s[^<>]{0,2000}?\balt=\"([^\"<>]{1,300})\"", re.IGNORECASE)
_MARKUP = re.compile(
    _IMAGE.pattern.replace("([^", "(?:[^", 1) + r"|!\[\[[^\[\]\n]{0,300}\]\]"  # embed
    r"|<!--.{0,2000}?-->|\[\^[^\[\]\s]{1,40}\]"  # comment, footnote
    r"|</?(?:(?P<block>blockquote|br|center|dd|details|div|dl|dt|figcaption|figure|h[1-6]|hr|li|ol|p|pre|section|summary"
    r"|table|tbody|td|th|thead|tr|ul)|a|abbr|b|big|button|cite|code|del|dfn|em|font|i|iframe|img|input|ins|kbd|label"
    r"|mark|nobr|picture|q|rp|rt|ruby|s|samp|small|source|span|strike|strong|sub|sup|tt|u|var|video|wbr)"
    r"(?:\s[^<>]{0,2000})?/?>"
    r"|\{[:#.][^{}\n]{0,100}\}",  # attributes of kramdown and Pandoc
    re.IGNORECASE | re.DOTALL,
)
_LINK = re.compile(
    r"\[\[(?:[^\[\]|\n]{0,300}\|)?([^\[\]|\n]{1,300})\]\]"
    r"|\[([^\[\]]{0,500})\](?:\([^()\n]{0,2000}(?:\([^()\n]{0,200}\)[^()\n]{0,200})?\)|\[[^\[\]]{0,100}\])"
    r"|<((?:https?://|mailto:)[^<>\s]{1,500})>"
)
_EMPHASIS = re.compile(
    r"(\*{1,3}|~~|==)(?=\S)((?:(?!\1).){1,500}?)(?<=\S)\1"
    # '__init__' means what it says, '__All of this__' is strong.
    r"|(?<!\w)(?!__[a-z0-9]+__(?!\w))(_{1,3})(?=[^\s_])([^_\n]{1,500}?)(?<=\S)\3(?!\w)",
    re.DOTALL,
)
_SOFT_BREAK = re.compile(r"(?<=[\u2e80-\uffef])[ \t]?\n[ \t]*(?=[\u2e80-\uffef])")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_LINE_START = re.compile(
    r"^[ \t]*(?:>[ \t]?)*(?:\[![\w-]{1,20}\][-+]?[ \t]*|#{1,6}[ \t]+|(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?)?",
    re.MULTILINE,
)


def plain(text: str) -> str:
    """Return Markdown as one line of plain text: links as their text, code without its ticks, no images or tags.

    Linear in the length of *text*. What is not Markdown stays as it is written.
    """
    text = _SOFT_BREAK.sub("", _LINE_START.sub("", text))
    if "`" not in text:
        return _clean(_plain_prose(text), len(text))
    # Code is set aside under a mark of its own, for a link may hold it and none of it is Markdown.
    code = [span[0].strip("`").strip() for span in _CODE_SPAN.finditer(text)]
    prose = _plain_prose(_CODE_SPAN.sub(_CODE_MARK, text.replace(_CODE_MARK, "")))
    pieces = prose.split(_CODE_MARK)
    if len(pieces) == len(code) + 1:  # else a mark went with an image or a comment
        prose = "".join(chain.from_iterable(zip(pieces, [*code, ""], strict=True)))
    return _clean(prose, len(text))


_CODE_MARK = "\ue000"


def _plain_prose(text: str) -> str:
    if "<" in text or "[" in text or "{" in text:
        text = _LINK.sub(_link_text, _MARKUP.sub(_gap, text))
    if "*" in text or "_" in text or "~" in text or "==" in text:
        text = _EMPHASIS.sub(_emphasised, _EMPHASIS.sub(_emphasised, text))
    if "\\" in text:
        text = _ESCAPE.sub(r"\1", text)
    if "&" in text:
        import html

        text = html.unescape(text)
    return text


def _gap(match: re.Match[str]) -> str:
    return " " if match["block"] else ""


def _link_text(match: re.Match[str]) -> str:
    return match[1] or match[2] or match[3] or ""


def _emphasised(match: re.Match[str]) -> str:
    return match[2] or match[4]


# --- lines ---

TEXT, BLANK, HEADING, UNDERLINE, OPEN, CODE, CLOSE, COMMENT = range(8)
"""Kinds of lines. A fence is OPEN, CODE…, CLOSE; indented code and <pre> are CODE alone."""


class Line(NamedTuple):
    """One line of a note's body, and what Markdown takes it for."""

    text: str
    kind: int
    level: int = 0
    """1…6 for a heading, else 0."""
    heading: str = ""
    """A heading's own text, still with its Markdown."""


_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*")
# '##Heading' without the space is common in older Chinese notes; '#word' is a tag.
_TIGHT_ATX = re.compile(r" {0,3}(#{2,6})([^\s#].*?)#*[ \t]*")
_SETEXT = re.compile(r" {0,3}(={2,}|-{2,})[ \t]*")
_FENCE = re.compile(r"([ \t]*(?:>[ \t]*)*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(`{3,}|~{3,})(.*)")
_RAW_HTML = re.compile(r" {0,3}<(?:(!--)|(pre|script|style|svg|textarea)\b)", re.IGNORECASE)
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_NO_SETEXT = re.compile(r"[ \t]*(?:[>|<#]|[-*+] |\d{1,9}[.)] | {4}|\t)")
MAX_SETEXT = 200


@lru_cache(maxsize=1)  # what was just parsed is split next
def scan(body: str) -> Sequence[Line]:
    """Return the lines of a body with their kinds; ``"\\n".join`` of their texts is the body.

    Follows CommonMark where notes do, and leans to prose where they don't: a comment or a <pre> that
    is never closed hides nothing, several lines above '---' are a paragraph and a rule.
    """
    return _Scanner(body).lines


class _Scanner:
    def __init__(self, body: str) -> None:
        self.body = body
        self.lines: list[Line] = []
        self.in_list = False
        self.fence = ""
        self.quoted = False
        """Whether the open fence stands in a block quote, and ends with it."""
        self.raw_end = ""
        """What ends the open comment or <pre>."""
        self.raw_kind = COMMENT
        self.last_ends: dict[str, int] = {}
        for text in body.split("\n"):
            self.lines.append(self.line(text))

    def line(self, text: str) -> Line:
        if self.raw_end:
            if self.raw_end in text.lower():
                self.raw_end = ""
            return Line(text, self.raw_kind)
        if self.fence:
            if not self.quoted or text.lstrip().startswith(">"):
                return Line(text, self.inside_fence(text))
            self.fence = ""
        if not text or text.isspace():
            return Line(text, BLANK)
        previous = self.lines[-1].kind if self.lines else BLANK
        indented = text.startswith(("    ", "\t")) and not self.in_list
        if indented and previous not in (TEXT, COMMENT):
            return Line(text, CODE)
        if ("```" in text or "~~~" in text) and not indented and self.opens_fence(text):
            return Line(text, OPEN)
        if "<" in text and (kind := self.raw_html(text)):
            return Line(text, kind)
        if "#" in text and (match := _ATX.fullmatch(text) or _TIGHT_ATX.fullmatch(text)):
            self.in_list = False
            return Line(text, HEADING, len(match[1]), (match[2] or "").strip())
        if text.lstrip(" ")[0] in "=-" and self.underlines(text):
            return Line(text, UNDERLINE)
        if _ITEM.match(text):
            self.in_list = True
        elif previous == BLANK and not text[0].isspace():
            self.in_list = False
        return Line(text, TEXT)

    def inside_fence(self, text: str) -> int:
        mark = text.lstrip(" \t>").rstrip()
        if len(mark) >= len(self.fence) and mark == self.fence[0] * len(mark):
            self.fence = ""
            return CLOSE
        return CODE

    def opens_fence(self, text: str) -> bool:
        match = _FENCE.fullmatch(text)
        if not match or (match[2][0] == "`" and "`" in match[3]):
            return False
        self.fence, self.quoted = match[2], ">" in match[1]
        return True

    def raw_html(self, text: str) -> int:
        """Return the kind of a line that begins a comment or a <pre>; 0 (TEXT) when it begins none."""
        match = _RAW_HTML.match(text)
        if not match:
            return TEXT
        end = "-->" if match[1] else f"</{match[2].lower()}>"
        kind = COMMENT if match[1] else CODE
        closed, _, after = text[match.end() :].lower().partition(end)
        if len(closed) + match.end() < len(text):
            return TEXT if after.strip() else kind
        if len(self.lines) >= self.last_end(end):
            return TEXT
        self.raw_end, self.raw_kind = end, kind
        return kind

    def last_end(self, end: str) -> int:
        """Return the number of the last line (from 0) with *end*, or -1."""
        if end not in self.last_ends:
            at = self.body.lower().rfind(end)
            self.last_ends[end] = self.body.count("\n", 0, at) if at >= 0 else -1
        return self.last_ends[end]

    def underlines(self, text: str) -> bool:
        """Whether *text* underlines the line before it, which then becomes a heading."""
        match = _SETEXT.fullmatch(text)
        if not match or not self.lines or self.in_list:
            return False
        above = self.lines[-1]
        alone = len(self.lines) < 2 or self.lines[-2].kind not in (TEXT, COMMENT)
        if above.kind != TEXT or not alone or len(above.text) > MAX_SETEXT or _NO_SETEXT.match(above.text):
            return False
        self.lines[-1] = Line(above.text, HEADING, 1 if match[1][0] == "=" else 2, above.text.strip())
        return True


# --- tags and links ---

# Not after ']( ' (an anchor), not before what makes it a selector, a call or a longer word.
_TAG = re.compile(
    r"(?:^|(?<=[\s(（,，、;；。【「])(?<!\]\())#([^\W\d_](?:[\w/-]|[\u0300-\u036f])*)(?![\w/(={\[<-]| \{)"
)
_HEX = re.compile(r"(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8}|(?=[a-fA-F]*\d)[0-9a-fA-F]{4})")
_DIRECTIVES = re.compile(r"include|define|undef|ifn?def|if|else|elif|endif|pragma|import|error|warning|(?:end)?region")
_WIKILINK = re.compile(r"\[\[([^\[\]|#\n]{1,200})(?:[|#][^\[\]\n]{0,300})?\]\]")
_NOTE_LINK = re.compile(
    r"(?:\]\(\s*|^ {0,3}\[[^\[\]]{1,100}\]:\s*)"
    r"(?:<([^<>\n]{1,300}?\.(?:md|markdown))(?:#[^<>\n]{0,200})?>|([^()<>\s#]{1,300}\.(?:md|markdown))(?=[#)\s]|$))",
    re.IGNORECASE,
)
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".pdf", ".mp4", ".mp3")


def _preamble(lines: Sequence[Line]) -> Iterable[Line]:
    """Return the lines before the first section: a tag there belongs to the whole note, a later one to its section."""
    return takewhile(lambda line: line.level < 2, lines)


def inline_tags(lines: Iterable[Line]) -> Iterator[str]:
    """Yield the ``#tags`` of prose lines, without '#', in order, with repeats; code and headings have none."""
    for line in lines:
        if line.kind == TEXT and "#" in line.text:
            for match in _TAG.finditer(_CODE_SPAN.sub(" ` ", line.text)):
                tag = match[1].rstrip("-/")[:MAX_TAG]
                if not _HEX.fullmatch(tag) and not _DIRECTIVES.fullmatch(tag):
                    yield tag


def _links(lines: Iterable[Line]) -> Iterator[str]:
    for line in lines:
        if line.kind in (TEXT, HEADING) and "[" in line.text:
            text = _CODE_SPAN.sub(" ` ", line.text)
            found = [(match.start(), _target(match[1])) for match in _WIKILINK.finditer(text)]
            found += [(match.start(), _relative(match[1] or match[2])) for match in _NOTE_LINK.finditer(text)]
            yield from (target for _, target in sorted(found) if not target.lower().endswith(_PICTURES))


def _relative(target: str) -> str:
    """Return a link's target within the repository, or '' for one elsewhere."""
    if ":" in target or target.startswith("//"):
        return ""
    if "%" in target:
        from urllib.parse import unquote

        target = unquote(target)
    return _clean(target.removeprefix("./"), MAX_NAME)
