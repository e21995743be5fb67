"""Note → sections."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_git import chunks
from recall_git.chunks import sentences, split, summarise
from recall_git.notes import HEADING, UNDERLINE, parse, scan
from recall_git.types import Chunk, Note


def note(text: str) -> Note:
    found = parse("folder/some-note.md", text.encode())
    assert found is not None
    return found


def outline(text: str, limit_chars: int = 1500) -> list[tuple[tuple[str, ...], int, str]]:
    return [(chunk.heading, chunk.line, chunk.text) for chunk in split(note(text), limit_chars=limit_chars)]


def only(text: str) -> Chunk:
    (chunk,) = split(note(text))
    return chunk


# --- where sections begin ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# T\n\nintro\n\n## A\na\n\n## B\nb\n", [((), 1, "intro"), (("A",), 5, "a"), (("B",), 8, "b")]),
        ("# T\n## A\na\n", [(("A",), 2, "a")]),
        ("lead\n# T\nintro\n", [((), 1, "lead"), ((), 2, "intro")]),
        ("# T\na\n# Other\nb\n## Sub\nc\n", [((), 1, "a"), (("Other",), 3, "b"), (("Other", "Sub"), 5, "c")]),
        ("T\n===\n\nA\n---\na\n", [(("A",), 4, "a")]),
        ("## A\n### deep\na\n", [(("A",), 1, "### deep\na")]),
        ("##紧标题\n正文\n", [(("紧标题",), 1, "正文")]),
        ("## *A* `b` [c](d) ##\na\n", [(("A b c",), 1, "a")]),
        ("---\ntitle: T\n---\n\n## A\na\n", [(("A",), 5, "a")]),
        ("---\ntitle: Other\n---\n# T\na\n", [(("T",), 4, "a")]),
    ],
)
def test_sections(text: str, expected: list[tuple[tuple[str, ...], int, str]]) -> None:
    assert outline(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a\n```\n## no\n```\nb",
        "a\n````md\n```\n## no\n```\n````\nb",
        "a\n~~~ python title='x'\n## no\n```\n~~~\nb",
        "a\n```\n## no, never closed",
        "a\n\n    ## indented\n\nb",
        "<!--\n## no\n-->\nb",
        "- item\n\n  ```\n  ## no\n  ```\nb",
        "> ```\n> ## no\n> ```\nb",
        "<pre>\n## no\n</pre>\nb",
        "a\n#tag line\nb",
        "a\nb\n---\nc",
        "- item\n---\nc",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "#### only\ndeep",
    ],
)
def test_sections_noop(text: str) -> None:
    assert outline(text) == [((), 1, text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [((), 1, "")]),
        ("# T\n", [((), 1, "")]),
        ("# T\n\n## A\n## B\n", [((), 3, "## A\n## B")]),
        ("# T\n## A\n## B\nb\n", [(("B",), 2, "## A\nb")]),
        ("# T\n## A\na\n## B\n", [(("A",), 2, "a\n## B")]),
        ("# T\n# A\n## B\nb\n", [(("A", "B"), 3, "b")]),
        ("## A\n\n<!-- later -->\n## B\nb\n", [(("B",), 1, "## A\n\n<!-- later -->\nb")]),
        ("[![badge](x)](y)\n\n# T\nintro\n", [((), 1, "[![badge](x)](y)\n\nintro")]),
    ],
)
def test_what_cannot_stand_alone_joins_a_neighbour(text: str, expected: list[tuple[tuple[str, ...], int, str]]) -> None:
    assert outline(text) == expected


def test_a_table_of_contents_is_left_out() -> None:
    text = "# T\n\n* [A](#a)\n    * [B](#b)\n* [C](#c)\n\n## A\na\n"
    assert outline(text) == [(("A",), 7, "a")]


def test_a_single_link_to_an_anchor_is_no_table_of_contents() -> None:
    assert outline("- [A](#a)\n- text [B](#b)\n") == [((), 1, "- [A](#a)\n- text [B](#b)")]


# --- long sections ---


def test_long_sections_are_cut_at_sub_headings_first() -> None:
    text = "## A\nlead\n### One\n" + "x " * 40 + "\n### Two\ny\n#### Deep\nz\n"
    assert [(chunk.heading, chunk.line) for chunk in split(note(text), limit_chars=80)] == [
        (("A",), 1),
        (("A", "One"), 3),
        (("A", "Two"), 5),
    ]


def test_then_between_paragraphs() -> None:
    text = f"## A\n{'a' * 60}\n\n{'b' * 60}\n\n{'c' * 60}\n"
    assert outline(text, 100) == [(("A",), 1, "a" * 60), (("A",), 4, "b" * 60), (("A",), 6, "c" * 60)]


def test_then_between_lines_and_sentences() -> None:
    text = "第一句话很长很长。第二句话也很长！第三句话呢？第四句话。"
    assert [text for _, _, text in outline(text, 14)] == [
        "第一句话很长很长。",
        "第二句话也很长！第三句话呢？",
        "第四句话。",
    ]


def test_then_anywhere() -> None:
    found = outline("x" * 250, 100)
    assert [(line, len(text)) for _, line, text in found] == [(1, 99), (1, 99), (1, 52)]


def test_a_fence_is_whole_while_it_fits() -> None:
    code = "```\n" + "code\n" * 10 + "\n## comment\n```"
    text = f"{'a' * 50}\n\n{code}\n\n{'b' * 50}\n"
    assert [text for _, _, text in outline(text, 80)] == ["a" * 50, code, "b" * 50]


def test_a_fence_that_is_too_long_is_cut_between_lines() -> None:
    text = "```\n" + "a line of code\n" * 20 + "```\n"
    found = outline(text, 100)
    assert len(found) > 2
    assert "\n".join(text for _, _, text in found) == text.strip()


def test_a_short_rest_joins_the_piece_before() -> None:
    assert len(outline(f"{'a' * 95}\n\n{'b' * 5}\n", 100)) == 1


def test_a_long_line_is_split_into_pieces_that_join_to_it() -> None:
    line = "word and more. " * 4000
    found = split(note(line))
    assert "".join(chunk.text + " " for chunk in found).split() == line.split()
    assert max(len(chunk.text) for chunk in found) <= 1700
    assert {chunk.line for chunk in found} == {1}


# --- summaries and tags ---


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("The port is 5433 here. It was moved.", "The port is 5433 here."),
        (
            "Use tools, e.g. psql, on v1.2 from the U.S. mirror. Then stop.",
            "Use tools, e.g. psql, on v1.2 from the U.S. mirror.",
        ),
        ("Wait for it... then it is done. Yes.", "Wait for it... then it is done."),
        ("端口改成了五四三三。之前是别的。", "端口改成了五四三三。"),
        ("ポートは変更された．前は違った．", "ポートは変更された．"),
        ("「もう使わないでください。」と書いた。", "「もう使わないでください。」"),
        ("Install:\n\n```\npip install x\n```\n\nThen it simply works for you.", "Then it simply works for you."),
        ("![pic](p.png)\n\nThe **bold** [link](u) says `code` here.", "The bold link says code here."),
        ("[![b](x)](y) [![c](x)](y)\n\nA library that does one thing.", "A library that does one thing."),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\nThe table above is short.", "The table above is short."),
        ("> [!WARNING]\n> Never drop the main table.", "Never drop the main table."),
        ("<!-- todo: this is a comment -->\nReal prose is what counts.", "Real prose is what counts."),
        ("[← back](../index.md)\n\nThe text of the page begins.", "The text of the page begins."),
        ("wrapped over\ntwo lines of\ntext. Next.", "wrapped over two lines of text."),
        ("- first item of a list\n- second", "first item of a list"),
        ("See [[Ports|the port list]] before you change one.", "See the port list before you change one."),
        ("1. Open it.\n2. Close it.", "Open it."),
        ("```sh\n# Restart the whole server\nsystemctl restart x\n```", "Restart the whole server"),
        ("```\n$ git gc\n```", "git gc"),
        ("Short.", "Short."),
        ("| Name | Port |\n|---|---|\n| pg | 5433 |", "Name, Port"),
        ("![A chart of ports|200](p.png)", "A chart of ports"),
        ("### Only a heading", "Only a heading"),
        ("[Only a link](https://x.org)", "Only a link"),
        ("a | b\n--- | ---\n1 | 2\n\nProse after a bare table here.", "Prose after a bare table here."),
        ("{% raw %}\n:::tip\nThe tip itself is quite useful.\n:::", "The tip itself is quite useful."),
    ],
)
def test_summary(text: str, summary: str) -> None:
    assert summarise(scan(text)) == summary


@pytest.mark.parametrize("text", ["", "\n\n", "---", "***", "<!-- x -->", "![](x.png)", "```\n```"])
def test_summary_noop(text: str) -> None:
    assert summarise(scan(text)) == ""


def test_a_long_summary_ends_between_words() -> None:
    summary = summarise(scan("word " * 100))
    assert len(summary) <= chunks.SUMMARY_CHARS
    assert summary.endswith("word…")


def test_the_notes_own_summary_is_that_of_its_first_section() -> None:
    found = split(
        note("---\nsummary: Mine.\n---\nThe text says something else.\n\n## B\nThe second says another thing.\n")
    )
    assert [chunk.summary for chunk in found] == ["Mine.", "The second says another thing."]


def test_tags_belong_to_their_section() -> None:
    found = split(note("#one\n\ntext\n## B\n#two #one `#no`\n"))
    assert [chunk.tags for chunk in found] == [("one",), ("two", "one")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("no end", ["no end"]),
        ("One. Two! Three?", ["One. ", "Two! ", "Three?"]),
        ("一。二！三", ["一。", "二！", "三"]),
        ("See Dr. Who vs. J. Doe. End", ["See Dr. Who vs. J. Doe. ", "End"]),
        ("Version 1.2.3 is out. 2. is a number.", ["Version 1.2.3 is out. ", "2. is a number."]),
        ('He said "stop." Then left.', ['He said "stop." ', "Then left."]),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert list(sentences(text)) == expected


# --- properties ---

_LINES = """\
# T|# Other|## A|### B|#### C|text|A sentence. And one more.||```|~~~|    code|---|===|- item|  more|> quote|<!--|-->
<!-- x -->|a ; b|![](x)|中文句子。还有。|long long long long long long long long long long|yyyyyyyyyyyyyy|Setext"""
LINES = st.lists(st.sampled_from(_LINES.replace("\n", "|").split("|")), max_size=40)


@given(LINES, st.sampled_from([1, 10, 60, 150, 1500]))
def test_no_line_is_lost(lines: list[str], limit: int) -> None:
    text = "\n".join(lines)
    found = note(text)
    wanted = [
        "".join(line.text.split())
        for line in scan(found.body)
        if line.kind not in (HEADING, UNDERLINE) and line.text.strip()
    ]
    have = "".join("".join(chunk.text.split()) for chunk in split(found, limit_chars=limit))
    at = 0
    for line in wanted:
        at = have.find(line, at)
        assert at >= 0, line
        at += len(line)


@given(LINES, st.sampled_from([1, 60, 1500]))
def test_lines_are_in_the_file_and_ascend(lines: list[str], limit: int) -> None:
    for front in ("", "---\ntitle: T\n---\n"):
        text = front + "\n".join(lines)
        numbers = [chunk.line for chunk in split(note(text), limit_chars=limit)]
        assert numbers == sorted(numbers)
        assert numbers[0] >= 1
        assert numbers[-1] <= text.count("\n") + 1


@given(LINES)
def test_no_chunk_is_blank_unless_the_note_is(lines: list[str]) -> None:
    found = split(note("\n".join(lines)))
    assert found
    assert len(found) == 1 or all(chunk.text.strip() for chunk in found)


@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")), st.integers(1, 50))
def test_split_never_raises(text: str, limit: int) -> None:
    found = parse("a.md", text.encode("utf-8", "replace"))
    if found is not None:
        assert all(len(chunk.summary) <= chunks.SUMMARY_CHARS for chunk in split(found, limit_chars=limit))


@given(st.text(alphabet=st.sampled_from("ab .!?。！\n\"')…1eg")))
def test_sentences_join_to_the_text(text: str) -> None:
    assert "".join(sentences(text)) == text
