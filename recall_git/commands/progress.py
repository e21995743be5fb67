"""The progress bar of long work: on a terminal only, on stderr; the only user of rich's progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def bar(what: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function (done, total) that moves a bar, or None where nobody would see one."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("indexing"), BarColumn(), MofNCompleteColumn(), TextColumn(what), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("index", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
