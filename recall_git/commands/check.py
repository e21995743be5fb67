"""``git recall check``: look at changed notes before they are committed."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from recall_git.errors import EXIT_NOTHING, EXIT_OK
from recall_git.freshness import names
from recall_git.repo import Repo


def run(argv: list[str]) -> int:
    """Print one line for each problem of the notes being committed; return 1 if there is one, else 0."""
    parser = argparse.ArgumentParser(
        prog="git recall check",
        description="Check notes as they are staged: front matter that cannot be read, 'supersedes' that leads "
        "nowhere, lines that look like credentials, a tracked digest that is stale. Ends with 1 if there is a problem.",
    )
    parser.add_argument("files", nargs="*", help="notes to check; default: those that differ from HEAD")
    args = parser.parse_args(argv)
    repo = Repo.discover(Path.cwd(), os.environ)
    problems = [*examine(repo, _paths(repo, args.files)), *_digest(repo)]
    for line in problems:
        print(line)
    return EXIT_NOTHING if problems else EXIT_OK


def _paths(repo: Repo, files: Sequence[str]) -> set[str] | None:
    """Return *files* as paths from the repository's top, None when none were given."""
    top = repo.top
    if not files or top is None:
        return None
    return {Path(os.path.relpath(Path(name).absolute(), top)).as_posix() for name in files}


def _digest(repo: Repo) -> Iterator[str]:
    """Yield a line when the staged digest is not that of the staged notes.

    As a hook of the pre-commit framework, which forbids changes of Git's index, it writes the right one to the
    work tree as formatters do.
    """
    from recall_git import publish
    from recall_git.engine import is_enabled
    from recall_git.index.vectors import Encoder
    from recall_git.sync import settings_of

    settings, _ = settings_of(repo)
    if settings.digest != "tracked" or not is_enabled(repo):
        return
    write = "PRE_COMMIT" in os.environ
    if publish.is_stale(repo, settings, repo.staged(_index_file()), Encoder(settings.model), write=write):
        what = "'git add' the new one" if write else "a commit with recall's hook renews it"
        yield f"{publish.DIGEST_FILE}:1: is not the digest of the staged notes; {what}"


def _index_file() -> Path | None:
    """Return the index that Git handed over to a hook, None for the repository's own."""
    named = os.environ.get("GIT_INDEX_FILE")
    return Path(named).absolute() if named else None


def examine(repo: Repo, wanted: set[str] | None) -> Iterator[str]:
    """Yield ``path:line: problem`` for the staged notes among *wanted* (None: those that HEAD has otherwise)."""
    from recall_git import guard, notes
    from recall_git.select import select
    from recall_git.sync import settings_of

    settings, _ = settings_of(repo)
    staged = select(repo.staged(_index_file()), settings, repo.read)
    head = repo.head()
    old = {(entry.path, entry.blob) for entry in repo.files(head.tree)} if head else set()
    known = {name for entry in staged for name in names(entry.path)}
    titles: set[str] | None = None
    for entry in staged:
        if (entry.path not in wanted) if wanted is not None else ((entry.path, entry.blob) in old):
            continue
        note = notes.parse(entry.path, repo.read(entry.blob) or b"")
        if note is None:
            continue
        for number, line in enumerate(note.body.split("\n"), start=note.body_line):
            if guard.mask(line) != line:
                yield f"{entry.path}:{number}: looks like a credential; take it out before it is in the history"
        if note.problem:
            yield f"{entry.path}:1: front matter: {note.problem}"
        for target in (*note.supersedes, *((note.superseded_by,) if note.superseded_by else ())):
            if known.isdisjoint(names(target)):
                if titles is None:  # read every note only when a path alone does not answer
                    parsed = (notes.parse(other.path, repo.read(other.blob) or b"") for other in staged)
                    titles = {name.casefold() for other in parsed if other for name in (other.title, *other.aliases)}
                if target.casefold() not in titles:
                    yield f"{entry.path}:1: supersedes '{target}', and there is no such note"
