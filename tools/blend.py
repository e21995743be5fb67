"""Average two tables of one vocabulary and write the model: what one training gains elsewhere it loses less."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import train
from tokenizers import Tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tables", type=Path, nargs="+", required=True, help=".npy tables, rows of one vocabulary")
    parser.add_argument("--prepared", type=Path, required=True, help="what train.py prepared for that vocabulary")
    parser.add_argument("--vocabulary", type=Path, required=True, help="folder written by vocabulary.py")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    mean = np.mean([np.load(path) for path in options.tables], axis=0).astype(np.float32)
    tokenizer = Tokenizer.from_file(str(options.vocabulary / "tokenizer.json"))
    train.export(mean, train.load_prepared(options.prepared).row_of, tokenizer, options.out)


if __name__ == "__main__":
    main()
