"""The table of a segment's terms: what was put in is found, whatever the order and however it was merged."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recall_git.index.postings import POSTING, Column, TermTable, term_key

FIELDS = ("title", "tag", "body")
Counts = dict[tuple[str, int], dict[str, int]]
"""(term, document) → field → times."""

DOCUMENTS = st.lists(
    st.dictionaries(st.sampled_from(FIELDS), st.lists(st.sampled_from("abcdefgh備份"), max_size=12)), max_size=12
)


def table_of(documents: list[dict[str, list[str]]]) -> TermTable:
    columns = []
    for field in FIELDS:
        found: dict[str, list[tuple[int, int]]] = {}
        for number, document in enumerate(documents):
            for term, count in Counter(document.get(field, [])).items():
                found.setdefault(term, []).append((number, count))
        rows = [row for term in found for row in found[term]]
        columns.append(
            Column(
                field,
                [term.encode() for term in found],
                np.array([len(found[term]) for term in found], np.int64),
                np.array([number for number, _ in rows], np.uint32),
                np.array([count for _, count in rows], np.uint16),
            )
        )
    return TermTable.build(columns)


def said_by(table: TermTable, terms: str = "abcdefgh備份z") -> Counts:
    rows, found = table.find(np.array([term_key(term) for term in terms], np.uint64))
    said: Counts = {}
    for row, postings in zip(rows.tolist(), found, strict=True):
        records = np.asarray(postings).view(POSTING)
        assert (np.diff(records["document"].astype(int)) > 0).all()
        for record in records:
            said[terms[row], int(record["document"])] = {field: int(record[field]) for field in FIELDS if record[field]}
    return said


def plain(documents: list[dict[str, list[str]]]) -> Counts:
    said: Counts = {}
    for number, document in enumerate(documents):
        for field, terms in document.items():
            for term, count in Counter(terms).items():
                said.setdefault((term, number), {})[field] = count
    return said


@given(documents=DOCUMENTS)
def test_every_posting_is_found_with_its_frequency_in_each_field(documents: list[dict[str, list[str]]]) -> None:
    assert said_by(table_of(documents)) == plain(documents)


@given(first=DOCUMENTS, second=DOCUMENTS, seed=st.randoms())
def test_merged_tables_are_the_table_of_what_is_kept(
    first: list[dict[str, list[str]]], second: list[dict[str, list[str]]], seed: object
) -> None:
    kept = [[seed.random() < 0.7 for _ in part] for part in (first, second)]  # type: ignore[attr-defined]
    maps, base = [], 0
    for mask in kept:
        maps.append(np.array([base + sum(mask[:at]) if keep else -1 for at, keep in enumerate(mask)], np.int64))
        base += sum(mask)
    merged = TermTable.merge(zip(map(table_of, (first, second)), maps, strict=True))
    every = zip((*first, *second), (*kept[0], *kept[1]), strict=True)
    assert said_by(merged) == plain([document for document, keep in every if keep])


def test_a_table_comes_back_from_disk_and_an_empty_one_too(tmp_path: Path) -> None:
    documents = [{"title": ["a"], "body": ["a"] * 300, "tag": ["b"] * 300}]
    for name, made in (("one", table_of(documents)), ("none", table_of([]))):
        (tmp_path / name).mkdir()
        made.save(tmp_path / name)
        assert said_by(TermTable.load(tmp_path / name)) == said_by(made)
    assert said_by(table_of(documents)) == {("a", 0): {"title": 1, "body": 300}, ("b", 0): {"tag": 255}}
