"""Static embeddings: the only user of model2vec.

The bundled model is a folder inside the package and is loaded by its path, so nothing is ever asked of
a hub. Prompts and small commits are encoded by ``pieces``, without the library and what it loads; the vectors
are the same. They are kept as int8 with one scale a row, which loses nothing measurable (DESIGN section 4).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from recall_git.errors import ModelUnusable
from recall_git.index.pieces import Pieces
from recall_git.index.table import Floats, Question, Table, unit

BUNDLED = Path(__file__).parent.parent / "model"
"""The model that comes with the package."""

FEW_TEXTS = 256
"""Up to so many texts are encoded without model2vec, which takes longer to load than they to encode."""

_STRANGE = "\U000f0000"
"""A character that no model knows: some tokenizers break only when they meet one."""
_FILES = ("model.safetensors", "tokenizer.json", "config.json")


def model_id(model: str = "") -> str:
    """Return a short id of the model's content (bundled when *model* is empty); equal ids give equal vectors.

    A hub id stands for itself. Raises ModelUnusable when a folder lacks a file.
    """
    if not model:
        return _bundled_id()
    folder = _folder(model)
    return _id_of(folder) if folder else f"hub:{model}"


def _folder(model: str) -> Path | None:
    """Return the folder that *model* names, None when there is none; ``Path`` itself raises for some names."""
    place = os.path.expanduser(model)  # noqa: PTH111
    return Path(place) if os.path.exists(place) else None  # noqa: PTH110


@lru_cache(maxsize=1)
def _bundled_id() -> str:
    return _id_of(BUNDLED)


def _id_of(folder: Path) -> str:
    try:
        return _content_id(folder, tuple(_stamp(folder / name) for name in _FILES))
    except OSError as error:
        raise ModelUnusable(str(folder), error.strerror or "unreadable") from error


@lru_cache(maxsize=8)
def _content_id(folder: Path, stamps: tuple[tuple[int, int, int], ...]) -> str:
    """Return the id of a folder's content, read once as long as the *stamps* of its files are the same."""
    digest = blake2b(digest_size=8)
    for name in _FILES:
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()


def _stamp(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_ino, status.st_size


@dataclass(frozen=True, slots=True)
class Encoded:
    """Texts as a model sees them: what the index keeps of them."""

    vectors: Floats
    """(n, dim) rows of unit length; a text without a known piece has zeros."""
    pieces: npt.NDArray[Any]
    """The different pieces of each text (rows of the model's table), ascending, end to end."""
    counts: npt.NDArray[np.int64]
    """(n,) how many pieces each text has."""

    @classmethod
    def joined(cls, parts: Sequence[Encoded]) -> Encoded:
        """Return *parts* end to end."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))


class Encoder:
    """A model, loaded when the first text is encoded. *model* is a folder, '' for the bundled one, or a hub id that
    the user asked for."""

    def __init__(self, model: str = "") -> None:
        self._name = model
        self._folder = _folder(model) if model else BUNDLED

    def check(self) -> None:
        """Raise ModelUnusable when the model's folder holds nothing that can be loaded; a hub is not asked."""
        if self._folder is not None:
            self.encode(())

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Return what the model makes of *texts*. Raises ModelUnusable when it cannot be loaded."""
        return self.begin(texts)()

    def begin(self, texts: Sequence[str]) -> Callable[[], Encoded]:
        """Do the part that leaves the interpreter free for other threads; return the rest of ``encode``."""
        cut = self._cut(texts)
        return lambda: _encoded(self._table, cut)

    def ask(self, text: str) -> Question:
        """Return what the model makes of a query. Raises ModelUnusable when it cannot be loaded."""
        return self._table.ask(self._cut([text])[0])

    def cosines(self, pieces: npt.NDArray[Any], vectors: Floats) -> Floats:
        """Return (len(pieces), len(vectors)): how near each piece comes to *vectors* of unit length."""
        return self._table.cosines(pieces, vectors)

    def _cut(self, texts: Sequence[str]) -> list[list[int]]:
        sound = [_sound(text) for text in texts]
        if self._pieces is not None and len(sound) <= FEW_TEXTS:
            return [self._pieces.tokens(text) for text in sound]
        found: list[list[int]] = self._model.tokenize(sound)
        return found

    @property
    def _table(self) -> Table:
        return self._pieces.table if self._pieces is not None else self._library[1]

    @cached_property
    def _pieces(self) -> Pieces | None:
        """The model read without its library, None when it is of another shape than the bundled one."""
        try:
            return Pieces(self._folder) if self._folder else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None  # the library says what is wrong with it, if anything is

    @property
    def _model(self) -> Any:
        return self._library[0]

    @cached_property
    def _library(self) -> tuple[Any, Table]:
        """The model as its library reads it, and its table."""
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
        from model2vec import StaticModel

        logging.getLogger("huggingface_hub.repocard").addFilter(lambda _: False)  # our card has no hub metadata
        try:
            model = StaticModel.from_pretrained(str(self._folder or self._name))
            last = max(model.tokenizer.get_vocab().values())
            table = Table(model.embedding, model.weights, model.token_mapping, tokens=last + 1)
            model.tokenize([_STRANGE])
        except Exception as error:  # what tokenizers raises has no narrower class; four libraries read the files
            raise ModelUnusable(self._name or "bundled", str(error).split("\n")[0]) from error
        return model, table


class Behind:
    """Encodes many texts, most of the work in a thread of its own while the caller goes on; few, when asked for."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._waiting: list[str] = []
        self._parts: list[Future[Callable[[], Encoded]]] = []
        self._thread: ThreadPoolExecutor | None = None

    def add(self, texts: Sequence[str]) -> None:
        """Take *texts*, which follow those before."""
        self._waiting += texts
        if len(self._waiting) > FEW_TEXTS:
            self._thread = self._thread or ThreadPoolExecutor(1, "encode")
            self._parts.append(self._thread.submit(self._encoder.begin, self._waiting))
            self._waiting = []

    def result(self) -> Encoded:
        """Return all texts as ``Encoder.encode`` does; raises what that raises."""
        try:
            parts = [part.result()() for part in self._parts]
        finally:
            if self._thread is not None:
                self._thread.shutdown(cancel_futures=True)
        if self._waiting or not parts:
            parts.append(self._encoder.encode(self._waiting))
        return Encoded.joined(parts)


def _encoded(table: Table, cut: Sequence[Sequence[int]]) -> Encoded:
    pieces = [np.unique(table.pieces(tokens)).astype(table.dtype) for tokens in cut]
    counts = np.array([len(found) for found in pieces], np.int64)
    flat = np.concatenate([np.zeros(0, table.dtype), *pieces])
    return Encoded(unit(table.means(cut)), flat, counts)


def _sound(text: str) -> str:
    """Return *text* with lone surrogates replaced: the tokenizer takes none, a host's JSON may hold some."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def quantise(vectors: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    """Return (n, dim) int8 and (n,) float32 scales with ``vectors ≈ int8 * scale``."""
    scales = (np.abs(vectors).max(axis=1, initial=0) / 127).astype(np.float32)
    safe = np.where(scales > 0, scales, 1)
    return np.rint(vectors / safe[:, None]).astype(np.int8), scales
