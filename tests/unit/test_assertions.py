"""What an assertion claims, and what breaks it."""

from __future__ import annotations

from pathlib import Path

import pytest

from recall_git import assertions
from recall_git.assertions import Assertion, failures
from recall_git.errors import UsageError
from recall_git.measures import MEASURES, measure


@pytest.mark.parametrize(
    ("claim", "injected", "broken"),
    [
        (Assertion("p", recall=("a.md",)), ["b.md", "a.md"], 0),
        (Assertion("p", recall=("a.md", "c.md")), ["a.md"], 1),
        (Assertion("p", recall=("lessons/",)), ["lessons/x.md"], 0),
        (Assertion("p", recall=("lessons",)), ["lessons/x.md"], 1),
        (Assertion("p", never=("a.md",)), ["a.md"], 1),
        (Assertion("p", never=("a.md",)), [], 0),
        (Assertion("p", silent=True), ["a.md"], 1),
        (Assertion("p", silent=True), [], 0),
    ],
)
def test_failures(claim: Assertion, injected: list[str], broken: int) -> None:
    assert len(failures(claim, injected)) == broken


def test_what_is_added_is_loaded(tmp_path: Path) -> None:
    assertions.add(tmp_path, "哪个端口: 5433?", ["知识/端口.md"])
    file = assertions.add(tmp_path, "thanks - bye", [])
    first, second = assertions.load([file])
    assert (first.prompt, first.recall, first.silent) == ("哪个端口: 5433?", ("知识/端口.md",), False)
    assert (second.prompt, second.recall, second.silent) == ("thanks - bye", (), True)


@pytest.mark.parametrize(
    "text", ["- a\n", "- prompt: x\n", "- {prompt: x, recal: y}\n", "- [", "{a: b}\n", "- prompt: 3\n"]
)
def test_bad_files_are_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.yml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"t\.yml"):
        assertions.load([tmp_path / "t.yml"])


@pytest.mark.parametrize(
    ("hits", "relevant", "expected"),
    [
        (["a"], {"a": 1.0}, (1, 1, 1, 1, 1, 1, 1)),
        (["b", "a"], {"a": 1.0}, (0.6309, 1, 1, 0.5, 0, 1, 1)),
        (["b", "b", "a"], {"a": 1.0}, (0.6309, 1, 1, 0.5, 0, 1, 1)),
        ([], {"a": 1.0}, (0, 0, 0, 0, 0, 0, 0)),
        (["x"] * 3 + ["p", "q", "r", "s", "t", "a"], {"a": 1.0, "z": 1.0}, (0.2044, 0, 0.5, 1 / 7, 0, 0, 1)),
    ],
)
def test_measures(hits: list[str], relevant: dict[str, float], expected: tuple[float, ...]) -> None:
    assert measure(hits, relevant) == pytest.approx(expected, abs=1e-3)
    assert len(expected) == len(MEASURES)
