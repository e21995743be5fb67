"""Recall assertions: what a prompt must recall, must not recall, or must not fire at all.

Kept beside the notes in ``.recall/tests/*.yml``, a list of::

    - prompt: which port does postgres use
      recall: [knowledge/postgres.md]
      not: [lessons/old.md]
    - prompt: thanks!
      silent: true
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recall_git.errors import UsageError

FOLDER = Path(".recall") / "tests"
_KEYS = {"prompt", "recall", "not", "silent"}


@dataclass(frozen=True, slots=True)
class Assertion:
    """One prompt and what is claimed of it. A path may be a folder (``lessons/``)."""

    prompt: str
    recall: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    silent: bool = False
    origin: str = ""
    """File and number, for the report."""


def load(files: Iterable[Path]) -> list[Assertion]:
    """Return the assertions in *files*, in order; raises UsageError that names the file and the fault."""
    import yaml

    found = []
    for file in files:
        try:
            rows = yaml.safe_load(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise UsageError(f"{file} cannot be read ({str(error).splitlines()[0]}); correct it") from error
        for number, row in enumerate(rows or (), start=1):
            found.append(_assertion(row, f"{file.name}:{number}"))
    return found


def _assertion(row: Any, origin: str) -> Assertion:
    if not isinstance(row, dict) or not isinstance(row.get("prompt"), str) or not set(row) <= _KEYS:
        raise UsageError(f"{origin} is no assertion; it wants 'prompt:' and one of 'recall:', 'not:', 'silent: true'")
    made = Assertion(
        prompt=row["prompt"],
        recall=_paths(row.get("recall")),
        never=_paths(row.get("not")),
        silent=row.get("silent") is True,
        origin=origin,
    )
    if not (made.recall or made.never or made.silent):
        raise UsageError(f"{origin} claims nothing; add 'recall:', 'not:' or 'silent: true'")
    return made


def _paths(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value] if value is not None else []
    return tuple(str(path) for path in values)


def failures(assertion: Assertion, injected: Sequence[str]) -> list[str]:
    """Return what *injected* (paths, best first) breaks of *assertion*, one line each; [] when it holds."""
    told = ", ".join(injected) or "nothing"
    broken = [f"wants {path}, got {told}" for path in assertion.recall if not _has(injected, path)]
    broken += [f"must not give {path}" for path in assertion.never if _has(injected, path)]
    if assertion.silent and injected:
        broken.append(f"must be silent, got {told}")
    return broken


def _has(injected: Sequence[str], path: str) -> bool:
    return any(name == path or (path.endswith("/") and name.startswith(path)) for name in injected)


def add(top: Path, prompt: str, paths: Sequence[str]) -> Path:
    """Append an assertion that *prompt* recalls *paths* (none: is silent); return the file."""
    import yaml

    file = top / FOLDER / "recall.yml"
    file.parent.mkdir(parents=True, exist_ok=True)
    row: dict[str, Any] = {"prompt": prompt, **({"recall": list(paths)} if paths else {"silent": True})}
    text = yaml.safe_dump([row], allow_unicode=True, sort_keys=False, width=1000)
    with file.open("a", encoding="utf-8", newline="\n") as opened:
        opened.write(text)
    return file
