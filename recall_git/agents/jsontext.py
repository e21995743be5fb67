"""Change one place in a JSON file and no other byte: comments, order, indentation and line ends stay.

Reads JSON as people keep it in settings: comments and trailing commas are accepted and kept. Pure text
work: no file is touched here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from recall_git.agents.files import BadFile

_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?\d[\d.eE+-]*|true|false|null')
DEPTH_MAX = 200


class BadJson(BadFile):
    """The text is not JSON; ``str(error)`` says where."""

    def __init__(self, text: str, at: int, what: str) -> None:
        line = text.count("\n", 0, at) + 1
        super().__init__(f"line {line}, column {at - text.rfind(chr(10), 0, at)}: {what}")


@dataclass(frozen=True, slots=True)
class Node:
    """One value and where it stands: ``text[start:end]``."""

    kind: str
    """``object``, ``array`` or ``scalar``."""
    start: int
    end: int
    members: tuple[Member, ...] = ()
    value: Any = None
    """The value of a scalar."""

    def get(self, key: str) -> Node | None:
        """Return the value of *key* (the last one counts, as in JSON), None when this is no object or lacks it."""
        found = [member.node for member in self.members if member.key == key] if self.kind == "object" else []
        return found[-1] if found else None

    def items(self) -> tuple[Node, ...]:
        """Return the values of an array, () for anything else."""
        return tuple(member.node for member in self.members) if self.kind == "array" else ()

    def plain(self) -> Any:
        """Return the value as ``json.loads`` would."""
        if self.kind == "object":
            return {member.key: member.node.plain() for member in self.members}
        if self.kind == "array":
            return [member.node.plain() for member in self.members]
        return self.value


@dataclass(frozen=True, slots=True)
class Member:
    """One entry of an object or an array."""

    start: int
    """Where its key stands, or its value in an array."""
    node: Node
    comma: int
    """Where the comma after it stands, -1 when there is none."""
    key: str = ""


def parse(text: str) -> Node:
    """Return the value that *text* is; raises BadJson."""
    at = _skip(text, 0)
    node = _value(text, at, 0)
    end = _skip(text, node.end)
    if end != len(text):
        raise BadJson(text, end, "something follows the end of the value")
    return node


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _value(text: str, at: int, depth: int) -> Node:
    if depth > DEPTH_MAX:
        raise BadJson(text, at, "nested too deeply")
    opening = text[at : at + 1]
    if opening in ("{", "["):
        return _container(text, at, depth, opening == "{")
    match = _SCALAR.match(text, at)
    if not match:
        raise BadJson(text, at, "a value is missing" if at < len(text) else "the file ends too early")
    try:
        value = json.loads(match[0])
    except ValueError as error:
        raise BadJson(text, at, "this value is not JSON") from error
    return Node("scalar", at, match.end(), value=value)


def _container(text: str, start: int, depth: int, named: bool) -> Node:
    closing = "}" if named else "]"
    members: list[Member] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != closing:
        if members and members[-1].comma < 0:
            raise BadJson(
                text, at, f"a comma or '{closing}' is missing" if at < len(text) else "the file ends too early"
            )
        first, key = at, ""
        if named:
            name = _value(text, at, depth + 1)
            if not isinstance(name.value, str):
                raise BadJson(text, at, "a key in double quotes is missing")
            key, at = name.value, _skip(text, name.end)
            if text[at : at + 1] != ":":
                raise BadJson(text, at, "a colon is missing")
            at = _skip(text, at + 1)
        node = _value(text, at, depth + 1)
        at = _skip(text, node.end)
        comma = at if text[at : at + 1] == "," else -1
        members.append(Member(first, node, comma, key))
        at = _skip(text, at + 1) if comma >= 0 else at
    return Node("object" if named else "array", start, at + 1, tuple(members))


@dataclass(frozen=True, slots=True)
class Style:
    """How a text is laid out."""

    indent: str
    """One step of indentation; empty when everything is on one line."""
    newline: str

    @classmethod
    def of(cls, text: str) -> Style:
        """Return the style of *text*; two spaces where it shows none."""
        newline = "\r\n" if "\r\n" in text else "\n"
        if "\n" not in text.strip() and _has_members(text):
            return cls("", newline)
        match = re.search(r"\n([ \t]+)(?=[\"\[{])", text)
        return cls(match[1] if match else "  ", newline)


def _has_members(text: str) -> bool:
    return bool(text.strip().strip("{}[]").strip())


def render(value: Any, style: Style, margin: str) -> str:
    """Return *value* as JSON in *style*, its lines after the first indented by *margin*."""
    if not style.indent:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=style.indent).split("\n")
    return (style.newline + margin).join(lines)


def add(text: str, parent: Node, value: Any, style: Style, key: str | None = None) -> str:
    """Return *text* with *value* as the last member of *parent* (under *key* in an object)."""
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    closing = parent.end - 1
    content = _content_end(text, parent.start + 1, closing)
    tail = text[content:closing]
    if not style.indent or (parent.members and "\n" not in text[parent.start : parent.end]):
        item = (" " if parent.members else "") + name + json.dumps(value, ensure_ascii=False)
    else:
        margin = _margin(text, parent, style)
        item = style.newline + margin + name + render(value, style, margin)
        if "\n" not in tail:
            tail = style.newline + _line_indent(text, parent.start)
    text = text[:content] + item + tail + text[closing:]
    if parent.members and parent.members[-1].comma < 0:
        end = parent.members[-1].node.end
        text = text[:end] + "," + text[end:]
    return text


def _content_end(text: str, start: int, closing: int) -> int:
    """Return where the last thing that is not white space before *closing* ends."""
    return start + len(text[start:closing].rstrip(" \t\r\n"))


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _margin(text: str, parent: Node, style: Style) -> str:
    if parent.members:
        first = parent.members[-1].start
        line = text[text.rfind("\n", 0, first) + 1 : first]
        if not line.strip():
            return line
    return _line_indent(text, parent.start) + style.indent


def remove(text: str, parent: Node, number: int) -> str:
    """Return *text* without member *number* of *parent*, its comma, and the white space before it."""
    member = parent.members[number]
    before = parent.members[number - 1] if number else None
    left = _content_end(text, before.node.end if before else parent.start + 1, member.start)
    right = member.comma + 1 if member.comma >= 0 else member.node.end
    if len(parent.members) == 1 and left == parent.start + 1 and not text[right : parent.end - 1].strip():
        right = parent.end - 1
    if before is None and left == member.start and member.comma >= 0:
        right = parent.members[number + 1].start if len(parent.members) > 1 else right  # [A, B] → [B]
    kept = text[:left] + text[right:]
    if before is not None and before.comma >= 0 and member.comma < 0:
        kept = kept[: before.comma] + kept[before.comma + 1 :]
    return kept


def replace(text: str, node: Node, value: Any, style: Style | None = None) -> str:
    """Return *text* with *node* replaced by *value*; one that is no scalar is laid out in *style*."""
    new = render(value, style or Style("", "\n"), _line_indent(text, node.start))
    return text[: node.start] + new + text[node.end :]
