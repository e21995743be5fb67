"""The bundled model read without its library gives the library's pieces and vectors."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_git.index import vectors
from recall_git.index.pieces import Pieces
from recall_git.index.vectors import BUNDLED, Encoder

TEXTS = [
    "How do I rotate the nightly backups of Postgres 15.2?",
    "c++ and C# and f# but not abc++ nor cc#; c++17, F#m",
    "getUserName snake_case kebab-case v1.2.3 x86_64 αβγ ΣΊΣΥΦΟΣ naïve Ångström ﬁnance",
    "数据库备份保存在哪里？用Postgres怎么port转发",
    "ビルドキャッシュはどこですか。ｶﾀｶﾅ ガギグ が゛ 々〆ー",
    "備份資料庫 ㍿ ㋿ ㌔ Ⅷ ½ ①",
    "한국어 العربية हिन्दी ไทย עברית",
    "▁ already ▁marked ▁▁",
    "",
    "   \n\t",
    "😀 👩‍💻 \u200b\ufeff\u0301",
    "supercalifragilisticexpialidocious " * 3 + "x" * 300,
    "長い文が続くとき、区切りのない日本語の文章でも同じように分割されなければならない。" * 4,
]
LETTERS = st.text(
    st.one_of(
        st.characters(max_codepoint=0x24F),
        st.characters(min_codepoint=0x3040, max_codepoint=0x30FF),
        st.characters(min_codepoint=0x3200, max_codepoint=0x4E80),
        st.characters(min_codepoint=0xFF00, max_codepoint=0xFFEF),
        st.sampled_from("cCfF+#▁Σσς々〆ー゙゚\u0301"),
    ),
    max_size=60,
)


@pytest.fixture(scope="module")
def pieces() -> Pieces:
    return Pieces(BUNDLED)


@pytest.fixture(scope="module")
def library() -> Encoder:
    return Encoder()


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_cut_as_the_library_cuts_it(pieces: Pieces, library: Encoder, text: str) -> None:
    assert pieces.tokens(text) == list(library._model.tokenize([text])[0])


@settings(max_examples=300, deadline=None)
@given(text=LETTERS)
def test_any_text_is_cut_as_the_library_cuts_it(pieces: Pieces, library: Encoder, text: str) -> None:
    assert pieces.tokens(text) == list(library._model.tokenize([text])[0])


def test_few_texts_and_many_get_the_same_bits_and_nearly_the_librarys(monkeypatch: pytest.MonkeyPatch) -> None:
    few = Encoder().encode(TEXTS)
    library = Encoder()._model.encode(TEXTS)
    np.testing.assert_allclose(few.vectors, library, atol=2e-6)
    monkeypatch.setattr(vectors, "FEW_TEXTS", 0)
    many = Encoder().encode(TEXTS)
    np.testing.assert_array_equal(few.vectors, many.vectors)
    np.testing.assert_array_equal(few.pieces, many.pieces)
    np.testing.assert_array_equal(few.counts, many.counts)
    assert few.vectors.any(axis=1).sum() >= len(TEXTS) - 4


def test_another_kind_of_tokenizer_is_left_to_the_library(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(BUNDLED, folder)
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer["normalizer"]["normalizers"] = tokenizer["normalizer"]["normalizers"][1:]  # no NFKD
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    with pytest.raises(ValueError, match="kind"):
        Pieces(folder)
    assert Encoder(str(folder)).encode(["ｶﾀｶﾅ backups"]).vectors.shape == (1, 256)
