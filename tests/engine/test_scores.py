"""The vectorised scores are those of the plain formula, over any number of segments."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from math import log1p
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hookhelp import enable

from recall_git import analysis, bm25, sync
from recall_git.index.lexical import BOOSTS, FIELDS, K1, B
from recall_git.repo import Repo
from recall_git.retrieve import View

if TYPE_CHECKING:
    from conftest import GitRepo


LATIN = "quince jelly jar pantry cold store port database staging apply terraform"
WORDS = (*LATIN.split(), "果冻", "储藏", "瓶子", "冷藏", "ゼリー", "保存")


@pytest.fixture
def view(repo: GitRepo) -> View:
    """A view over several segments, with documents in them that it does not have."""
    chance = np.random.default_rng(5)
    for step in range(4):
        notes: dict[str, str | bytes] = {}
        for number in range(12):
            title, body = (" ".join(chance.choice(WORDS, size)) for size in (2, 30))
            notes[f"n{step}-{number}.md"] = f"---\ntags: [{chance.choice(WORDS)}]\n---\n# {title}\n\n{body}.\n"
        notes["changing.md"] = f"# Changing\n\nquince jelly {step}.\n"
        repo.commit(notes)
        if step == 0:
            found = enable(repo)
        else:
            sync.refresh(found, sync.settings_of(found)[0])
    settings = sync.settings_of(found)[0]
    snapshot = sync.open_store(found, settings).open()
    rows = snapshot.read_view(snapshot.last["view"])
    assert rows is not None
    made = View(snapshot, rows)
    assert len(made.segments) == 4
    assert made.count == len(made.live) - 3  # older versions of changing.md
    return made


def plain_scores(view: View, found: Repo, terms: list[str]) -> np.ndarray:
    """Return BM25F computed document by document from the text that was indexed."""
    fields = []
    settings = sync.settings_of(found)[0]
    for segment in view.segments:
        for number in range(len(segment)):
            row = asdict(segment.document(number))
            entry = sync.NoteEntry(row["path"], row["blob"])
            prepared, _ = sync.prepare(0, entry, found.read(row["blob"]) or b"", settings)
            document = next(made for made in prepared.documents if made.document.line == row["line"])
            fields.append([Counter(analysis.terms(getattr(document.texts, field))) for field in FIELDS])
    lengths = np.array([[counts.total() for counts in document] for document in fields], float)
    average = lengths[view.live].mean(axis=0)
    average[average == 0] = 1
    scores = np.zeros(len(fields))
    for term in terms:
        has = [
            live and any(term in counts for counts in document)
            for live, document in zip(view.live, fields, strict=True)
        ]
        idf = log1p((view.count - sum(has) + 0.5) / (sum(has) + 0.5))
        for number, document in enumerate(fields):
            if has[number]:
                norm = np.array(BOOSTS) / (1 - B + B * lengths[number] / average)
                tf = sum(counts[term] * norm[column] for column, counts in enumerate(document))
                scores[number] += idf * (K1 + 1) * tf / (tf + K1)
    return scores


def test_bm25f_is_the_plain_formula(view: View, repo: GitRepo) -> None:
    terms = analysis.query_terms("quince jelly in the cold pantry 果冻 ゼリー terraform nowhere")
    scored = view.scorer.score(terms)
    scores, frequencies = scored.documents, scored.frequencies
    again = view.scorer.score(terms).documents  # from what was kept
    plain = plain_scores(view, Repo.discover(repo.path), terms)
    np.testing.assert_allclose(scores, plain, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(scores, again)
    assert frequencies[terms.index("nowher")] == 0
    assert not scores[~view.live].any()
    matched = scored.has(range(len(view.live)))
    assert matched[:, view.live].sum(axis=1).tolist() == list(frequencies)


def test_common_terms_are_scored_as_rare_ones_are(view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    terms = analysis.query_terms("quince jelly in the cold pantry 果冻 ゼリー terraform nowhere")
    rare = view.scorer.score(terms)
    everything = range(len(view.live))
    for dense in (3, 0, 1000):  # kept by document, never by document, always
        monkeypatch.setattr(bm25, "COMMON", -1)
        monkeypatch.setattr(bm25, "COMMON_SHARE", 0)
        monkeypatch.setattr(bm25, "_DENSE", dense)
        del view.__dict__["scorer"]
        for common in (view.scorer.score(terms), view.scorer.score(terms)):
            np.testing.assert_allclose(common.documents, rare.documents, rtol=1e-6)
            np.testing.assert_allclose(common.notes, rare.notes, rtol=1e-6)
            assert common.frequencies == rare.frequencies
            np.testing.assert_array_equal(common.has(everything), rare.has(everything))
    monkeypatch.setattr(bm25, "KEPT_BYTES", 1)
    monkeypatch.setattr(bm25, "KEPT_BYTES_A_DOCUMENT", 0)
    np.testing.assert_array_equal(view.scorer.score(terms).documents, common.documents)
    np.testing.assert_array_equal(view.scorer.score(terms).documents, common.documents)


def test_cosines_are_one_plain_product(view: View) -> None:
    dim = view.segments[0].vectors.shape[1]
    vector = np.random.default_rng(3).normal(size=dim).astype(np.float32)
    whole = np.concatenate([np.asarray(s.vectors, np.float32) * s.scales[:, None] for s in view.segments]) @ vector
    whole[~view.live] = -1
    np.testing.assert_allclose(view.cosines(vector), whole, rtol=1e-4, atol=1e-5)


def test_what_was_let_go_is_read_again(view: View) -> None:
    terms = analysis.query_terms("quince jelly in the cold pantry")
    before = view.scorer.score(terms)
    documents = [segment.document(number) for segment in view.segments for number in range(len(segment))]
    for segment in view.segments:
        segment.rest()
    del view.__dict__["scorer"]
    np.testing.assert_array_equal(view.scorer.score(terms).documents, before.documents)
    assert [segment.document(number) for segment in view.segments for number in range(len(segment))] == documents
