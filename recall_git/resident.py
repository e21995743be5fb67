"""What the resident process does: answers agents' events, and does behind them what Git's hooks ask for.

Two engines, so that a prompt never waits for a writer: one answers, the other one indexes, in one thread. What a
prompt needs indexed first, it lets the other one do, and waits for it a little.
"""

from __future__ import annotations

import ctypes
import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from pathlib import Path
from threading import Lock
from time import monotonic, perf_counter

from recall_git import analysis, gate, hook, recall, talk
from recall_git.config import Settings
from recall_git.engine import Engine
from recall_git.errors import RecallError
from recall_git.index import store as stores
from recall_git.oneshot import LOCK_S, index_behind
from recall_git.repo import Commit, Repo
from recall_git.search import Memory, document_at
from recall_git.types import Digest

WAIT_S = 0.1
"""How long a prompt waits for a small commit to be indexed; past it the newest view there is answers."""
READY_S = 0.009
"""How long getting ready may take: an interpreter needs longer to start, and then a client waits for us."""
AGAIN_S = 60.0
"""A repository is not indexed by a process of its own again within this."""
IDLE_MINUTES = 15


class Resident:
    """The state of the resident process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.idle_minutes = IDLE_MINUTES
        self._worker = ThreadPoolExecutor(1, "index")
        self._writer = Engine(LOCK_S)
        self._reader = _Reader(self._worker, self._writer)
        self._answering = Lock()
        self._costs: dict[int, float] = {}
        """Seconds that each step of getting ready took last."""
        self._last: tuple[Path, Mapping[str, str], Memory] | None = None
        self._pending = 0
        self._indexed: dict[Path, float] = {}

    @property
    def busy(self) -> bool:
        """Whether something is being done behind the answers."""
        return self._pending > 0

    @property
    def repositories(self) -> int:
        """How many repositories are open."""
        return self._reader.count

    def warm_up(self) -> None:
        """Load what every prompt needs: the model, the gate's tables, the stemmer."""
        encoder = self._reader.encoder()
        self._writer.share(encoder)
        for text in ("Where do we keep the warm engines?", "検索エンジンはどこですか", "我们把笔记放在哪里"):
            encoder.ask(gate.judge(text).query or text)
            analysis.query_terms(text)
        _give_memory_back()

    def answer(
        self, data: bytes, cwd: Path, environ: Mapping[str, str], deadline: float, send: Callable[[str], bool]
    ) -> hook.Answer:
        """Answer one agent event: *send* hands the text out and returns whether it was taken; see ``hook.prepare``."""
        with self._answering:
            answer = hook.prepare(data, cwd, environ, self._reader, deadline=deadline)
            answer.settle(send(answer.stdout))
            if answer.memory is not None and answer.memory.view.count:
                self._last = cwd, environ, answer.memory
            return answer

    def get_ready(self, until: Callable[[], bool]) -> None:
        """Touch what the last answer needed, until *until*: after a pause all of it is far from the processor."""

        def work() -> Digest:
            began = now = perf_counter()
            for number, step in enumerate(self._steps()):
                cost = self._costs.get(number, 0)
                if until() or now - began + cost > READY_S:
                    self._costs[number] = 0.9 * cost  # one slow moment must not decide for ever
                    break
                step()
                self._costs[number], now = perf_counter() - now, perf_counter()
            return Digest()

        if self._last is not None and _cores() > 1:  # with one, the client would wait for us
            with self._answering:
                hook.guarded(work)

    def _steps(self) -> Iterator[Callable[[], object]]:
        """Yield what an answer like the last one is made of, in small steps that change nothing."""
        assert self._last is not None
        cwd, environ, memory = self._last
        document = document_at(memory.view, int(memory.view.live.argmax()))
        text = f"{document.title} {document.summary}"[:200]
        reader = self._reader
        yield lambda: reader.open(reader.repository(cwd, environ), environ=environ, catch_up=False)
        yield lambda: gate.judge(text)
        yield lambda: memory.encoder.ask(text)
        yield lambda: memory.view.ask(analysis.query_terms(text), memory.encoder.ask(text))
        yield lambda: recall.prompt_digest(memory, text)

    def rest(self) -> None:
        """Give back what is only held because it was read."""
        with self._answering:
            self._reader.rest()

    def after(self, answer: hook.Answer) -> None:
        """Do what is better done when the answer is out: bring an index up to date that was found behind."""
        if answer.settings is not None:
            self.idle_minutes = answer.settings.idle_minutes
        if answer.stale and answer.top:
            self.index_behind(answer.top)

    def git_event(self, words: Sequence[str], cwd: Path, environ: Mapping[str, str], client: socket.socket) -> None:
        """Do what a Git hook asks for, in the order of arrival; *client* is let go as soon as Git may go on."""

        def release() -> None:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
            client.close()

        def work() -> None:
            try:
                name, *args = words
                hook.git_event(name, args, cwd, environ, self._writer, release=release, behind=self.index_behind)
            finally:
                release()
                self._pending -= 1

        self._pending += 1
        own = Path(environ.get("GIT_INDEX_FILE", "index")).name == "index"
        if words[0] != "pre-commit" or (own and not talk.tracks_digest(str(cwd))):
            release()  # a temporary index (git commit PATH, -a) is gone when Git goes on, Git's own is not
        self._worker.submit(work)

    def index_behind(self, top: Path) -> None:
        """Have a process of its own index *top*, once a minute at most."""
        if monotonic() - self._indexed.get(top, -AGAIN_S) >= AGAIN_S:
            self._indexed[top] = monotonic()
            index_behind(top)

    def close(self) -> None:
        """Finish what was begun."""
        self._worker.shutdown(wait=True)


class _Reader(Engine):
    """Answers prompts; what must be indexed first is done by the *writer*."""

    def __init__(self, worker: ThreadPoolExecutor, writer: Engine) -> None:
        super().__init__(LOCK_S)
        self._worker, self._writer = worker, writer
        self._coming: dict[tuple[Path, str], Future[bool]] = {}

    def _catch_up(self, repo: Repo, store: stores.Store, settings: Settings, commit: Commit, *, always: bool) -> bool:
        if always:
            return super()._catch_up(repo, store, settings, commit, always=True)
        key = repo.git_dir, commit.oid
        coming = self._coming.get(key)
        if coming is None or coming.done():
            coming = self._coming[key] = self._worker.submit(self._writer.bring_up, repo.git_dir, settings, commit.oid)
        try:
            return coming.result(WAIT_S)
        except (FutureTimeout, RecallError):
            return False
        finally:
            if coming.done():
                self._coming.pop(key, None)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _give_memory_back() -> None:
    """Give the system what loading has freed (50 MB with the bundled model); the GNU C library keeps it otherwise."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
