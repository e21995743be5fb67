"""A JSON settings file of an agent, and the values that we want in it.

Hooks stand in arrays of one of three shapes: in groups (Claude Code's
``{"hooks": {EVENT: [{"matcher": …, "hooks": [{"type", "command", "timeout"}]}]}}`` and those who took it over),
bare below their event (Cursor, Copilot), or all in one array (Kiro). An MCP server is a member of an object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from recall_git.agents import jsontext
from recall_git.agents.files import BOM, Found, Target
from recall_git.agents.jsontext import BadJson, Node, Style

OURS = re.compile(r"\brecall-git-hook\b|\bgit[ -]recall (?:hook|mcp)\b")


@dataclass(frozen=True, slots=True)
class Item:
    """One value that we want to be there."""

    keys: tuple[str, ...]
    value: Any
    listed: bool = True
    """An element of the array at ``keys``; else the value of the last key."""

    @property
    def event(self) -> str:
        """What a person calls it."""
        trigger = self.value.get("trigger") if isinstance(self.value, dict) else None
        return str(trigger or self.keys[-1])


def hook(event: str, command: str, timeout: int, matcher: str = "", **more: Any) -> Item:
    """Return a hook of Claude Code's shape; *timeout* in the agent's own unit."""
    handler = {**more, "type": "command", "command": command, "timeout": timeout}
    return Item(("hooks", event), {**({"matcher": matcher} if matcher else {}), "hooks": [handler]})


def server(command: Sequence[str], *keys: str, **more: Any) -> Item:
    """Return an MCP server called ``recall`` below *keys*."""
    return Item((*keys, "recall"), {**more, "command": command[0], "args": list(command[1:])}, listed=False)


@dataclass(frozen=True)
class JsonFile(Target):
    """A JSON file with our *items*; *base* are members that the agent wants in every such file."""

    items: tuple[Item, ...]
    base: Mapping[str, Any] = field(default_factory=dict)
    kind = "JSON"

    def added(self, text: str) -> tuple[str, list[list[str]]]:
        """Return *text* with each item in it once; one that is there already gets the new command, no more."""
        if not text.strip(BOM + " \t\r\n"):
            text = f"{text}{{}}\n" if text.strip(" \t\r\n") else "{}\n"
        style = Style.of(text.lstrip(BOM))
        made: list[list[str]] = []
        for key, value in self.base.items():
            if _root(text).get(key) is None:
                text, new = _put(text, Item((key,), value, listed=False), style)
                made.append([key])
        for item in self.items:
            text, new = _added_one(text, item, style)
            made += [path for path in new if path not in made]
        return text, made

    def removed(self, text: str, made: Sequence[Sequence[str]] | None) -> str:
        """Return *text* without our hooks, servers and members, and without what was made for them and is empty."""
        while place := next(self._handlers(_root(text)), None):
            keys, group, number, _ = place
            array = _at(_root(text), keys)
            assert array is not None
            handlers = array.items()[group].get("hooks") if number >= 0 else None
            alone = handlers is None or len(handlers.members) == 1
            text = jsontext.remove(text, array, group) if alone else jsontext.remove(text, handlers or array, number)
            text = _without_empty(text, keys, made)
        for item in self.items:
            node = None if item.listed else _at(_root(text), item.keys)
            if node is not None and _is_ours(node, item):
                text = _without(text, item.keys)
                text = _without_empty(text, item.keys[:-1], made)
        hooks = _root(text).get("hooks")
        if not _holds_values(hooks):  # somebody else's hooks may have come to need it
            for key in self.base:
                if _root(text).get(key) is not None and (made is None or [key] in made):
                    text = _without(text, (key,))
        return text

    def found(self, text: str) -> list[Found]:
        """Return our hooks, servers and members in *text*; raises BadJson."""
        root = _root(text)
        hooks = [Found(_event(keys, handler), _command(handler)) for keys, _, _, handler in self._handlers(root)]
        for item in self.items:
            node = None if item.listed else _at(root, item.keys)
            if node is not None and _is_ours(node, item):
                hooks.append(Found(item.event, _words(node)))
        return hooks

    def by_hand(self) -> str:
        """Return the items as they would stand in an empty file."""
        return self.added("")[0].rstrip("\n")

    def _handlers(self, root: Node) -> Iterator[tuple[tuple[str, ...], int, int, Node]]:
        """Yield (array, number in it, number in its group or -1, handler) of each hook of ours, of any event."""
        tops = dict.fromkeys(item.keys if len(item.keys) == 1 else item.keys[:-1] for item in self.items if item.listed)
        for top in tops:
            node = _at(root, top)
            if node is None:
                continue
            arrays = [(top, node)] if node.kind == "array" else [((*top, m.key), m.node) for m in node.members]
            for keys, array in arrays:
                for place, number, handler in _hooks_in(array):
                    yield keys, place, number, handler


def _hooks_in(array: Node | None) -> Iterator[tuple[int, int, Node]]:
    """Yield (number in *array*, number in its group or -1, handler) of each hook of ours."""
    for place, element in enumerate(array.items() if array else ()):
        group = element.get("hooks")
        for number, handler in enumerate(group.items()) if group else ((-1, element),):
            if _is_hook(handler):
                yield place, number, handler


def _added_one(text: str, item: Item, style: Style) -> tuple[str, list[list[str]]]:
    root = _root(text)
    if not item.listed:
        node = _at(root, item.keys)
        if node is None:
            return _put(text, item, style)
        if node.plain() == item.value:
            return text, []
        if node.kind != "scalar" and not _is_ours(node, item):
            raise BadJson(text, node.start, f"'{item.keys[-1]}' is something else already")
        return jsontext.replace(text, node, item.value, style), []
    for _, _, handler in _hooks_in(_at(root, item.keys)):
        wanted, trigger = item.value.get("trigger"), handler.get("trigger")
        if wanted and (trigger is None or trigger.value != wanted):
            continue
        old, new = _command_node(handler), _command_of(item.value)
        if old is not None and old.value != new:
            return jsontext.replace(text, old, new), []
        return text, []
    return _put(text, item, style)


def _put(text: str, item: Item, style: Style) -> tuple[str, list[list[str]]]:
    """Return *text* with the value added, and the containers that were made around it."""
    node, depth = _root(text), 0
    while depth < len(item.keys):
        inner = node.get(item.keys[depth])
        if inner is None:
            break
        node, depth = inner, depth + 1
        wanted = "array" if item.listed and depth == len(item.keys) else "object"
        if node.kind != wanted:
            raise BadJson(text, node.start, f"'{item.keys[depth - 1]}' should be an {wanted}")
    if depth == len(item.keys):
        return jsontext.add(text, node, item.value, style), []
    value = [item.value] if item.listed else item.value
    for key in reversed(item.keys[depth + 1 :]):
        value = {key: value}
    last = len(item.keys) if item.listed else len(item.keys) - 1
    made = [list(item.keys[:end]) for end in range(depth + 1, last + 1)]
    return jsontext.add(text, node, value, style, item.keys[depth]), made


def _holds_values(node: Node | None) -> bool:
    """Whether anything but empty containers is in *node*."""
    if node is None or not node.members:
        return node is not None and node.kind == "scalar"
    return any(_holds_values(member.node) for member in node.members)


def _root(text: str) -> Node:
    """Return the parsed file; a byte order mark before it is left alone."""
    body = " " + text[1:] if text.startswith(BOM) else text
    root = jsontext.parse(body)
    if root.kind != "object":
        raise BadJson(body, root.start, "an object is wanted")
    return root


def _at(root: Node, keys: Sequence[str]) -> Node | None:
    node: Node | None = root
    for key in keys:
        node = node.get(key) if node else None
    return node


def _is_hook(handler: Node) -> bool:
    return OURS.search(_words(handler)) is not None


def _words(handler: Node) -> str:
    """Return the command with its arguments."""
    args = handler.get("args")
    words = [item.value for item in args.items() if isinstance(item.value, str)] if args else []
    return " ".join((_command(handler), *words)).strip()


def _command_node(handler: Node) -> Node | None:
    action = handler.get("action")
    return (action or handler).get("command")


def _command(handler: Node) -> str:
    node = _command_node(handler)
    return node.value if node is not None and isinstance(node.value, str) else ""


def _command_of(value: Mapping[str, Any]) -> str:
    """Return the command in a value of ours, whatever its shape."""
    handler = value["hooks"][0] if "hooks" in value else value.get("action", value)
    return str(handler["command"])


def _is_ours(node: Node, item: Item) -> bool:
    """Whether the member at an item's place is what we put there: equal to it, or another server of ours."""
    value = node.plain()
    if value == item.value:
        return True
    words = json.dumps(value) if isinstance(value, dict) else ""
    return "recall" in words and '"mcp"' in words and re.search(r"git-recall|recall_git", words) is not None


def _event(keys: Sequence[str], handler: Node) -> str:
    trigger = handler.get("trigger")
    return str(trigger.value if trigger is not None else keys[-1])


def _without(text: str, keys: Sequence[str]) -> str:
    parent = _at(_root(text), keys[:-1])
    assert parent is not None
    number = max(place for place, member in enumerate(parent.members) if member.key == keys[-1])
    return jsontext.remove(text, parent, number)


def _without_empty(text: str, keys: Sequence[str], made: Sequence[Sequence[str]] | None) -> str:
    """Return *text* without the containers along *keys* that are empty and were made for us, innermost first."""
    known = None if made is None else [list(path) for path in made]
    for end in range(len(keys), 0, -1):
        path = list(keys[:end])
        node = _at(_root(text), path)
        if node is None or (known is not None and path not in known):
            continue
        if node.kind == "scalar" or node.members or text[node.start + 1 : node.end - 1].strip():
            continue
        text = _without(text, path)
    return text
