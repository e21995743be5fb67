"""Which notes of a view others replace, by ``supersedes:`` and ``superseded_by:``, and with what.

A target is a path, a file name, a title or an alias. It is looked up in the postings, so a view of many
thousands of notes costs only as much as its superseded notes; a view's answer is kept as long as the view.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from recall_git import analysis
from recall_git.freshness import names
from recall_git.index import store as stores
from recall_git.retrieve import View
from recall_git.search import document_at
from recall_git.types import Document

CANDIDATES_MAX = 400
"""Sections looked at for one target; a name that more notes have is no name."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One note says of one note, possibly itself, that it is replaced; *by* is None when nobody knows by what."""

    old: str
    by: Document | None


_kept: WeakKeyDictionary[View, tuple[Claim, ...]] = WeakKeyDictionary()


def successors(view: View, trusted: Callable[[str, Document], bool]) -> dict[str, Document | None]:
    """Return the path of every note that is replaced → the first section of the note that counts now.

    None stands for a note that names a successor that is not there. *trusted* says whether a document may
    replace the note at a path. Chains are followed; notes that replace each other in a ring replace nothing.
    """
    by: dict[str, Document | None] = {}
    for claim in claims(view):
        if claim.by is None:
            by.setdefault(claim.old, None)
        elif claim.by.path != claim.old and trusted(claim.old, claim.by):
            by[claim.old] = claim.by
    found: dict[str, Document | None] = {}
    for old, first in by.items():
        last, passed = first, {old}
        while last is not None and last.path in by and last.path not in passed:
            passed.add(last.path)
            last = by[last.path]
        if last is None or last.path not in passed:
            found[old] = last
    return found


def claims(view: View) -> tuple[Claim, ...]:
    """Return what the notes of *view* say about being replaced, in the order of their paths."""
    if view not in _kept:
        _kept[view] = tuple(_claims(view))
    return _kept[view]


def _claims(view: View) -> Iterable[Claim]:
    for note in _first_sections(view, view.flagged(stores.SUPERSEDES | stores.SUPERSEDED)):
        if note.superseded_by:
            yield Claim(note.path, resolve(view, note.superseded_by, note.path))
        for target in note.supersedes:
            old = resolve(view, target, note.path)
            if old is not None:
                yield Claim(old.path, note)


def resolve(view: View, target: str, claimant: str = "") -> Document | None:
    """Return the first section of the one note that *target* names; None when there is none, or no telling which.

    A path wins over a name next to *claimant* (the path of the note that says it), and that over any other.
    """
    wanted = target.casefold().removeprefix("./").lstrip("/")
    beside = f"{claimant.rpartition('/')[0]}/{wanted}".casefold().lstrip("/")
    found = [
        note
        for note in _first_sections(view, _candidates(view, target))
        if wanted in names(note.path) or wanted in {name.casefold() for name in (note.title, *note.aliases)}
    ]
    for whole in (wanted, beside):
        exact = [note for note in found if whole in _paths(note.path)]
        if exact:
            return exact[0]
    return found[0] if len(found) == 1 else None


def _paths(path: str) -> set[str]:
    """Return *path* with and without its extension."""
    low = path.casefold()
    return {low, low.rpartition(".")[0]}


def _first_sections(view: View, documents: Iterable[int]) -> list[Document]:
    """Return the first section among *documents* of each note, ordered by path."""
    first: dict[str, Document] = {}
    for document in (document_at(view, number) for number in documents):
        known = first.get(document.path)
        if known is None or document.line < known.line:
            first[document.path] = document
    return [first[path] for path in sorted(first)]


def _candidates(view: View, target: str) -> list[int]:
    """Return the documents whose title, or whose path, has the words of *target*."""
    terms = list(dict.fromkeys(analysis.terms(target)))
    words = [term for term in terms if re.fullmatch(r"\w+", term)] or terms
    found: set[int] = set()
    for field in ("title", "path"):
        common: npt.NDArray[np.int64] | None = None
        for term in words:
            parts = [postings.ids.astype(np.int64) + base for base, postings in view.postings(field, term)]
            if not parts:
                continue
            ids = np.concatenate(parts)
            common = ids if common is None else np.intersect1d(common, ids)
        if common is not None:
            found.update(common[view.live[common]].tolist()[:CANDIDATES_MAX])
    return sorted(found)
