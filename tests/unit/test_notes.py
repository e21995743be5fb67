"""Blob bytes → Note."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_git import notes
from recall_git.notes import decode, parse, plain
from recall_git.types import Note


def note(text: str, path: str = "folder/some-note.md") -> Note:
    found = parse(path, text.encode())
    assert found is not None
    return found


def front(text: str) -> Note:
    return note(f"---\n{text}\n---\nbody\n")


# --- decode ---


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", ""),
        (b"plain\n", "plain\n"),
        (b"a\r\nb\rc\n", "a\nb\nc\n"),
        (b"\xef\xbb\xbfbom", "bom"),
        ("é中".encode("utf-16"), "é中"),
        ("é中".encode("utf-16-be").join([b"\xfe\xff", b""]), "é中"),
        ("中".encode("utf-32"), "中"),
        ("Grüße".encode("latin-1"), "Grüße"),
        (b"smart \x93quote\x94", "smart “quote”"),
        (b"undefined in cp1252: \x81", "undefined in cp1252: \x81"),
        ("中文笔记".encode() + b"\xff", "中文笔记\ufffd"),
        (b"a" * 9000 + b"\0b", "a" * 9000 + "b"),
    ],
)
def test_decode_gives_text_with_unix_line_ends(data: bytes, expected: str) -> None:
    assert decode(data) == expected


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\0\0",
        b"text\0more",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
        b"\xef\xbb\xbfversion https://git-lfs.github.com/spec/v1\n",
    ],
)
def test_decode_refuses_what_is_no_text(data: bytes) -> None:
    assert decode(data) is None
    assert parse("a.md", data) is None


@given(st.binary() | st.text().map(str.encode) | st.text().map(lambda text: text.encode("utf-16", "surrogatepass")))
def test_decode_is_idempotent(data: bytes) -> None:
    text = decode(data)
    if text is not None:
        assert decode(text.encode()) == text
        assert "\r" not in text


# --- front matter ---


def test_a_full_note_gives_every_field() -> None:
    found = note(
        "---\n"
        "title: Ports\n"
        "type: Lesson\n"
        "tags: [db, '#ops', two words]\n"
        "aliases: [pg-ports]\n"
        "priority: Critical\n"
        "date: 2026-03-05\n"
        "expires: 2027-01-01T00:00:00Z\n"
        "owner: ada@example.com\n"
        "supersedes:\n  - '[[old port|Old]]'\n  - older.md\n"
        "superseded_by: '[[new]]'\n"
        "description: The **port** is 5433.\n"
        "---\n"
        "See [[Host#Names|hosts]] and [x](./a/b.md#c). #Inline\n"
    )
    assert found == Note(
        path="folder/some-note.md",
        title="Ports",
        body="See [[Host#Names|hosts]] and [x](./a/b.md#c). #Inline\n",
        body_line=16,
        type="lesson",
        tags=("db", "ops", "two words", "Inline"),
        aliases=("pg-ports",),
        summary="The port is 5433.",
        priority="high",
        date="2026-03-05",
        expires="2027-01-01",
        owner="ada@example.com",
        supersedes=("old port", "older.md"),
        superseded_by="new",
        links=("Host", "a/b.md"),
    )


@pytest.mark.parametrize(
    ("text", "field", "expected"),
    [
        ("TITLE: Loud", "title", "Loud"),
        ("标题: 端口", "title", "端口"),
        ("タイトル: ポート", "title", "ポート"),
        ("title: 1.10", "title", "1.10"),
        ("title: yes", "title", "yes"),
        ("标签: [数据库, 运维]", "tags", ("数据库", "运维")),
        ("タグ: 開発、運用", "tags", ("開発", "運用")),
        ("tags: 'a b #c'", "tags", ("a", "b", "c")),
        ("tags: #a #b", "tags", ("a", "b")),
        ("tags: a, b c", "tags", ("a", "b c")),
        ("tags: [two words]", "tags", ("two words",)),
        ("tags: Business & Economics", "tags", ("Business", "Economics")),
        ("aliases: [a, 'b, c']", "aliases", ("a", "b, c")),
        ("tag: only", "tags", ("only",)),
        ("tags: [A, a, A]", "tags", ("A",)),
        ("keywords: x\ntags: y", "tags", ("x", "y")),
        ("tags: null", "tags", ()),
        ("tags:", "tags", ()),
        ("种类: x\ntype: Decision", "type", "decision"),
        ("優先度: 高", "priority", "high"),
        ("priority: must", "priority", "high"),
        ("priority: low", "priority", ""),
        ("别名: 甲", "aliases", ("甲",)),
        ("date: 2026/3/5", "date", "2026-03-05"),
        ("日付: 2026年3月5日", "date", "2026-03-05"),
        ("date: 20260305", "date", "2026-03-05"),
        ("date: 2026-03-05 12:00:00 +0900", "date", "2026-03-05"),
        ("date: soon", "date", ""),
        ("date: 2026-02-30", "date", ""),
        ("updated: 2026-04-01\ncreated: 2020-01-01", "date", "2026-04-01"),
        ("date: never\ncreated: 2020-01-01", "date", "2020-01-01"),
        ("supersedes: [[old]]", "supersedes", ("old",)),
        ("replaces: a, b", "supersedes", ("a", "b")),
        ("metadata:\n  type: feedback", "type", "feedback"),
        ("supersededBy: x.md", "superseded_by", "x.md"),
        ("title: &a Anchored\nalias: *a", "title", "Anchored"),
    ],
)
def test_front_matter_fields(text: str, field: str, expected: object) -> None:
    assert getattr(front(text), field) == expected


@pytest.mark.parametrize(
    ("text", "problem", "title"),
    [
        ("title: Foo: bar", "front matter is not valid YAML", "Foo: bar"),
        ("title: Fine\n\tbad: tab", "front matter is not valid YAML", "Fine"),
        ("title: [open", "front matter is not valid YAML", "some note"),
        ("title: A\ntitle: B", "front matter has 'title' twice", "B"),
        ("title: &a A\nalias: *a", "front matter uses YAML aliases", "A"),
        ("expires: whenever", "expires: 'whenever' is not a date", "some note"),
        ("- a\n- list", "front matter is not a list of 'key: value' lines", "some note"),
        ("title: T\nx: " + "[" * 100 + "]" * 100, "front matter is nested too deeply", "T"),
    ],
)
def test_broken_front_matter_costs_only_itself(text: str, problem: str, title: str) -> None:
    found = front(text)
    assert found.problem.startswith(problem)
    assert "\n" not in found.problem
    assert found.title == title
    assert found.body.endswith("body\n")


def test_broken_front_matter_keeps_its_simple_lines() -> None:
    found = front(
        "title: A: b\ntags: [x, 'y']\naliases:\n  - one\n  - two\nsummary: |\n  block\nowner: 'open\ntype: Lesson # why"
    )
    assert (found.title, found.tags, found.aliases) == ("A: b", ("x", "y"), ("one", "two"))
    assert (found.summary, found.owner, found.type) == ("", "", "lesson")


@pytest.mark.parametrize(
    "text",
    ["", "no front matter\n---\na: b\n---\n", " ---\ntitle: x\n---\n", "----\ntitle: x\n----\n", "text\n---\n"],
)
def test_front_matter_noop(text: str) -> None:
    found = note(text)
    assert (found.body, found.body_line, found.problem) == (text, 1, "")


@pytest.mark.parametrize("text", ["---\ntitle: x\nnever closed\n", "---\nA rule, then prose.\n\n---\nMore: of it.\n"])
def test_what_is_not_front_matter_stays_in_the_body(text: str) -> None:
    found = note(text)
    assert (found.body, found.body_line) == (text, 1)
    assert found.problem


def test_empty_front_matter_is_no_problem() -> None:
    found = note("---\n---\n# T\n")
    assert (found.title, found.body_line, found.problem) == ("T", 3, "")


def test_front_matter_may_end_with_dots() -> None:
    assert note("---\ntitle: T\n...\nbody").body == "body"


def test_a_yaml_bomb_costs_only_itself() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    found = front(f"title: T\ntags: [ok]\n{bomb}")
    assert (found.title, found.tags) == ("T", ("ok",))
    assert "aliases" in found.problem


@pytest.mark.parametrize("filler", ["x: y\n" * 20_000, "[" * 60_000, "- " * 30_000, "? " * 30_000, "{a: " * 15_000])
def test_huge_or_deep_front_matter_is_survived(filler: str) -> None:
    found = note(f"---\n{filler}\n---\n# T\n")
    assert found.title == "T"
    assert found.problem


def test_collections_and_strings_are_bounded() -> None:
    tags = ", ".join(f"tag{n}{'x' * 100}" for n in range(300))
    links = " ".join(f"[[target {n}]]" for n in range(400))
    found = note(f"---\ntitle: {'long ' * 200}\ntags: [{tags}]\nsummary: {'word ' * 500}\n---\n{links}\n")
    assert len(found.tags) == notes.MAX_TAGS
    assert max(map(len, found.tags)) <= notes.MAX_TAG
    assert len(found.links) == notes.MAX_LINKS
    assert len(found.title) <= notes.MAX_TITLE
    assert len(found.summary) <= notes.MAX_TEXT
    assert found.summary.endswith("word…")


def test_what_cannot_be_seen_is_removed() -> None:
    found = note('---\ntitle: "a\\e[31m\\u202Eb\\u200B c"\n---\n')
    assert found.title == "a[31mb c"
    assert note("# x\U000e0041\U000e0042\u2066y\n").title == "xy"


# --- title ---


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Title\n", "Title"),
        ("intro\n\n# *Late* `code` [link](u) ##\n", "Late code link"),
        ("Setext\n======\n", "Setext"),
        ("## H2 only\n", "some note"),
        ("```\n# code\n```\n# Real\n", "Real"),
        ("~~~sh\n```\n# code\n~~~\n# Real\n", "Real"),
        ("    # code\n\n# Real\n", "Real"),
        ("<!--\n# no\n-->\n# Real\n", "Real"),
        ("<pre>\n# no\n</pre>\n# Real\n", "Real"),
        ("<!-- never closed\n# Real\n", "Real"),
        ("> ```\n> # no\n# Real\n", "Real"),
        ("- item\n\n      # no heading\n", "some note"),
        ("# ![Logo](l.svg)\n", "Logo"),
        ("# ![x](x.svg) Name\n", "Name"),
        ("#tag\n", "some note"),
        ("#\n", "some note"),
        ("# 一、概述\ntext\n# 二、细节\n", "some note"),
        ("# 第1章 入門\ntext\n", "第1章 入門"),
        ("---\nname: slug\n---\n# H\n", "H"),
        ("---\nname: slug\n---\ntext\n", "slug"),
    ],
)
def test_title(text: str, title: str) -> None:
    assert note(text).title == title


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("a/how-to_do-it.md", "how to do it"),
        ("2024-03-05-release-notes.md", "release notes"),
        ("2024-03-05.md", "2024 03 05"),
        ("guide/index.md", "guide"),
        ("端口.md", "端口"),
        (".md", ".md"),
        ("v1.2.md", "v1.2"),
        ("bad\udcff.md", "bad\ufffd"),
        ("-.md", "-"),
    ],
)
def test_title_from_the_path(path: str, title: str) -> None:
    assert note("", path).title == title


# --- tags and links ---


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("a #tag, (#two) #three/four #five-six.", ("tag", "two", "three/four", "five-six")),
        ("#中文 和 #日本語タグ、#한국어", ("中文", "日本語タグ", "한국어")),
        ("#été #Ünïcode", ("été", "Ünïcode")),
        ("#start of line", ("start",)),
        ("#same #Same", ("same",)),
        ("- #in-list", ("in-list",)),
    ],
)
def test_inline_tags(text: str, tags: tuple[str, ...]) -> None:
    assert note(text).tags == tags


@pytest.mark.parametrize(
    "text",
    [
        "#123 issue #4a",
        "#include <stdio.h>\n#define X 1\n#endif",
        "color: #fff; #a1b2c3 #FFFFFF #12ab #deadbeef",
        "# heading\n## other",
        "https://x.org/#fragment and page#part and [a](#anchor)",
        "`#code` and ``#more `code` ``",
        "```\n#fenced\n```\n    #indented",
        "\n    #indented",
        "<!-- #hidden -->",
        "C# and F# are languages, &#xe9; too",
        "## Heading with #tag",
        "#id { color: red } #call() #x=1",
    ],
)
def test_inline_tags_noop(text: str) -> None:
    assert note(text).tags == ()


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("[[a]] ![[b]] [[c|C]] [[d#e]] [[d#e|f]] [[a]]", ("a", "b", "c", "d")),
        ("[x](x.md) [y](../y.md#z) [z](<a b.md>) [w](a%20c.md 'title')", ("x.md", "../y.md", "a b.md", "a c.md")),
        ("[ref]: ./ref.md", ("ref.md",)),
        ("| [[a\\|b]] |", ("a",)),
        ("# about [[topic]]", ("topic",)),
    ],
)
def test_links(text: str, links: tuple[str, ...]) -> None:
    assert note(text).links == links


@pytest.mark.parametrize(
    "text",
    ["[x](https://x.org/a.md)", "`[[code]]`", "```\n[[code]]\n```", "![[picture.png]]", "[x](a.txt)", "[[]] [[#here]]"],
)
def test_links_noop(text: str) -> None:
    assert note(text).links == ()


# --- plain ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**b** *i* __b c__ _i_ ~~s~~ ==m== ***bi***", "b i b c i s m bi"),
        ("**a *b* c**", "a b c"),
        ("[l](u) [m][n] [o](u(v)) [[p]] [[q|r]] <https://s.t>", "l m o p r https://s.t"),
        ("[`code`](u) and `a*b*c`", "code and a*b*c"),
        ("![i](u) text [![badge](b)](u)", "text"),
        ("# Head", "Head"),
        ("> [!NOTE] quoted", "quoted"),
        ("- [x] done\n- [ ] open", "done open"),
        ("1. one", "one"),
        ("a<br>b <b>c</b> <!-- d -->", "a b c"),
        ("&lt;tag&gt; &amp; \\*", "<tag> & *"),
        ("note[^1]", "note"),
        ("中文\n换行 and\nEnglish", "中文换行 and English"),
        ("  a \t b\n\nc ", "a b c"),
    ],
)
def test_plain(text: str, expected: str) -> None:
    assert plain(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "snake_case_name", "__init__", "2 * 3 * 4", "List<String>", "a [b] c", "x == y", "100% ~5", "C# a-b"],
)
def test_plain_noop(text: str) -> None:
    assert plain(text) == text


# --- properties ---

MARKDOWN = (
    st.text(alphabet=st.sampled_from("ab中。.#`~-=*_[]()<>!|:\\&\"' \t\n\r1{}\0\ufeff\u202e\U000e0041")) | st.text()
)


@given(MARKDOWN)
def test_scan_keeps_every_character(text: str) -> None:
    assert "\n".join(line.text for line in notes.scan(text)) == text


@given(st.binary(max_size=2000) | MARKDOWN.map(lambda text: text.encode("utf-8", "replace")))
def test_parse_never_raises(data: bytes) -> None:
    for start in (b"", b"---\n", b"---\ntitle: "):
        found = parse("a/b.md", start + data)
        if found is not None:
            assert found.title
            assert 1 <= found.body_line <= (decode(start + data) or "").count("\n") + 1
            for text in (found.title, found.summary, found.problem, *found.tags, *found.links, *found.aliases):
                assert not any(unicodedata.category(char) in ("Cc", "Cs") for char in text)


@given(MARKDOWN)
def test_plain_is_one_line(text: str) -> None:
    assert "\n" not in plain(text)
    assert plain(text) == plain(text).strip()


def test_a_tag_of_a_section_is_not_the_whole_notes() -> None:
    assert note("# T\n\n#all\n\n## A\n\n#mine\n").tags == ("all",)
