"""The entity dictionary: who or what a name stands for, from a table or a list in ``entities.md``.

Pure but for the postings that ``cards`` asks. The dictionary is small and read anew for every query, so that
a line added a moment ago counts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from recall_git import analysis, guard, notes
from recall_git.retrieve import View
from recall_git.search import document_at
from recall_git.types import Document

BYTES_MAX = 512 << 10
ENTITIES_MAX = 4000
CARDS_MAX = 3
PLACES_MAX = 2
NAME_CHARS = 80
_COLUMNS = {
    spelling: column
    for column, spellings in {
        "name": "name entity term who/what 名称 名稱 名字 姓名 名前 氏名 实体 實體 用語 用语",
        "aliases": "alias aliases aka nickname nicknames 别名 別名 别称 別稱 又名 昵称 略称 通称 エイリアス 別称",
        "type": "type kind category role 类型 類型 类别 類別 種類 種別 タイプ 分类 分類",
        "who": "who what description identity meaning summary 身份 说明 說明 描述 谁 誰 是谁 説明 概要 何者 意味 備考",
        "more": "more note notes remark link see contact 备注 備註 更多 链接 补充 詳細 メモ リンク 参照",
    }.items()
    for spelling in spellings.split()
}
_ALIAS_SPLIT = re.compile(r"\s*[,，、;；/／|]\s*")
_ITEM = re.compile(r"\s{0,3}[-*+]\s+(?P<name>[^:：—–]{1,200}?)\s*(?:[:：]|\s[—–-]\s)\s*(?P<who>\S.*)")
_IN_BRACKETS = re.compile(r"^(.*?)\s*[(（]([^()（）]{1,200})[)）]\s*$")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7a3\U00020000-\U000323af]")


@dataclass(frozen=True, slots=True)
class Entity:
    """One entry of the dictionary."""

    name: str
    line: int
    aliases: tuple[str, ...] = ()
    type: str = ""
    who: str = ""
    more: str = ""

    @property
    def spellings(self) -> tuple[str, ...]:
        """The name and its aliases."""
        return (self.name, *self.aliases)


@lru_cache(maxsize=16)
def parse(data: bytes) -> tuple[Entity, ...]:
    """Return the entities in a Markdown file, in its order; the first entry of a name counts in a query."""
    text = notes.decode(data)
    return tuple(_entities(text))[:ENTITIES_MAX] if text else ()


def _entities(text: str) -> Iterator[Entity]:
    columns: list[str] = []
    lines = notes.scan(text)
    for number, line in enumerate(lines, start=1):
        if line.kind != notes.TEXT:
            columns = columns if line.kind == notes.UNDERLINE else []
            continue
        if line.text.lstrip().startswith("|"):
            cells = _cells(line.text)
            if all(re.fullmatch(r":?-+:?", cell) for cell in cells if cell) and any(cells):
                continue
            if not columns:
                columns = [_COLUMNS.get(_folded(cell), "") for cell in cells]
                if "name" not in columns:  # no header that we know: the usual order
                    columns = ["name", "aliases", "type", "who", "more"]
                    begins = number < len(lines) and re.match(r"\s*\|?[\s:|-]*-[\s:|-]*$", lines[number].text)
                    if begins:
                        continue
                else:
                    continue
            row = dict(zip(columns, cells, strict=False))
            yield from _entity(number, **{key: value for key, value in row.items() if key})
            continue
        columns = []
        item = _ITEM.match(line.text)
        if item:
            yield from _entity(number, name=item["name"], who=item["who"])


def _entity(
    line: int, name: str = "", aliases: str = "", type: str = "", who: str = "", more: str = ""
) -> Iterator[Entity]:
    name = notes.plain(name)
    inside = _IN_BRACKETS.match(name)
    others = [notes.plain(part) for part in _ALIAS_SPLIT.split(aliases)]
    if inside:
        name = inside[1]
        others = [*_ALIAS_SPLIT.split(inside[2]), *others]
    found = tuple(dict.fromkeys(other[:NAME_CHARS] for other in others if other and other != name))
    if name:
        yield Entity(name[:NAME_CHARS], line, found, notes.plain(type), notes.plain(who), notes.plain(more))


def _cells(row: str) -> list[str]:
    """Return the cells of a table's row; ``\\|`` is a bar, and so is one inside a wikilink."""
    inner = row.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    marked = re.sub(r"\[\[([^\[\]|]*)\|([^\[\]]*)\]\]", "[[\\1\0\\2]]", inner.replace("\\|", "\0"))
    return [cell.strip().replace("\0", "|") for cell in marked.split("|")]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", notes.plain(text)).casefold().strip(" *:：")


@lru_cache(maxsize=8)
def _lookup(entities: tuple[Entity, ...]) -> tuple[re.Pattern[str] | None, dict[str, Entity]]:
    """Return one pattern for all spellings, the longest first, and whose each is."""
    owner: dict[str, Entity] = {}
    for entity in entities:
        for spelling in entity.spellings:
            folded = _folded(spelling)
            if len(folded) > 1 and folded not in analysis.STOPWORDS:
                owner.setdefault(folded, entity)
    if not owner:
        return None, owner
    parts = []
    for spelling in sorted(owner, key=lambda text: (-len(text), text)):
        # A word of letters ends where letters end; Han and kana are written without spaces, so any place will do.
        before = "" if _CJK.match(spelling) else r"(?<![^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3])"
        after = "" if _CJK.match(spelling[-1]) else r"(?![^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3])"
        parts.append(before + re.escape(spelling) + after)
    return re.compile("|".join(parts)), owner


def named(entities: tuple[Entity, ...], text: str) -> list[Entity]:
    """Return the entities that *text* names, in the order in which it does, each once.

    The longest name wins where several begin at one place; case and width do not matter.
    """
    pattern, owner = _lookup(entities)
    if pattern is None:
        return []
    folded = unicodedata.normalize("NFKC", text).casefold()
    return list(dict.fromkeys(owner[found[0]] for found in pattern.finditer(folded)))


def cards(entities: tuple[Entity, ...], view: View, text: str, path: str) -> list[Document]:
    """Return at most ``CARDS_MAX`` one-line cards for the names in *text*; *path* is the dictionary's own."""
    return [card(entity, view, path) for entity in named(entities, text)[:CARDS_MAX]]


def card(entity: Entity, view: View, path: str) -> Document:
    """Return the identity card of *entity*: who it is, and where the notes name it."""
    also = f" ({', '.join(entity.aliases[:3])})" if entity.aliases else ""
    kind = f"[{entity.type}] " if entity.type else ""
    says = "; ".join(part for part in (entity.who, entity.more) if part)
    places = [f"{document.path}:{document.line}" for document in places_of(entity, view)]
    where = f" — in {', '.join(places)}" if places else ""
    line = guard.mask(f"{entity.name}{also}: {kind}{says[:160]}{where}")
    return Document(
        path=path, blob="", line=entity.line, heading=(), title=entity.name, summary=line, tags=(), type="entity",
        priority="", date="", owner="", expires="", supersedes=(), superseded_by="", aliases=entity.aliases,
        content_hash=blake2b(line.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest(),
    )  # fmt: skip


def places_of(entity: Entity, view: View, limit: int = PLACES_MAX) -> list[Document]:
    """Return sections that name *entity*, of different notes: those first that name it most, then the newest."""
    found: dict[int, int] = {}
    for spelling in entity.spellings[:8]:
        for number, times in _occurrences(view, spelling).items():
            found[number] = found.get(number, 0) + times

    def order(number: int) -> tuple[int, int, int]:
        segment, local = view.locate(number)  # by content where all else is equal: not by the index's history
        return -found[number], -int(view.time[number]), int(segment.docs["hash"][local])

    ranked = sorted(found, key=order)
    notes_seen: dict[str, Document] = {}
    for number in ranked[: 4 * limit]:
        document = document_at(view, number)
        notes_seen.setdefault(document.path, document)
    return list(notes_seen.values())[:limit]


def _occurrences(view: View, spelling: str) -> dict[int, int]:
    """Return the documents that have all terms of *spelling* in one field, and how often the rarest of them."""
    terms = list(dict.fromkeys(analysis.terms(spelling)))
    best: dict[int, int] = {}
    for field in ("title", "body") if terms else ():
        counts: dict[int, int] | None = None
        for term in terms:
            here: dict[int, int] = {}
            for base, postings in view.postings(field, term):
                ids = postings.ids.astype(np.int64) + base
                kept = view.live[ids]
                here.update(zip(ids[kept].tolist(), postings.counts[kept].tolist(), strict=True))
            counts = here if counts is None else {n: min(c, here[n]) for n, c in counts.items() if n in here}
            if not counts:
                break
        for number, times in (counts or {}).items():
            best[number] = best.get(number, 0) + times
    return best


def clashes(entities: Sequence[Entity]) -> Iterator[str]:
    """Yield one line for each name that two entries claim, and for each entry that says nothing."""
    owner: dict[str, Entity] = {}
    for entity in entities:
        for spelling in entity.spellings:
            folded = _folded(spelling)
            other = owner.setdefault(folded, entity)
            if other is entity:
                continue
            same_name = _folded(other.name) == _folded(entity.name)
            if same_name and _folded(other.who) == _folded(entity.who):
                yield f"line {entity.line}: '{spelling}' stands in line {other.line} too"
            else:
                yield f"line {entity.line}: '{spelling}' is also line {other.line} ({other.name}: {other.who[:60]})"
            break
        if not entity.who and not entity.more:
            yield f"line {entity.line}: '{entity.name}' has no description"
