"""One query against one memory: retrieve → rank → claim. Reads the index only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from recall_git import analysis, claim, rank
from recall_git.bm25 import idf
from recall_git.config import DEFAULT_WEIGHTS, Settings
from recall_git.index import store as stores
from recall_git.index.background import rarity
from recall_git.index.lexical import parse, speaks_query_language
from recall_git.index.vectors import Encoder
from recall_git.retrieve import Evidence, Floats, Fusion, View
from recall_git.types import Document, Hit

FUSIONS = {
    "hybrid": Fusion(lexical=1.0, note_lexical=0.3, dense=0.12, note_dense=0.4, nearness=0.6),
    "lexical": Fusion(lexical=1.0, note_lexical=0.0, dense=0.0, note_dense=0.0),
    "dense": Fusion(lexical=0.0, note_lexical=0.0, dense=1.0, note_dense=0.0),
}
"""What ranks. The hybrid's weights are from a grid over ten sets in three languages (docs/adr/0011): with them no set
loses against the words of sections alone, nor against the fusion before. The others are for measuring."""
CANDIDATES = 40
"""Documents that are looked at after both legs."""
KEPT_DOCUMENTS = 1000
"""Documents of a view that stay read, some 2 MB: the prompts of one session find the same ones."""
_EPOCH = date(1970, 1, 1).toordinal()
MAX_TERMS = 64
"""Most terms of one query; of a longer one the rarest are kept."""
NAME_SHARE = 0.4
"""Share of a query's rarity in the language at large that a title must be to be named by it. Without this, 'link' names
the note on links in every question about a link (obshelp-ja nDCG@10 .892 → .872; with it .897)."""
FLOOR_COSINE, FLOOR_NEARNESS = 0.2, 0.5
"""A document that shares no word with the query is a candidate only above this cosine, or when it comes so near."""


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
    source: str = ""
    """Name of the repository for the reader, when there are several."""


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


def search(memory: Memory, text: str, *, limit: int = 10, legs: str = "hybrid", language: bool = False) -> Found:
    """Rank the notes for *text*; each hit says whether it would be injected.

    A prompt is plain words and gets both legs. With *language*, text that uses Whoosh's query language is
    matched by Whoosh, and what matches is ranked the same way.
    """
    view = memory.view
    parsed = parse(text) if language and speaks_query_language(text) else None
    terms = _rarest(view, list(parsed.words) if parsed else analysis.query_terms(text))
    evidence = view.ask(terms, memory.encoder.ask(text))
    fusion = FUSIONS[legs]
    fused = view.fuse(evidence, fusion)
    if parsed:
        fused[~view.matching(parsed)] = -np.inf
    candidates, near = _candidates(memory, evidence, fused, matched=parsed is not None)
    if not candidates:
        return Found((), False, "nothing-found", {})
    weighed = Weighed(view, terms, evidence, candidates, near, {} if parsed else analysis.parts(text))
    hits = _hits(view, evidence, weighed, fused[candidates] + np.float32(fusion.nearness) * near)
    ordered = rank.order(hits, (*DEFAULT_WEIGHTS, *memory.settings.weight))
    named = [] if parsed or legs != "hybrid" else rank.named(ordered, text, weighed.is_name)
    return _judged(weighed.features(), memory.settings.gate, ordered, named, limit)


def _candidates(memory: Memory, evidence: Evidence, fused: Floats, *, matched: bool) -> tuple[list[int], Floats]:
    """Return the documents that are looked at, best first, and how near each comes to the query.

    Each of them says something, unless it is *matched* already.
    """
    best = [number for number in memory.view.best(fused, CANDIDATES) if fused[number] > -np.inf]
    near = memory.view.nearness(evidence, best, memory.encoder.cosines)
    seen = (evidence.lexical[best] > 0) | (evidence.dense[best] >= FLOOR_COSINE) | (near >= FLOOR_NEARNESS) | matched
    return [number for number, there in zip(best, seen.tolist(), strict=True) if there], near[seen]


def _hits(view: View, evidence: Evidence, weighed: Weighed, scores: Floats) -> list[Hit]:
    """Return a hit for each candidate, in their order, with the evidence for it."""
    strength = weighed.strength(_strong(view, evidence.frequencies)).tolist()
    matched, likely = weighed.matched(), weighed.likely()
    return [
        Hit(
            document=document_at(view, number),
            score=score,
            lexical=float(evidence.lexical[number]),
            dense=float(evidence.dense[number]),
            coverage=float(weighed.coverage[place]),
            matched=matched[place],
            strength=strength[place],
            likely=likely[place],
        )
        for place, (number, score) in enumerate(zip(weighed.candidates, scores.tolist(), strict=True))
    ]


def _judged(
    features: Mapping[str, float], gate: str, ordered: Sequence[Hit], named: Sequence[Hit], limit: int
) -> Found:
    """Return the hits, those that are called by name first, each with whether it would be injected."""
    judged, least = claim.judge(features, gate), claim.least(gate)
    first = [hit for hit in named if hit.likely >= least]
    ready = []
    for hit in [*first, *(hit for hit in ordered if hit not in first)][:limit]:
        stands = judged.level != "none" and hit.likely >= least
        stands = stands and (hit in first or rank.strong_enough(hit, ordered[0]))
        ready.append(replace(hit, inject=stands, why=_reason(hit)))
    inject = any(hit.inject for hit in ready)
    why = f"{judged.level} p={judged.probability:.3f}"
    return Found(tuple(ready), inject, why, features, judged.level if inject else "none")


class Weighed:
    """What the candidates match of a query, weighed by how much its words say.

    The units of coverage are words, and single characters where the query is Han or kana: such a
    character counts as matched when a bigram around it is, so a bigram that straddles two words costs
    nothing (against bigrams as units: AUC .977 → .990 on questions put to another set's notes). *parts* are terms
    that belong to a whole: where the notes know ``sqlite``, ``SQLite`` is not three words with ``sq`` and ``lite``.
    """

    def __init__(
        self,
        view: View,
        terms: Sequence[str],
        evidence: Evidence,
        candidates: Sequence[int],
        near: Floats,
        parts: Mapping[str, str],
    ) -> None:
        self.candidates = candidates
        has = self._has_term = evidence.words.has(candidates)
        known = {term for term, frequency in zip(terms, evidence.frequencies, strict=True) if frequency}
        units = [unit for unit in _units(terms) if parts.get(terms[unit[0]]) not in known]
        self._units = [terms[unit] for unit, _ in units]
        self._has = np.array([np.any(has[rows], axis=0) for _, rows in units]).reshape(len(units), len(candidates))
        worth = self._worth = np.array([rarity(unit) for unit in self._units])
        whole = max(float(worth.sum()), 1e-9)
        self.coverage = worth @ self._has / whole
        features = {
            "coverage": self.coverage,
            "evidence": np.log1p(worth @ self._has),
            "rarest": np.max(worth[:, None] * self._has, axis=0, initial=0),
            "size": np.log1p(view.lengths[list(candidates)].sum(axis=1)),
            "cosine": evidence.dense[list(candidates)],
            "nearness": near,
        }
        self._features = {name: values.astype(np.float64) for name, values in features.items()}

    def matched(self) -> list[tuple[str, ...]]:
        """Return the words that each candidate has, in the query's order."""
        found: list[list[str]] = [[] for _ in self.candidates]
        for place, row in np.argwhere(self._has.T).tolist():
            found[place].append(self._units[row])
        return [tuple(words) for words in found]

    def strength(self, strong: Floats) -> Floats:
        """Return the share of *strong*, a weight for each term asked, that each candidate has; 1 if there is none."""
        if not strong.any():
            return np.ones(self._has_term.shape[1], np.float32)
        found: Floats = (strong / strong.sum()) @ self._has_term
        return found

    def features(self) -> dict[str, float]:
        """Return what ``claim`` judges by: the section that covers most, with the best cosine and nearness of all."""
        best = int(np.argmax(self.coverage))
        found = {name: float(values[best]) for name, values in self._features.items()}
        return {**found, **{name: float(self._features[name].max()) for name in ("cosine", "nearness")}}

    def likely(self) -> list[float]:
        """Return how likely each candidate by itself answers, 0…1."""
        return [claim.likely(odds) for odds in claim.log_odds(self._features).tolist()]

    def is_name(self, title: str) -> bool:
        """Whether a title is what the query is about, and not a word in it: much of its rarity is the title's."""
        of_title = set(analysis.query_terms(title))
        inside = [unit in of_title for unit in self._units]
        return bool(self._worth @ inside >= NAME_SHARE * self._worth.sum())


def _units(terms: Sequence[str]) -> list[tuple[int, list[int]]]:
    """Return for each unit of coverage its row in *terms* and the rows that show it matched, in order."""
    around: dict[str, list[int]] = {}
    for row, term in enumerate(terms):
        if _is_bigram(term):
            for character in term:
                around.setdefault(character, []).append(row)
    return [(row, around.get(term, [row])) for row, term in enumerate(terms) if not _is_bigram(term)]


def _is_bigram(term: str) -> bool:
    """Whether *term* is two Han or kana characters (a Latin, Greek or Cyrillic word of two letters is a word)."""
    return len(term) == 2 and _is_wide(term)


def _is_wide(term: str) -> bool:
    return term >= "\u2e80"


def _strong(view: View, frequencies: Sequence[int]) -> Floats:
    """Return the weight of the query's strong terms, 0 for the others.

    Strong is what the notes know and rarely have (at most 2 % of the sections, or 3). Terms, not the units of
    coverage: in Chinese and Japanese the pairs are what is rare.
    """
    rare = max(3, 0.02 * view.count)
    return np.array([idf(view.count, n) if 0 < n <= rare else 0 for n in frequencies], np.float32)


def _reason(hit: Hit) -> str:
    terms = " ".join(hit.matched[:8])
    return f"p={hit.likely:.3f} bm25={hit.lexical:.1f} cos={hit.dense:.2f} covers={hit.coverage:.2f} [{terms}]"


def _rarest(view: View, terms: list[str]) -> list[str]:
    if len(terms) <= MAX_TERMS:
        return terms
    frequency = dict(zip(terms, view.scorer.frequencies(terms), strict=True))
    known = sorted((term for term in terms if frequency[term]), key=lambda term: frequency[term])
    kept = set(known[:MAX_TERMS])
    return [term for term in terms if term in kept]


def _author(view: View, note: int) -> str:
    """Return who last set a note, '' where the view does not know; an overlay's notes come after the commit's."""
    return str(view.rows["author"][note]) if stores.has_authors(view.rows) and note < len(view.rows) else ""


def document_at(view: View, number: int) -> Document:
    """Return document *number* of *view*; without a date of its own it has that of its last commit."""
    kept = view.documents.get(number)
    if kept is not None:
        return kept
    segment, local = view.locate(number)
    written = date.fromordinal(_EPOCH + int(view.time[number]) // 86400).isoformat()
    document = segment.document(local, written, _author(view, int(view.note[number])))
    if len(view.documents) >= KEPT_DOCUMENTS:
        view.documents.clear()
    view.documents[number] = document
    return document
