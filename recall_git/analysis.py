"""Text → index terms with positions; the same rules for notes and for queries.

Third-party use: PyStemmer. Touches no disk.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import Stemmer

ANALYZER_ID = f"recall-2 snowball-{Stemmer.version()}"
"""Changes whenever ``analyse`` would give other terms or positions for any text: indexes are rebuilt then."""

MAX_TERM = 64
"""Longest term, in characters; what is longer is cut."""
MAX_PARTS = 32
"""Most parts of one identifier or path that become terms."""
MAX_CAMEL = 40
"""Longest piece that is searched for camelCase; longer ones are hashes and base64, not words."""
MAX_CACHED_RUN = 80
MAX_CACHE = 200_000
"""Distinct runs remembered, some 40 MB at most; the cache starts anew when it is full."""

Expansion = tuple[tuple[str, ...], tuple[int, ...], int]
"""Terms of a run, their offsets from the run's first position, and how many positions the run takes."""

_CJK = "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31f0-\u31ff" \
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # fmt: skip
_HANGUL = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb"
# Marks that belong to a word but are no word characters for ``re``: without them Hindi, Thai, Arabic
# and decomposed Latin words would break at every vowel sign.
_MARKS = "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed" \
    "\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09cd\u0a01-\u0a03\u0a3c-\u0a4d" \
    "\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0b82\u0bbe-\u0bcd\u0c00-\u0c04\u0c3e-\u0c56" \
    "\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d4d\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc" \
    "\u0ec8-\u0ece\u102b-\u103e\u17b4-\u17d3"  # fmt: skip

_SCHEME = r"[A-Za-z][A-Za-z0-9+]{1,15}://(?:www\.)?"
# '.NET' and '@handle', but not the '.' of 'call().result'.
_PREFIX = r"""(?:[.@](?<![^\s"'(\[`,、，。（「].)(?=[^\W\d_]))?"""
_JOINT = r"(?:[-.@'’‐\\]|::|\.{0,2}/\.?)"
_SUFFIX = r"(?:\+\+|(?<=\b[CFcf])\#(?!\w))?"


def _runs(word: str) -> str:
    return f"{_PREFIX}{word}(?:{_JOINT}{word})*{_SUFFIX}"


_LETTERS = rf"[^\W{_CJK}{_HANGUL}]"
_find_ascii = re.compile(rf"{_SCHEME}|{_runs(r'[A-Za-z0-9_]+')}").findall
_find_any = re.compile(rf"[{_CJK}]+|[{_HANGUL}]+|{_SCHEME}|{_runs(rf'{_LETTERS}+(?:[{_MARKS}]+{_LETTERS}*)*')}").findall
# Characters that NFKC joins with their neighbours or turns into Han and kana. Only these need it before the
# text is cut into runs; the rest is normalised run by run, and runs are remembered.
_PIECES = "\u0300-\u036f\u1100-\u11ff\u3099\u309a\u309f\u30ff\uf900-\ufaff\uff66-\uff9f\U0002f800-\U0002fa1f"
_has_pieces = re.compile(rf"[{_PIECES}]").search
_join_pieces = re.compile(rf"\w?[{_PIECES}]+").sub
_is_cjk = re.compile(rf"[{_CJK}]").match
_is_hangul = re.compile(rf"[{_HANGUL}]").match
_is_plural = re.compile(r"[A-Z]{2,}s").fullmatch  # 'URLs', 'IDs'
_is_version = re.compile(r"[vV](\d+(?:\.\d+)+)").fullmatch
_split_joints = re.compile(r"[-.@'\\:/_+#]+").split
# Upper-case run before a word ('HTTP' in 'HTTPServer'), a word, capitals; digits leave a word of three or
# more letters ('python3' is found by 'python'), and stay where they are part of a name ('s3', 'k8s', 'v1').
_camel = re.compile(
    r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]{3,}(?=[A-Z]|\d+$|$)|[A-Z]{3,}(?=\d+$)|(?<=[a-zA-Z]{3})\d+$"
    r"|[A-Z]?[a-z0-9]+|[A-Z]+[0-9]*|[^A-Za-z]+|."
).findall  # fmt: skip
_CONTRACTIONS = frozenset({"s", "re", "ve", "ll", "d", "m"})


class _Folding(dict[int, str]):
    """Translation table: a Latin letter without its accents, every other character as it is; fills itself."""

    _SPECIAL = str.maketrans(
        {"ß": "ss", "ẞ": "SS", "ø": "o", "Ø": "O", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ł": "l", "Ł": "L",
         "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "TH", "ı": "i", "ħ": "h", "Ħ": "H",
         "’": "'", "‐": "-"}
    )  # fmt: skip

    def __missing__(self, code: int) -> str:
        char = chr(code)
        base = unicodedata.normalize("NFD", char)[0]
        folded = base if base.isascii() else char.translate(self._SPECIAL)
        if len(self) < 10_000:
            self[code] = folded
        return folded


_FOLDING = _Folding()
_drop_latin_marks = re.compile(r"(?<=[A-Za-z])[\u0300-\u036f]+").sub


def analyse(text: str) -> tuple[list[str], list[int]]:
    """Return the index terms of *text* and their positions, in order; positions never decrease.

    Terms that stand for the same place share a position: an identifier and its first part (the other
    parts follow, one position each), a Han or kana character and the pair that starts there. Terms are
    case-folded and at most ``MAX_TERM`` characters long. Text without words gives two empty lists.
    Linear in the length of *text*; safe to call from several threads.
    """
    found: list[str] = []
    positions: list[int] = []
    at = 0
    cached = _cache.get
    for run in _find(text):
        expansion = cached(run)
        if expansion is None:
            if _is_cjk(run):
                at = _add_cjk(run, at, found, positions)
                continue
            expansion = _remember(run)
        some, offsets, width = expansion
        if len(some) == 1:
            found.append(some[0])
            positions.append(at)
        else:
            found += some
            positions += [at + offset for offset in offsets]
        at += width
    return found, positions


def terms(text: str) -> list[str]:
    """Return the index terms of *text* in order, with repeats."""
    return analyse(text)[0]


def query_terms(text: str) -> list[str]:
    """Return the distinct terms of *text* in order of first appearance, without stop words.

    A text of nothing but stop words keeps them: 'what is it' can only be searched as it stands.
    """
    distinct = dict.fromkeys(terms(text))
    return [term for term in distinct if term not in STOPWORDS] or list(distinct)


def parts(text: str) -> dict[str, str]:
    """Return the terms that *text* has only as parts of an identifier or a path, and the whole that each belongs to."""
    runs = [(_cache.get(run) or _remember(run))[0] for run in _find(text) if not _is_cjk(run)]
    wholes = {terms[0] for terms in runs if terms}
    return {part: terms[0] for terms in runs for part in terms[1:] if part not in wholes}


def _find(text: str) -> list[str]:
    if text.isascii():
        return _find_ascii(text)
    if _has_pieces(text):
        text = _join_pieces(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    return _find_any(text.replace("\xad", ""))


_PAIRED = [number // 2 for number in range(1 << 13)]
"""0, 0, 1, 1, 2, 2, …: positions of characters and pairs, ready to be sliced."""


def _add_cjk(run: str, at: int, found: list[str], positions: list[int]) -> int:
    """Append every character of *run* and every pair of neighbours; return the position after it."""
    chars = list(run)
    count = 2 * len(chars) - 1
    some = [""] * count
    some[::2] = chars
    some[1::2] = map(str.__add__, chars, chars[1:])
    found += some
    begin = 2 * at
    positions += _PAIRED[begin : begin + count] if begin + count <= len(_PAIRED) else _paired(begin, count)
    return at + len(chars)


def _paired(begin: int, count: int) -> list[int]:
    return [number // 2 for number in range(begin, begin + count)]


_cache: dict[str, Expansion] = {}


def _remember(run: str) -> Expansion:
    expansion = _expand(run)
    if len(run) <= MAX_CACHED_RUN:
        if len(_cache) >= MAX_CACHE:
            _cache.clear()
        _cache[run] = expansion
    return expansion


def _expand(run: str) -> Expansion:
    """Return the terms of one run of word characters and joints."""
    if run.endswith("://") or run.endswith("://www."):
        return (), (), 0
    if not unicodedata.is_normalized("NFKC", run):
        some, offsets = analyse(unicodedata.normalize("NFKC", run))
        return tuple(some), tuple(offsets), offsets[-1] + 1 if offsets else 0
    if _is_hangul(run):
        return _expand_hangul(run)
    if not run.isascii():
        run = _drop_latin_marks("", run.translate(_FOLDING))
    if "'" in run:
        run = _without_contraction(run)
    if len(run) > 2 and run[0] == run[-1] == "_" and run[1] != "_":
        run = run.strip("_")  # emphasis, not an identifier
    version = _is_version(run)
    if version:
        number = version[1]
        parts = number.split(".")[:MAX_PARTS]
        return _lay_out((_term(run), _term(number)), parts)
    parts = _parts(run)
    if not parts:
        return (), (), 0
    if len(parts) == 1 and len(parts[0]) == len(run):
        return (_term(run),), (0,), 1
    return _lay_out((_term(run),), [_term(part) for part in parts])


def _lay_out(wholes: tuple[str, ...], parts: list[str]) -> Expansion:
    """Place *wholes* at the first part's position and each further part one position on; drop repeats there."""
    first = dict.fromkeys((*wholes, parts[0]))
    return (*first, *parts[1:]), (*[0] * len(first), *range(1, len(parts))), len(parts)


def _expand_hangul(run: str) -> Expansion:
    """Return the word and, where it is longer than two syllables, its pairs: endings are written without a space."""
    if len(run) < 3:
        return (run,), (0,), 1
    run = run[:MAX_TERM]
    return _lay_out((run,), list(map(str.__add__, run, run[1:])))


def _without_contraction(run: str) -> str:
    """Drop a possessive or a contracted verb ("git's", "we'll"); "don't" and "l'index" stay."""
    head, _, tail = run.rpartition("'")
    return head if head and tail.casefold() in _CONTRACTIONS else run


def _parts(run: str) -> list[str]:
    if run[-3:].casefold() == "n't":
        return [run]
    parts: list[str] = []
    for piece in _split_joints(run):
        if (piece.islower() and piece.isalpha()) or len(piece) > MAX_CAMEL or _is_plural(piece):
            parts.append(piece)
        elif piece:
            parts += _camel(piece)
        if len(parts) >= MAX_PARTS:
            break
    return parts[:MAX_PARTS]


def _term(word: str) -> str:
    """Return the term of a word or an identifier: Latin letters alone get an English stem, all else is kept.

    'DevTools' is stemmed too, for 'devtools' must find it; what has a joint or a digit is taken literally.
    """
    word = word.casefold()[:MAX_TERM]
    return _stem(word) if len(word) > 2 and word.isascii() and word.isalpha() else word


# It keeps nothing: ``_stem`` does. Threads share it, since a call never lets go of the interpreter's lock.
_stemmer = Stemmer.Stemmer("english", 0)


@lru_cache(maxsize=MAX_CACHE)
def _stem(word: str) -> str:
    return str(_stemmer.stemWord(word))


_ENGLISH = """
a about after again all also am an and any another are as at be because been before being both but by came can can't
cannot come could couldn't did didn't do does doesn't doing don't done each else even ever every for from get give go
got had hadn't has hasn't have haven't having he her here him himself his how i if in into is isn't it itself just let
like made make many may me might more most much must my need no nor not now of off on only or other our out over own
please put said same see should shouldn't since so some still such take than that the their them then there these they
this those through to too under up us use using very want was wasn't way we well were weren't what when where whether
which while who whom why will with without won't would wouldn't yes yet you your
"""
_STEMS = "ani anoth becaus befor be doe do els everi have mani onli pleas sinc use veri whi"
"""What ``terms`` makes of those of the words above that it changes (Snowball 2.2 to 3.1)."""
_CHINESE = """
的 了 是 在 和 与 及 也 就 都 而 着 吗 呢 吧 啊 呀 么 嘛 这 那 它 他 她 我 你 您 们 个 把 被 对 什 怎 什么 怎么 怎样
为什 如何 这个 那个 哪个 哪些 一个 我们 你们 他们 可以 请问 是否 什麼 怎麼 麼 為什 這 這個 個 們 嗎
"""
_JAPANESE = """
は が を に の で と も へ や か な た て だ し れ る い う す ま です ます でし まし した して する ない から まで
より こと もの これ それ あれ この その あの どう どの なに 何 ため よう いる ある なる とい いう って くだ ださ さい
しょ ょう せん ませ
"""
STOPWORDS: frozenset[str] = frozenset((_ENGLISH + _STEMS + _CHINESE + _JAPANESE).split())
"""Terms that say nothing about a subject; for the query side only, the index keeps everything."""
