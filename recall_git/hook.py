"""One agent event in, one answer out. The edge: nothing that goes wrong here may stop a conversation.

``prepare`` is called by the resident process and by the one-shot command alike. It never raises; what
broke, and why nothing was said, stands in the log of the repository when the answer is settled.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, time

from recall_git import beside, gitevents, guard, recall, trace
from recall_git.agents import dialects
from recall_git.config import Settings
from recall_git.engine import Engine, Opened
from recall_git.errors import NoCommits, NoRepository, NotEnabled, RecallError
from recall_git.freshness import marked
from recall_git.repo import Repo
from recall_git.search import Memory
from recall_git.session import Session, first_call, resume_of, sweep, take_back
from recall_git.types import Digest

REPLAYED = ("resume", "fork")
"""Starts at which the agent has in its context what it was given before."""
ASKED_CHARS = 160
"""How much of a prompt a resume line may quote."""


@dataclass(frozen=True)
class Answer:
    """What to print, and what happened."""

    stdout: str = ""
    digest: Digest = Digest()
    stale: bool = False
    """The index is behind or unusable: the caller should bring it up to date when it has answered."""
    top: Path | None = None
    """Work tree (or Git directory) of the repository that was asked, None when none was."""
    memory: Memory | None = None
    settle: Callable[[bool], None] = lambda taken: None
    """To be called once, with whether the agent has it: writes the log and what the session was given."""

    @property
    def settings(self) -> Settings | None:
        """The settings of the repository that was asked, None when none was."""
        return self.memory.settings if self.memory else None


def prepare(data: bytes, cwd: Path, environ: Mapping[str, str], engine: Engine, *, deadline: float = 0.0) -> Answer:
    """Return the answer to one hook event (*data*: the host's JSON). Never raises.

    Whoever hands it out calls its ``settle``, with whether it was taken: nobody needs to wait for the log and the
    session's file, and what did not reach the agent was not given to it. *deadline* is in the time of
    ``perf_counter``: an answer that is ready only after it is not given.
    """
    started = perf_counter()
    event = dialects.read(data, environ)
    if event is None:
        return Answer()
    run = _Run(started)
    digest = guarded(lambda: _look(event, cwd, environ, engine, run, deadline))
    if digest is None:
        return Answer()
    took_ms = 1000 * (perf_counter() - started)

    def settle(taken: bool) -> None:
        done = digest
        if digest.text and not taken:
            done = replace(digest, text="", placed=(), outcome="late", why="the client had gone")
        if done.outcome in ("late", "failed"):
            run.take_back()
        if run.session is not None:
            if done is digest:
                run.remember()
            run.session.save()
        if run.repo is not None and run.repo.state_dir.is_dir():
            _log(run, event, done, took_ms)

    text = dialects.write(event, digest.text) if digest.text else ""
    top = run.repo.top or run.repo.git_dir if run.repo else None
    stale = digest.outcome == "failed" or bool(run.opened and run.opened.behind)
    return Answer(text, digest, stale, top, run.opened.memory if run.opened else None, settle)


def _hash_of(event: dialects.Event) -> str:
    return trace.prompt_hash(event.prompt) if event.prompt else ""


def git_event(
    name: str, args: Sequence[str], cwd: Path, environ: Mapping[str, str], engine: Engine, **how: Callable[..., None]
) -> None:
    """Do what a Git hook asks for (``gitevents.handle``); what broke is logged. Never raises."""

    def work() -> Digest:
        gitevents.handle(name, args, cwd, environ, engine, **how)
        return Digest()

    digest = guarded(work)
    if digest is not None and digest.outcome == "failed":
        with suppress(RecallError):  # where Git refuses the repository there is no log either
            repo = engine.repository(cwd)
            trace.write(repo.state_dir, trace.record(time=trace.now(), event=name, outcome="failed", why=digest.why))


def guarded(work: Callable[[], Digest]) -> Digest | None:
    """Return what *work* returns, a digest that says what broke, or None where recall has no business."""
    try:
        return work()
    except (NoRepository, NotEnabled):
        return None  # not even a line in a log
    except NoCommits:
        return Digest(outcome="skipped", why="no-commits")
    except RecallError as error:
        return Digest(outcome="failed", why=str(error))
    except Exception as error:  # noqa: BLE001 - the only blanket catch: a broken memory must not break the turn
        return Digest(outcome="failed", why=f"bug: {type(error).__name__}: {error}")


@dataclass
class _Run:
    """What one run has reached, for the log and the session."""

    started: float
    repo: Repo | None = None
    opened: Opened | None = None
    session: Session | None = None
    remember: Callable[[], None] = lambda: None
    take_back: Callable[[], None] = lambda: None
    """Lets the same event be answered when it comes again at once: what came of this one was lost."""


def _look(
    event: dialects.Event, cwd: Path, environ: Mapping[str, str], engine: Engine, run: _Run, deadline: float
) -> Digest:
    start = Path(event.cwd or cwd)
    start = start if os.path.isdir(start) else cwd  # noqa: PTH112 - Path.is_dir raises for a name that is too long
    try:
        run.repo = engine.repository(start)
        run.opened = engine.open(run.repo, environ=environ)
    except (NoRepository, NotEnabled):
        run.repo = beside.elsewhere(engine, start, environ)
        if run.repo is None:
            raise
        run.opened = engine.open(run.repo, environ=environ)
    if deadline:  # somebody waits: the client's deadline, or the one that was set here when that is nearer
        settings = run.opened.memory.settings
        name = "start_timeout_ms" if event.kind == "start" else "timeout_ms"
        if getattr(settings, name) != getattr(Settings(), name):
            deadline = min(deadline, run.started + getattr(settings, name) / 1000)
    if deadline and perf_counter() > deadline:
        if event.kind == "start" and event.source not in REPLAYED:
            _owe_start(run.repo.state_dir / "sessions", event)
        return Digest(outcome="late", why="past the deadline before the search", commit=run.opened.memory.commit)
    around = beside.beside(engine, run.opened, environ=environ, deadline=deadline)
    return _respond(event, run, run.opened, around, _within(start, run.repo), deadline)


def _owe_start(folder: Path, event: dialects.Event) -> None:
    """Let the session's next prompt bring what its start was too late for."""
    if event.session:
        session = Session.load(folder, event.session)
        session.forget(now=time())
        session.save()


def _within(start: Path, repo: Repo) -> str:
    """Return the folder of *repo* that *start* is, '' at its top and elsewhere."""
    if repo.top is None or start == repo.top:
        return ""
    place = start.resolve()
    return place.relative_to(repo.top).as_posix().removeprefix(".") if place.is_relative_to(repo.top) else ""


def _respond(
    event: dialects.Event, run: _Run, opened: Opened, around: recall.Beside, where: str, deadline: float
) -> Digest:
    """Return the digest for one event; *run* gets the session, and how it remembers what was given."""
    folder, now = opened.repo.state_dir / "sessions", time()
    once = "\x1f".join((event.session, event.kind, _hash_of(event) or event.source))
    if event.session and event.kind != "end":
        if not first_call(folder, once, now=now):
            return Digest(outcome="skipped", why="answered-already")
        run.take_back = lambda: take_back(folder, once, now=now)
    session = Session.load(folder, event.session)
    run.session = session if event.session else None
    fixed = False
    if event.kind == "start":
        if event.source in REPLAYED:
            return Digest(outcome="skipped", why=event.source)
        resume, fixed = _resume(folder, event, now), True
        session.forget(now=now)
        made = recall.start_digest(opened.memory, resume=resume, beside=around, caps=(event.cap_chars, event.cap_bytes))
        sweep(folder, now)
    elif event.kind == "prompt":
        fixed = opened.memory.settings.static == "turn" or event.opens or session.bare
        resume = _resume(folder, event, now, own=not event.opens) if event.opens or session.bare else ""
        made = _for_prompt(opened.memory, event, session, around, resume, fixed=fixed)
    else:
        if event.kind == "compact":
            session.forget(now=now)
        session.end(now=now)
        made = Digest(outcome="skipped", why=event.kind)
    if made.text and deadline and perf_counter() > deadline:
        return replace(made, text="", placed=(), outcome="late", why="past the deadline")  # the next prompt's

    def remember() -> None:
        asked = guard.line(guard.mask(event.prompt[:2000]), ASKED_CHARS) if made.outcome != "skipped" else ""
        session.remember(made.placed, prompt_hash=_hash_of(event), asked=asked, where=where, fixed=fixed, now=now)

    run.remember = remember
    return made


def _resume(folder: Path, event: dialects.Event, now: float, *, own: bool = False) -> str:
    """Return the line on where the last session stopped (with *own* this one); who clears a context wants none."""
    if event.source == "clear":
        return ""
    return resume_of(folder, event.session, now=now, own=own or event.source == "compact")


def _for_prompt(
    memory: Memory, event: dialects.Event, session: Session, around: recall.Beside, resume: str, *, fixed: bool
) -> Digest:
    return recall.prompt_digest(
        memory,
        event.prompt,
        given=session.given,
        source=event.source,
        with_static=fixed,
        mark=lambda document, known: marked(document, "changed") if session.changed(document, known) else document,
        beside=around,
        resume=resume,
        caps=(event.cap_chars, event.cap_bytes),
    )


def _log(run: _Run, event: dialects.Event, digest: Digest, took_ms: float) -> None:
    assert run.repo is not None
    settings = run.opened.memory.settings if run.opened else None
    why = digest.why + (" (index behind)" if run.opened and run.opened.behind else "")
    trace.write(
        run.repo.state_dir,
        trace.record(
            time=trace.now(),
            event=event.name,
            session=event.session,
            outcome=digest.outcome,
            why=why,
            entries=[f"{placed.document.path}:{placed.document.line}" for placed in digest.placed],
            text=digest.text,
            ms=took_ms,
            steps_ms=digest.timings_ms,
            prompt=event.prompt,
            keep_prompt=bool(settings and settings.log_prompts),
            cut=digest.cut,
            agent=event.agent,
            commit=digest.commit,
        ),
    )
