"""Hooks in a JSON settings file of the shape that Claude Code has and others took over.

``{"hooks": {EVENT: [{"matcher": …, "hooks": [{"type": "command", "command": …, "timeout": …}]}]}}``.
``added``, ``removed`` and ``found`` take text and return it; ``install``, ``uninstall`` and ``inspect`` work on a file.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recall_git import launcher
from recall_git.agents import jsontext
from recall_git.agents.jsontext import BadJson, Node, Style
from recall_git.receipt import FileState, Receipt, Refused, look, put

_OURS = re.compile(r"\brecall-git-hook\b|\bgit[ -]recall hook\b")
BOM = "\ufeff"
RECEIPT = "installed.json"


@dataclass(frozen=True, slots=True)
class Entry:
    """One hook that we want to be there."""

    event: str
    command: str
    timeout: int
    matcher: str = ""

    def group(self) -> dict[str, Any]:
        """Return it as it stands in the file, below its event."""
        handler = {"type": "command", "command": self.command, "timeout": self.timeout}
        return {**({"matcher": self.matcher} if self.matcher else {}), "hooks": [handler]}


@dataclass(frozen=True, slots=True)
class Found:
    """One hook of ours in a file."""

    event: str
    command: str


@dataclass(frozen=True, slots=True)
class Change:
    """What was done to a file, or would be."""

    path: Path
    before: str
    after: str

    @property
    def changed(self) -> bool:
        """Whether there is anything to do."""
        return self.before != self.after

    def diff(self) -> str:
        """Return the change as a unified diff, '' for none."""
        lines = difflib.unified_diff(
            self.before.splitlines(), self.after.splitlines(), str(self.path), str(self.path), lineterm=""
        )
        return "\n".join(lines)


def added(text: str, entries: Sequence[Entry]) -> tuple[str, list[list[str]]]:
    """Return *text* with each of *entries* in it once, and the containers that had to be made for that.

    A hook of ours that is there already gets the new command and keeps everything else. Raises BadJson,
    also when ``hooks`` or an event is there and is not what it should be.
    """
    made: list[list[str]] = []
    if not text.strip(BOM + " \t\r\n"):
        text = f"{text}{{}}\n" if text.strip(" \t\r\n") else "{}\n"
    style = Style.of(text.lstrip(BOM))
    for entry in entries:
        text, new = _added_one(text, entry, style)
        made += [path for path in new if path not in made]
    return text, made


def _added_one(text: str, entry: Entry, style: Style) -> tuple[str, list[list[str]]]:
    root = _root(text)
    present = [handler for event, _, _, handler in _ours(root) if event == entry.event]
    if present:
        command = present[0].get("command")
        if command is not None and command.value != entry.command:
            return jsontext.replace(text, command, entry.command), []
        return text, []
    hooks = _container(text, root, "hooks", "object")
    if hooks is None:
        return jsontext.add(text, root, {entry.event: [entry.group()]}, style, "hooks"), [
            ["hooks"],
            ["hooks", entry.event],
        ]
    groups = _container(text, hooks, entry.event, "array")
    if groups is None:
        return jsontext.add(text, hooks, [entry.group()], style, entry.event), [["hooks", entry.event]]
    return jsontext.add(text, groups, entry.group(), style), []


def _root(text: str) -> Node:
    """Return the parsed file; a byte order mark before it is left alone."""
    body = " " + text[1:] if text.startswith(BOM) else text
    root = jsontext.parse(body)
    if root.kind != "object":
        raise BadJson(body, root.start, "an object is wanted")
    return root


def _container(text: str, parent: Node, key: str, kind: str) -> Node | None:
    node = parent.get(key)
    if node is not None and node.kind != kind:
        raise BadJson(text, node.start, f"'{key}' should be an {kind}")
    return node


def _ours(root: Node) -> Iterator[tuple[str, int, int, Node]]:
    """Yield (event, number of the group, number of the handler, handler) of each hook of ours."""
    hooks = root.get("hooks")
    for member in hooks.members if hooks is not None and hooks.kind == "object" else ():
        for place, group in enumerate(member.node.items()):
            handlers = group.get("hooks")
            for number, handler in enumerate(handlers.items() if handlers else ()):
                if _is_ours(handler):
                    yield member.key, place, number, handler


def _is_ours(handler: Node) -> bool:
    command, args = handler.get("command"), handler.get("args")
    if command is None or not isinstance(command.value, str):
        return False
    words = [item.value for item in args.items() if isinstance(item.value, str)] if args else []
    return bool(_OURS.search(" ".join((command.value, *words))))


def removed(text: str, made: Sequence[Sequence[str]] | None) -> str:
    """Return *text* without our hooks, and without the containers of *made* (None: any) that this leaves empty."""
    while found := next(_ours(_root(text)), None):
        event, place, number, _ = found
        root = _root(text)
        hooks = root.get("hooks")
        groups = hooks.get(event) if hooks else None
        handlers = groups.items()[place].get("hooks") if groups else None
        if hooks is None or groups is None or handlers is None:  # pragma: no cover - _ours found it there
            break
        text = (
            jsontext.remove(text, handlers, number)
            if len(handlers.members) > 1
            else jsontext.remove(text, groups, place)
        )
        text = _without_empty(text, ("hooks", event), made)
        text = _without_empty(text, ("hooks",), made)
    return text


def _without_empty(text: str, path: tuple[str, ...], made: Sequence[Sequence[str]] | None) -> str:
    if made is not None and list(path) not in [list(known) for known in made]:
        return text
    parent = node = _root(text)
    for key in path:
        inner = node.get(key)
        if inner is None:
            return text
        parent, node = node, inner
    if node.members or text[node.start + 1 : node.end - 1].strip():
        return text
    number = next(place for place, member in enumerate(parent.members) if member.node is node)
    return jsontext.remove(text, parent, number)


def found(text: str) -> list[Found]:
    """Return our hooks in *text*; raises BadJson."""
    return [Found(event, str(handler.get("command").plain())) for event, _, _, handler in _ours(_root(text))]  # type: ignore[union-attr]


# files ----------------------------------------------------------------------------------------------


def install(path: Path, entries: Sequence[Entry], *, dry_run: bool = False) -> Change:
    """Put *entries* into the settings file *path*, remembering what was there; raises Refused.

    A link is followed and its target written, in one step and with its mode. Nothing but our hooks changes.
    """
    receipt = _receipt()
    made: list[list[str]] = []

    def edit(text: str) -> str:
        nonlocal made
        after, made = added(text, entries)
        return after

    try:
        target, now, before, after = _edited(path, edit)
    except BadJson as error:
        lines = json.dumps({"hooks": {entry.event: [entry.group()] for entry in entries}}, indent=2)
        raise Refused(f"{path} is not JSON ({error}); mend it, or add by hand:\n{lines}") from error
    if before != after and not dry_run:
        state = FileState("file", after.encode("utf-8", "surrogateescape"), now.mode or 0o644)
        try:
            _make_folder(target, receipt)
            receipt.write(target, state)
        except OSError as error:
            raise Refused(f"{target} cannot be written ({error.strerror}); see its permissions") from error
        known = receipt.facts.setdefault("made", {}).setdefault(receipt.name_of(target), [])
        known += [item for item in made if item not in known]
        receipt.save()
    return Change(path, before, after)


def uninstall(path: Path, *, dry_run: bool = False) -> Change:
    """Take our hooks out of *path*: byte for byte if nobody has changed it since, else just ours."""
    receipt = _receipt()
    made: Mapping[str, list[list[str]]] = receipt.facts.get("made", {})
    target = Path(os.path.realpath(path))
    known = receipt.name_of(target)
    whole = receipt.before(target) if receipt.untouched(target) else None
    try:
        target, now, before, after = _edited(
            path, lambda text: removed(text, made.get(known)) if text.strip() else text
        )
    except BadJson as error:
        raise Refused(f"{path} is not JSON ({error}); mend it, or take out the lines with 'recall-git-hook'") from error
    if whole is not None:
        after = whole.data.decode("utf-8", "surrogateescape")
    if dry_run or (before == after and whole is None):
        return Change(path, before, after)
    if whole is not None:
        receipt.take_back(target)
    else:
        receipt.forget(target)
        put(target, FileState("file", after.encode("utf-8", "surrogateescape"), now.mode))
    receipt.facts.get("made", {}).pop(known, None)
    _remove_folder(target, receipt)
    receipt.facts = {name: value for name, value in receipt.facts.items() if value}
    receipt.save()
    return Change(path, before, after)


def inspect(path: Path) -> list[Found]:
    """Return our hooks in the file *path*, [] when there is no file; raises Refused when it is not JSON."""
    try:
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        return found(text) if text.strip(BOM + " \t\r\n") else []
    except FileNotFoundError:
        return []
    except OSError as error:
        raise Refused(f"{path} cannot be read ({error.strerror}); see its permissions") from error
    except BadJson as error:
        raise Refused(f"{path} is not JSON ({error}); mend it") from error


def _receipt() -> Receipt:
    return Receipt(launcher.folder() / RECEIPT)


def _edited(path: Path, edit: Callable[[str], str]) -> tuple[Path, FileState, str, str]:
    target = Path(os.path.realpath(path))
    try:
        now = look(target)
    except OSError as error:
        raise Refused(f"{path} cannot be read ({error.strerror}); see its permissions") from error
    before = now.data.decode("utf-8", "surrogateescape")
    return target, now, before, edit(before)


def _make_folder(target: Path, receipt: Receipt) -> None:
    if not target.parent.is_dir():
        target.parent.mkdir(parents=True)
        receipt.facts.setdefault("folders", []).append(receipt.name_of(target.parent))


def _remove_folder(target: Path, receipt: Receipt) -> None:
    folders = receipt.facts.get("folders", [])
    name = receipt.name_of(target.parent)
    if name in folders:
        folders.remove(name)
        if not any(target.parent.iterdir()):
            target.parent.rmdir()
