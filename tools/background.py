"""Count how common the product's index terms are in the language at large, and store it as a small table.

The gate weighs a prompt's words by their rarity, and in a small repository
every word is rare; so the weights come from here. A term's frequency is the
mean over genres within a language (conversation, encyclopaedia, documentation,
science, programs), so that small talk is as common here as it is in prompts,
and for Han and kana the higher of Chinese and Japanese. Stored:

- ``hash``: uint32, sorted, unique: the first four bytes (little-endian) of
  ``blake2b(term, digest_size=8)``; where two terms collide the commoner counts
- ``zipf``: uint8, ``round(25 · log10(occurrences per billion))``
- ``default``: uint8, the value of a term that is not in the table
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from recall_git import analysis

SHARES: dict[str, dict[str, float]] = {
    "en": {"talk": 0.30, "encyclopaedia": 0.25, "docs": 0.20, "science": 0.10, "code": 0.15},
    "zh": {"talk": 0.35, "encyclopaedia": 0.35, "docs": 0.30},
    "ja": {"talk": 0.35, "encyclopaedia": 0.35, "docs": 0.30},
}
"""How much of a language at large each genre makes up."""
GENRE = {
    "talk": "talk", "encyclopaedia": "encyclopaedia", "news": "encyclopaedia", "question": "encyclopaedia",
    "docs": "docs", "science": "science", "code": "code", "shell": "code",
}  # fmt: skip
SCALE = 25
"""Steps per power of ten."""
DEFAULT_ZIPF = 1.6
"""An unseen term: a little rarer than the rarest that is stored."""
MAX_BYTES = 1_500_000


def is_cjk(term: str) -> bool:
    return "\u3005" <= term[0] <= "\u30ff" or "\u3400" <= term[0] <= "\u9fff"


def count(corpus: Path) -> dict[tuple[str, str], Counter[str]]:
    """Return term counts by (language, genre); Latin terms in Chinese and Japanese text are left out."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)

    def add(lang: str, genre: str, text: str) -> None:
        genre = GENRE[genre]
        if lang == "code" or (lang != "en" and genre == "code"):
            lang, genre = ("en", "code") if lang == "code" else (lang, "docs")
        terms = analysis.terms(text)
        counts[(lang, genre)].update(term for term in terms if is_cjk(term) == (lang != "en"))

    for row in _rows(corpus / "passages.jsonl.gz"):
        add(row["lang"], row["genre"], row["text"])
    for row in _rows(corpus / "pairs.jsonl.gz"):
        if row["kind"] == "translation":
            add(row["langs"].split("-")[1], "docs", row["b"])
    return counts


def _rows(path: Path) -> Any:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def frequencies(counts: dict[tuple[str, str], Counter[str]]) -> dict[str, float]:
    """Return each term's share among the terms of its language, genres mixed by SHARES."""
    mixed: dict[str, dict[str, float]] = {}
    for lang, shares in SHARES.items():
        here: dict[str, float] = defaultdict(float)
        present = {genre: share for genre, share in shares.items() if counts.get((lang, genre))}
        for genre, share in present.items():
            total = counts[(lang, genre)].total()
            for term, number in counts[(lang, genre)].items():
                here[term] += share / sum(present.values()) * number / total
        mixed[lang] = here
    best: dict[str, float] = {}
    for here in mixed.values():
        for term, share in here.items():
            best[term] = max(best.get(term, 0.0), share)
    return best


def zipf(share: float) -> int:
    return max(0, min(255, round(SCALE * math.log10(share * 1e9))))


def key(term: str) -> int:
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest()[:4], "little")


def table(shares: dict[str, float], most: int) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
    """Return the arrays to store for the *most* commonest terms."""
    values: dict[int, int] = {}
    for term, share in sorted(shares.items(), key=lambda item: (-item[1], item[0]))[:most]:
        values.setdefault(key(term), zipf(share))
    hashes = np.array(sorted(values), np.uint32)
    return {
        "hash": hashes,
        "zipf": np.array([values[int(h)] for h in hashes], np.uint8),
        "default": np.array(round(SCALE * DEFAULT_ZIPF), np.uint8),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", type=Path, required=True, help="folder written by corpus.py")
    parser.add_argument("--most", type=int, default=290_000, help="most terms kept; five bytes each")
    parser.add_argument("--out", type=Path, required=True, help="the .npz to write")
    options = parser.parse_args()
    counts = count(options.corpus)
    shares = frequencies(counts)
    stored = table(shares, options.most)
    buffer = io.BytesIO()
    np.savez(buffer, hash=stored["hash"], zipf=stored["zipf"], default=stored["default"])
    if buffer.tell() > MAX_BYTES:
        raise SystemExit(f"{buffer.tell()} bytes, more than {MAX_BYTES}; lower --most")
    options.out.write_bytes(buffer.getvalue())
    for label, here in sorted(counts.items()):
        print(*label, here.total(), "terms,", len(here), "distinct")
    print(f"{len(stored['hash'])} of {len(shares)} terms, {buffer.tell()} bytes")


if __name__ == "__main__":
    main()
