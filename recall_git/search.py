"""One query against one memory: retrieve → rank → claim. Reads the index only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

import numpy as np
import numpy.typing as npt

from recall_git import analysis, claim, rank
from recall_git.config import DEFAULT_WEIGHTS, Settings
from recall_git.index import store as stores
from recall_git.index.background import rarity
from recall_git.index.lexical import K1, parse, speaks_query_language
from recall_git.index.vectors import Encoder
from recall_git.retrieve import Evidence, View
from recall_git.types import Document, Hit

DENSE_WEIGHT = 0.4
"""Weight of the standardised cosine beside the standardised BM25F (benchmarks/quality.py)."""
DENSE_ONLY = 1e6
"""Weight at which the words count no more; for measuring the vectors alone."""
CANDIDATES = 40
"""Documents that are looked at after both legs."""
MAX_TERMS = 64
"""Most terms of one query; of a longer one the rarest are kept."""
FLOOR_COSINE = 0.2
"""A document that shares no word with the query is a candidate only above this cosine."""


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
        fused[~view.matching(parsed)] = -np.inf
    candidates = [number for number in view.best(fused, CANDIDATES) if fused[number] > -np.inf]
    if not parsed:
        seen = evidence.lexical[candidates] + (evidence.dense[candidates] >= FLOOR_COSINE)
        candidates = [number for number, there in zip(candidates, seen.tolist(), strict=True) if there]
    if not candidates:
        return Found((), False, "nothing-found", {})
    weighed = Weighed(view, terms, evidence, candidates)
    hits = [
        Hit(
            document=document_at(view, number),
            score=float(fused[number]),
            lexical=float(evidence.lexical[number]),
            dense=float(evidence.dense[number]),
            coverage=float(weighed.coverage[place]),
            matched=weighed.matched(place),
        )
        for place, number in enumerate(candidates)
    ]
    ordered = rank.order(hits, (*DEFAULT_WEIGHTS, *memory.settings.weight))
    features = weighed.features()
    judged = claim.judge(features, memory.settings.gate)
    least = claim.least(memory.settings.gate)
    strong = _strong(terms, evidence.frequencies, view.count)
    places = {hit.document.content_hash: place for place, hit in enumerate(hits)}
    ready = []
    for hit in ordered[:limit]:
        own = claim.probability(weighed.features(places[hit.document.content_hash]))
        stands = judged.level != "none" and own >= least and rank.strong_enough(hit, ordered[0], strong)
        ready.append(replace(hit, inject=stands, why=_reason(hit, own)))
    inject = any(hit.inject for hit in ready)
    why = f"{judged.level} p={judged.probability:.3f}"
    return Found(tuple(ready), inject, why, features, judged.level if inject else "none")


class Weighed:
    """What the candidates match of a query, weighed by how much its terms say."""

    def __init__(self, view: View, terms: Sequence[str], evidence: Evidence, candidates: Sequence[int]) -> None:
        self._terms = terms
        asked = _telling(terms)
        self._has = view.matched([terms[row] for row in asked], candidates)
        self._asked = [terms[row] for row in asked]
        any_field = np.any(self._has, axis=0)
        idf = np.array([view.idf(frequency) for frequency in evidence.frequencies])
        self._rarity = np.array([rarity(term) for term in self._asked])
        known = np.array([evidence.frequencies[row] > 0 for row in asked], bool)
        whole = max(float(self._rarity.sum()), 1e-9)
        self.coverage = self._rarity @ any_field / whole
        own = idf[asked] if asked else idf[:0]
        self._idf_coverage = own @ any_field / max(float(own.sum()), 1e-9)
        self._rarest = np.max(self._rarity[:, None] * any_field, axis=0, initial=0)
        self._ratio = any_field.mean(axis=0) if asked else np.zeros(len(candidates))
        self._share = evidence.lexical[list(candidates)] / max(float(idf.sum()) * (K1 + 1), 1e-9)
        self._cosine = evidence.dense[list(candidates)]
        self._unknown = float(self._rarity[~known].sum()) / whole

    def matched(self, place: int) -> tuple[str, ...]:
        """Return the terms that the candidate at *place* has, in the query's order."""
        has = np.any(self._has[:, :, place], axis=0)
        return tuple(term for row, term in enumerate(self._asked) if has[row])

    def features(self, place: int | None = None) -> dict[str, float]:
        """Return what ``claim`` judges by: of the whole query, or of the candidate at *place* alone."""
        if place is None:
            two = [*np.sort(self.coverage)[::-1][:2].tolist(), 0.0]
            best = int(np.argmax(self.coverage))
            rest = (self._idf_coverage, self._share, self._ratio, self._cosine)
            covers, share, ratio, cosine = (float(values.max()) for values in rest)
            rarest = float(self._rarest[best])
        else:
            two = [float(self.coverage[place])] * 2
            rest = (self._idf_coverage, self._share, self._ratio, self._cosine)
            covers, share, ratio, cosine = (float(values[place]) for values in rest)
            rarest = float(self._rarest[place])
        return {
            "coverage": two[0],
            "second": two[1],
            "idf_coverage": covers,
            "share": share,
            "ratio": ratio,
            "cosine": cosine,
            "rarest": rarest,
            "unknown": self._unknown,
        }


def _telling(terms: Sequence[str]) -> list[int]:
    """Return the rows of *terms* that coverage counts: a Han or kana character inside a bigram counts there only."""
    inside = {character for term in terms if len(term) == 2 and not term.isascii() for character in term}
    return [row for row, term in enumerate(terms) if not (len(term) == 1 and term in inside)]


def _strong(terms: Sequence[str], frequencies: Sequence[int], count: int) -> list[str]:
    """Return the query's strong words: known to the notes, and rare there (at most 2 % of the sections, or 3)."""
    return [term for term, n in zip(terms, frequencies, strict=True) if 0 < n <= max(3, 0.02 * count)]


def _reason(hit: Hit, own: float) -> str:
    terms = " ".join(hit.matched[:8])
    return f"p={own:.3f} bm25={hit.lexical:.1f} cos={hit.dense:.2f} covers={hit.coverage:.2f} [{terms}]"


def _rarest(view: View, terms: list[str]) -> list[str]:
    if len(terms) <= MAX_TERMS:
        return terms
    frequency = {term: sum(len(postings.ids) for _, postings in view.postings("body", term)) for term in terms}
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
