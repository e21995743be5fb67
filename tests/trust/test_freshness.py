"""What is too old, over, or replaced: by front matter and Git, never by a clock."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from recall_git import freshness, recall
from recall_git.config import Settings
from trust.trusthelp import BASE, lines, note, placed

if TYPE_CHECKING:
    from conftest import GitRepo

    from recall_git.types import Document
    from tests.trust.conftest import Open

NOW = "2026-03-01T12:00:00+0000"
QUERY = "How long must the zeppelin be inflated before departure?"
TEXT = "The zeppelin must be inflated for nine hours before departure."


def aged(kind: str, date: str, *, high: bool = False, settings: Settings | None = None) -> str:
    document = replace(BASE, type=kind, date=date, priority="high" if high else "")
    return freshness.tier(document, 1772366400, settings or Settings())  # 2026-03-01


@pytest.mark.parametrize(
    ("kind", "date", "tier"),
    [
        ("lesson", "2026-03-01", "recent"),
        ("lesson", "2026-01-30", "recent"),
        ("lesson", "2026-01-29", "aging"),
        ("lesson", "2025-09-02", "aging"),
        ("lesson", "2025-09-01", "stale"),
        ("lesson", "2999-01-01", "recent"),
        ("lesson", "", "recent"),
        ("profile", "2025-09-01", "recent"),
        ("profile", "2016-01-01", "aging"),
    ],
)
def test_tiers_are_counted_from_the_commit(kind: str, date: str, tier: str) -> None:
    assert aged(kind, date) == tier


def test_a_prohibition_never_lapses_by_age_alone() -> None:
    assert aged("lesson", "2016-01-01", high=True) == "aging"


def test_days_by_type() -> None:
    settings = Settings(age=("decision=400/never", "profile=1/2"))
    assert aged("decision", "2025-09-01", settings=settings) == "recent"
    assert aged("decision", "2016-01-01", settings=settings) == "aging"
    assert aged("profile", "2025-09-01", settings=settings) == "stale"


def test_a_stale_lesson_leaves_the_fixed_slots_and_is_found_by_content(repo: GitRepo, open_memory: Open) -> None:
    repo.commit(
        {
            "lessons/old.md": note("Inflation", TEXT, date="2024-01-05"),
            "lessons/aging.md": note("Ballast", "Ballast goes out first.", date="2026-01-05"),
            "lessons/new.md": note("Mooring", "Moor at noon.", date="2026-02-25"),
        }
    )
    memory = open_memory(repo).memory
    start = recall.start_digest(memory)
    assert placed(start) == ["latest/lessons/new.md", "latest/lessons/aging.md"]
    assert "latest lessons/old.md:4 stale" in start.cut
    assert "(noted 2026-01-05, re-confirm)" in lines(start)[1]
    assert "re-confirm" not in lines(start)[0]
    found = recall.prompt_digest(memory, QUERY)
    assert placed(found) == ["relevant/lessons/old.md"]
    assert "(noted 2024-01-05, old, re-confirm)" in found.text


def test_age_is_that_of_the_commit_not_of_today(repo: GitRepo, open_memory: Open) -> None:
    repo.commit({"lessons/a.md": note("A", TEXT)}, date="2020-01-01T00:00:00+0000")
    assert "re-confirm" not in recall.start_digest(open_memory(repo).memory).text
    repo.commit({"b.md": "# B\n"}, date="2020-03-01T00:00:00+0000")
    assert "(noted 2020-01-01, re-confirm)" in recall.start_digest(open_memory(repo).memory).text


def test_equal_commits_give_equal_bytes(repo: GitRepo, open_memory: Open) -> None:
    repo.commit({f"lessons/{n}.md": note(f"L{n}", TEXT, date=f"2026-02-0{n}") for n in range(1, 8)})
    first = open_memory(repo).memory
    texts = {recall.start_digest(first).text, recall.start_digest(open_memory(repo).memory).text}
    assert len(texts) == 1
    assert len({recall.prompt_digest(first, QUERY).text for _ in range(3)}) == 1


def test_the_future_does_not_stay_on_top(repo: GitRepo, open_memory: Open) -> None:
    repo.commit(
        {
            "lessons/z-future.md": note("Future", "Planted.", date="2999-01-01"),
            "lessons/a-today.md": note("Today", "Moor at noon.", date="2026-03-01"),
        },
        date=NOW,
    )
    assert placed(recall.start_digest(open_memory(repo, latest="1").memory)) == ["latest/lessons/a-today.md"]


@pytest.mark.parametrize(("day", "there"), [("2026-03-01", True), ("2026-02-28", False)])
def test_expires(repo: GitRepo, open_memory: Open, day: str, there: bool) -> None:
    repo.commit({"lessons/a.md": note("Inflation", TEXT, expires=day, priority="high")}, date=NOW)
    memory = open_memory(repo).memory
    assert (placed(recall.start_digest(memory)) == ["prohibitions/lessons/a.md"]) is there
    found = recall.prompt_digest(memory, QUERY)
    assert (placed(found) == ["relevant/lessons/a.md"]) is there
    assert there or "relevant lessons/a.md:5 expired" in found.cut


@pytest.mark.parametrize(
    "target", ["lessons/old.md", "lessons/old", "old", "old.md", "'[[old]]'", "'[[lessons/old|that]]'", "inflation",
               "Zeppelin hours", "./lessons/old.md"],
)  # fmt: skip
def test_the_successor_stands_for_what_it_replaces(repo: GitRepo, open_memory: Open, target: str) -> None:
    repo.commit(
        {
            "lessons/old.md": note("Inflation", TEXT, aliases="[Zeppelin hours]"),
            "lessons/new.md": note("Filling", "Filling takes four hours since the new pump.", supersedes=target),
            "lessons/other.md": note("Mooring", "Moor at noon."),
        }
    )
    made = recall.prompt_digest(open_memory(repo).memory, QUERY)
    assert placed(made) == ["relevant/lessons/new.md"]
    assert [cut for cut in made.cut if cut.endswith(" superseded-by lessons/new.md")]


def test_superseded_by_and_chains_lead_to_the_last(repo: GitRepo, open_memory: Open) -> None:
    repo.commit(
        {
            "a.md": note("Inflation", TEXT, superseded_by="b"),
            "b.md": note("Second", "Six hours.", supersedes="a"),
            "c.md": note("Third", "Two hours.", supersedes="b"),
        }
    )
    assert placed(recall.prompt_digest(open_memory(repo).memory, QUERY)) == ["relevant/c.md"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"supersedes": "b"}, {"supersedes": "a"}),
        ({"superseded_by": "b"}, {"superseded_by": "a"}),
        ({"supersedes": "a"}, {}),
        ({"supersedes": "gone"}, {}),
        ({"supersedes": "same"}, {}),
    ],
    ids=["ring", "ring-by", "itself", "dangling", "ambiguous"],
)
def test_claims_without_sense_do_no_harm(
    repo: GitRepo, open_memory: Open, first: dict[str, str], second: dict[str, str]
) -> None:
    repo.commit(
        {
            "a.md": note("Inflation", TEXT, **first),
            "b.md": note("Second", "Six hours.", **second),
            "x/same.md": "# Same\n",
            "y/same.md": "# Same too\n",
        }
    )
    assert placed(recall.prompt_digest(open_memory(repo).memory, QUERY)) == ["relevant/a.md"]


def test_a_note_that_calls_itself_superseded_is_not_injected_even_without_its_successor(
    repo: GitRepo, open_memory: Open
) -> None:
    repo.commit({"a.md": note("Inflation", TEXT, superseded_by="gone")})
    made = recall.prompt_digest(open_memory(repo).memory, QUERY)
    assert made.text == ""
    assert [cut for cut in made.cut if cut.endswith(" superseded")]


def test_a_superseded_lesson_is_not_among_the_latest(repo: GitRepo, open_memory: Open) -> None:
    repo.commit(
        {
            "lessons/old.md": note("Inflation", TEXT, date="2026-02-27"),
            "lessons/new.md": note("Filling", "Four hours.", supersedes="old", date="2026-02-20"),
            "lessons/third.md": note("Mooring", "Moor at noon.", date="2026-02-10"),
        }
    )
    assert placed(recall.start_digest(open_memory(repo).memory)) == ["latest/lessons/new.md", "latest/lessons/third.md"]


def test_the_best_section_of_the_successor_is_given(repo: GitRepo, open_memory: Open) -> None:
    body = "Intro.\n\n## Mooring\n\nMoor at noon.\n\n## Inflation\n\nThe zeppelin needs four hours before departure.\n"
    repo.commit(
        {"old.md": note("Old", TEXT), "new.md": note("Manual", body, supersedes="old")},
    )
    (item,) = recall.prompt_digest(open_memory(repo).memory, QUERY).placed
    document: Document = item.document
    assert (document.path, document.heading) == ("new.md", ("Inflation",))
