"""A repository that is opted in, and a resident process of the test's own."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from hookhelp import Hooks, enable

if TYPE_CHECKING:
    from conftest import GitRepo


@pytest.fixture
def notes(repo: GitRepo) -> GitRepo:
    """Three notes, indexed."""
    repo.commit(
        {
            "jam.md": "# Quince jelly\n\nQuince jelly sets at 104 degrees; store the jars in the cold pantry.\n",
            "port.md": "# Database port\n\nThe staging Postgres database listens on port 5433.\n",
            "zh.md": "# 部署\n\n生产环境部署前必须先备份数据库。\n",
        }
    )
    enable(repo)
    return repo


@pytest.fixture
def hooks(notes: GitRepo, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hooks]:
    """The hooks of ``notes``, with a resident process where a socket's path is short enough."""
    run = Path(tempfile.mkdtemp(prefix="recall-"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(run))
    monkeypatch.delenv("RECALL_SERVER")
    made = Hooks(notes, run)
    try:
        yield made
    finally:
        made.stop()
        shutil.rmtree(run, ignore_errors=True)
