"""Train the table: the mean of a text's pieces predicts what the teacher says of the whole text.

Starts from the teachers' vectors of the single pieces, weighted by how rare
they are (SIF), in one space: e5's is mapped onto MiniLM's by a linear map
fitted on translations. Then two losses, over texts of three languages:

- the student's vector against the teacher's (cosine, and contrast with the
  other texts of the batch); the teacher of a translated text is MiniLM's
  vector of its English side, which is what brings the languages together;
- pairs against each other (contrast in the batch): question and paragraph,
  heading and section, sentence and translation, gloss and word.

Writes a model2vec folder, int8. Prints measures as it goes.
"""

from __future__ import annotations

import argparse
import json
import math
import pickle
import random
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import evaluate
import numpy as np
import numpy.typing as npt
import teachers
import torch
from embed import cut, rows
from model2vec import StaticModel
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from torch.nn import functional
from vocabulary import MARK, is_cjk

SIF = 1e-3
"""The constant of smooth inverse frequency (Arora, Liang and Ma, ICLR 2017)."""
TEMPERATURE = 0.05
MOST_TOKENS = 256
RIDGE = 1e-2
"""Regularisation of the linear map between the teachers, per text."""
SHARES = {"en": 0.46, "zh": 0.27, "ja": 0.27}
"""Share of each language in a batch of texts."""
KINDS = {"question": 0.28, "heading": 0.22, "translation": 0.26, "gloss": 0.10, "talk": 0.10, "script": 0.04}
"""Share of each kind among the batches of pairs."""
MOST_PAIRS = 36_000
"""Most pairs of one kind and language pair."""
HELD_OUT = 400
"""Pairs of each kind and language that are kept for checking."""
SEED = 3

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


class Texts:
    """Token rows of many texts, flat, ready to be put in batches."""

    def __init__(self, texts: list[str], tokenizer: Tokenizer, row_of: Ints) -> None:
        flat: list[Ints] = []
        for at in range(0, len(texts), 4096):
            for encoding in tokenizer.encode_batch_fast(texts[at : at + 4096], add_special_tokens=False):
                ids = row_of[np.array(encoding.ids[:MOST_TOKENS], dtype=np.int64)]
                flat.append(ids[ids >= 0])
        self._lengths = np.array([len(ids) for ids in flat])
        self._starts = np.concatenate([[0], np.cumsum(self._lengths)])
        self._flat = np.concatenate(flat) if flat else np.zeros(0, np.int64)

    def batch(self, at: Ints) -> tuple[torch.Tensor, torch.Tensor]:
        """Return (rows, offsets) of the texts numbered *at*, for an EmbeddingBag."""
        parts = [self._flat[self._starts[i] : self._starts[i + 1]] for i in at]
        offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])[:-1]])
        return torch.from_numpy(np.concatenate(parts)), torch.from_numpy(offsets)

    def lengths(self) -> Ints:
        return self._lengths


def load_vectors(folder: Path) -> dict[str, Floats]:
    found: dict[str, Floats] = {}
    for path in sorted(folder.glob("[0-9][0-9][0-9][0-9].npy")):
        vectors = np.load(path).astype(np.float32)
        texts = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        found.update(zip(texts, vectors, strict=True))
    return found


@dataclass(slots=True)
class Targets:
    """What the student is to predict: texts, their language, and the teacher's vectors (n, dim), unit rows."""

    texts: list[str]
    langs: list[str]
    vectors: Floats


def bridge(
    minilm: dict[str, Floats], e5: dict[str, Floats], pairs: list[dict[str, Any]]
) -> tuple[Floats, Floats, Floats]:
    """Return (map, mean of e5, mean of MiniLM): the ridge regression from e5's space to MiniLM's."""
    left, right = [], []
    for row in pairs:
        if row["kind"] in {"translation", "gloss"}:
            a, b = cut(row["a"], "en"), cut(row["b"], row["langs"].split("-")[1])
            if a in minilm and b in e5:
                left.append(e5[b])
                right.append(minilm[a])
    for text, vector in e5.items():
        if text in minilm:
            left.append(vector)
            right.append(minilm[text])
    x, y = np.stack(left), np.stack(right)
    mean_x, mean_y = x.mean(0), y.mean(0)
    x, y = x - mean_x, y - mean_y
    gram = x.T @ x / len(x)
    gram += RIDGE * np.trace(gram) / len(gram) * np.eye(len(gram), dtype=np.float32)
    print(f"bridge between the teachers on {len(x)} texts", flush=True)
    return np.linalg.solve(gram, x.T @ y / len(x)).astype(np.float32), mean_x, mean_y


def unit(vectors: Floats) -> Floats:
    result: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return result


def targets(corpus: Path, vectors: Path, dim: int, pairs: list[dict[str, Any]]) -> tuple[Targets, Any]:
    """Return the targets and a function that takes (vectors of a teacher, which) into the student's space."""
    minilm, e5 = load_vectors(vectors / "minilm"), load_vectors(vectors / "e5")
    matrix, mean_e5, mean = bridge(minilm, e5, pairs)
    stacked = np.stack(list(minilm.values()))
    centred = unit(stacked) - mean
    _, axes = np.linalg.eigh(centred.T @ centred / len(centred))
    axes = np.ascontiguousarray(axes[:, ::-1][:, :dim]).astype(np.float32)

    def place(found: Floats, teacher: str) -> Floats:
        # The mean of MiniLM is all but zero; e5's is most of its length.
        moved: Floats = found - mean if teacher == "minilm" else unit(((found - mean_e5) @ matrix).astype(np.float32))
        placed: Floats = moved @ axes
        return placed

    by_lang: dict[str, dict[str, Floats]] = {"en": {}, "zh": {}, "ja": {}}
    for row in rows(corpus / "passages.jsonl.gz"):
        text = cut(row["text"], row["lang"]) if row["lang"] != "code" else ""
        source = minilm if row["lang"] == "en" else e5
        if text in source:
            by_lang[row["lang"]][text] = place(source[text][None], "minilm" if row["lang"] == "en" else "e5")[0]
    for row in pairs:
        if row["kind"] == "translation":
            lang = row["langs"].split("-")[1]
            a = cut(row["a"], "en")
            if a in minilm:
                by_lang[lang][cut(row["b"], lang)] = place(minilm[a][None], "minilm")[0]
    langs = [lang for lang, found in by_lang.items() for _ in found]
    texts = [text for found in by_lang.values() for text in found]
    return Targets(texts, langs, unit(np.stack([v for f in by_lang.values() for v in f.values()]))), place


def start(tokenizer: Tokenizer, aliases: dict[str, str], place: Any, counts: dict[str, int]) -> tuple[Floats, Ints]:
    """Return the first table (rows, dim) and the row of every token; -1 for what has none."""
    vocabulary = tokenizer.get_vocab()
    pieces = [piece for piece in sorted(vocabulary, key=vocabulary.__getitem__)[1:] if piece != MARK]
    own = [piece for piece in pieces if piece not in aliases]
    row = {piece: at for at, piece in enumerate(own)}
    row_of = np.full(len(vocabulary), -1, np.int64)
    for piece in pieces:
        row_of[vocabulary[piece]] = row[aliases.get(piece, piece)]
    han = [piece for piece in own if is_cjk(piece)]
    latin = [piece for piece in own if not is_cjk(piece)]
    vectors: dict[str, Floats] = {}
    for teacher, found in (("minilm", latin), ("e5", han)):
        model = teachers.minilm() if teacher == "minilm" else teachers.e5()
        encoded = model.encode([piece.removeprefix(MARK) for piece in found])
        placed = place(encoded, teacher)
        placed = placed - placed.mean(0)
        vectors.update(zip(found, unit(placed), strict=True))
    table = np.stack([vectors[piece] for piece in own])
    total = {True: 0.0, False: 0.0}
    for piece, count in counts.items():
        total[is_cjk(piece)] += count
    share = np.array([(counts.get(piece, 0) + 1) / total[is_cjk(piece)] for piece in own])
    weights = SIF / (SIF + share)
    return (table * weights[:, None]).astype(np.float32), row_of


def export(table: Floats, row_of: Ints, tokenizer: Tokenizer, out: Path | None) -> StaticModel:
    """Return the model as stored: int8 rows with one weight a token; write it to *out* if given."""
    table = np.concatenate([table, np.zeros((1, table.shape[1]), np.float32)])
    scale = np.maximum(np.abs(table).max(1), 1e-9) / 127.0
    quantised = np.rint(table / scale[:, None]).astype(np.int8)
    mapping = np.where(row_of < 0, len(table) - 1, row_of).astype(np.int32)
    weights = (scale / scale.max())[mapping].astype(np.float32)
    config = {
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "hidden_dim": int(table.shape[1]),
        "normalize": True,
        "pooling": "mean",
        "max_length": None,
        "embedding_dtype": "int8",
        "vocabulary_quantization": len(table),
    }
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        save_file({"embeddings": quantised, "weights": weights, "mapping": mapping}, out / "model.safetensors")
        (out / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
        tokenizer.save(str(out / "tokenizer.json"), pretty=False)
    return StaticModel(
        quantised, tokenizer, config, normalize=True, weights=weights, token_mapping=mapping, max_length=None
    )


class Student(torch.nn.Module):
    def __init__(self, table: Floats) -> None:
        super().__init__()
        self.bag = torch.nn.EmbeddingBag.from_pretrained(torch.from_numpy(table), freeze=False, mode="mean")

    def forward(self, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        return functional.normalize(self.bag(*batch), dim=1)


def contrast(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return the symmetric in-batch cross entropy of unit rows *a* and *b*."""
    scores = a @ b.T / TEMPERATURE
    same = torch.arange(len(a))
    return (functional.cross_entropy(scores, same) + functional.cross_entropy(scores.T, same)) / 2


class PairSet:
    """Pairs by kind and languages, tokenised, with some held out."""

    def __init__(self, pairs: list[dict[str, Any]], tokenizer: Tokenizer, row_of: Ints) -> None:
        texts: dict[str, int] = {}
        groups: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
        for row in pairs:
            langs = row["langs"].split("-")
            group = groups[(row["kind"], row["langs"])]
            if len(group) < MOST_PAIRS:
                a, b = cut(row["a"], langs[0]), cut(row["b"], langs[1])
                group.append((texts.setdefault(a, len(texts)), texts.setdefault(b, len(texts))))
        self.texts = Texts(list(texts), tokenizer, row_of)
        good = self.texts.lengths() > 0
        found = {k: np.array([p for p in v if good[p[0]] and good[p[1]]]) for k, v in groups.items()}
        self.check = {k: v[:HELD_OUT] for k, v in found.items() if len(v) >= 3 * HELD_OUT}
        self.train = {k: v[HELD_OUT if k in self.check else 0 :] for k, v in found.items()}

    def odds(self) -> Floats:
        """Return the share of batches of each group: that of its kind, divided by the root of the groups' sizes."""
        roots = {key: math.sqrt(len(group)) for key, group in self.train.items()}
        of_kind: dict[str, float] = defaultdict(float)
        for (kind, _), root in roots.items():
            of_kind[kind] += root
        return np.array([KINDS[key[0]] * root / of_kind[key[0]] for key, root in roots.items()], np.float32)

    def sample(self, chance: np.random.Generator, size: int) -> Ints:
        keys, odds = list(self.train), self.odds()
        group = self.train[keys[int(chance.choice(len(keys), p=odds / odds.sum()))]]
        picked = group[chance.integers(len(group), size=size)]
        # A text may be in many pairs; as its own negative it would only do harm.
        picked = picked[np.unique(picked[:, 1], return_index=True)[1]]
        unique: Ints = picked[np.unique(picked[:, 0], return_index=True)[1]]
        return unique


def check(student: Student, pairs: PairSet) -> dict[str, float]:
    """Return the mean reciprocal rank of each held-out group, among its own second sides."""
    result = {}
    with torch.inference_mode():
        for key, group in pairs.check.items():
            a, b = (student(pairs.texts.batch(group[:, side])) for side in (0, 1))
            scores = a @ b.T
            place = (scores >= scores.diagonal()[:, None]).sum(1)
            result[" ".join(key)] = float((1.0 / place).mean())
    return result


@dataclass(slots=True)
class Prepared:
    """Everything that training needs and that takes minutes to make; pickled between runs on one machine."""

    goal: Targets
    table: Floats
    row_of: Ints
    texts: Texts
    pairs: PairSet


class _Reader(pickle.Unpickler):
    """Reads what ``train.py`` wrote when it was run as a script."""

    def find_class(self, module: str, name: str) -> Any:
        return globals()[name] if module == "__main__" else super().find_class(module, name)


def load_prepared(path: Path) -> Prepared:
    with path.open("rb") as file:
        ready: Prepared = _Reader(file).load()
    return ready


def prepare(options: argparse.Namespace, tokenizer: Tokenizer) -> Prepared:
    aliases = json.loads((options.vocabulary / "aliases.json").read_text(encoding="utf-8"))
    counts = json.loads((options.vocabulary / "counts.json").read_text(encoding="utf-8"))
    pairs = list(rows(options.corpus / "pairs.jsonl.gz"))
    random.Random(SEED).shuffle(pairs)
    goal, place = targets(options.corpus, options.vectors, options.dim, pairs)
    table, row_of = start(tokenizer, aliases, place, counts)
    print(f"{len(table)} rows; {len(goal.texts)} texts; {len(pairs)} pairs", flush=True)
    return Prepared(goal, table, row_of, Texts(goal.texts, tokenizer, row_of), PairSet(pairs, tokenizer, row_of))


def train(options: argparse.Namespace) -> None:
    torch.set_num_threads(options.threads)
    torch.manual_seed(SEED)
    chance = np.random.default_rng(SEED)
    tokenizer = Tokenizer.from_file(str(options.vocabulary / "tokenizer.json"))
    if options.prepared.exists():
        ready = load_prepared(options.prepared)
    else:
        ready = prepare(options, tokenizer)
        options.prepared.write_bytes(pickle.dumps(ready))
    row_of, texts, paired = ready.row_of, ready.texts, ready.pairs
    wanted = torch.from_numpy(ready.goal.vectors)
    langs = np.array(ready.goal.langs)
    of_lang = {lang: np.flatnonzero((langs == lang) & (texts.lengths() > 0)) for lang in SHARES}
    table = np.load(options.table) if options.table else ready.table
    student = Student(table)
    optimiser = torch.optim.Adam(student.parameters(), lr=options.rate, fused=True)
    started = time.monotonic()

    def report(step: int, loss: float) -> None:
        now = student.bag.weight.detach().numpy()
        model = export(now, row_of, tokenizer, None)
        gains = {name: evaluate.measure(model, options.data, name)[0] for name in options.sets} if options.data else {}
        line = " ".join(f"{name} {gain:.3f}" for name, gain in gains.items())
        held = check(student, paired)
        print(f"step {step} loss {loss:.3f} {time.monotonic() - started:.0f} s | {line}", flush=True)
        print("   held out: " + " ".join(f"{k} {v:.3f}" for k, v in held.items()), flush=True)

    report(0, 0.0)
    for step in range(1, options.steps + 1):
        for group in optimiser.param_groups:
            group["lr"] = options.rate * min(1.0, step / 100) * 0.5 * (1 + math.cos(math.pi * step / options.steps))
        at = np.concatenate(
            [chance.choice(of_lang[lang], size=int(options.batch * share)) for lang, share in SHARES.items()]
        )
        said, meant = student(texts.batch(at)), wanted[at]
        loss = options.cosine * (1 - (said * meant).sum(1)).mean() + contrast(said, meant)
        group_of = paired.sample(chance, options.batch)
        a, b = (student(paired.texts.batch(group_of[:, side])) for side in (0, 1))
        loss = loss + options.pairs * contrast(a, b)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        if step % options.every == 0 or step == options.steps:
            report(step, loss.item())
            export(student.bag.weight.detach().numpy(), row_of, tokenizer, options.out)
            np.save(options.out.with_suffix(".npy"), student.bag.weight.detach().numpy())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", type=Path, required=True, help="folder written by corpus.py")
    parser.add_argument("--vectors", type=Path, required=True, help="folder written by embed.py")
    parser.add_argument("--vocabulary", type=Path, required=True, help="folder written by vocabulary.py")
    parser.add_argument("--prepared", type=Path, required=True, help="what is written once and read by later runs")
    parser.add_argument("--table", type=Path, help="continue from this .npy table")
    parser.add_argument("--data", type=Path, help="measuring sets, to print measures on the way")
    parser.add_argument("--sets", nargs="*", default=["xquad-en", "scifact", "xquad-zh", "jsquad", "xquad-zh>xquad-en"])
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--batch", type=int, default=768)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--cosine", type=float, default=3.0, help="weight of the cosine loss")
    parser.add_argument("--pairs", type=float, default=1.0, help="weight of the pairs' loss")
    parser.add_argument("--every", type=int, default=500, help="steps between reports")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True)
    train(parser.parse_args())


if __name__ == "__main__":
    main()
