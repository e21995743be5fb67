"""Carry a trained table over to another vocabulary, so that training need not begin again.

Pieces that both vocabularies know take the trained row, the others keep their
first row; both models must come from the same teacher vectors, so that they
share a space. Writes the ``.npy`` that ``train.py --table`` continues from.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import train
from safetensors.numpy import load_file
from tokenizers import Tokenizer
from vocabulary import MARK, UNKNOWN

CLOSEST = 99.5
"""The scale between the two is read off the rows above this percentile of cosine, which moved least."""


def carry(model: Path, old: Path, new: Path, ready: train.Prepared) -> train.Floats:
    """Return the table (rows, dim) of the *new* vocabulary with the rows of *model* where the *old* one has them."""
    stored = load_file(model / "model.safetensors")
    known = Tokenizer.from_file(str(model / "tokenizer.json")).get_vocab()
    wanted = Tokenizer.from_file(str(new / "tokenizer.json")).get_vocab()
    skipped = {UNKNOWN, MARK, *json.loads((new / "aliases.json").read_text(encoding="utf-8"))}
    inner = json.loads((old / "aliases.json").read_text(encoding="utf-8"))
    table: train.Floats = ready.table.copy()
    shared = [piece for piece in wanted if piece in known and piece not in inner and piece not in skipped]
    rows = np.array([ready.row_of[wanted[piece]] for piece in shared])
    tokens = np.array([known[piece] for piece in shared])
    trained = stored["embeddings"][stored["mapping"][tokens]].astype(np.float32) * stored["weights"][tokens, None]
    before, after = np.linalg.norm(table[rows], axis=1), np.maximum(np.linalg.norm(trained, axis=1), 1e-9)
    cosine = (table[rows] * trained).sum(1) / before / after
    scale = np.median((before / after)[cosine >= np.percentile(cosine, CLOSEST)])
    table[rows] = trained * scale
    print(f"{len(rows)} of {len(table)} rows carried over")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", type=Path, required=True, help="trained model2vec folder")
    parser.add_argument("--old", type=Path, required=True, help="its folder written by vocabulary.py")
    parser.add_argument("--new", type=Path, required=True, help="the other vocabulary")
    parser.add_argument("--prepared", type=Path, required=True, help="what train.py prepared for the new vocabulary")
    parser.add_argument("--out", type=Path, required=True, help="the .npy to write")
    options = parser.parse_args()
    np.save(options.out, carry(options.model, options.old, options.new, train.load_prepared(options.prepared)))


if __name__ == "__main__":
    main()
