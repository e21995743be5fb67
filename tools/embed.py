"""Embed the training text with its teacher: English by MiniLM, Chinese and Japanese by e5.

Reads what ``corpus.py`` wrote, writes one folder per teacher with numbered
chunks (``texts.json`` and ``vectors.npy``), so that it can be stopped and
continued and a first table can be trained before it has finished.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import teachers
import torch

CHUNK = 4096
"""Texts in one saved chunk."""
CUT = {"en": 520, "zh": 260, "ja": 260}
"""Texts are cut to this many characters before the teacher and the student see them."""
SEED = 11


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def cut(text: str, lang: str) -> str:
    return text[: CUT[lang]]


def wanted(folder: Path, teacher: str, most: int) -> list[str]:
    """Return the texts for *teacher*, in a fixed random order, at most *most* passages.

    MiniLM also gets the English side of every translation and gloss, e5 the
    other side of a sample of them, on which the two spaces are aligned.
    """
    langs = {"minilm": {"en"}, "e5": {"zh", "ja"}}[teacher]
    chance = random.Random(SEED)
    texts = [cut(row["text"], row["lang"]) for row in rows(folder / "passages.jsonl.gz") if row["lang"] in langs]
    texts = chance.sample(texts, min(most, len(texts)))
    crossing = [row for row in rows(folder / "pairs.jsonl.gz") if row["kind"] in {"translation", "gloss"}]
    for row in crossing if teacher == "minilm" else crossing[: len(crossing) // 12]:
        lang = row["langs"].split("-")[1]
        texts.append(cut(row["a"], "en") if teacher == "minilm" else cut(row["b"], lang))
    if teacher == "e5":
        english = [row["text"] for row in rows(folder / "passages.jsonl.gz") if row["lang"] == "en"]
        texts += [cut(text, "en") for text in english[:6000]]
    unique = list(dict.fromkeys(texts))
    chance.shuffle(unique)
    return unique


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", type=Path, required=True, help="folder written by corpus.py")
    parser.add_argument("--teacher", choices=("minilm", "e5"), required=True)
    parser.add_argument("--most", type=int, default=80_000, help="most passages")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    folder = options.out / options.teacher
    folder.mkdir(parents=True, exist_ok=True)
    texts = wanted(options.corpus, options.teacher, options.most)
    teacher = teachers.minilm() if options.teacher == "minilm" else teachers.e5()
    started = time.monotonic()
    for number, at in enumerate(range(0, len(texts), CHUNK)):
        target = folder / f"{number:04}.npy"
        if target.exists():
            continue
        chunk = texts[at : at + CHUNK]
        vectors = teacher.encode(chunk)
        (folder / f"{number:04}.json").write_text(json.dumps(chunk, ensure_ascii=False), encoding="utf-8")
        np.save(folder / f"{number:04}.part.npy", vectors.astype(np.float16))
        (folder / f"{number:04}.part.npy").rename(target)
        print(f"{at + len(chunk)} of {len(texts)}, {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
