"""Build the model's tokenizer: one Unigram vocabulary of Latin and of Han and kana pieces.

Candidates are the pieces of the two teachers and frequent words of the corpus;
scores come from the corpus (a few rounds of segment and count), the rarest
candidates are dropped. Writes ``tokenizer.json``.

The normaliser folds width (NFKC), case and Latin accents, and keeps the
voicing marks of kana; a Latin word begins with ``▁``, so that "用Postgres怎么port转发"
splits into the same pieces as its words alone. Punctuation is dropped.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import teachers
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

CJK = r"\p{Han}\p{Hiragana}\p{Katakana}ー々〆"
WORD = rf"[[\p{{L}}\p{{N}}]&&[^{CJK}]]"
CJK_TEXT = re.compile(r"[\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
UNKNOWN = "[UNK]"
MARK = "▁"
ROUNDS = 3
"""Rounds of segment and count."""
SAMPLE = 4
"""One text in this many is counted; that is enough for a vocabulary."""
LATIN_MIN = 20
"""A corpus word that MiniLM has no piece for becomes a piece from this sampled count on."""
LONGEST_HAN, LONGEST_CJK = 4, 8
"""Longest piece of Han, and of kana or a dictionary's word, in characters: longer ones match too little."""
MARK_SCORE = -4.0
"""Score of a word mark alone, which only splits off where no piece begins with it."""
ALIAS_PENALTY = 3.0
"""A word inside a word scores this much less than the word itself."""
ALIAS_WORDS = 9_000
"""Most frequent words that are also recognised inside a word, as in "getusername"."""
ALIAS_MIN_LETTERS = 4


def blank(pieces: Iterable[tuple[str, float]]) -> Tokenizer:
    """Return the tokenizer with *pieces* and their scores; the unknown piece comes first."""
    tokenizer = Tokenizer(models.Unigram([(UNKNOWN, 0.0), *pieces], unk_id=0, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.NFKD(),
            normalizers.Lowercase(),
            normalizers.Replace(Regex(r"[\u0300-\u036f]"), ""),
            normalizers.NFC(),
            normalizers.Replace(Regex(rf"(?<!{WORD})(?={WORD})"), MARK),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Split(
        Regex(rf"[{CJK}]+|{MARK}c\+\+|{MARK}[cf]#|{MARK}{WORD}+"), behavior="removed", invert=True
    )
    return tokenizer


def texts(corpus: Path) -> Iterator[str]:
    """Yield every text of the corpus, both sides of pairs too."""
    for name, keys in (("passages", ("text",)), ("pairs", ("a", "b"))):
        with gzip.open(corpus / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                for key in keys:
                    yield row[key]


def words(corpus: Path) -> Counter[str]:
    """Return how often each word, or run of Han and kana, occurs in every SAMPLE-th text."""
    tokenizer = blank([(MARK, 0.0)])
    counts: Counter[str] = Counter()
    for text in islice(texts(corpus), 0, None, SAMPLE):
        normal = tokenizer.normalizer.normalize_str(text)
        counts.update(word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal))
    return counts


def dictionary(corpus: Path) -> set[str]:
    """Return the words that the dictionaries in the corpus explain."""
    with gzip.open(corpus / "pairs.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = (json.loads(line) for line in lines)
        return {row["b"] for row in rows if row["kind"] in {"gloss", "script"}}


def fits(piece: str, known: set[str]) -> bool:
    """Tell whether a run of Han and kana may be a piece: short, and not a word with its particle."""
    if not CJK_TEXT.fullmatch(piece) or len(piece) > LONGEST_CJK:
        return False
    one_script = re.fullmatch(r"[\u3400-\u9fff々]+|[\u3040-\u309f]+", piece) and len(piece) <= LONGEST_HAN
    return bool(re.fullmatch(r"[\u30a0-\u30ff]+", piece) or one_script or piece in known)


def candidates(counts: Counter[str], known: set[str]) -> dict[str, float]:
    """Return every piece that may be kept, with how often it occurs anywhere as a starting count."""
    found: dict[str, float] = {}
    vocabulary = (teachers.minilm_folder() / "vocab.txt").read_text(encoding="utf-8").splitlines()
    for piece in vocabulary:
        bare = piece.removeprefix("##")
        if re.fullmatch(r"[^\W_]+", bare) and not CJK_TEXT.search(bare):
            whole = MARK + bare
            found[bare if piece.startswith("##") else whole] = 1.0 if piece.startswith("##") else counts[whole] + 0.5
    for word, count in counts.items():
        if word.startswith(MARK) and count >= LATIN_MIN and len(word) <= 20 and not word[1:].isdigit():
            found[word] = float(count)
    wanted = {piece.removeprefix(MARK) for piece in teachers.e5_file().pieces} | known
    wanted = {piece for piece in wanted if fits(piece, known)}
    substrings: Counter[str] = Counter()
    for word, count in counts.items():
        if not word.startswith(MARK):
            for size in range(1, LONGEST_CJK + 1):
                for at in range(len(word) - size + 1):
                    part = word[at : at + size]
                    if size == 1 or part in wanted:
                        substrings[part] += count
    return found | {piece: float(count) for piece, count in substrings.items()}


def is_cjk(piece: str) -> bool:
    return bool(CJK_TEXT.match(piece))


def recount(counts: Counter[str], kept: dict[str, float]) -> Counter[str]:
    """Segment every word with the scores of *kept* and count the pieces."""
    total = sum(kept.values())
    model = models.Unigram(
        [(UNKNOWN, 0.0), (MARK, MARK_SCORE), *((p, math.log(c / total)) for p, c in kept.items())], 0, False
    )
    found: Counter[str] = Counter()
    for word, count in counts.items():
        for token in model.tokenize(word):
            found[token.value] += count
    return found


def build(counts: Counter[str], known: set[str], latin: int, cjk: int) -> list[tuple[str, float]]:
    """Return at most *latin* + *cjk* pieces with scores, most frequent first within each script."""
    kept = candidates(counts, known)
    vocabulary = (teachers.minilm_folder() / "vocab.txt").read_text(encoding="utf-8").splitlines()
    own = frozenset(MARK + word for word in vocabulary if re.fullmatch(r"[a-z0-9]+", word))
    for round_ in range(ROUNDS):
        found = recount(counts, kept)
        kept = {piece: found[piece] + 0.5 for piece in kept}
        share = 1.0 + 0.6 * (ROUNDS - 1 - round_)
        kept = dict(sorted(kept.items(), key=lambda item: -item[1] - (1e9 if _spared(item[0], item[1], own) else 0)))
        left = {False: int(latin * share), True: int(cjk * share)}
        pruned = {}
        for piece, count in kept.items():
            script = is_cjk(piece)
            if left[script] > 0:
                left[script] -= 1
                pruned[piece] = count
        kept = pruned
    total = sum(kept.values())
    return [(piece, round(math.log(count / total), 3)) for piece, count in kept.items()]


def _spared(piece: str, count: float, words: frozenset[str]) -> bool:
    """Tell whether a piece stays whatever its count: MiniLM's own words, and what an unknown word is spelled with."""
    if is_cjk(piece):
        return len(piece) == 1 and count >= 3
    bare = piece.removeprefix(MARK)
    return piece in words or (len(bare) == 1 and (bare.isascii() or count >= 3))


def aliases(pieces: list[tuple[str, float]]) -> dict[str, str]:
    """Return inner form -> piece for the most frequent Latin words that have no inner form of their own."""
    known = {piece for piece, _ in pieces}
    longer = [
        piece
        for piece, _ in sorted(pieces, key=lambda item: -item[1])
        if piece.startswith(MARK) and len(piece) > ALIAS_MIN_LETTERS and piece[1:].isalpha()
    ]
    return {piece[1:]: piece for piece in longer[:ALIAS_WORDS] if piece[1:] not in known}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", type=Path, required=True, help="folder written by corpus.py")
    parser.add_argument("--latin", type=int, default=29_500, help="Latin pieces")
    parser.add_argument("--cjk", type=int, default=18_500, help="Han and kana pieces")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    counts = words(options.corpus)
    pieces = build(counts, dictionary(options.corpus), options.latin, options.cjk)
    inner = aliases(pieces)
    scores = dict(pieces)
    extra = [(form, round(scores[piece] - ALIAS_PENALTY, 3)) for form, piece in inner.items()]
    tokenizer = blank([(MARK, MARK_SCORE), *pieces, *extra])
    options.out.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(options.out / "tokenizer.json"), pretty=False)
    (options.out / "aliases.json").write_text(json.dumps(inner, ensure_ascii=False), encoding="utf-8")
    found = recount(counts, {piece: math.exp(score) for piece, score in pieces})
    (options.out / "counts.json").write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")
    print(len(pieces), "pieces,", sum(is_cjk(p) for p, _ in pieces), "Han or kana,", len(inner), "aliases")


if __name__ == "__main__":
    main()
