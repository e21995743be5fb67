"""A history replayed: every commit in order through the code of the hooks, compared with full indexes on the way.

    python benchmarks/replay.py REPOSITORY [--checks 50] [--seed 1] [--limit N]

REPOSITORY is only read: the commits are checked out in a clone below a temporary folder, each followed by what
post-commit does. At random commits the view is compared with that of a full index of the same commit: same
documents, same dates. At the end the documents embedded are compared with those of all different (path, blob).
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kills import rows_of

from recall_git import gitevents, sync
from recall_git.commands.init import write_nonce
from recall_git.engine import Engine
from recall_git.index.store import Store
from recall_git.index.vectors import Encoded, Encoder
from recall_git.repo import Repo
from recall_git.retrieve import View
from recall_git.select import select
from recall_git.types import NoteEntry


class Counting(Encoder):
    """The bundled model, counting what it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.texts = 0

    def begin(self, texts: Sequence[str]) -> Callable[[], Encoded]:
        self.texts += len(texts)
        return super().begin(texts)


def replay(source: Path, checks: int, seed: int, limit: int) -> bool:
    """Replay *source* and print what was seen; return whether everything was equal."""
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / "notes"
        subprocess.run(("git", "clone", "-q", "--no-local", str(source), str(top)), check=True)
        subprocess.run(("git", "config", "recall.enabled", "true"), cwd=top, check=True)
        subprocess.run(("git", "config", "recall.digest", "off"), cwd=top, check=True)
        write_nonce(Repo.discover(top))
        listed = subprocess.run(
            ("git", "rev-list", "--reverse", "--topo-order", "HEAD"),
            cwd=top,
            capture_output=True,
            check=True,
            text=True,
        ).stdout.split()[: limit or None]
        sync.DEAD_DOCS = 1 << 60  # nothing is collected, so that what was embedded twice would be seen
        chosen = set(random.Random(seed).sample(range(len(listed)), min(checks, len(listed))))
        encoder, engine = Counting(), Engine()
        engine.share(encoder)
        files: set[tuple[str, str]] = set()
        differ, started, hooks_s = 0, perf_counter(), 0.0
        for number, oid in enumerate(listed):
            subprocess.run(("git", "checkout", "-q", "--detach", oid), cwd=top, check=True)
            before = perf_counter()
            gitevents.handle("post-commit", (), top, {}, engine)
            hooks_s += perf_counter() - before
            repo = engine.repository(top)
            settings = sync.settings_of(repo)[0]
            tree = repo.resolve(oid).tree
            files |= {(entry.path, entry.blob) for entry in select(repo.files(tree), settings, repo.read)}
            if number in chosen:
                embedded = encoder.texts
                got, want = rows_of(engine.open(repo).memory.view), full(repo, encoder, Path(folder) / f"full{number}")
                encoder.texts = embedded
                differ += got != want
                print(
                    f"commit {number + 1}: {len(want)} documents, {'equal' if got == want else 'DIFFERENT'}", flush=True
                )
        store = sync.open_store(repo, settings)
        snapshot = store.open()
        keys = sync.keyed(store, settings, [NoteEntry(path, blob) for path, blob in files])
        lost = int(snapshot.missing(sync.keys_of(keys)).sum())
        print(
            f"{len(listed)} commits, {len(files)} different notes (path, blob), {encoder.texts} documents embedded, "
            f"{snapshot.documents} in {len(snapshot.segments)} segments, {lost} notes missing, "
            f"{len(chosen)} views compared, {differ} different; "
            f"{1000 * hooks_s / len(listed):.0f} ms a hook, {perf_counter() - started:.0f} s in all"
        )
        return not differ and not lost and encoder.texts == snapshot.documents


def full(repo: Repo, encoder: Encoder, folder: Path) -> object:
    """Return what a fresh index of HEAD holds."""
    settings = sync.settings_of(repo)[0]
    used = sync.open_store(repo, settings)
    (folder / "index").mkdir(parents=True)
    new = Store(folder / "index", used.nonce, used.model, lock=folder / "lock")
    original, sync.open_store = sync.open_store, lambda repo, settings: new
    try:
        name = sync.refresh(repo, settings, full=True, encoder=encoder).view
    finally:
        sync.open_store = original
    view = new.read_view(name)
    assert view is not None
    return rows_of(View(new.open(), view))


def main() -> None:
    """Parse the command line and end with 1 if anything differed."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--checks", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=0)
    args = parser.parse_args()
    sys.exit(0 if replay(args.repository, args.checks, args.seed, args.limit) else 1)


if __name__ == "__main__":
    main()
