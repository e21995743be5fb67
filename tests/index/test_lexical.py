"""The inverted index: what is written is what Whoosh reads, and what numpy reads."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import pytest

from recall_git import analysis
from recall_git.index import lexical
from recall_git.index.lexical import FIELDS, FieldTexts, LexicalSegment

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

WORDS = [
    "postgres", "port", "replica", "backup", "lesson", "deploy", "staging", "redis", "queue", "token", "refresh",
    "数据库", "部署", "备份", "端口", "回滚", "令牌", "データベース", "認証", "有効期限", "コンテナ", "refreshToken",
    "max_connections", "v1.2.3",
]  # fmt: skip


def texts(number: int) -> FieldTexts:
    """A made-up document, the same for the same number."""
    rng = random.Random(number)
    return FieldTexts(
        title=" ".join(rng.choices(WORDS, k=3)),
        tag=" ".join(rng.choices(WORDS[:6], k=rng.randrange(3))),
        body=" ".join(rng.choices(WORDS, k=rng.randrange(1, 60))),
        path=f"notes/n{number}.md",
        type=rng.choice(("lesson", "note")),
    )


@pytest.fixture
def documents() -> list[FieldTexts]:
    return [texts(number) for number in range(300)]


def segment_of(folder: Path, documents: list[FieldTexts]) -> LexicalSegment:
    folder.mkdir()
    return LexicalSegment(folder, lexical.write(folder, documents))


def test_the_vectorised_scorer_ranks_as_whoosh_does(tmp_path: Path, documents: list[FieldTexts]) -> None:
    from parity import field_sum

    segment = segment_of(tmp_path / "s", documents)
    rng = random.Random(1)
    for _ in range(200):
        terms = analysis.query_terms(" ".join(rng.choices(WORDS, k=rng.randrange(1, 12))))
        ours = field_sum(segment, terms)
        reference = lexical.whoosh_scores(segment, terms, 20)
        assert reference
        assert np.allclose([ours[number] for number, _ in reference], [score for _, score in reference], rtol=1e-5)
        assert np.allclose(np.sort(ours)[::-1][: len(reference)], [score for _, score in reference], rtol=1e-5)


def test_postings_are_the_terms_of_the_analyzer(tmp_path: Path, documents: list[FieldTexts]) -> None:
    segment = segment_of(tmp_path / "s", documents)
    for term in ("postgr", "数据", "refreshtoken", "token", "認証"):
        postings = segment.postings("body", term)
        assert postings is not None
        expected = {n: analysis.terms(d.body).count(term) for n, d in enumerate(documents)}
        assert dict(zip(postings.ids.tolist(), postings.counts.tolist(), strict=True)) == {
            number: count for number, count in expected.items() if count
        }
    assert segment.postings("body", "absent") is None


def test_merging_equals_writing_at_once(tmp_path: Path, documents: list[FieldTexts]) -> None:
    parts = [segment_of(tmp_path / f"p{n}", documents[n * 100 : n * 100 + 100]) for n in range(3)]
    keep = [np.array([(n * 100 + k) % 7 != 0 for k in range(100)]) for n in range(3)]
    (tmp_path / "merged").mkdir()
    lengths = lexical.merge(tmp_path / "merged", list(zip(parts, keep, strict=True)))
    merged = LexicalSegment(tmp_path / "merged", lengths)
    whole = segment_of(tmp_path / "whole", [d for n, d in enumerate(documents) if n % 7 != 0])
    for field in FIELDS:
        assert list(merged.terms(field)) == list(whole.terms(field))
        for term in whole.terms(field):
            one, two = merged.postings(field, term.decode()), whole.postings(field, term.decode())
            assert one is not None
            assert two is not None
            assert one.ids.tolist() == two.ids.tolist()
            assert one.counts.tolist() == two.counts.tolist()
            assert one.positions.tolist() == two.positions.tolist()


NOTES = [
    FieldTexts("Postgres port", "db infra", "The database listens on port 5433 in development.", "kb/pg.md", "note"),
    FieldTexts("Redis", "db", "We dropped Redis; the refresh token lives in Postgres now.", "kb/redis.md", "lesson"),
    FieldTexts("部署流程", "运维", "生产环境只在周二发布，回滚用上一个镜像。", "kb/deploy.md", "lesson"),
    FieldTexts("認証", "", "アクセストークンの有効期限は15分です。", "kb/auth.md", "note"),
    FieldTexts("Code", "", "class RefreshToken sets max_connections = 10", "kb/code.md", "note"),
]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('"port 5433"', [0]),
        ('"5433 port"', []),
        ('"refresh token"', [1, 4]),
        ('"回滚用上一个镜像"', [2]),
        ('"有効期限"', [3]),
        ("title:redis", [1]),
        ("tag:db", [0, 1]),
        ("type:lesson", [1, 2]),
        ("type:LESSON postgres", [1]),
        ("postgres AND redis", [1]),
        ("postgres AND redis AND date:[1900 TO 2999]", [1]),
        ("date:[1900 TO 2999] AND postgres AND redis", [1]),
        ("postgres NOT redis", [0]),
        ("redis OR 認証", [1, 3]),
        ("dev*", [0]),
        ("DEV*", [0]),
        ("wom?n OR red?", [1]),
        ("path:kb NOT type:note", [1, 2]),
        ("title:部署", [2]),
        ("max_connections AND title:code", [4]),
        ("date:[2026-02 TO 2026-03]", [1, 2]),
        ("date:2026-04-01", [3]),
        ("date:>2026-03-15 NOT date:2026-04-01", [4]),
        ("redis date:[2026-02 TO 2026-03]", [1]),
        ("date:2026", [0, 1, 2, 3, 4]),
        ("date:2025", []),
        ("date:[TO 2026-02]", [0, 1]),
        ("date:2026-13", []),
    ],
)
def test_query_language(tmp_path: Path, text: str, found: list[int]) -> None:
    segment = segment_of(tmp_path / "s", NOTES)
    days = np.array([day(m) for m in ("2026-01-05", "2026-02-10", "2026-03-12", "2026-04-01", "2026-05-09")], np.int32)
    assert np.flatnonzero(lexical.matching(segment, lexical.parse(text), days)).tolist() == found


def day(text: str) -> int:
    from datetime import date

    return (date.fromisoformat(text) - date(1970, 1, 1)).days


ODD = [
    "(", ")", '"', '""', "title:", ":", "AND", "NOT", "date:[x TO y]", "a:b:c", "[", "*", "?", "tag:()", "\x00", "~",
    "date:", 'type:"', "^2", "a~2", "date:999999", "date:2026-13", "date:[2026 TO", "date:9999-12-31", "date:0000",
]  # fmt: skip


@pytest.mark.parametrize("text", ODD)
def test_odd_queries_do_not_raise(tmp_path: Path, text: str) -> None:
    segment = segment_of(tmp_path / "s", NOTES)
    lexical.matching(segment, lexical.parse(text), np.zeros(len(NOTES), np.int32))


@pytest.mark.parametrize(
    ("text", "speaks"),
    [
        ('"port 5433" postgres', True), ("title:redis", True), ("a AND b", True), ("dev*", True), ("wom?n", True),
        ("NOT redis", True), ("date:[2026 TO 2027]", True), ("which port does postgres use?", False),
        ('what does "deploy" mean', False), ("note: remember this", False), ("and or not", False), ("C++ or C#", False),
        ("why? because", False), ("https://example.org/a:b", False), ("12:30 meeting", False), ("部署流程", False),
    ],
)  # fmt: skip
def test_what_speaks_the_query_language(text: str, speaks: bool) -> None:
    assert lexical.speaks_query_language(text) is speaks
