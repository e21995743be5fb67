"""The read path: prompt → gate → retrieve → rank → digest.

Reads the index only: writes nothing, asks no network, starts nothing. What is open (``Memory``) is passed
in, so that a resident process can keep it.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace
from time import perf_counter

from recall_git import digest, gate
from recall_git.index import store as stores
from recall_git.search import Found, Memory, document_at, search
from recall_git.types import Digest, Document, Slots

Marker = Callable[[Document, Container[str]], Document]


def static_slots(memory: Memory) -> Slots:
    """Return profile ①, prohibitions ② and the latest lessons and conclusions ③ of the commit."""
    mine = _documents(memory, stores.PROFILE)
    forbidden = _documents(memory, stores.PROHIBITION)
    latest = _documents(memory, stores.LATEST)
    latest.sort(key=lambda document: document.date, reverse=True)
    first = list({document.path: document for document in reversed(latest)}.values())[::-1]
    return Slots(tuple(mine), tuple(forbidden), tuple(first[: memory.settings.latest]))


def _documents(memory: Memory, flag: int) -> list[Document]:
    """Return the documents with *flag* that may be given to whoever works here, by path and line."""
    found = (document_at(memory.view, number) for number in memory.view.flagged(flag))
    allowed = (document for document in found if _may_have(memory, document))
    return sorted(allowed, key=lambda document: (document.path, document.line))


def _may_have(memory: Memory, document: Document) -> bool:
    """Whether a document is current and nobody else's: ``owner:`` must be the e-mail of who works here."""
    if document.superseded_by:
        return False
    return not document.owner or document.owner.strip().lower() == memory.identity


def prompt_digest(
    memory: Memory,
    prompt: str,
    *,
    given: frozenset[str] = frozenset(),
    source: str = "user",
    with_static: bool = False,
    mark: Marker | None = None,
) -> Digest:
    """Return what is put before the agent for one prompt.

    *given*: content hashes that the session has seen. *mark* may mark a document as changed since it was
    given; it gets the document and the content hashes of the view.
    """
    started = perf_counter()
    verdict = gate.judge(prompt, source=source)
    timings = {"gate": 1000 * (perf_counter() - started)}
    static = static_slots(memory) if with_static else Slots()
    if not verdict.open and not with_static:
        return Digest(outcome="skipped", why=verdict.why, commit=memory.commit, timings_ms=timings)
    relevant: list[Document] = []
    found = Found((), False, verdict.why, {})
    if verdict.open:
        begun = perf_counter()
        found = search(memory, verdict.query, limit=4 * memory.settings.entries + 10)
        timings["search"] = 1000 * (perf_counter() - begun)
        relevant = [hit.document for hit in found.hits if hit.inject and _may_have(memory, hit.document)]
        if mark:
            relevant = [mark(document, memory.view) for document in relevant]
    made = _compose(
        memory, replace(static, relevant=tuple(relevant), pointer=found.level == "pointer"), given, with_static
    )
    why = f"{made.why} ({found.why})"
    return replace(made, why=why, timings_ms=timings)


def start_digest(memory: Memory) -> Digest:
    """Return what is put before the agent when a session starts: the slots that do not depend on a prompt."""
    return _compose(memory, static_slots(memory), frozenset(), True)


def _compose(memory: Memory, slots: Slots, given: frozenset[str], fixed: bool) -> Digest:
    settings = memory.settings
    return digest.compose(
        slots,
        commit=memory.commit,
        budget_chars=settings.budget,
        relevant_chars=settings.relevant_chars,
        max_entries=settings.entries,
        given=given,
        fixed=fixed,
    )
