"""Another model than the bundled one: what is broken in its folder is told in one line, by whoever needs it."""

from __future__ import annotations

import json
import os
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from answering import answered
from safetensors.numpy import load_file, save_file

from recall_git import cli, hook, trace
from recall_git.engine import Engine
from recall_git.errors import EXIT_USER, ModelUnusable
from recall_git.index.vectors import BUNDLED, FEW_TEXTS, Encoder, model_id

if TYPE_CHECKING:
    from conftest import GitRepo

WORDS = ("[UNK]", "alpha", "beta", "gamma")
TABLE = np.arange(16, dtype=np.float32).reshape(4, 4)
ROWS = np.array([0, 1, 1, 0])
BUNDLED_TOKENIZER = (BUNDLED / "tokenizer.json").read_bytes()
BUNDLED_TABLES = load_file(BUNDLED / "model.safetensors")


def tokenizer(vocabulary: dict[str, int] | None = None, **changed: object) -> dict[str, Any]:
    """Return a tokenizer of four words."""
    words = vocabulary or {word: number for number, word in enumerate(WORDS)}
    model = {"type": "WordLevel", "vocab": words, "unk_token": "[UNK]"}
    return {"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "model": model, **changed}


def bundled(**changed: Any) -> dict[str, Any]:
    """Return the tables of the bundled model but for those *changed*."""
    return {**BUNDLED_TABLES, **changed}


def make(folder: Path, tables: object = None, words: object = None, config: object = None) -> str:
    """Write a model into *folder*, of what is given and else sound; return its name."""
    folder.mkdir(exist_ok=True)
    tables = {"embeddings": TABLE} if tables is None else tables
    if isinstance(tables, bytes):
        (folder / "model.safetensors").write_bytes(tables)
    else:
        save_file(tables, folder / "model.safetensors")
    for name, content in (("tokenizer.json", words or tokenizer()), ("config.json", config or {"normalize": True})):
        (folder / name).write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return str(folder)


BROKEN: dict[str, dict[str, Any]] = {
    "cut off": {"tables": (BUNDLED / "model.safetensors").read_bytes()[:100_000]},
    "empty": {"tables": b""},
    "a pointer of Git LFS": {"tables": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"},
    "without embeddings": {"tables": {"weights": TABLE}},
    "no table": {"tables": {"embeddings": TABLE[:, 0].copy()}},
    "too few rows": {"tables": {"embeddings": TABLE[:2].copy()}},
    "too few names of rows": {"tables": {"embeddings": TABLE, "mapping": ROWS[:2].copy()}},
    "a row that is not there": {"tables": {"embeddings": TABLE[:1].copy(), "mapping": ROWS}},
    "names of rows that are no numbers": {"tables": {"embeddings": TABLE, "mapping": ROWS.astype(np.float32)}},
    "too few weights": {"tables": {"embeddings": TABLE, "weights": np.ones(2, np.float32)}},
    "bundled, too few rows": {"tables": bundled(embeddings=TABLE), "words": BUNDLED_TOKENIZER},
    "bundled, too few weights": {"tables": bundled(weights=np.ones(2, np.float32)), "words": BUNDLED_TOKENIZER},
    "an empty tokenizer": {"words": b"{}"},
    "a tokenizer that is no JSON": {"words": b"\xff\xfe"},
    "a tokenizer without end": {"words": b"[" * 100_000},
    "a tokenizer that is cut off": {"words": BUNDLED_TOKENIZER[:10_000]},
    "a tokenizer of a kind that nobody knows": {"words": tokenizer(model={"type": "Oracle"})},
    "a tokenizer that breaks at an unknown word": {"words": tokenizer({"a": 0, "alpha": 1, "beta": 2, "gamma": 3})},
    "a number that no row has": {"words": tokenizer({**dict.fromkeys(WORDS, 0), "alpha": 1, "beta": 2, "gamma": 9})},
    "settings that are a list": {"config": b"[]"},
    "settings of wrong types": {"config": {"max_length": "many"}},
}


@pytest.mark.parametrize("texts", [1, FEW_TEXTS + 1])
@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_model_is_told_in_one_line(tmp_path: Path, broken: str, texts: int) -> None:
    name = make(tmp_path / "model", **BROKEN[broken])
    with pytest.raises(ModelUnusable) as raised:
        Encoder(name).encode(["alpha gamma omega"] * texts)
    assert name in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_sound_model_of_another_kind_is_used(tmp_path: Path) -> None:
    found = Encoder(make(tmp_path / "model")).encode(["alpha gamma omega", "omega"]).vectors
    assert found.any(axis=1).tolist() == [True, False]


def test_a_model_that_was_replaced_is_loaded_anew(tmp_path: Path) -> None:
    engine, folder = Engine(), tmp_path / "model"
    before = engine.encoder(make(folder)).encode(["alpha"]).vectors
    assert engine.encoder(str(folder)) is engine.encoder(str(folder))
    after = engine.encoder(make(folder, tables={"embeddings": TABLE[::-1].copy()})).encode(["alpha"]).vectors
    assert (before != after).any()


def test_a_model_that_was_replaced_is_let_go(tmp_path: Path) -> None:
    engine, folder = Engine(), tmp_path / "model"
    before = weakref.ref(engine.encoder(make(folder)))
    engine.encoder(make(folder, tables={"embeddings": TABLE[::-1].copy()}))
    assert before() is None


@pytest.mark.parametrize("name", ["~nobody-of-this-name/model", "x" * 5000])
def test_an_odd_name_is_told_like_any_other_that_is_not_there(name: str) -> None:
    assert model_id(name) == f"hub:{name}"
    with pytest.raises(ModelUnusable):
        Encoder(name).encode(["alpha"])


@pytest.fixture(params=[32, 0], ids=["little to index", "much"])
def broken(repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> GitRepo:
    """A repository that is opted in, with a note, whose model has broken since."""
    monkeypatch.setattr("recall_git.engine.CATCH_UP_NOTES", request.param)
    repo.commit({"a.md": "# Postgres\n\nThe development database listens on port 5433.\n"})
    monkeypatch.chdir(repo.path)
    assert cli.main(["init", "--hooks", "none"]) == 0
    repo.git("config", "recall.model", make(tmp_path / "model", tables=b"cut off"))
    return repo


@pytest.mark.parametrize("command", ["index", "query port", "digest --prompt port", "why port", "diff HEAD"])
def test_a_command_tells_of_a_broken_model(broken: GitRepo, command: str, capfd: pytest.CaptureFixture[str]) -> None:
    capfd.readouterr()
    assert cli.main(command.split()) == EXIT_USER
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "cannot be loaded" in err


def test_a_commit_goes_on_and_the_reason_is_logged(broken: GitRepo) -> None:
    log = broken.path / ".git" / "recall"
    hook.git_event("post-commit", (), broken.path, os.environ, Engine(), behind=lambda _: None)
    row = trace.read(log, 1)[0]
    assert (row["event"], row["outcome"], "cannot be loaded" in row["why"]) == ("post-commit", "failed", True)


def test_a_prompt_is_left_alone_and_the_reason_logged(broken: GitRepo) -> None:
    event = {"hook_event_name": "UserPromptSubmit", "prompt": "Which port does the database listen on?"}
    data = json.dumps({**event, "cwd": str(broken.path), "session_id": "s"}).encode()
    assert answered(data, broken.path, os.environ, Engine()).stdout == ""
    row = trace.read(broken.path / ".git" / "recall", 1)[0]
    assert row["outcome"] == "failed"
    assert "cannot be loaded" in row["why"]


@pytest.mark.parametrize("broken", [0], indirect=True, ids=["much"])
def test_a_prompt_does_not_ask_a_hub_for_what_the_index_lacks(broken: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("model2vec.StaticModel.from_pretrained", asked.append)
    broken.git("config", "recall.model", "somebody/nowhere")
    event = {"hook_event_name": "UserPromptSubmit", "prompt": "Which port does the database listen on?"}
    data = json.dumps({**event, "cwd": str(broken.path), "session_id": "s"}).encode()
    assert answered(data, broken.path, os.environ, Engine()).stdout == ""
    assert asked == []
    assert "does not hold this commit" in trace.read(broken.path / ".git" / "recall", 1)[0]["why"]
