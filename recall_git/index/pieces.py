"""The bundled model without its library: what its tokenizer and its table give, for one prompt at once.

model2vec and the tokenizer below it take half a second to load and some 100 MB, and 3 ms for a prompt of sixty
words; nearly all of a prompt's words have been cut into pieces before. Only the one shape of tokenizer that
``tools/vocabulary.py`` makes is read here. Pieces equal the tokenizer's and vectors model2vec's to 2e-6
(tests/index/test_pieces.py), but for characters of which Python and the tokenizer think differently: those that Unicode
added between their tables.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from recall_git.index.table import Table

KEPT_RUNS = 16_384
"""Distinct words that stay cut, some 3 MB."""
KEPT_CHARS = 24
"""Longest of them, in characters: a longer run (a sentence in Chinese or Japanese) hardly comes again."""
UNKNOWN_PENALTY = 10.0
"""How much worse than the worst piece a character is that no piece begins with (Unigram in the tokenizers library)."""

_NORMALIZER = [
    {"type": "NFKD"},
    {"type": "Lowercase"},
    {"type": "Replace", "pattern": {"Regex": "[\\u0300-\\u036f]"}, "content": ""},
    {"type": "NFC"},
]
_CJK_CLASS = r"\p{Han}\p{Hiragana}\p{Katakana}ー々〆"
_WORD_CLASS = rf"[[\p{{L}}\p{{N}}]&&[^{_CJK_CLASS}]]"
_MARK_WORDS = rf"(?<!{_WORD_CLASS})(?={_WORD_CLASS})"
_RUNS = rf"[{_CJK_CLASS}]+|▁c\+\+|▁[cf]#|▁{_WORD_CLASS}+"

# The scripts Han, Hiragana and Katakana of the Unicode Character Database (Scripts.txt), and the three marks.
_CJK = "\u2e80-\u2e99\u2e9b-\u2ef3\u2f00-\u2fd5\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3041-\u3096\u309d-\u309f" \
    "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u32d0-\u32fe\u3300-\u3357\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufa6d" \
    "\ufa70-\ufad9\uff66-\uff9d\U00016fe2\U00016fe3\U00016ff0\U00016ff1\U0001aff0-\U0001afff\U0001b000-\U0001b167" \
    "\U0001f200\U00020000-\U000323af"  # fmt: skip
_find = re.compile(rf"([{_CJK}]+)|(c\+\+|[cf]\#|[^\W_{_CJK}]+)").findall
_drop_marks = re.compile("[\u0300-\u036f]+").sub


class Pieces:
    """A loaded model of the bundled shape: *folder* holds ``tokenizer.json`` and ``model.safetensors``.

    Raises ValueError when the folder holds a model of another shape, OSError when a file cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        tokenizer = json.loads((folder / "tokenizer.json").read_bytes())
        if not _is_ours(tokenizer):
            raise ValueError("another kind of tokenizer")
        vocabulary = tokenizer["model"]["vocab"]
        self._numbers = {piece: number for number, (piece, _) in enumerate(vocabulary)}
        self._scores = [score for _, score in vocabulary]
        self._unknown = tokenizer["model"]["unk_id"]
        self._unknown_score = min(self._scores) - UNKNOWN_PENALTY
        self._longest = max(map(len, self._numbers))
        arrays = _arrays(folder / "model.safetensors")
        self.table = Table(arrays["embeddings"], arrays["weights"], arrays["mapping"], tokens=len(vocabulary))
        self._kept = lru_cache(KEPT_RUNS)(self._cut)

    def tokens(self, text: str) -> list[int]:
        """Return the tokens of *text*, in order, without the unknown."""
        found: list[int] = []
        for cjk, word in _find(_normal(text)):
            run = cjk or f"▁{word}"
            found += self._kept(run) if len(run) <= KEPT_CHARS else self._cut(run)
        return found

    def _cut(self, run: str) -> tuple[int, ...]:
        """Return the most likely pieces of *run* (Viterbi); of equal ones, those whose last piece begins first."""
        numbers, scores = self._numbers, self._scores
        size = len(run)
        best: list[float | None] = [0.0, *[None] * size]
        came: list[tuple[int, int]] = [(0, 0)] * (size + 1)
        for start in range(size):
            so_far = best[start]
            assert so_far is not None
            for end in range(start + 1, min(size, start + self._longest) + 1):
                number = numbers.get(run[start:end])
                if number is not None:
                    score = so_far + scores[number]
                elif end == start + 1:
                    number, score = self._unknown, so_far + self._unknown_score
                else:
                    continue
                there = best[end]
                if there is None or score > there:
                    best[end], came[end] = score, (start, number)
        found = []
        at = size
        while at:
            at, number = came[at]
            if number != self._unknown:
                found.append(number)
        return tuple(reversed(found))


def _normal(text: str) -> str:
    if text.isascii():
        return text.lower()
    text = text.replace("\u32ff", " ")  # ㋿ is newer than the library's Unicode tables
    text = unicodedata.normalize("NFKD", text).replace("Σ", "σ").lower()  # ``lower`` alone gives ς at a word's end
    return unicodedata.normalize("NFC", _drop_marks("", text))


def _is_ours(tokenizer: dict[str, Any]) -> bool:
    """Whether a ``tokenizer.json`` asks for just what is done here."""
    replaced = {"type": "Replace", "pattern": {"Regex": _MARK_WORDS}, "content": "▁"}
    split = {"type": "Split", "pattern": {"Regex": _RUNS}, "behavior": "Removed", "invert": True}
    return (
        tokenizer["normalizer"] == {"type": "Sequence", "normalizers": [*_NORMALIZER, replaced]}
        and tokenizer["pre_tokenizer"] == split
        and tokenizer["model"]["type"] == "Unigram"
        and not tokenizer["model"]["byte_fallback"]
        and not tokenizer["added_tokens"]
        and tokenizer["post_processor"] is None
        and tokenizer["truncation"] is None
    )


_DTYPES = {"F32": "<f4", "I32": "<i4", "I64": "<i8", "I8": "i1"}


def _arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a safetensors file, memory-mapped: a size, a JSON header, and the arrays end to end."""
    data = np.memmap(path, np.uint8, "r")
    size = int.from_bytes(data[:8].tobytes(), "little")
    header = json.loads(data[8 : 8 + size].tobytes())
    found = {}
    for name, entry in header.items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            flat = np.asarray(data)[8 + size + first : 8 + size + last].view(_DTYPES[entry["dtype"]])
            found[name] = flat.reshape(entry["shape"])
    return found
