"""The files of others that connecting an agent writes to, and how each is put back to the byte.

A ``Target`` is one file and what we want in it. Its subclasses edit text: they add, find and remove what is
ours. This module reads and writes files, follows links, keeps modes, and remembers in a receipt what was there.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recall_git import launcher
from recall_git.receipt import FileState, Receipt, Refused, look, put

RECEIPT = "installed.json"
BOM = "\ufeff"
MARK = "Written by recall-git"
"""Every whole file of ours says so."""


class BadFile(ValueError):
    """A file is not what its name says; ``str(error)`` says what and where."""


@dataclass(frozen=True, slots=True)
class Found:
    """One thing of ours in a file."""

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


@dataclass(frozen=True)
class Target:
    """One file, and what we want in it."""

    path: Path
    kind = "text"
    """What the file should be, for messages."""

    def added(self, text: str) -> tuple[str, list[list[str]]]:
        """Return *text* with ours in it once, and the containers that had to be made for that. Raises BadFile."""
        raise NotImplementedError

    def removed(self, text: str, made: Sequence[Sequence[str]] | None) -> str:
        """Return *text* without ours and without the containers of *made* (None: any) that are empty then."""
        raise NotImplementedError

    def found(self, text: str) -> list[Found]:
        """Return what is ours in *text*. Raises BadFile."""
        raise NotImplementedError

    def by_hand(self) -> str:
        """Return the lines that a person would add."""
        raise NotImplementedError

    def has(self, text: str) -> bool:
        """Whether anything of ours is in *text*. Raises BadFile."""
        return bool(text.strip(BOM + " \t\r\n")) and bool(self.found(text))

    def install(self, *, dry_run: bool = False) -> Change:
        """Put ours into the file, remembering what was there; raises Refused.

        A link is followed and its target written, in one step and with its mode. Nothing but ours changes.
        """
        receipt = _receipt()
        made: list[list[str]] = []

        def edit(text: str) -> str:
            nonlocal made
            after, made = self.added(text)
            return after

        try:
            target, now, before, after = _edited(self.path, edit)
        except BadFile as error:
            what = f"{self.path} is not {self.kind} that can be edited here ({error}); mend it, or add by hand:"
            raise Refused(f"{what}\n{self.by_hand()}") from error
        if before != after and not dry_run:
            known = receipt.facts.setdefault("made", {}).setdefault(receipt.name_of(target), [])
            without = self.removed(before, known).encode("utf-8", "surrogateescape") if self.has(before) else now.data
            state = FileState("file", after.encode("utf-8", "surrogateescape"), now.mode or 0o644)
            try:
                _make_folders(target, receipt)
                receipt.write(target, state, before=FileState(now.kind, without, now.mode))
            except OSError as error:
                raise Refused(f"{target} cannot be written ({error.strerror}); see its permissions") from error
            known += [item for item in made if item not in known]
            receipt.save()
        return Change(self.path, before, after)

    def uninstall(self, *, dry_run: bool = False) -> Change:
        """Take ours out of the file: byte for byte if nobody has changed it since, else just ours."""
        receipt = _receipt()
        made: dict[str, list[list[str]]] = receipt.facts.get("made", {})
        target = Path(os.path.realpath(self.path))
        known = receipt.name_of(target)
        whole = receipt.before(target) if receipt.untouched(target) else None

        def edit(text: str) -> str:
            if whole is not None:
                return whole.data.decode("utf-8", "surrogateescape")
            return self.removed(text, made.get(known)) if text.strip(BOM + " \t\r\n") else text

        try:
            target, now, before, after = _edited(self.path, edit)
        except BadFile as error:
            what = f"{self.path} is not {self.kind} that can be edited here ({error})"
            raise Refused(f"{what}; mend it, or take out the lines with 'recall-git'") from error
        if dry_run or (before == after and whole is None):
            return Change(self.path, before, after)
        if whole is not None:
            receipt.take_back(target)
        else:
            receipt.forget(target)
            put(target, FileState("file", after.encode("utf-8", "surrogateescape"), now.mode))
        receipt.facts.get("made", {}).pop(known, None)
        _remove_folders(target, receipt)
        _save(receipt)
        return Change(self.path, before, after)

    def inspect(self) -> list[Found]:
        """Return what is ours in the file, [] when there is no file; raises Refused when it cannot be read."""
        try:
            text = self.path.read_bytes().decode("utf-8", "surrogateescape")
            return self.found(text) if text.strip(BOM + " \t\r\n") else []
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise Refused(f"{self.path} cannot be read ({error.strerror}); see its permissions") from error
        except BadFile as error:
            raise Refused(f"{self.path} is not {self.kind} ({error}); mend it") from error


@dataclass(frozen=True)
class Whole(Target):
    """A file that is ours from first byte to last. Several agents may read one: the last to leave removes it."""

    content: str
    agent: str
    kind = "ours"

    def added(self, text: str) -> tuple[str, list[list[str]]]:
        """Return our content; raises BadFile where a file of somebody else lies."""
        if text and MARK not in text:
            raise BadFile("a file that recall-git did not write is there")
        return self.content, []

    def removed(self, text: str, made: Sequence[Sequence[str]] | None) -> str:
        """Return '', or a file that is not ours as it is."""
        return "" if MARK in text else text

    def found(self, text: str) -> list[Found]:
        """Return the file, if it is ours."""
        return [Found(self.path.stem, "")] if MARK in text else []

    def by_hand(self) -> str:
        """Return the whole file."""
        return self.content

    def install(self, *, dry_run: bool = False) -> Change:
        """Write the file and remember who uses it."""
        change = super().install(dry_run=dry_run)
        if not dry_run:
            receipt = _receipt()
            users = receipt.facts.setdefault("users", {}).setdefault(self._name(receipt), [])
            if self.agent not in users:
                users.append(self.agent)
                receipt.save()
        return change

    def uninstall(self, *, dry_run: bool = False) -> Change:
        """Remove the file, edited or not, when no other agent uses it; one that is not ours stays."""
        receipt = _receipt()
        known, now = self._name(receipt), look(Path(os.path.realpath(self.path)))
        users = receipt.facts.get("users", {}).get(known, [])
        text = now.data.decode("utf-8", "surrogateescape")
        if (users and self.agent not in users) or not self.found(text):
            return Change(self.path, text, text)
        left = [name for name in users if name != self.agent]
        if dry_run or left:
            if left and not dry_run:
                receipt.facts["users"][known] = left
                receipt.save()
            return Change(self.path, text, text if left else "")
        target = Path(os.path.realpath(self.path))
        if not receipt.take_back(target):
            put(target, FileState())
        receipt.facts.get("users", {}).pop(known, None)
        receipt.facts.get("made", {}).pop(known, None)
        _remove_folders(target, receipt)
        _save(receipt)
        return Change(self.path, text, "")

    def _name(self, receipt: Receipt) -> str:
        return receipt.name_of(Path(os.path.realpath(self.path)))


def written(path: Path) -> bool:
    """Whether we wrote to *path* and have not taken it back."""
    return Path(os.path.realpath(path)) in _receipt().paths()


def skill(folder: Path, agent: str) -> Whole:
    """Return the skill in an agent's *folder* of skills: when to ask the notes, and how."""
    return Whole(folder / "recall" / "SKILL.md", own_text("skill.md"), agent)


def own_text(name: str) -> str:
    """Return a text file that lies beside this module, with ``\\n`` ends."""
    return (Path(__file__).parent / name).read_text("utf-8")


def _receipt() -> Receipt:
    return Receipt(launcher.folder() / RECEIPT)


def _save(receipt: Receipt) -> None:
    receipt.facts = {name: value for name, value in receipt.facts.items() if value}
    receipt.save()


def _edited(path: Path, edit: Callable[[str], str]) -> tuple[Path, FileState, str, str]:
    target = Path(os.path.realpath(path))
    try:
        now = look(target)
    except OSError as error:
        raise Refused(f"{path} cannot be read ({error.strerror}); see its permissions") from error
    before = now.data.decode("utf-8", "surrogateescape")
    return target, now, before, edit(before)


def _make_folders(target: Path, receipt: Receipt) -> None:
    """Make the folders above *target*, remembering each that was not there."""
    missing = [folder for folder in target.parents if not folder.is_dir()]
    target.parent.mkdir(parents=True, exist_ok=True)
    known = receipt.facts.setdefault("folders", [])
    known += [name for name in map(receipt.name_of, missing) if name not in known]


def _remove_folders(target: Path, receipt: Receipt) -> None:
    """Remove the folders above *target* that we made and that are empty now."""
    known: list[Any] = receipt.facts.get("folders", [])
    for folder in target.parents:
        name = receipt.name_of(folder)
        if name not in known or (folder.is_dir() and any(folder.iterdir())):
            return
        known.remove(name)
        if folder.is_dir():
            folder.rmdir()
