"""Nearness: each piece of a query finds the piece of a section that means most the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_git import nearness, overlay
from recall_git.analysis import query_terms
from recall_git.index import table
from recall_git.index.table import Question, Table, unit
from recall_git.index.vectors import FEW_TEXTS, Behind, Encoder
from recall_git.retrieve import View
from recall_git.search import FLOOR_COSINE, FLOOR_NEARNESS, document_at, search
from tests.conftest import GitRepo
from tests.index.test_search import enable, memory_of

ROWS = np.random.default_rng(4).normal(size=(30, 8)).astype(np.float32)
ROWS[7] = 0
TABLE = Table(ROWS, tokens=len(ROWS))


def plain(meant: nearness.Meant, sections: list[list[int]]) -> list[float]:
    """Return what ``nearness`` promises, one piece after the other."""
    directions = unit(ROWS)
    found = []
    for pieces in sections:
        best = [max(float(one @ directions[piece]) for piece in pieces) for one in meant.directions if pieces]
        found.append(float(np.dot(meant.weights, best)) if best else 0.0)
    return found


@settings(max_examples=80, deadline=None)
@given(
    asked=st.lists(st.integers(0, 29), max_size=6),
    sections=st.lists(st.lists(st.integers(0, 29), max_size=9, unique=True).map(sorted), max_size=5),
)
def test_it_is_the_weighed_sum_of_the_best_cosines(asked: list[int], sections: list[list[int]]) -> None:
    question = Question(np.array(asked, np.intp), TABLE.vectors(asked))
    meant = nearness.weigh(question, np.zeros(0, np.int64), 10)
    arrays = [np.array(pieces, np.uint16) for pieces in sections]
    found = nearness.nearness(meant, arrays, TABLE.cosines)
    np.testing.assert_allclose(found, plain(meant, sections), atol=1e-5)
    assert (np.abs(found) <= 1 + 1e-5).all()


def test_a_piece_that_few_sections_have_weighs_more() -> None:
    question = Question(np.array([1, 2]), np.eye(2, 8, dtype=np.float32))
    meant = nearness.weigh(question, np.array([0, 90, 2]), 100)
    assert meant.weights[1] > 5 * meant.weights[0]
    assert meant.weights.sum() == pytest.approx(1)


def test_a_piece_that_says_nothing_in_the_language_at_large_weighs_nothing() -> None:
    question = Question(np.array([1, 2]), np.array([[0.01] + [0] * 7, [1.0] + [0] * 7], np.float32))
    meant = nearness.weigh(question, np.zeros(0, np.int64), 100)
    assert meant.weights[0] < 0.001


def test_of_a_long_query_the_pieces_that_say_most_are_kept_in_order() -> None:
    spans = np.linspace(1, 2, nearness.MOST_PIECES + 40, dtype=np.float32)
    vectors = np.zeros((len(spans), 8), np.float32)
    vectors[:, 0] = spans
    vectors[0, 1] = 0.1
    meant = nearness.weigh(Question(np.arange(len(spans)), vectors), np.zeros(0, np.int64), 100)
    assert len(meant.weights) == len(meant.directions) == nearness.MOST_PIECES
    says = spans[-nearness.MOST_PIECES :] ** 2
    np.testing.assert_allclose(meant.weights, says / says.sum(), rtol=1e-5)
    np.testing.assert_allclose(meant.vector, unit(vectors.mean(axis=0)[None])[0], rtol=1e-5)  # of all, not of these


def test_pieces_are_counted_over_all_parts() -> None:
    parts = [np.array([1, 3], np.uint16), np.zeros(0, np.uint16), np.array([3], np.uint16)]
    assert nearness.counts(parts).tolist() == [0, 1, 0, 2]
    assert len(nearness.counts([])) == 0


def test_how_much_is_done_at_a_time_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces, vectors = np.arange(30, dtype=np.uint16), unit(ROWS[:4])
    cosines, counts = TABLE.cosines(pieces, vectors), nearness.counts([pieces, pieces[3:]])
    monkeypatch.setattr(table, "_BLOCK", 7)
    monkeypatch.setattr(nearness, "_BLOCK", 7)
    np.testing.assert_allclose(TABLE.cosines(pieces, vectors), cosines, atol=1e-6)
    assert nearness.counts([pieces, pieces[3:]]).tolist() == counts.tolist() == [1] * 3 + [2] * 27


def test_the_index_keeps_the_pieces_of_each_section_when_segments_merge(repo: GitRepo) -> None:
    texts = {
        f"n{number}.md": f"# Title {number}\n\nWords {number} of pear and quince {number * 7}.\n" for number in range(9)
    }
    repo.commit({"first.md": "# First\n\nFirst.\n"})
    engine = enable(repo)
    repo.git("rm", "-q", "first.md")
    for path, text in texts.items():
        repo.commit({path: text})
        view = memory_of(repo, engine).view
    encoder, seen = Encoder(), 0
    for number in np.flatnonzero(view.live).tolist():
        segment, local = view.locate(number)
        document = segment.document(local)
        title, _, body = texts[document.path].partition("\n\n")
        expected = encoder.encode([f"{title.removeprefix('# ')}\n{body.strip()}"])
        assert segment.pieces(local).tolist() == expected.pieces.tolist()
        seen += 1
    assert seen == 9
    assert len(view.segments) < 9  # some were merged
    assert view.piece_counts.tolist() == counted(view)


def test_a_piece_that_comes_twice_is_kept_once_and_asked_twice() -> None:
    encoder = Encoder()
    once, twice = encoder.encode(["quince pear", "pear quince pear pear"]).counts.tolist()
    assert once == twice
    assert len(encoder.ask("pear pear").pieces) == 2 * len(encoder.ask("pear").pieces)


def test_parts_of_many_texts_stay_in_order() -> None:
    encoder, texts = Encoder(), [f"pear {number} quince" for number in range(FEW_TEXTS + 1)]
    behind = Behind(encoder)
    behind.add(texts)
    behind.add(["plum"])
    found, expected = behind.result(), [encoder.encode([text]) for text in (*texts, "plum")]
    assert found.counts.tolist() == [one.counts[0] for one in expected]
    assert found.pieces.tolist() == np.concatenate([one.pieces for one in expected]).tolist()


def test_uncommitted_notes_have_pieces_and_are_counted(repo: GitRepo) -> None:
    repo.commit({"a.md": "# Pear\n\nPear and quince.\n", "b.md": "# Plum\n\nPlum and pear.\n"})
    engine = enable(repo)
    repo.write({"b.md": "# Photo\n\nOf the album.\n", "🜁.md": "🜂\n", "d.md": "# Quince\n\nQuince.\n"})
    memory = overlay.lay_over(engine.repository(repo.path), memory_of(repo, engine))
    view, found = memory.view, {}
    for segment, local in map(memory.view.locate, np.flatnonzero(view.live).tolist()):
        found[segment.document(local).path] = segment.pieces(local).tolist()
    texts = {"a.md": "Pear\nPear and quince.", "b.md": "Photo\nOf the album.", "🜁.md": "", "d.md": "Quince\nQuince."}
    assert found == {path: memory.encoder.encode([text]).pieces.tolist() for path, text in texts.items()}
    assert view.piece_counts.tolist() == counted(view)


def counted(view: View) -> list[int]:
    """Return how many sections of *view* have each piece, one section after the other."""
    sections = [segment.pieces(local) for segment, local in map(view.locate, np.flatnonzero(view.live).tolist())]
    return np.bincount(np.concatenate(sections)).tolist()


NOTES = {
    "album.md": "# Album\n\nEvery photo is named after the day, the place and whoever took it, and then it is put "
    "into the folder of the year with its date and the names of those who are on it.\n",
    "kitchen.md": "# Kitchen\n\nBread is baked before the cooks leave, and the baker signs the list of loaves.\n",
    "garden.md": "# Garden\n\nRoses are pruned before the frost, and the gardener signs the list of beds.\n",
}


@pytest.mark.parametrize("prompt", ["photograph", "照片", "写真"])
def test_a_word_that_no_note_has_finds_the_note_that_means_it(repo: GitRepo, prompt: str) -> None:
    repo.commit(NOTES)
    found = search(memory_of(repo, enable(repo)), prompt)
    assert found.hits[0].document.path == "album.md"
    assert found.hits[0].lexical == 0
    assert not found.inject


@pytest.mark.parametrize("legs", ["hybrid", "lexical"])
def test_one_word_among_many_others_is_enough_to_be_found(repo: GitRepo, legs: str) -> None:
    long = " ".join(note.partition("\n\n")[2].strip() for path, note in NOTES.items() if path != "album.md")
    repo.commit(
        {"day.md": f"# Day\n\n{long} One photo of it hangs in the hall. {long}\n", "before.md": NOTES["garden.md"]}
    )
    memory = memory_of(repo, enable(repo))
    found = search(memory, "photograph", legs=legs)
    assert [hit.document.path for hit in found.hits] == ["day.md"]
    assert found.hits[0].dense < FLOOR_COSINE
    assert found.features["nearness"] >= FLOOR_NEARNESS


def test_the_claim_knows_the_nearest_section_whichever_has_most_words(repo: GitRepo) -> None:
    repo.commit(NOTES)
    memory, prompt = memory_of(repo, enable(repo)), "photograph frost"
    found, view = search(memory, prompt), memory.view
    near = view.nearness(view.ask(query_terms(prompt), memory.encoder.ask(prompt)), range(3), memory.encoder.cosines)
    assert document_at(view, int(np.argmax(near))).path == "album.md"
    assert max(found.hits, key=lambda hit: hit.coverage).document.path == "garden.md"
    assert found.features["nearness"] == pytest.approx(float(near.max()))


def test_another_model_has_pieces_too(tmp_path: Path) -> None:
    made = Table(np.zeros((70_000, 4), np.int8), np.ones(3, np.float32), np.array([5, 69_999, 5]), tokens=3)
    assert made.dtype is np.uint32
    assert made.pieces([0, 1, 2]).tolist() == [5, 69_999, 5]
    assert made.ask([2, 1]).pieces.tolist() == [5, 69_999]
    assert made.vectors([]).shape == (0, 4)
    assert made.cosines(np.array([5]), np.ones((1, 4), np.float32)).tolist() == [[0.0]]
