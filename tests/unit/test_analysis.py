"""Text → terms and positions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_git import analysis
from recall_git.analysis import STOPWORDS, analyse, query_terms, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Running tests", "run test"),
        ("The R and C languages on 5433", "the r and c languag on 5433"),
        ("refreshToken", "refreshtoken refresh token"),
        ("refresh_tokens", "refresh_tokens refresh token"),
        ("refresh-token", "refresh-token refresh token"),
        ("HTTPServer", "httpserver http server"),
        ("getURLForX", "geturlforx get url for x"),
        ("DevTools devtools", "devtool dev tool devtool"),
        ("URLs IDs", "url id"),
        ("FOO_BAR", "foo_bar foo bar"),
        ("os.path.join", "os.path.join os path join"),
        ("v1.2.3", "v1.2.3 1.2.3 1 2 3"),
        ("1.2.3", "1.2.3 1 2 3"),
        ("C++ C# F# .NET", "c++ c c# c f# f .net net"),
        ("C++17", "c++ c 17"),
        ("src/app/main.py", "src/app/main.py src app main py"),
        ("./a/b ../c/.git", "a/b a b c/.git c git"),
        ("https://www.example.com/a_b?x=1#frag", "example.com/a_b exampl com a b x 1 frag"),
        ("ada@example.com @ada", "ada@example.com ada exampl com @ada ada"),
        ("std::vector", "std::vector std vector"),
        ("call().result", "call result"),
        ("__init__ _emphasis_", "__init__ init emphasi"),
        ("python3 s3 k8s", "python3 python 3 s3 k8s"),
        ("don't can’t", "don't can't"),
        ("git's it’s we'll", "git it we"),
        ("O'Brien l'index", "o'brien o brien l'index l index"),
        ("café CAFÉ cafe\u0301 Straße Øl", "cafe cafe cafe strass ol"),
        ("ﬁne Ｆｕｌｌ", "fine full"),
        ("Ёлка й ΣΊΣΥΦΟΣ", "ёлка й σίσυφοσ"),
        ("हिन्दी", "हिन्दी"),
        ("한국어를 쓴다", "한국어를 한국 국어 어를 쓴다"),
        ("Postgres를", "postgr 를"),
        ("用Postgres怎么port转发", "用 postgr 怎 怎么 么 port 转 转发 发"),
        ("データ ﾃﾞｰﾀ", "デ デー ー ータ タ デ デー ー ータ タ"),
        ("人々・第3章", "人 人々 々 第 3 章"),
        ("soft\xadhyphén", "softhyphen"),
    ],
)
def test_terms(text: str, expected: str) -> None:
    assert terms(text) == expected.split()


@pytest.mark.parametrize("text", ["", " \n", "— … !?", "🎉🚀", "____", "。、「」", "://", "++ # @ ."])
def test_terms_noop(text: str) -> None:
    assert analyse(text) == ([], [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one two three", [0, 1, 2]),
        ("refreshToken now", [0, 0, 1, 2]),
        ("v1.2 now", [0, 0, 0, 1, 2]),
        ("用端口 x", [0, 0, 1, 1, 2, 3]),
        ("한국어 x", [0, 0, 1, 2]),
        ("https://a.b c", [0, 0, 1, 2]),
    ],
)
def test_positions(text: str, expected: list[int]) -> None:
    assert analyse(text)[1] == expected


def test_positions_of_long_cjk_text() -> None:
    found, positions = analyse("端口" * 5000)
    assert positions == [number // 2 for number in range(len(found))]


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("refresh token", "refreshToken"),
        ("refreshToken", "refresh_token"),
        ("café", "cafe"),
        ("cafe", "café"),
        ("http server", "HTTPServer"),
        ("devtools", "DevTools"),
        ("1.2.3", "v1.2.3"),
        ("python 3", "python3"),
        ("端口", "数据库端口号"),
        ("データ", "ﾃﾞｰﾀﾍﾞｰｽ"),
        ("한국", "한국어를"),
        ("main.py", "src/main.py"),
    ],
)
def test_a_query_finds_the_other_spelling(query: str, note: str) -> None:
    assert set(terms(query)) & set(terms(note))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What is the port of the port?", "port"),
        ("what is it", "what is it"),
        ("怎么改端口", "么改 改 改端 端 端口 口"),
        ("什么", "什 什么 么"),
        ("", ""),
    ],
)
def test_query_terms(text: str, expected: str) -> None:
    assert query_terms(text) == expected.split()


def test_stop_words_are_there_as_they_are_indexed() -> None:
    assert set(terms(analysis._ENGLISH)) <= STOPWORDS


def test_terms_are_bounded() -> None:
    found = terms("x" * 500 + " " + "a/" * 500 + "b " + "fooBar" * 200)
    assert max(map(len, found)) <= analysis.MAX_TERM
    assert len(found) < 3 * (analysis.MAX_PARTS + 1)


def test_the_cache_starts_anew_when_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "MAX_CACHE", 3)
    analysis._cache.clear()
    assert terms("alpha beta gamma delta") == ["alpha", "beta", "gamma", "delta"]
    assert len(analysis._cache) <= 3


def test_threads_agree() -> None:
    words = [f"running{chr(97 + n % 26)}{chr(97 + n // 26)}s relational" for n in range(300)]
    expected = [terms(word) for word in words]
    analysis._cache.clear()
    analysis._stem.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(terms, words)) == expected


@given(st.text() | st.text(alphabet=st.sampled_from("aB1_-./@'’:#+ 中かーé\u0301한국어")))
def test_properties(text: str) -> None:
    found, positions = analyse(text)
    assert len(found) == len(positions)
    assert positions == sorted(positions)
    assert all(later - earlier <= 1 for earlier, later in pairwise(positions))
    assert all(0 < len(term) <= analysis.MAX_TERM and not any(map(str.isspace, term)) for term in found)
    assert analyse(text) == (found, positions)


@given(st.text(), st.text())
def test_lines_are_analysed_alone(one: str, two: str) -> None:
    assert terms(f"{one}\n \n{two}") == terms(one) + terms(two)


@given(st.text())
def test_query_terms_are_distinct_terms(text: str) -> None:
    found = query_terms(text)
    assert len(found) == len(set(found))
    assert set(found) <= set(terms(text))
    assert bool(found) == bool(terms(text))
