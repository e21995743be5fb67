"""Measure a static model alone on retrieval sets: cosine over title and text, nDCG@10 and recall@5.

A set is a folder with ``corpus.jsonl`` (id, title, text), ``queries.jsonl``
(id, text, optionally group) and ``qrels.tsv``. Where queries carry a group,
only documents whose id begins with it may be found. Sets whose name begins
with ``xquad`` are read without titles, which are not in the documents'
language; ``A>B`` asks the questions of A of the documents of B.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from model2vec import StaticModel

Vectors = npt.NDArray[np.float32]

DEPTH = 10
CHUNK_CHARS = 1200
"""Long documents are scored by their best stretch of about this length, as the product's sections are."""
SETS = (
    "xquad-en", "scifact", "xquad-zh", "jsquad", "xquad-zh>xquad-en", "xquad-en>xquad-zh", "cranfield",
    "locomo-session", "locomo-turn", "obshelp-en", "obshelp-zh", "obshelp-ja", "obshelp-zh>obshelp-en",
    "obshelp-ja>obshelp-en",
)  # fmt: skip


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def stretches(text: str) -> list[str]:
    """Split *text* at line or word ends into stretches of at most about CHUNK_CHARS."""
    found, held = [], ""
    for piece in text.splitlines(keepends=True):
        if held and len(held) + len(piece) > CHUNK_CHARS:
            found.append(held)
            held = ""
        held += piece
    found.append(held)
    return [part for piece in found for part in _slices(piece) if part.strip()]


def _slices(text: str) -> list[str]:
    count = max(1, math.ceil(len(text) / (1.5 * CHUNK_CHARS)))
    size = math.ceil(len(text) / count) or 1
    return [text[at : at + size] for at in range(0, len(text), size)]


def encode(model: StaticModel, texts: list[str]) -> Vectors:
    """Return unit rows, float32; a text without a known piece gets zeros."""
    vectors = np.asarray(model.encode(texts, max_length=None), dtype=np.float32)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    result: Vectors = vectors / np.maximum(length, 1e-12)
    return result


def scores_of(model: StaticModel, queries: list[str], documents: list[tuple[str, str]], chunked: bool) -> Vectors:
    """Return (queries, documents) cosines; with *chunked* the best over each document's stretches."""
    asked = encode(model, queries)
    if not chunked:
        whole: Vectors = asked @ encode(model, [f"{title}\n{text}".strip() for title, text in documents]).T
        return whole
    parts = [[f"{title}\n{part}".strip() for part in stretches(text)] or [title] for title, text in documents]
    found = asked @ encode(model, [part for group in parts for part in group]).T
    starts = np.cumsum([0, *(len(group) for group in parts)])[:-1]
    best: Vectors = np.maximum.reduceat(found, starts, axis=1)
    return best


def measure(model: StaticModel, data: Path, name: str, chunked: bool = True) -> tuple[float, float]:
    """Return nDCG@10 and recall@5, means over the queries that have a relevant document."""
    asking, _, answering = name.partition(">")
    answering = answering or asking
    corpus = lines(data / answering / "corpus.jsonl")
    queries = lines(data / asking / "queries.jsonl")
    relevant: dict[str, dict[str, float]] = {}
    for line in (data / answering / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        asked, document, grade = line.split("\t")
        if float(grade) > 0:
            relevant.setdefault(asked, {})[document] = float(grade)
    titled = not answering.startswith("xquad")
    documents = [(row.get("title", "") if titled else "", row["text"]) for row in corpus]
    queries = [row for row in queries if row["id"] in relevant]
    scores = scores_of(model, [row["text"] for row in queries], documents, chunked)
    groups = np.array([row["id"].partition("/")[0] for row in corpus])
    ids = [row["id"] for row in corpus]
    gains, recalls = [], []
    for query, row in zip(queries, scores, strict=True):
        if "group" in query:
            row = np.where(groups == query["group"], row, -2.0)
        best = [ids[at] for at in np.argsort(-row, kind="stable")[:DEPTH]]
        wanted = relevant[query["id"]]
        ideal = sum(g / math.log2(at + 2) for at, g in enumerate(sorted(wanted.values(), reverse=True)[:DEPTH]))
        gains.append(sum(wanted.get(hit, 0) / math.log2(at + 2) for at, hit in enumerate(best)) / ideal)
        recalls.append(sum(hit in wanted for hit in best[:5]) / len(wanted))
    return float(np.mean(gains)), float(np.mean(recalls))


def speed(model: StaticModel) -> float:
    """Return milliseconds per short text, one call each, median of 2,000 calls."""
    texts = ("How do I forward a port to Postgres?", "用Postgres怎么port转发", "梅雨の時期が始まることを何というか")
    times = []
    for at in range(2000):
        started = time.perf_counter()
        model.encode(texts[at % 3])
        times.append(time.perf_counter() - started)
    return 1000 * float(np.median(times))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--whole", action="store_true", help="also score documents whole, not by their best stretch")
    options = parser.parse_args()
    model = StaticModel.from_pretrained(options.model)
    size = sum(path.stat().st_size for path in options.model.iterdir() if path.is_file())
    print(f"{options.model}: {len(model.tokens)} pieces, {model.dim} dimensions, {size / 1e6:.1f} MB")
    for name in options.sets:
        if not all((options.data / part).is_dir() for part in name.split(">")):
            continue
        gain, recall = measure(model, options.data, name)
        line = f"{name:24} nDCG@10 {gain:.3f}  recall@5 {recall:.3f}"
        if options.whole:
            line += "  whole {:.3f}  {:.3f}".format(*measure(model, options.data, name, chunked=False))
        print(line, flush=True)
    print(f"one short text: {speed(model):.3f} ms")


if __name__ == "__main__":
    main()
