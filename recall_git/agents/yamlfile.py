"""A YAML settings file of an agent, and the one value that we want in it.

Edited as text, at the places that PyYAML's marks name: a library that writes YAML back changes quotes, indentation
and line breaks of what it never meant to touch. What comes out is parsed again and must differ from what went in
by our value alone; otherwise nothing is written and a person gets the lines to add.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from recall_git.agents.files import BOM, BadFile, Found, Target
from recall_git.agents.jsonfile import OURS


class BadYaml(BadFile):
    """The text is not YAML, or not YAML that can be edited here."""


@dataclass(frozen=True)
class YamlFile(Target):
    """A YAML file with *value*: an element of the list at *keys*, or (not *listed*) the value of the last key."""

    keys: tuple[str, ...]
    value: dict[str, Any]
    listed: bool
    kind = "YAML"

    def added(self, text: str) -> tuple[str, list[list[str]]]:
        """Return *text* with the value in it once, and the containers that were made for it."""
        before = _load(text)
        present = self._present(_compose(text))
        if present is not None:
            return self._renewed(text, present), []
        after, made = self._put(text)
        wanted = copy.deepcopy(before) if isinstance(before, dict) else {}
        if _load(after) != _with(wanted, self.keys, self.value, self.listed):
            raise BadYaml("it is laid out in a way that is not understood")
        return after, made

    def removed(self, text: str, made: Sequence[Sequence[str]] | None) -> str:
        """Return *text* without the value, and without the containers of *made* that are empty then."""
        before = _load(text) or {}
        while (node := self._present(_compose(text))) is not None:
            text = _cut(text, _compose(text), self.keys, node if self.listed else None)
        known = None if made is None else [list(path) for path in made]
        for end in range(len(self.keys) if self.listed else len(self.keys) - 1, 0, -1):
            path = list(self.keys[:end])
            node = _at(_compose(text), path)
            if node is not None and _is_empty(node) and (known is None or path in known):
                text = _cut(text, _compose(text), path, None)
        after = _load(text) or {}
        if {**before, self.keys[0]: None} != {**after, self.keys[0]: None}:
            raise BadYaml("it is laid out in a way that is not understood")
        return text

    def found(self, text: str) -> list[Found]:
        """Return our value in *text*; raises BadYaml."""
        node = self._present(_compose(text))
        return [] if node is None else [Found(self.keys[-1], _command(node))]

    def by_hand(self) -> str:
        """Return the lines of an otherwise empty file."""
        value: Any = [self.value] if self.listed else self.value
        return "\n".join(_lines(self.keys, value, 0))

    def _present(self, root: yaml.Node | None) -> yaml.Node | None:
        node = _at(root, self.keys)
        candidates = node.value if self.listed and isinstance(node, yaml.SequenceNode) else [node]
        return next((item for item in candidates if isinstance(item, yaml.MappingNode) and _is_ours(item)), None)

    def _renewed(self, text: str, node: yaml.Node) -> str:
        """Return *text* with the command of the value that is there made the wanted one."""
        key = "command" if "command" in self.value else "cmd"
        scalar = _child(node, key)
        if scalar is None or scalar.value == self.value[key]:
            return text
        return text[: scalar.start_mark.index] + json.dumps(self.value[key]) + text[scalar.end_mark.index :]

    def _put(self, text: str) -> tuple[str, list[list[str]]]:
        root = _compose(text)
        node, depth = root, 0
        while depth < len(self.keys) and (inner := _child(node, self.keys[depth])) is not None:
            key = _key(node, self.keys[depth])
            if key is None or inner.start_mark.index < key.end_mark.index:
                raise BadYaml(f"'{self.keys[depth]}' is an alias of another place")
            node, depth = inner, depth + 1
        value: Any = [self.value] if self.listed else self.value
        last = len(self.keys) if self.listed else len(self.keys) - 1
        made = [list(self.keys[:end]) for end in range(depth + 1, last + 1)]
        rest = self.keys[depth:]
        return _inserted(text, node, rest, value, depth, self.keys), made


def _inserted(text: str, node: yaml.Node | None, rest: Sequence[str], value: Any, depth: int, keys: Any) -> str:
    """Return *text* with *value*, below the keys *rest*, as the last thing in *node*."""
    if node is None or (isinstance(node, yaml.ScalarNode) and depth == 0):
        if node is not None and node.value:
            raise BadYaml("a mapping is wanted at the top")
        return _append(text, len(text), _lines(rest, value, 0))
    if isinstance(node, yaml.ScalarNode):
        if node.value:
            raise BadYaml(f"'{keys[depth - 1]}' should be a mapping or a list")
        key = _key(_at(_compose(text), keys[: depth - 1]), keys[depth - 1])
        assert key is not None
        return _append(text, key.end_mark.index, _lines(rest, value, key.start_mark.column + 2))
    if depth == 0 and not isinstance(node, yaml.MappingNode):
        raise BadYaml("a mapping is wanted at the top")
    if isinstance(node, yaml.SequenceNode) != (not rest):
        raise BadYaml(f"'{keys[depth - 1]}' is of another kind than wanted")
    if isinstance(node, yaml.CollectionNode) and node.flow_style:
        for name in reversed(rest[1:]):
            value = {name: value}
        new = json.dumps(value[0]) if not rest else f"{json.dumps(rest[0])}: {json.dumps(value)}"
        closing = node.end_mark.index - 1
        return text[:closing].rstrip() + (", " if node.value else "") + new + text[closing:]
    lines = _lines(rest, value, node.start_mark.column)
    return _append(text, _end(node), lines)


def _append(text: str, at: int, lines: Sequence[str]) -> str:
    """Return *text* with *lines* after the line that *at* is in; a text without a last line end stays so."""
    newline = "\r\n" if "\r\n" in text else "\n"
    block = newline.join(lines)
    if at > 0 and text[at - 1] == "\n":
        at -= 1
    end = text.find("\n", at)
    if end < 0:
        return text + (newline if text.strip(BOM) else "") + block + ("" if text.strip(BOM) else newline)
    return text[: end + 1] + block + newline + text[end + 1 :]


def _lines(keys: Sequence[str], value: Any, indent: int) -> list[str]:
    """Return *value* below *keys* in block style, its scalars as JSON writes them, which is YAML too."""
    lines = []
    for key in keys:
        lines.append(f"{' ' * indent}{key}:")
        indent += 2
    elements = value if isinstance(value, list) else [value]
    for element in elements:
        for number, (name, scalar) in enumerate(element.items()):
            mark = ("- " if number == 0 else "  ") if isinstance(value, list) else ""
            plain = isinstance(scalar, str) and scalar.isalnum() and not scalar.isdigit()
            lines.append(f"{' ' * indent}{mark}{name}: {scalar if plain else json.dumps(scalar)}")
    return lines


def _with(data: dict[str, Any], keys: Sequence[str], value: Any, listed: bool) -> dict[str, Any]:
    inner: Any = data
    for key in keys[:-1]:
        inner[key] = inner.get(key) or {}
        inner = inner[key]
    inner[keys[-1]] = [*(inner.get(keys[-1]) or []), value] if listed else value
    return data


def _cut(text: str, root: yaml.Node | None, keys: Sequence[str], element: yaml.Node | None) -> str:
    """Return *text* without the member at *keys*, or without *element* of the list there."""
    parent, start_node, node = _at(root, keys[:-1]), _key(_at(root, keys[:-1]), keys[-1]), _at(root, keys)
    if element is not None:
        parent, start_node, node = node, element, element
    assert isinstance(parent, yaml.CollectionNode)
    assert node is not None
    assert start_node is not None
    start, end = start_node.start_mark.index, _end(node)
    if parent.flow_style:
        opening, closing = parent.start_mark.index + 1, parent.end_mark.index - 1
        left, right = text[opening:start].rstrip(" ,\t"), text[end:closing].lstrip(" ,\t")
        return text[:opening] + left + (", " if left and right else "") + right + text[closing:]
    if element is not None:
        start = text.rindex("-", 0, start)
    line = text.rfind("\n", 0, start) + 1
    if text[line:start].strip(BOM + " "):
        raise BadYaml("our lines stand in one line with others")
    if end > start and text[end - 1] == "\n":
        end -= 1
    after = text.find("\n", end)
    if after < 0:
        return text[:line].removesuffix("\n").removesuffix("\r")
    return text[:line] + text[after + 1 :]


def _end(node: yaml.Node) -> int:
    """Return where the last scalar or flow collection in *node* ends: a block's own mark is at what follows it."""
    if not isinstance(node, yaml.CollectionNode) or node.flow_style:
        return int(node.end_mark.index)
    inner = [part for item in node.value for part in (item if isinstance(item, tuple) else (item,))]
    return max(map(_end, inner))


def _pairs(node: yaml.Node | None) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        yield from node.value


def _key(node: yaml.Node | None, name: str) -> yaml.Node | None:
    return next((key for key, _ in _pairs(node) if key.value == name), None)


def _child(node: yaml.Node | None, name: str) -> yaml.Node | None:
    return next((value for key, value in _pairs(node) if key.value == name), None)


def _at(node: yaml.Node | None, keys: Sequence[str]) -> yaml.Node | None:
    for key in keys:
        node = _child(node, key)
    return node


def _is_empty(node: yaml.Node) -> bool:
    return not node.value


def _command(node: yaml.Node) -> str:
    words = [value for key, value in _pairs(node) if key.value in ("command", "cmd", "args")]
    texts = [item.value for word in words for item in (word.value if isinstance(word.value, list) else [word])]
    return " ".join(str(text) for text in texts)


def _is_ours(node: yaml.Node) -> bool:
    return OURS.search(_command(node)) is not None


def _compose(text: str) -> yaml.Node | None:
    try:
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise BadYaml(_where(error)) from error


def _load(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:
        raise BadYaml(_where(error)) from error


def _where(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "it cannot be parsed"
    return f"line {mark.line + 1}, column {mark.column + 1}: {problem}" if mark else str(problem)
