"""Make the English baseline: all-MiniLM-L6-v2 distilled piece by piece to 256 dimensions, int8.

What the trained model is compared with. Offline, about twenty seconds on two cores.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import teachers
from model2vec.distill import distill


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    model = distill(str(teachers.minilm_folder()), pca_dims=options.dim, quantize_to="int8", device="cpu")
    model.normalize = True
    model.save_pretrained(options.out)


if __name__ == "__main__":
    main()
