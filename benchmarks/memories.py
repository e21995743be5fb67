"""Open retrieval sets through the product: a repository for each group, indexed and opened as a prompt would."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]  # run from a checkout without installing

import numpy as np
from corpora import Corpus, make_repository

from recall_git import sync
from recall_git.engine import Engine
from recall_git.retrieve import View
from recall_git.search import Memory

NONCE = "benchmark"


def open_group(engine: Engine, corpus: Corpus, group: str, work: Path) -> Memory:
    """Return the memory of one group's notes; its repository below *work* is made and indexed when it is not there."""
    folder = work / corpus.name / (group or "all")
    if not folder.exists():
        make_repository(corpus, group, folder)
    return open_folder(engine, folder)


def open_folder(engine: Engine, folder: Path) -> Memory:
    """Opt the repository in *folder* in, index it, and return its memory."""
    repo = engine.repository(folder)
    repo.state_dir.mkdir(exist_ok=True)
    (repo.state_dir / "nonce").write_text(NONCE, encoding="ascii")
    repo.git("config", "recall.enabled", "true")
    sync.refresh(repo, sync.settings_of(repo)[0], encoder=engine.encoder())
    return engine.open(repo).memory


def smaller(memory: Memory, notes: int, keep: set[str], seed: int) -> Memory:
    """Return *memory* with only *notes* of its notes, those at the paths in *keep* among them."""
    paths = note_paths(memory.view)
    wanted = [row for row, path in paths.items() if path in keep]
    others = [row for row, path in paths.items() if path not in keep]
    count = max(0, notes - len(wanted))
    chosen = wanted + np.random.default_rng(seed).permutation(others)[:count].tolist()
    rows = memory.view.rows[np.sort(np.array(chosen, int))]
    return replace(memory, view=View(memory.view.snapshot, rows))


_PATHS: dict[int, dict[int, str]] = {}


def note_paths(view: View) -> dict[int, str]:
    """Return the path of each note (row of the view)."""
    if id(view) not in _PATHS:
        first = {int(view.note[number]): number for number in np.flatnonzero(view.live)[::-1].tolist()}
        _PATHS[id(view)] = {row: _path(view, number) for row, number in first.items()}
    return _PATHS[id(view)]


def _path(view: View, number: int) -> str:
    segment, local = view.locate(number)
    return segment.document(local).path
