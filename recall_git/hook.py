"""One agent event in, one answer out. The edge: nothing that goes wrong here may stop a conversation.

``answer`` is called by the resident process and by the one-shot command alike. It never raises; what
broke, and why nothing was said, stands in the log of the repository.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from time import perf_counter, time

from recall_git import gitevents, recall, trace
from recall_git.agents import dialects
from recall_git.config import Settings
from recall_git.engine import Engine, Opened
from recall_git.errors import NoCommits, NoRepository, NotEnabled, RecallError
from recall_git.search import Memory
from recall_git.repo import Repo
from recall_git.session import Session, first_call, sweep
from recall_git.types import Digest


@dataclass(frozen=True)
class Answer:
    """What to print, and what happened."""

    stdout: str = ""
    digest: Digest = Digest()
    stale: bool = False
    """The index is behind or unusable: the caller should bring it up to date when it has answered."""
    top: Path | None = None
    """Work tree (or Git directory) of the repository that was asked, None when none was."""
    settings: Settings | None = None


def answer(data: bytes, cwd: Path, environ: Mapping[str, str], engine: Engine, *, deadline: float = 0.0) -> Answer:
    """Return the answer to one hook event (*data*: the host's JSON). Never raises.

    *deadline* is in the time of ``perf_counter``: an answer that is ready only after it is not given.
    """
    started = perf_counter()
    event = dialects.read(data, environ)
    if event is None:
        return Answer()
    run = _Run()
    digest = guarded(lambda: _look(event, cwd, environ, engine, run))
    if digest is None:
        return Answer()
    if digest.text and deadline and perf_counter() > deadline:
        digest = replace(digest, text="", placed=(), outcome="late", why="past the deadline")
    if run.repo is not None and run.repo.state_dir.is_dir():
        _log(run, event, digest, started)
    text = dialects.write(event, digest.text) if digest.text else ""
    top = run.repo.top or run.repo.git_dir if run.repo else None
    stale = digest.outcome == "failed" or bool(run.opened and run.opened.behind)
    return Answer(text, digest, stale, top, run.opened.memory.settings if run.opened else None)


def git_event(
    name: str, args: Sequence[str], cwd: Path, environ: Mapping[str, str], engine: Engine, **how: Callable[..., None]
) -> None:
    """Do what a Git hook asks for (``gitevents.handle``); what broke is logged. Never raises."""

    def work() -> Digest:
        gitevents.handle(name, args, cwd, environ, engine, **how)
        return Digest()

    digest = guarded(work)
    if digest is not None and digest.outcome == "failed":
        repo = engine.repository(cwd)
        trace.write(repo.state_dir, trace.record(time=_now(), event=name, outcome="failed", why=digest.why))


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
    """What one run has reached, for the log."""

    repo: Repo | None = None
    opened: Opened | None = None


def _look(event: dialects.Event, cwd: Path, environ: Mapping[str, str], engine: Engine, run: _Run) -> Digest:
    start = Path(event.cwd or cwd)
    run.repo = engine.repository(start if start.is_dir() else cwd)
    run.opened = engine.open(run.repo, environ=environ)
    return _respond(event, run.opened, run.repo.state_dir)


def _respond(event: dialects.Event, opened: Opened, state: Path) -> Digest:
    """Return the digest for one event and note in the session what was given."""
    folder, now = state / "sessions", time()
    digest_of = trace.prompt_hash(event.prompt) if event.prompt else event.source
    once = "\x1f".join((event.session, event.kind, digest_of))
    if event.session and not first_call(folder, once, now=now):
        return Digest(outcome="skipped", why="answered-already")
    session = Session.load(folder, event.session)
    if event.kind == "start":
        if event.source in ("resume", "fork"):
            return Digest(outcome="skipped", why=event.source)
        session.forget(now=now)
        made = recall.start_digest(opened.memory)
        sweep(folder, now)
    elif event.kind == "prompt":
        made = _for_prompt(opened.memory, event, session)
    else:
        session.forget(now=now)
        made = Digest(outcome="skipped", why=event.kind)
    if event.session:
        session.remember(made.placed, prompt_hash=digest_of if event.prompt else "", now=now)
        session.save()
    return made


def _for_prompt(memory: Memory, event: dialects.Event, session: Session) -> Digest:
    every_turn = memory.settings.static == "turn"
    return recall.prompt_digest(
        memory,
        event.prompt,
        given=frozenset() if every_turn else session.given,
        source=event.source,
        with_static=every_turn,
        mark=lambda document, known: (
            replace(document, mark="changed") if session.changed(document, known) else document
        ),
    )


def _log(run: _Run, event: dialects.Event, digest: Digest, started: float) -> None:
    assert run.repo is not None
    settings = run.opened.memory.settings if run.opened else None
    why = digest.why + (" (index behind)" if run.opened and run.opened.behind else "")
    trace.write(
        run.repo.state_dir,
        trace.record(
            time=_now(),
            event=event.name,
            session=event.session,
            outcome=digest.outcome,
            why=why,
            entries=[f"{placed.document.path}:{placed.document.line}" for placed in digest.placed],
            text=digest.text,
            ms=1000 * (perf_counter() - started),
            steps_ms=digest.timings_ms,
            prompt=event.prompt,
            keep_prompt=bool(settings and settings.log_prompts),
            cut=digest.cut,
            agent=event.agent,
            commit=digest.commit,
        ),
    )


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
