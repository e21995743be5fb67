"""The read path: prompt → gate → retrieve → rank → guardrails → digest.

Reads the index, and through ``Beside`` what is read fresh: writes nothing, asks no network, starts no service.
What is open (``Memory``) is passed in, so that a resident process can keep it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from time import perf_counter

import numpy as np

from recall_git import digest, freshness, gate, succession
from recall_git.index import store as stores
from recall_git.search import Found, Memory, document_at, search
from recall_git.types import Digest, Document, Hit, Slots, Verdict

Marker = Callable[[Document, Container[str]], Document]


@dataclass(frozen=True)
class Beside:
    """What is read fresh, and only for a prompt that is worth it. Wired by ``beside``; nothing by default."""

    overlay: Callable[[Memory], Memory] = lambda memory: memory
    """Lays the uncommitted notes over a memory's view."""
    cards: Callable[[Memory, str], Sequence[Document]] = lambda memory, query: ()
    """Identity cards for the names in a query."""
    others: Callable[[list[str]], Sequence[Memory]] = lambda withheld: ()
    """The memories of the user's other repositories; those that do not answer are named in the list."""
    name: str = ""
    """What the repository is called where there are several."""


ALONE = Beside()


@dataclass
class _Kept:
    """The documents that pass the guardrails, and what the others were refused for."""

    memory: Memory
    withheld: list[str] = field(default_factory=list)
    replaced: dict[str, Document | None] = field(init=False)

    def __post_init__(self) -> None:
        self.replaced = succession.successors(self.memory.view, self._may_replace)

    def refusal(self, document: Document, slot: str) -> str:
        """Return why *document* may not stand in *slot*, '' when it may."""
        memory, settings = self.memory, self.memory.settings
        if document.owner and document.owner.strip().lower() != memory.identity:
            return "owner" if memory.identity else "owner-unsure"
        if freshness.expired(document, memory.commit_time):
            return "expired"
        if slot == "prohibitions" and self._folders() and not self._protected(document.path):
            return "unprotected"
        if slot != "relevant" and freshness.tier(document, memory.commit_time, settings) == freshness.STALE:
            return "stale"
        return ""

    def one(self, document: Document, slot: str) -> Document | None:
        """Return what may stand for *document* in *slot*: itself, what replaced it, or nothing."""
        current: Document | None = document
        if document.path in self.replaced:
            current = self.replaced[document.path]
            if current is None or slot not in ("relevant", "latest"):
                # A successor has a fixed slot of its own if its front matter asks for one.
                self._withhold(slot, document, "superseded")
                return None
            self._withhold(slot, document, f"superseded-by {current.path}")
        why = self.refusal(current, slot) if current else ""
        if current is None or why:
            self._withhold(slot, current or document, why)
            return None
        memory = self.memory
        author = current.author if slot != "profile" else ""  # whose profile it is, it says itself
        aged = freshness.aged(current, memory.commit_time, memory.settings)
        return replace(aged, source=memory.source, author=author)

    def all(self, documents: Iterable[Document], slot: str) -> Iterator[Document]:
        """Yield what may stand for each of *documents*, each path and line once."""
        seen = set()
        for document in documents:
            kept = self.one(document, slot)
            if kept is not None and (kept.path, kept.line) not in seen:
                seen.add((kept.path, kept.line))
                yield kept

    def _withhold(self, slot: str, document: Document, why: str) -> None:
        self.withheld.append(digest.reason(slot, document, why))

    def _may_replace(self, old: str, by: Document) -> bool:
        """Whether *by* may take the place of the note at *old*: not another person's, not from an open folder."""
        mine = not by.owner or by.owner.strip().lower() == self.memory.identity
        return mine and (not self._protected(old) or self._protected(by.path))

    def _folders(self) -> list[str]:
        """Return the folders from which prohibitions are accepted; none: from anywhere."""
        return [folder.strip("/") + "/" for folder in self.memory.settings.prohibitions if folder.strip("/")]

    def _protected(self, path: str) -> bool:
        return path.startswith(tuple(self._folders()))


def static_slots(memory: Memory, withheld: list[str] | None = None) -> Slots:
    """Return profile ①, prohibitions ② and the latest lessons and conclusions ③ of the commit.

    What the guardrails refuse is named in *withheld*, ``slot path:line reason``.
    """
    kept = _Kept(memory, [] if withheld is None else withheld)
    mine = kept.all(_documents(memory, stores.PROFILE), "profile")
    forbidden = kept.all(_documents(memory, stores.PROHIBITION), "prohibitions")
    return Slots(tuple(mine), tuple(forbidden), tuple(_latest(kept)))


def _documents(memory: Memory, flag: int) -> list[Document]:
    """Return the documents with *flag*, by path and line."""
    found = (document_at(memory.view, number) for number in memory.view.flagged(flag))
    return sorted(found, key=lambda document: (document.path, document.line))


def _latest(kept: _Kept) -> Iterator[Document]:
    """Yield the newest lessons and conclusions, one section a note; reads only as many rows as that takes.

    A date in the future counts as the commit's, or a note could stay on top for ever.
    """
    view, limit = kept.memory.view, kept.memory.settings.latest
    numbers = np.array(view.flagged(stores.LATEST), np.int64)
    if not len(numbers) or not limit:
        return
    written = np.concatenate([segment.docs["day"] for segment in view.segments])[numbers]
    days = np.where(written >= 0, written, view.time[numbers] // 86400)
    days = np.minimum(days, kept.memory.commit_time // 86400)
    order = np.argsort(-days, kind="stable")
    seen: set[str] = set()
    for _, day in groupby(zip(days[order].tolist(), numbers[order].tolist(), strict=True), key=lambda pair: pair[0]):
        of_day = sorted((document_at(view, number) for _, number in day), key=lambda d: (d.path, d.line))
        first = {document.path: document for document in reversed(of_day) if document.path not in seen}
        seen.update(first)
        for document in kept.all(reversed(first.values()), "latest"):
            if document.path in seen and document.path not in first:
                continue  # a successor that had its turn
            seen.add(document.path)
            yield document
            limit -= 1
            if not limit:
                return


def prompt_digest(
    memory: Memory,
    prompt: str,
    *,
    given: frozenset[str] = frozenset(),
    source: str = "user",
    with_static: bool = False,
    mark: Marker | None = None,
    beside: Beside = ALONE,
    resume: str = "",
    caps: tuple[int, int] = (0, 0),
) -> Digest:
    """Return what is put before the agent for one prompt, as ``consider`` does."""
    return consider(
        memory,
        prompt,
        given=given,
        source=source,
        with_static=with_static,
        mark=mark,
        beside=beside,
        resume=resume,
        caps=caps,
    ).digest


@dataclass(frozen=True)
class Considered:
    """A digest for a prompt, and the way to it."""

    digest: Digest
    verdict: Verdict
    answers: tuple[Answer, ...] = ()
    """Of the repository's own memory, then of the user's others; none when the gate is closed."""


def consider(
    memory: Memory,
    prompt: str,
    *,
    given: frozenset[str] = frozenset(),
    source: str = "user",
    with_static: bool = False,
    mark: Marker | None = None,
    beside: Beside = ALONE,
    resume: str = "",
    caps: tuple[int, int] = (0, 0),
) -> Considered:
    """Return what is put before the agent for one prompt, and why.

    *given*: content hashes that the session has seen. *mark* may mark a document as changed since it was
    given; it gets the document and the content hashes of the view. *resume* is one line on the last session,
    *caps* what the agent takes at most, in characters and in bytes; 0 is no limit.
    """
    started = perf_counter()
    verdict = gate.judge(prompt, source=source)
    timings = {"gate": 1000 * (perf_counter() - started)}
    if not verdict.open and not with_static and not resume:
        return Considered(Digest(outcome="skipped", why=verdict.why, commit=memory.commit, timings_ms=timings), verdict)
    withheld: list[str] = []
    memories = together(memory, beside, withheld)
    memory = memories[0]
    static = _joined([static_slots(one, withheld) for one in memories]) if with_static else Slots()
    answers: list[Answer] = []
    cards: Sequence[Document] = ()
    if verdict.open:
        begun = perf_counter()
        memories[0] = beside.overlay(memory)
        timings["overlay"] = 1000 * (perf_counter() - begun)
        begun = perf_counter()
        limit = 4 * memory.settings.entries + 10
        answers = [answer(one, verdict.query, limit, withheld, mark) for one in memories]
        timings["search"] = 1000 * (perf_counter() - begun)
        begun = perf_counter()
        cards = beside.cards(memories[0], verdict.query)
        timings["entities"] = 1000 * (perf_counter() - begun)
    shown = {document.path for slot in (static.profile, static.prohibitions, static.latest) for document in slot}
    relevant = [document for document in merged(answers) if not _shown_already(document, shown)]
    levels = {one.found.level for one in answers}
    pointer = "pointer" in levels and "entries" not in levels
    slots = replace(static, relevant=tuple(relevant), cards=tuple(cards), resume=resume, pointer=pointer)
    made = _compose(memory, slots, given, with_static, caps)
    why = "; ".join(one.found.why for one in answers) or verdict.why
    made = replace(made, why=f"{made.why} ({why})", cut=(*withheld, *made.cut), timings_ms=timings)
    return Considered(made, verdict, tuple(answers))


def together(memory: Memory, beside: Beside, withheld: list[str]) -> list[Memory]:
    """Return *memory* and the user's others; where there are several, each has a name."""
    others = beside.others(withheld)
    return [replace(memory, source=beside.name), *others] if others else [memory]


def _shown_already(document: Document, paths: Container[str]) -> bool:
    """Whether a fixed slot has the committed version of an uncommitted note: one of the two is enough."""
    return "uncommitted" in document.mark and document.path in paths


@dataclass(frozen=True)
class Answer:
    """What one memory says to a query: all that was found, and what of it may be injected."""

    memory: Memory
    found: Found
    hits: tuple[Hit, ...]


def answer(memory: Memory, query: str, limit: int, withheld: list[str], mark: Marker | None = None) -> Answer:
    """Ask one memory, and let the guardrails replace and refuse; refusals are named in *withheld*."""
    found = search(memory, query, limit=limit)
    chosen = [hit for hit in found.hits if hit.inject]
    if not chosen:
        return Answer(memory, found, ())
    kept = _Kept(memory, withheld)
    by_path = {hit.document.path: hit.document for hit in reversed(found.hits)}
    # Of a successor the section that matches best is worth more than its first.
    kept.replaced = {old: by_path.get(new.path, new) if new is not None else None for old, new in kept.replaced.items()}
    ready: list[Hit] = []
    seen: set[str] = set()
    for hit in chosen:
        document = kept.one(hit.document, "relevant")
        if document is None or document.content_hash in seen:
            continue
        seen.add(document.content_hash)
        ready.append(replace(hit, document=mark(document, memory.view) if mark else document))
    return Answer(memory, found, tuple(ready))


def merged(answers: Sequence[Answer]) -> list[Document]:
    """Return the documents of all answers, each answer's in its order, the better covering one first.

    Scores of several memories cannot be compared (each is a share of what its own notes could reach); the share
    of the query that a section covers can.
    """
    queues = [list(one.hits) for one in answers]
    found: list[Document] = []
    while any(queues):
        best = max((queue for queue in queues if queue), key=lambda queue: queue[0].coverage)
        found.append(best.pop(0).document)
    return found


def start_digest(memory: Memory, *, resume: str = "", beside: Beside = ALONE, caps: tuple[int, int] = (0, 0)) -> Digest:
    """Return what is put before the agent when a session starts: the slots that do not depend on a prompt.

    *resume* and *caps* as for ``prompt_digest``.
    """
    withheld: list[str] = []
    slots = _joined([static_slots(one, withheld) for one in together(memory, beside, withheld)])
    made = _compose(memory, replace(slots, resume=resume), frozenset(), True, caps)
    return replace(made, cut=(*withheld, *made.cut))


def _joined(several: Sequence[Slots]) -> Slots:
    """Return the fixed slots of several memories as one: in their order, the latest by date."""
    if len(several) == 1:
        return several[0]
    latest = [document for slots in several for document in slots.latest]
    latest.sort(key=lambda document: document.date, reverse=True)
    return Slots(
        tuple(document for slots in several for document in slots.profile),
        tuple(document for slots in several for document in slots.prohibitions),
        tuple(latest[: max((len(slots.latest) for slots in several), default=0)]),
    )


def _compose(memory: Memory, slots: Slots, given: frozenset[str], fixed: bool, caps: tuple[int, int]) -> Digest:
    settings = memory.settings
    return digest.compose(
        slots,
        commit=memory.commit,
        budget_chars=min(settings.budget, caps[0] or settings.budget),
        budget_bytes=caps[1],
        relevant_chars=settings.relevant_chars,
        max_entries=settings.entries,
        given=given,
        fixed=fixed,
    )
