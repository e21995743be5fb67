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
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from recall_git import agents, githooks, launcher
from recall_git.config import Settings
from recall_git.errors import EXIT_NOTHING, EXIT_OK, IndexUnusable, NoRepository, NotEnabled, RecallError
from recall_git.receipt import Refused
from recall_git.repo import Repo

if TYPE_CHECKING:
    from recall_git.agents.base import Agent
    from recall_git.agents.files import Found

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
    yield from _check_runs(repo.top or repo.git_dir, repo.top)


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
    from recall_git.select import select
    from recall_git.sync import MAX_NOTE_BYTES

    head = repo.head()
    if head is None:
        return
    broken, large, count = [], [], 0
    for entry in select(repo.files(head.tree), settings, repo.read):
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

    records = [record for record in trace.runs(folder, 100) if not _is_doctors(record)][-20:]
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

SIGNALS = ("CURSOR_VERSION", "GEMINI_SESSION_ID", "QWEN_PROJECT_DIR", "FACTORY_PROJECT_DIR", "USER_PROMPT")
"""By these an agent is known: those of the agent that the doctor itself runs in must not speak for another."""


def check_agents(top: Path | None) -> Iterator[Check]:
    """Yield what connects each agent, for the user and for the project at *top*, and what still keeps it from us."""
    connected = False
    for name in agents.AGENTS:
        agent = agents.load(name)
        seen: list[Path] = []
        for scope in agent.scopes if top else ("user",):
            try:
                found = agent.inspect(scope, top)
            except Refused as error:
                if _was_ours(agent, scope, top):
                    yield Check(name, FAIL, str(error), f"then run 'git recall install {name}' again")
                continue
            for path in dict.fromkeys(path for path, _ in found):
                seen.append(path)
                yield from _check_connection(
                    agent, scope, top, path, [there for place, there in found if place == path]
                )
            if found:
                connected = True
                gate = agent.gate(scope, top)
                if gate and not gate.passed:
                    maybe = "" if gate.passed is False else " (whether it is done cannot be seen from here)"
                    yield Check(name, WARN if gate.passed is False else OK, gate.what + maybe, gate.do)
        yield from _check_doubles(agent, seen)
    if not connected:
        from recall_git.commands.install import here

        what = "no agent is connected: nothing is recalled by itself"
        yield Check("agents", WARN, what, f"run 'git recall install AGENT' (found here: {', '.join(here()) or 'none'})")


def _was_ours(agent: Agent, scope: str, top: Path | None) -> bool:
    from recall_git.agents.files import written

    return any(written(target.path) for target in agent.targets(scope, top))


def _check_connection(agent: Agent, scope: str, top: Path | None, path: Path, found: list[Found]) -> Iterator[Check]:
    for command in sorted({entry.command for entry in found}):
        why = _command_fault(command)
        if why:
            do = f"run 'git recall install {agent.name} --{scope}' again"
            yield Check(agent.name, FAIL, f"{path}: it does nothing: {why}", do)
            return
    events = [entry.event for entry in found]
    doubled = sorted({event for event in events if events.count(event) > 1})
    if doubled:
        what = f"{path} has our hook more than once for {', '.join(doubled)}"
        do = f"run 'git recall uninstall {agent.name} --{scope}', then install it again"
        yield Check(agent.name, WARN, what, do)
    gate = agent.gate(scope, top)
    passed = f"; {gate.what}" if gate and gate.passed else ""
    yield Check(agent.name, OK, f"connected by {path} ({', '.join(dict.fromkeys(events))}){passed}")


def _check_doubles(agent: Agent, seen: list[Path]) -> Iterator[Check]:
    """Two files of hooks, or one and a plugin: each event is answered once, but an agent starts us twice."""
    plugin = agent.plugin()
    folders = {path.parent for path in seen}
    if len(folders) > 1 and agent.name not in ("cline", "openclaw"):
        what = f"connected twice, by {' and '.join(map(str, seen))}"
        yield Check(agent.name, WARN, what, f"run 'git recall uninstall {agent.name}' with --user or --project")
    if seen and plugin:
        what = f"connected twice, by {seen[0]} and by its plugin {plugin}"
        yield Check(agent.name, WARN, what, f"run 'git recall uninstall {agent.name}', or remove the plugin")


def _command_fault(command: str) -> str:
    """Return why *command* would not reach us, '' when it does or when that cannot be known from here."""
    try:
        words = shlex.split(command)
    except ValueError:
        return f"'{command}' is no shell command"
    if len(words) == 1 and words[0].endswith(launcher.NAME) and "/" in words[0]:
        return launcher.fault(Path(words[0]))
    if words[-1:] == ["mcp"] and shutil.which(words[0]) is None:
        return f"there is no program {words[0]}"
    return ""


def _check_runs(folder: Path, top: Path | None) -> Iterator[Check]:
    """Run the hook as each connected agent would, and say how long it takes."""
    path = launcher.folder() / launcher.NAME
    if launcher.fault(path):
        yield Check("hook", FAIL, "cannot be run, see 'launcher' above")
        return
    runs = dict(_runs(top)) or {"claude-code": launcher.quote(path)}
    for name, command in runs.items():
        agent = agents.load(name)
        waiting: list[float] = []
        try:
            while not waiting or (waiting[-1] > WARM_MS and len(waiting) < WARM_MAX):
                waiting.append(_timed_run(agent, command, folder))
            measured = [_timed_run(agent, command, folder) for _ in range(RUNS)]
        except RecallError as error:
            yield Check("hook", FAIL, f"{agent.title}: {error}")
            continue
        kind = "prompt" if "prompt" in agent.events.values() else "start"
        what = f"{median(measured):.0f} ms a {kind} (median of {RUNS}; the first took {waiting[0]:.0f} ms)"
        yield Check("hook", OK, f"{agent.title}: {what}")


def _runs(top: Path | None) -> Iterator[tuple[str, str]]:
    """Yield (agent, command) of each agent that is connected by a hook or an extension of ours."""
    for name in agents.AGENTS:
        agent = agents.load(name)
        for scope in agent.scopes if top else ("user",):
            try:
                commands = [found.command for _, found in agent.inspect(scope, top)]
            except Refused:
                continue
            if agent.events and commands and not commands[0].endswith(" mcp"):
                yield name, commands[0] or launcher.quote(launcher.folder() / launcher.NAME)


def _timed_run(agent: Agent, command: str, folder: Path) -> float:
    """Run *command* as *agent* would for one prompt; return its ms. Raises RecallError when it misbehaves."""
    session = f"{SESSION}{os.getpid()}-{time.time_ns()}"
    event, environ = agent.sample(session, str(folder), "recall doctor asks what the notes say")
    clean = {name: value for name, value in os.environ.items() if name not in SIGNALS}
    started = time.perf_counter()
    try:
        done = subprocess.run(
            agent.argv(command),
            input=json.dumps(event).encode("ascii"),
            capture_output=True,
            check=False,
            cwd=folder,
            env={**clean, **environ},
            timeout=30,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RecallError(f"a run failed ({error}); try it by hand: echo '{{}}' | {command}") from error
    took = (time.perf_counter() - started) * 1000
    if done.returncode or done.stderr:
        said = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
        raise RecallError(
            f"a run ended with {done.returncode} {said}; it should be 0 and silent: see your shell's profile"
        )
    if not agent.understands(done.stdout.decode("utf-8", "replace")):
        first = done.stdout.decode("utf-8", "replace").split("\n")[0][:60]
        raise RecallError(f"something else prints before the answer ('{first}'); look in your shell's profile")
    return took
