"""``git recall doctor``: check the installation, and for each fault say what to do."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from recall_git import agents, githooks, launcher
from recall_git.config import Settings
from recall_git.errors import EXIT_NOTHING, EXIT_OK, IndexUnusable, NoRepository, NotEnabled, RecallError
from recall_git.receipt import Refused
from recall_git.repo import Repo

OK, WARN, FAIL = "ok", "warn", "fail"
GIT_MIN = (2, 25)
"""Debian 11 and Ubuntu 20.04; older ones were never tried."""
NAMED_MAX = 5
"""Notes that are named in one line."""
RUNS = 5
"""Runs of the hook that are measured, after those that wait for the resident process to start."""
WARM_MAX, WARM_MS = 8, 200
"""At most so many runs are taken as waiting, and only those that take longer than this."""
FRONT_BYTES = 64 << 10
SESSION = "recall-doctor-"
"""The session of our own runs, which are not counted as an agent's."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at."""

    name: str
    level: str
    """``ok``, ``warn`` (works, could be better) or ``fail`` (does not work)."""
    what: str
    do: str = ""
    """What to do about it; '' when nothing."""


def run(argv: list[str]) -> int:
    """Print every check; return 0 when none failed, else 1."""
    parser = argparse.ArgumentParser(
        prog="git recall doctor",
        description="Check the installation and say what to do about each fault. Ends with 0 if nothing failed, "
        "else with 1.",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object: {ok, checks: [{name, level, what, do}]}")
    args = parser.parse_args(argv)
    checks = list(examine(Path.cwd()))
    good = all(check.level != FAIL for check in checks)
    if args.json:
        print(json.dumps({"ok": good, "checks": [asdict(check) for check in checks]}, indent=2))
    else:
        for check in checks:
            print(f"{check.level:<4}  {check.name}: {check.what}")
            if check.do:
                print(f"      → {check.do}")
    return EXIT_OK if good else EXIT_NOTHING


def examine(start: Path) -> Iterator[Check]:
    """Yield the checks of this machine, of the repository that *start* lies in, and of the agents."""
    git = _git_version()
    yield _check_git(git)
    yield _check_path()
    yield _check_launcher()
    try:
        repo = Repo.discover(start, os.environ)
    except RecallError as error:
        level = WARN if isinstance(error, NoRepository) else FAIL
        yield Check("repository", level, str(error), "change into your notes to check them too")
        yield from check_agents(None)
        return
    yield from _check_repository(repo, git)
    yield from check_agents(repo.top)
    yield _check_run(repo.top or repo.git_dir)


def _check_repository(repo: Repo, git: tuple[int, int]) -> Iterator[Check]:
    from recall_git.sync import settings_of

    settings, problems = settings_of(repo, environ=os.environ)
    yield from (
        Check("settings", WARN, problem, "see 'git config --show-origin --get-regexp ^recall'") for problem in problems
    )
    if not settings.enabled:
        yield Check("repository", FAIL, "recall is not enabled here", "run 'git recall init'")
        return
    yield Check("repository", OK, f"recall is on in {repo.top or repo.git_dir}")
    yield _check_index(repo, settings)
    yield from check_hooks(repo, settings, git)
    yield from check_notes(repo, settings)
    yield from check_log(repo.state_dir)


# the machine ----------------------------------------------------------------------------------------


def _git_version() -> tuple[int, int]:
    try:
        out = subprocess.run(("git", "version"), capture_output=True, check=False, stdin=subprocess.DEVNULL).stdout
    except OSError:
        return (0, 0)
    return githooks.version(out)


def _check_git(git: tuple[int, int]) -> Check:
    if git == (0, 0):
        return Check("git", FAIL, "there is no git on PATH", "install Git")
    if git < GIT_MIN:
        return Check("git", WARN, f"Git {git[0]}.{git[1]} is older than what we test", "update Git")
    return Check("git", OK, f"Git {git[0]}.{git[1]}")


def _check_path() -> Check:
    """Whether ``git recall`` runs this program: git looks for ``git-recall`` on PATH."""
    found = shutil.which("git-recall")
    if found is None:
        folder = Path(sys.executable).parent
        return Check(
            "path", WARN, "'git recall' is not on PATH", f"add {folder} to PATH (hooks and agents work without)"
        )
    try:
        ours = b"recall_git" in Path(found).read_bytes()
    except OSError:
        ours = False
    if not ours:
        return Check(
            "path", FAIL, f"'git recall' runs another program: {found}", "put ours before it on PATH, or remove it"
        )
    return Check("path", OK, f"'git recall' runs {found}")


def _check_launcher() -> Check:
    path = launcher.folder() / launcher.NAME
    why = launcher.fault(path)
    if why:
        return Check(
            "launcher", FAIL, f"hooks do nothing: {why}", "run 'git recall init' (or 'git recall install AGENT')"
        )
    targets = launcher.targets(path)
    here = Path(__file__).resolve().parent.parent / "client.py"
    if targets and targets[1] != here:
        return Check(
            "launcher", WARN, f"hooks run another installation: {targets[1]}", "run 'git recall init' to use this one"
        )
    return Check("launcher", OK, str(path))


# the repository -------------------------------------------------------------------------------------


def _check_index(repo: Repo, settings: Settings) -> Check:
    from recall_git.sync import open_store, view_name

    folder = repo.index_home
    tracked = repo.tracked(".recall/index/")
    if tracked:
        return Check(
            "index", FAIL, f"Git tracks {tracked[0]}: never trusted", "run 'git rm -r -q --cached .recall/index'"
        )
    if folder.is_symlink() or folder.parent.is_symlink():
        return Check("index", FAIL, f"{folder} is reached through a symbolic link: never trusted", "remove the link")
    try:
        store = open_store(repo, settings)
        snapshot = store.open()
    except NotEnabled:
        return Check("index", FAIL, f"{repo.state_dir / 'nonce'} is missing", "run 'git recall init'")
    except IndexUnusable as error:
        if repo.head() is None:
            return Check("index", OK, "no commit yet, so nothing to index")
        return Check("index", FAIL, str(error), "run 'git recall index --full'")
    try:
        sections = sum(len(segment) for segment in snapshot.segments)
        head = repo.head()
        if head is not None and snapshot.last.get("view") != view_name(head, settings):
            indexed = snapshot.last.get("commit", "")[:10] or "nothing"
            what = f"the newest view is of {indexed}, HEAD is {head.oid[:10]}"
            return Check("index", WARN, what, "it is caught up at the next prompt, or now by 'git recall index'")
        return Check("index", OK, f"up to date, {sections:,} sections, {folder}")
    finally:
        snapshot.close()


def check_hooks(repo: Repo, settings: Settings, git: tuple[int, int]) -> Iterator[Check]:
    """Yield what Git would do at our events: hooks that run, and those that never will."""
    states = githooks.inspect(repo, git=git)
    good = [state.event for state in states if state.state == "ok"]
    missing = [state.event for state in states if state.state == "missing"]
    if good:
        yield Check("git hooks", OK, ", ".join(good))
    faults: dict[tuple[str, str], list[githooks.HookState]] = {}
    for state in states:
        if state.state not in ("ok", "missing"):
            faults.setdefault((state.state, re.sub(r"'.*?'", "", state.why)), []).append(state)
    for (kind, _), group in faults.items():
        events, first = ", ".join(state.event for state in group), group[0]
        yield Check("git hooks", FAIL, f"never run ({kind}): {events}: {first.where}: {first.why}", _hook_way(first))
    if not missing:
        return
    if repo.top is None:
        yield Check("git hooks", OK, "none in a bare repository")
    elif _framework(repo):
        yield from _check_framework(repo)
    elif settings.hooks == "none":
        yield Check("git hooks", OK, "none, as recall.hooks says; what changed is caught up at the next prompt")
    else:
        why = next((state.why for state in states if state.state == "missing" and state.why), "")
        place = githooks.place(repo)
        if place.kind == "outside":
            why = f"core.hooksPath is {place.folder}, outside this repository"
        what = f"not installed: {', '.join(missing)}" + (f" ({why})" if why else "")
        yield Check("git hooks", WARN, f"{what}; what changed is caught up at the next prompt", "run 'git recall init'")


def _hook_way(state: githooks.HookState) -> str:
    return "" if "run" in state.why else "run 'git recall init' again"


def _framework(repo: Repo) -> bool:
    """Whether the pre-commit framework's configuration names our hook."""
    try:
        text = (repo.top or repo.git_dir).joinpath(".pre-commit-config.yaml").read_text("utf-8", "replace")
    except OSError:
        return False
    return bool(re.search(r"\bid:\s*['\"]?recall-index\b", text))


def _check_framework(repo: Repo) -> Iterator[Check]:
    """The framework runs a stage only after ``pre-commit install -t STAGE``: the usual trap."""
    folder = githooks.place(repo).folder
    absent = [event for event in githooks.EVENTS if not os.access(folder / event, os.X_OK)]
    if absent:
        types = " ".join(f"-t {event}" for event in absent)
        yield Check(
            "git hooks",
            FAIL,
            f"pre-commit never runs our stages {', '.join(absent)}",
            f"run 'pre-commit install {types}'",
        )
    else:
        yield Check("git hooks", OK, "run by the pre-commit framework")


def check_notes(repo: Repo, settings: Settings) -> Iterator[Check]:
    """Yield a warning for notes of HEAD whose front matter cannot be used, and for those that are too large."""
    from recall_git import notes
    from recall_git.sync import MAX_NOTE_BYTES, select

    head = repo.head()
    if head is None:
        return
    broken, large, count = [], [], 0
    for entry in select(repo.files(head.tree), settings):
        count += 1
        data = repo.read(entry.blob) or b""
        if len(data) > MAX_NOTE_BYTES:
            large.append(entry.path)
        elif data.lstrip(b"\xef\xbb\xbf \r\n").startswith((b"---", b"+++")):
            note = notes.parse(entry.path, _front(data))
            if note is not None and note.problem:
                broken.append(f"{entry.path} ({note.problem})")
    if broken:
        yield Check("notes", WARN, f"front matter not used in {_named(broken)}", "mend it; the notes are used without")
    if large:
        yield Check(
            "notes", WARN, f"too large to be notes: {_named(large)}", "split them, or exclude them with recall.exclude"
        )
    if not count:
        yield Check("notes", WARN, "HEAD has no notes", "see recall.include, recall.exclude and recall.extensions")
    elif not broken and not large:
        yield Check("notes", OK, f"{count:,} notes, every front matter can be used")


def _front(data: bytes) -> bytes:
    """Return the front matter and no more of a note: reading whole notes would take minutes in a large repository."""
    match = re.search(rb"\n(?:---|\+\+\+|\.\.\.)[ \t]*\r?\n", data[3:])
    return data[: match.end() + 3] if match else data[:FRONT_BYTES]


def _named(paths: list[str]) -> str:
    more = f" and {len(paths) - NAMED_MAX:,} more" if len(paths) > NAMED_MAX else ""
    return ", ".join(paths[:NAMED_MAX]) + more


def _is_doctors(record: Mapping[str, Any]) -> bool:
    return str(record.get("session", "")).startswith(SESSION)


def check_log(folder: Path) -> Iterator[Check]:
    """Yield how the last runs of the hooks went."""
    from recall_git import trace

    records = [record for record in trace.read(folder, 100) if not _is_doctors(record)][-20:]
    if not records:
        yield Check("log", OK, "no hook has run here yet")
        return
    last = records[-1]
    words = (str(last.get(name) or "") for name in ("event", "outcome", "why"))
    text = f"last run {last.get('time', '?')}: {' '.join(word for word in words if word)}"
    failed = [record for record in records if record.get("outcome") in ("failed", "late")]
    if failed:
        why = failed[-1].get("why", "")
        yield Check("log", WARN, f"{len(failed)} of the last {len(records)} runs failed or were late ({why}); {text}",
                    f"see {folder / trace.NAME}")  # fmt: skip
    else:
        yield Check("log", OK, text)


# agents ---------------------------------------------------------------------------------------------


def check_agents(top: Path | None) -> Iterator[Check]:
    """Yield the state of each agent's settings, for the user and for the project at *top*."""
    connected = False
    for name in agents.AGENTS:
        agent = agents.load(name)
        seen: list[Path] = []
        for scope in agent.SCOPES:
            if scope == "project" and top is None:
                continue
            path = agent.settings_path(scope, top)
            try:
                found = agent.inspect(scope, top)
            except Refused as error:
                yield Check(name, FAIL, str(error), "then run 'git recall install' again")
                continue
            if found:
                connected, seen = True, [*seen, path]
                yield from _check_commands(
                    name, path, {entry.command for entry in found}, [entry.event for entry in found]
                )
        if len(seen) > 1:
            what = f"connected twice, by {seen[0]} and {seen[1]}"
            yield Check(name, WARN, what, f"run 'git recall uninstall {name}' with --user or --project")
    if not connected:
        known = ", ".join(agents.AGENTS)
        yield Check(
            "agents",
            WARN,
            "no agent is connected: nothing is recalled by itself",
            f"run 'git recall install AGENT' ({known})",
        )


def _check_commands(name: str, path: Path, commands: Iterable[str], events: list[str]) -> Iterator[Check]:
    for command in sorted(commands):
        why = _command_fault(command)
        if why:
            yield Check(name, FAIL, f"{path}: its hook does nothing: {why}", f"run 'git recall install {name}' again")
            return
    hint = (
        "Claude Code runs it only in folders that you trust (it asks once per folder)" if name == "claude-code" else ""
    )
    yield Check(name, OK, f"connected by {path} ({', '.join(events)})" + (f"; {hint}" if hint else ""))


def _command_fault(command: str) -> str:
    """Return why *command* would not reach us, '' when it does or when that cannot be known from here."""
    try:
        words = shlex.split(command)
    except ValueError:
        return f"'{command}' is no shell command"
    if len(words) == 1 and words[0].endswith(launcher.NAME) and "/" in words[0]:
        return launcher.fault(Path(words[0]))
    return ""


def _check_run(folder: Path) -> Check:
    """Run the hook as an agent would, and say how long it takes."""
    path = launcher.folder() / launcher.NAME
    if launcher.fault(path):
        return Check("hook", FAIL, "cannot be run, see 'launcher' above")
    waiting: list[float] = []
    try:
        while not waiting or (waiting[-1] > WARM_MS and len(waiting) < WARM_MAX):
            waiting.append(_timed_run(path, folder))
        measured = [_timed_run(path, folder) for _ in range(RUNS)]
    except RecallError as error:
        return Check("hook", FAIL, str(error))
    what = f"{median(measured):.0f} ms a prompt (median of {RUNS}; the first took {waiting[0]:.0f} ms)"
    return Check("hook", OK, what)


def _timed_run(path: Path, folder: Path) -> float:
    """Run the hook at *path* for one prompt; return how many ms it took. Raises RecallError when it misbehaves."""
    event = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": f"{SESSION}{os.getpid()}-{time.time_ns()}",
        "cwd": str(folder),
        "prompt": "recall doctor asks what the notes say",
    }
    started = time.perf_counter()
    try:
        done = subprocess.run(
            (path,), input=json.dumps(event).encode("ascii"), capture_output=True, check=False, cwd=folder, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RecallError(f"a run failed ({error}); try it by hand: echo '{{}}' | {path}") from error
    if done.returncode or done.stderr:
        said = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
        raise RecallError(f"a run ended with {done.returncode} {said}; it should be 0 and silent: please report it")
    return (time.perf_counter() - started) * 1000
