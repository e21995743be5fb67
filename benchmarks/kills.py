"""``kill -9`` at random moments, and bytes flipped or cut at random: does the index survive?

    python benchmarks/kills.py [--kills 200] [--flips 300] [--seed 1]

Kills: a child indexes the commits of a small repository one after the other, collects and publishes, and is
killed somewhere; then the index must open (or not be there yet), hold nothing but what was published, and after
one more indexing equal a full index of HEAD. Flips: one file of a good index is changed; a reader must refuse it
or answer as before, and one more indexing must make it whole. Everything happens below a temporary folder.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from recall_git import publish, sync
from recall_git.commands.init import write_nonce
from recall_git.config import Settings
from recall_git.engine import Engine
from recall_git.errors import IndexUnusable, RecallError
from recall_git.index.store import Store
from recall_git.index.vectors import Encoded, Encoder
from recall_git.repo import Repo
from recall_git.retrieve import View
from recall_git.search import document_at

COMMITS = 40
Rows = list[tuple[str, str, int, str, int]]


class Quick(Encoder):
    """A stand-in for the model: what is killed is our writing, not the multiplication of matrices."""

    def begin(self, texts: Sequence[str]) -> Callable[[], Encoded]:
        ones = np.ones(len(texts), np.int64)
        return lambda: Encoded(np.full((len(texts), 16), 0.25, np.float32), ones.astype(np.uint16), ones)


def git(top: Path, *args: str, data: bytes = b"") -> bytes:
    """Run Git in *top*."""
    return subprocess.run(("git", *args), cwd=top, input=data, capture_output=True, check=True).stdout


def build(top: Path) -> None:
    """Make a repository with COMMITS commits and opt it in."""
    top.mkdir()
    git(top, "init", "-q", "-b", "main")
    git(top, "config", "user.name", "A")
    git(top, "config", "user.email", "a@example.org")
    chance, feed = random.Random(0), []
    for number in range(COMMITS):
        feed.append(f"commit refs/heads/main\ncommitter A <a@example.org> {1767225600 + 86400 * number} +0000\n")
        feed.append("data 1\nx\n")
        for _ in range(12):
            body = f"# Note {chance.random()}\n\n" + "\n\n".join(f"## S{n}\n\nword{chance.random()}" for n in range(6))
            feed.append(f"M 100644 inline lessons/n{chance.randrange(60)}.md\ndata {len(body)}\n{body}\n")
    git(top, "fast-import", "--quiet", data="".join(feed).encode())
    git(top, "reset", "-q", "--hard")
    (top / ".recall").mkdir()
    (top / ".recall" / ".gitignore").write_text("/index/\n/digest.md\n")
    git(top, "config", "recall.enabled", "true")
    write_nonce(Repo.discover(top))


def engine() -> Engine:
    made = Engine()
    made.share(Quick())
    return made


def work(top: Path, start: int) -> None:
    """What is killed: index commit after commit, at times from nothing, collect, publish, for ever."""
    repo, settings, encoder = *settings_of(top), Quick()
    for number in range(start, 10_000):
        commit = repo.resolve(f"main~{COMMITS - 1 - number % COMMITS}")
        sync.refresh(repo, settings, commit=commit, encoder=encoder, full=number % 7 == 0)
        if number % 3 == 0:
            sync.collect(repo, settings)
        if number % 2 == 0:
            mine = engine()
            publish.publish(repo, mine.open(mine.repository(top), revision=commit.oid).memory)


def settings_of(top: Path) -> tuple[Repo, Settings]:
    repo = Repo.discover(top)
    return repo, sync.settings_of(repo)[0]


def rows_of(view: View) -> Rows:
    """Return what a view knows, in an order that does not depend on the index."""
    found = []
    for number in view.live.nonzero()[0].tolist():
        document = document_at(view, number)
        row = (document.path, document.blob, document.line, document.content_hash)
        found.append((*row, int(view.time[number])))
    return sorted(found)


def full(top: Path) -> Rows:
    """Return what a fresh index of HEAD holds."""
    repo, settings = settings_of(top)
    used = sync.open_store(repo, settings)
    home = Path(tempfile.mkdtemp(dir=top.parent)) / "index"
    home.mkdir()
    new = Store(home, used.nonce, used.model, lock=home / "lock")
    original, sync.open_store = sync.open_store, lambda repo, settings: new
    try:
        name = sync.refresh(repo, settings, full=True, encoder=Quick()).view
    finally:
        sync.open_store = original
    view = new.read_view(name)
    assert view is not None
    return rows_of(View(new.open(), view))


def opened(top: Path) -> str:
    """Open the index as a reader would, and read all of its newest view; return what came of it."""
    store = sync.open_store(*settings_of(top))
    try:
        snapshot = store.open()
    except IndexUnusable as error:
        return "not there yet" if "no index yet" in str(error) else f"UNUSABLE: {error}"
    rows = snapshot.read_view(snapshot.last["view"]) if snapshot.last.get("view") else None
    view = View(snapshot, rows) if rows is not None else None
    if view is not None and view.complete:
        rows_of(view)
    snapshot.close()
    return "open"


def healed(top: Path) -> Rows:
    """Index HEAD once more and return what a question then sees."""
    repo, settings = settings_of(top)
    sync.refresh(repo, settings, encoder=Quick())
    made = engine()
    return rows_of(made.open(made.repository(top)).memory.view)


def kills(top: Path, count: int, chance: random.Random) -> Counter[str]:
    """Kill *count* children; return how each ended."""
    right, outcome = full(top), Counter[str]()
    for number in range(count):
        child = subprocess.Popen(
            (sys.executable, __file__, "--work", str(top), "--start", str(chance.randrange(COMMITS))),
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert child.stdout is not None
        child.stdout.read(1)  # it has loaded everything and begins
        time.sleep(chance.random() * 0.8)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        time.sleep(0.05)  # a git that it started may still be at work
        state = opened(top)
        try:
            same = healed(top) == right
        except RecallError as error:
            outcome[f"FAILED: {error}"] += 1
            continue
        store = sync.open_store(*settings_of(top))
        left = [path.name for path in store.folder.glob("tmp-*")]
        outcome[f"{state}, then {'equal' if same else 'DIFFERENT'}{', files left' if left else ''}"] += 1
        if (number + 1) % 20 == 0:
            print(f"{number + 1} kills: {dict(outcome)}", flush=True)
    return outcome


def flips(top: Path, count: int, chance: random.Random) -> Counter[str]:
    """Change one file of a good index *count* times; return what came of each."""
    right, outcome = full(top), Counter[str]()
    healed(top)
    for _ in range(count):
        store = sync.open_store(*settings_of(top))
        path = chance.choice(sorted(path for path in store.folder.rglob("*") if path.is_file()))
        data = path.read_bytes()
        place, how = (
            chance.randrange(max(1, len(data))),
            chance.choice(("flip", "flip", "cut", "grow", "gone", "zeros")),
        )
        flipped = bytes([(data[place] if data else 0) ^ (1 << chance.randrange(8))])
        harm = {
            "flip": data[:place] + flipped + data[place + 1 :],
            "cut": data[:place],
            "grow": data + os.urandom(9),
            "zeros": data[:place] + bytes(min(64, len(data) - place)) + data[place + 64 :],
            "gone": None,
        }[how]  # fmt: skip
        if harm is None:
            path.unlink()
        else:
            path.write_bytes(harm)
        made = engine()
        try:
            memory = made.open(made.repository(top), catch_up=False).memory
            answer = "same answer" if rows_of(memory.view) == right else "ANOTHER ANSWER"
        except IndexUnusable:
            answer = "silence"
        outcome[f"{answer}, then {'equal' if healed(top) == right else 'DIFFERENT'}"] += 1
    return outcome


def main() -> None:
    """Run both and print the outcome counts; end with 1 if anything was lost."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--flips", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--start", type=int, default=0)
    args = parser.parse_args()
    if args.work:
        print(".", end="", flush=True)
        work(args.work, args.start)
        return
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / "notes"
        build(top)
        chance = random.Random(args.seed)
        bad = 0
        for name, outcome in (("kills", kills(top, args.kills, chance)), ("flips", flips(top, args.flips, chance))):
            for what, times in outcome.most_common():
                print(f"{name:<6} {times:>5}  {what}")
                bad += times if what != what.lower() else 0
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
