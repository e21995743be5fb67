"""Fixtures of the weather: an opted-in repository whose real Git hooks do our work in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recall_git.index.vectors import Encoder

sys.path.insert(0, str(Path(__file__).parent))

from weather import Weather

if TYPE_CHECKING:
    from conftest import GitRepo


@pytest.fixture(scope="session")
def encoder() -> Encoder:
    """The bundled model, loaded once."""
    return Encoder()


@pytest.fixture
def make_weather(tmp_path: Path, encoder: Encoder) -> Iterator[Callable[..., Weather]]:
    """Return a maker: ``make_weather(repo)`` opts *repo* in and listens to its hooks."""
    made: list[Weather] = []

    def make(repo: GitRepo, *, listen: bool = True, ignore: bool = True) -> Weather:
        weather = Weather(repo, tmp_path / f"weather{len(made)}", encoder, ignore=ignore)
        made.append(weather)
        if listen:
            weather.listen()
        return weather

    yield make
    for weather in made:
        weather.stop()


@pytest.fixture
def weather(repo: GitRepo, make_weather: Callable[..., Weather]) -> Weather:
    """One opted-in repository with hooks."""
    return make_weather(repo)
