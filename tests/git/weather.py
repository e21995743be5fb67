"""A notes repository in any weather: real Git, real hook files, our work done in this process while Git waits.

``Weather.check`` is what every test of this folder ends with: the view of HEAD equals that of a fresh full
index of the same commit, and neither the work tree, Git's index nor the user's edits were touched.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from recall_git import gitevents, githooks, sync
from recall_git.commands.init import write_nonce
from recall_git.engine import Engine
from recall_git.errors import NoCommits
from recall_git.index.store import Snapshot, Store
from recall_git.repo import Repo
from recall_git.retrieve import View
from recall_git.search import document_at

if TYPE_CHECKING:
    from conftest import GitRepo

    from recall_git.index.vectors import Encoder

IGNORE = "/index/\n/digest.md\n"
Row = tuple[str, str, int, str, str, str, int]


class Weather:
    """One opted-in repository (all of its worktrees) whose hooks reach this process."""

    def __init__(self, repo: GitRepo, folder: Path, encoder: Encoder, *, ignore: bool = True) -> None:
        self.repo, self.folder, self.encoder = repo, folder, encoder
        self.engine = self.new_engine()
        self.events: list[str] = []
        self.failures: list[BaseException] = []
        self._fresh = 0
        self._thread: threading.Thread | None = None
        folder.mkdir(parents=True)
        enable(repo)
        if ignore and not (repo.path / ".git").is_file() and Repo.discover(repo.path).top:
            repo.write({".recall/.gitignore": IGNORE})

    def new_engine(self) -> Engine:
        """Return an engine as another process would have it; only the model is shared."""
        engine = Engine()
        engine.share(self.encoder)
        return engine

    # hooks ------------------------------------------------------------------------------------------

    def listen(self) -> None:
        """Install hook files that hand each event to this process and wait until it is done."""
        for name in ("asked", "answer"):
            os.mkfifo(self.folder / name)
        hooks = (self.repo.path / self.repo.git("rev-parse", "--git-path", "hooks")).resolve()
        hooks.mkdir(parents=True, exist_ok=True)
        for event in githooks.EVENTS:
            script = hooks / event
            script.write_text(
                "#!/bin/sh\n"
                f'printf "%s\\0" {event} "$PWD" "$GIT_INDEX_FILE" "$@" >"{self.folder}/asked"\n'
                f'read -r _ <"{self.folder}/answer"\nexit 0\n'
            )
            script.chmod(0o755)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            fields = [os.fsdecode(field) for field in (self.folder / "asked").read_bytes().split(b"\0")[:-1]]
            if not fields:
                return
            event, cwd, index_file, *args = fields
            self.events.append(event)
            environ = {"GIT_INDEX_FILE": index_file} if index_file else {}
            try:
                self.hook(event, *args, cwd=Path(cwd), environ=environ)
            except Exception as error:  # noqa: BLE001 - shown by check
                self.failures.append(error)
            (self.folder / "answer").write_bytes(b"done\n")

    def stop(self) -> None:
        """End the thread."""
        if self._thread:
            (self.folder / "asked").write_bytes(b"")
            self._thread.join(10)
            self._thread = None

    def hook(self, event: str, *args: str, cwd: Path | None = None, environ: dict[str, str] | None = None) -> str:
        """Do what the hook *event* asks for; return the line for the log, '' before the first commit."""
        try:
            return gitevents.handle(event, args, cwd or self.repo.path, environ or {}, self.engine)
        except NoCommits:
            return ""

    # what must hold ---------------------------------------------------------------------------------

    def check(self, *, where: Path | None = None, seen: bool = True) -> list[Row]:
        """Assert that recall is right in the worktree *where*; return the documents of HEAD.

        *seen*: hooks alone were enough to make HEAD the newest view, before anybody asked a question.
        """
        assert not self.failures, self.failures
        place = where or self.repo.path
        before = state_of(place)
        engine = self.new_engine()
        repo = engine.repository(place)
        settings, problems = sync.settings_of(repo)
        assert not problems
        head = repo.head()
        assert head is not None
        if seen:
            last = sync.open_store(repo, settings).open().last
            assert last["commit"] == head.oid, "no hook brought the index to HEAD"
        opened = engine.open(repo)
        assert opened.memory.commit == head.oid
        assert not opened.behind
        got = rows_of(opened.memory.view)
        assert got == self.fresh(repo), "the index differs from a fresh one"
        assert state_of(place) == before
        return got

    def fresh(self, repo: Repo) -> list[Row]:
        """Return the documents of HEAD of *repo* as an index that was never used before has them."""
        self._fresh += 1
        settings, _ = sync.settings_of(repo)
        used = sync.open_store(repo, settings)
        home = self.folder / f"fresh-{self._fresh}" / "index"
        home.mkdir(parents=True)
        new = Store(home, used.nonce, used.model, lock=home / "lock")
        head = repo.head()
        assert head is not None
        original, sync.open_store = sync.open_store, lambda repo, settings: new
        try:
            result = sync.refresh(repo, settings, full=True, encoder=self.encoder)
        finally:
            sync.open_store = original
        snapshot = new.open()
        rows = snapshot.read_view(result.view)
        assert rows is not None
        return rows_of(View(snapshot, rows))

    def paths(self, **how: bool) -> list[str]:
        """Check, and return the notes of HEAD."""
        return sorted({row[0] for row in self.check(**how)})

    def snapshot(self) -> Snapshot:
        """Return the index as it is."""
        repo = Repo.discover(self.repo.path)
        return sync.open_store(repo, sync.settings_of(repo)[0]).open()

    def added_by(self, event: str, *args: str) -> int:
        """Return how many documents a hook adds."""
        line = self.hook(event, *args)
        return int(line.split(": ")[1].split(" ")[0])


def enable(repo: GitRepo) -> None:
    """Opt in as ``git recall init`` does, without hooks and without a first index."""
    repo.git("config", "recall.enabled", "true")
    write_nonce(Repo.discover(repo.path))


def rows_of(view: View) -> list[Row]:
    """Return what a view knows of each section, in an order that does not depend on the index."""
    found = []
    for number in view.live.nonzero()[0].tolist():
        document = document_at(view, number)
        row = (document.path, document.blob, document.line, document.content_hash, document.date, document.author)
        found.append((*row, int(view.time[number])))
    return sorted(found)


def state_of(place: Path) -> tuple[object, ...]:
    """Return everything of a repository that is the user's: status, Git's index, references, files with their times."""
    if _git(place, "rev-parse", "--is-bare-repository") == b"true\n":
        return (_git(place, "for-each-ref", "refs/heads", "refs/tags"),)
    files = {
        path.relative_to(place).as_posix(): (path.lstat().st_mtime_ns, path.lstat().st_size)
        for path in _walk(place)
        if path.name != "digest.md"
    }
    return (
        _git(place, "status", "--porcelain", "-z", "--untracked-files=all", check=False),  # it needs trees too
        _git(place, "ls-files", "--stage", "-z"),
        _git(place, "for-each-ref", "refs/heads", "refs/tags", "refs/stash"),
        _git(place, "symbolic-ref", "-q", "HEAD", check=False) or _git(place, "rev-parse", "HEAD"),
        files,
    )


def _walk(place: Path) -> Iterator[Path]:
    for path in sorted(place.iterdir()):
        if path.name in (".git", "index") and path.parent.name in (place.name, ".recall"):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _walk(path)
        else:
            yield path


def _git(place: Path, *args: str, check: bool = True) -> bytes:
    done = subprocess.run(("git", *args), cwd=place, capture_output=True, check=check)
    return done.stdout
