"""A memory of a repository that the test builds, without hooks and without a resident process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

from recall_git.engine import Engine, Opened

if TYPE_CHECKING:
    from conftest import GitRepo


class Open(Protocol):
    """Opens the memory of a repository; settings are ``name="value"`` of ``git config recall.*``."""

    def __call__(self, repo: GitRepo, **settings: str) -> Opened: ...


@pytest.fixture(scope="session")
def shared_engine() -> Engine:
    """One engine, so that the model is loaded once."""
    return Engine()


@pytest.fixture
def engine(shared_engine: Engine) -> Engine:
    """The engine that ``open_memory`` uses."""
    return shared_engine


@pytest.fixture
def enable() -> Callable[[GitRepo], None]:
    """Opt a repository in as ``git recall init`` does, without hooks and without an index."""

    def opt_in(repo: GitRepo) -> None:
        repo.git("config", "recall.enabled", "true")
        state = repo.path / ".git" / "recall"
        state.mkdir(exist_ok=True)
        (state / "nonce").write_text("n" * 64, encoding="ascii")

    return opt_in


@pytest.fixture
def open_memory(engine: Engine, enable: Callable[[GitRepo], None]) -> Open:
    """Opt a repository in, index HEAD, and open it."""

    def opened(repo: GitRepo, **settings: str) -> Opened:
        enable(repo)
        for name, value in settings.items():
            repo.git("config", f"recall.{name}", value)
        return engine.open(engine.repository(Path(repo.path)), revision="HEAD")

    return opened
