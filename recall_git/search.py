"""One query against one memory: retrieve → rank → claim. Reads the index only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from recall_git import analysis, claim, rank
from recall_git.config import DEFAULT_WEIGHTS, Settings
from recall_git.index import store as stores
from recall_git.index.lexical import parse, speaks_query_language
from recall_git.index.vectors import Encoder
from recall_git.retrieve import View
from recall_git.types import Document, Hit

DENSE_WEIGHT = 0.4
"""Weight of the standardised cosine beside the standardised BM25F (benchmarks/quality.py)."""
DENSE_ONLY = 1e6
"""Weight at which the words count no more; for measuring the vectors alone."""
CANDIDATES = 60
"""Documents that are looked at after both legs."""
MAX_TERMS = 64
"""Most terms of one query; of a longer one the rarest are kept."""


@dataclass(frozen=True)
class Memory:
    """One commit of one repository, open for recall."""

    commit: str
    commit_time: int
    """Author time; what is recent and what is stale is measured from here, not from a clock."""
    settings: Settings
    view: View
    encoder: Encoder
    identity: str = ""
    """E-mail of whoever works here, lower-case; '' when unknown."""


@dataclass(frozen=True)
class Found:
    """The answer to one query."""

    hits: tuple[Hit, ...]
    """Best first, whatever the gate says."""
    inject: bool
    """Whether a prompt hook would inject anything."""
    why: str
    features: Mapping[str, float]
    level: str = "none"


def search(memory: Memory, text: str, *, limit: int = 10, dense_weight: float = DENSE_WEIGHT) -> Found:
    """Rank the notes for *text*; each hit says whether it would be injected.

    Plain words get both legs; text in Whoosh's query language is matched by Whoosh and ranked the same way.
    """
    view = memory.view
    parsed = parse(text) if speaks_query_language(text) else None
    terms = _rarest(view, list(parsed.words) if parsed else analysis.query_terms(text))
    evidence = view.ask(terms, memory.encoder.encode([text])[0])
    fused = view.fuse(evidence, dense_weight)
    if parsed:
        fused[~view.matching(parsed)] = -float("inf")
    candidates = [number for number in view.best(fused, CANDIDATES) if fused[number] > -float("inf")]
    if not parsed:
        candidates = [number for number in candidates if evidence.lexical[number] > 0 or evidence.dense[number] > 0.2]
    if not candidates:
        return Found((), False, "nothing-found", {})
    matched = view.matched(terms, candidates).any(axis=0).T.tolist()
    weights = [view.idf(frequency) for frequency in evidence.frequencies]
    whole = sum(weights) or 1.0
    hits = [
        Hit(
            document=document_at(view, number),
            score=float(fused[number]),
            lexical=float(evidence.lexical[number]),
            dense=float(evidence.dense[number]),
            coverage=sum(w for w, has in zip(weights, matched[place], strict=True) if has) / whole,
            matched=tuple(term for term, has in zip(terms, matched[place], strict=True) if has),
        )
        for place, number in enumerate(candidates)
    ]
    ordered = rank.order(hits, (*DEFAULT_WEIGHTS, *memory.settings.weight))
    features = features_of(ordered, terms, weights)
    judged = claim.judge(features, memory.settings.gate)
    inject = judged.level != "none"
    why = f"{judged.level} p={judged.probability:.3f}"
    strong = _strong(terms, evidence.frequencies, view.count)
    ready = [
        replace(hit, inject=inject and _stands(hit, ordered[0], strong, memory.settings), why=_reason(hit))
        for hit in ordered[:limit]
    ]
    return Found(tuple(ready), inject, why, features, judged.level)


def features_of(hits: Sequence[Hit], terms: Sequence[str], weights: Sequence[float]) -> dict[str, float]:
    """Return what ``claim`` judges by, from hits in their final order."""
    top = hits[:5]
    best = max(top, key=lambda hit: hit.coverage)
    possible = sum(weights) * 2.5 or 1.0
    return {
        "coverage": best.coverage,
        "share": max(hit.lexical for hit in top) / possible,
        "ratio": len(best.matched) / max(1, len(terms)),
        "cosine": max(hit.dense for hit in top),
    }


def _stands(hit: Hit, best: Hit, strong: Sequence[str], settings: Settings) -> bool:
    """Whether *hit* may be injected beside *best*: enough of its evidence, and one of the query's strong words."""
    if settings.gate == "open":
        return True
    near = hit.coverage >= 0.6 * best.coverage or hit.lexical >= rank.WEAK_FLOOR * best.lexical
    return near and rank.strong_enough(hit, best, strong)


def _strong(terms: Sequence[str], frequencies: Sequence[int], count: int) -> list[str]:
    """Return the query's strong words: known to the notes, and rare there (at most 2 % of the sections, or 3)."""
    return [term for term, n in zip(terms, frequencies, strict=True) if 0 < n <= max(3, 0.02 * count)]


def _reason(hit: Hit) -> str:
    return f"bm25 {hit.lexical:.1f} cos {hit.dense:.2f} covers {hit.coverage:.0%}: {' '.join(hit.matched[:8])}"


def _rarest(view: View, terms: list[str]) -> list[str]:
    if len(terms) <= MAX_TERMS:
        return terms
    frequency = {term: sum(len(p.ids) for _, p in view.postings("body", term)) for term in terms}
    known = sorted((term for term in terms if frequency[term]), key=lambda term: frequency[term])
    kept = set(known[:MAX_TERMS])
    return [term for term in terms if term in kept]


def document_at(view: View, number: int) -> Document:
    """Return document *number* of *view*; without a date of its own it has that of its last commit."""
    segment, local = view.locate(number)
    row: dict[str, Any] = segment.row(local)
    if not row["date"]:
        row["date"] = datetime.fromtimestamp(int(view.time[number]), timezone.utc).strftime("%Y-%m-%d")
    return stores.document_of(row)
