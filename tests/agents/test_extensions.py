"""Our extensions, run under Node with a stub of their host: what they ask, what they give back, what they survive."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recall_git import launcher
from recall_git.agents.extension import source

node = shutil.which("node")
pytestmark = pytest.mark.skipif(node is None, reason="there is no node")

ANSWER = """printf '{"text": "the notes say"}'"""
HOSTS = {
    "pi": """
const handlers = {};
extension.default({ on: (name, handler) => { handlers[name] = handler; } });
const ctx = { cwd: CWD, sessionManager: { getSessionFile: () => "s-1" } };
const ask = (prompt, more = {}) => handlers.before_agent_start({ prompt, messageType: "user", ...more }, ctx);
const compact = () => handlers.session_compact({ reason: "manual" }, ctx);
const resume = () => handlers.session_start({ reason: "resume" }, ctx);
""",
    "openclaw": """
const handlers = {};
extension.default.register({ on: (name, handler) => { handlers[name] = handler; } });
const ctx = { sessionKey: "s-1", workspaceDir: CWD, inputProvenance: { kind: "external_user" }, trigger: "user" };
const ask = (prompt, more = {}) =>
  handlers.before_prompt_build({ prompt: "history " + prompt, currentUserMessage: prompt }, { ...ctx, ...more });
const compact = () => handlers.after_compaction({}, ctx);
""",
    "opencode": """
const hooks = await extension.Recall({ directory: CWD, worktree: "/", client: {}, project: {} });
const ask = async (prompt, more = {}) => {
  const parts = [{ id: "prt_0", type: "text", text: prompt }, { id: "prt_1", type: "file" },
                 { id: "prt_2", type: "text", text: "synthetic", synthetic: true }];
  const output = { message: { id: "msg_1" }, parts };
  await hooks["chat.message"]({ sessionID: "s-1", ...more }, output);
  return parts.slice(3);
};
const compact = () => hooks.event({ event: { type: "session.compacted", properties: { sessionID: "s-1" } } });
""",
    "amp": """
const handlers = {};
extension.default({ on: (name, handler) => { handlers[name] = handler; } });
process.chdir(CWD);
const ask = (message) => handlers["agent.start"]({ message, id: "m-1", thread: { id: "s-1" } }, {});
const compact = async () => {};
""",
}
GIVEN: dict[str, Callable[[Any], str]] = {
    "pi": lambda result: str(result["message"]["content"]) if result else "",
    "openclaw": lambda result: str(result["prependContext"]) if result else "",
    "opencode": lambda result: str(result[0]["text"]) if result else "",
    "amp": lambda result: str(result["message"]["content"]) if result else "",
}
AGENTS = tuple(HOSTS)


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., list[Any]]:
    """Run ``script`` in the host of *agent*; return what it gave ``show``. *program* is the launcher's shell script."""

    def run(agent: str, script: str, *, program: str = ANSWER, path: str | None = None, **environ: str) -> list[Any]:
        work = tmp_path / "notes"
        work.mkdir(exist_ok=True)
        extension = tmp_path / f"{agent}.mjs"
        extension.write_text(source(agent), "utf-8")
        place = launcher.folder() / launcher.NAME
        if program:
            place.parent.mkdir(parents=True, exist_ok=True)
            asked = f'cat > "{tmp_path}/$$.asked"\necho "$RECALL_TIMEOUT_MS" > "{tmp_path}/timeout"\n'
            asked += f'pwd > "{tmp_path}/cwd"\n'
            place.write_text(f"#!/bin/sh\n{asked}{program}\n")
            place.chmod(0o755)
        driver = tmp_path / "driver.mjs"
        driver.write_text(
            f"import * as extension from {json.dumps(str(extension))};\n"
            f"const CWD = {json.dumps(str(work))};\n"
            "const show = (value) => process.stdout.write(JSON.stringify(value ?? null) + '\\n');\n"
            f"{HOSTS[agent]}\n{script}\n",
            "utf-8",
        )
        done = subprocess.run(
            (str(node), str(driver)), capture_output=True, text=True, check=False, timeout=60,
            env={**os.environ, **environ, **({"PATH": path} if path is not None else {})},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run


def asked(tmp_path: Path) -> list[dict[str, Any]]:
    """Return what the launcher was asked, oldest first."""
    files = sorted(tmp_path.glob("*.asked"), key=lambda path: path.stat().st_mtime_ns)
    return [json.loads(path.read_text("utf-8")) for path in files]


@pytest.mark.parametrize("agent", AGENTS)
def test_asks_and_gives(run: Callable[..., list[Any]], agent: str, tmp_path: Path) -> None:
    (result,) = run(agent, 'show(await ask("what about ports? ü漢 \\" \\\\"));')
    assert GIVEN[agent](result) == "the notes say"
    assert asked(tmp_path) == [
        {
            "agent": agent,
            "event": "prompt",
            "session": "s-1",
            "cwd": str(tmp_path / "notes"),
            "prompt": 'what about ports? ü漢 " \\',
            "first": True,
        }
    ]
    assert (tmp_path / "cwd").read_text().strip() == str(tmp_path / "notes")


def test_the_shapes_that_the_hosts_want(run: Callable[..., list[Any]]) -> None:
    message = {"customType": "git-recall", "content": "the notes say", "display": False}
    assert run("pi", 'show(await ask("x"));') == [{"message": message}]
    assert run("openclaw", 'show(await ask("x"));') == [{"prependContext": "the notes say"}]
    assert run("amp", 'show(await ask("x"));') == [{"message": {"content": "the notes say"}}]
    (parts,) = run("opencode", 'show(await ask("x"));')
    (part,) = parts
    number = part.pop("id")
    assert number.startswith("prt_")
    assert len(number) == 4 + 12 + 14
    int(number[4:16], 16)
    wanted = {"messageID": "msg_1", "sessionID": "s-1", "type": "text", "text": "the notes say", "synthetic": True}
    assert part == wanted


@pytest.mark.parametrize("agent", AGENTS)
def test_first_until_something_was_given_and_again_after_a_compaction(
    run: Callable[..., list[Any]], agent: str, tmp_path: Path
) -> None:
    run(agent, 'await ask("one"); await ask("two"); await compact(); await ask("three");')
    events = [(event["event"], event.get("first")) for event in asked(tmp_path)]
    if agent == "amp":  # says nothing of a compaction
        assert events == [("prompt", True), ("prompt", False), ("prompt", False)]
    else:
        assert events == [("prompt", True), ("prompt", False), ("compact", None), ("prompt", True)]


@pytest.mark.parametrize("agent", AGENTS)
def test_silence_keeps_the_session_unopened(run: Callable[..., list[Any]], agent: str, tmp_path: Path) -> None:
    results = run(agent, 'show(await ask("one")); show(await ask("two"));', program=":")
    assert [GIVEN[agent](result) for result in results] == ["", ""]
    assert [event["first"] for event in asked(tmp_path)] == [True, True]


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(
    "program", ["echo no json", "exit 2", "echo oops >&2; exit 1", "printf null", "printf '{\"text\": 3}'"]
)
def test_a_launcher_that_misbehaves_is_silence(run: Callable[..., list[Any]], agent: str, program: str) -> None:
    (result,) = run(agent, 'show(await ask("one"));', program=program)
    assert GIVEN[agent](result) == ""


@pytest.mark.parametrize("agent", AGENTS)
def test_no_launcher_is_silence(run: Callable[..., list[Any]], agent: str) -> None:
    (result,) = run(agent, 'show(await ask("one"));', program="", path="/nonexistent")
    assert GIVEN[agent](result) == ""


@pytest.mark.parametrize("agent", AGENTS)
def test_a_launcher_that_hangs_is_left(run: Callable[..., list[Any]], agent: str) -> None:
    (result,) = run(agent, 'show(await ask("one"));', program="exec sleep 30", RECALL_TIMEOUT_MS="50")
    assert GIVEN[agent](result) == ""


def test_the_deadline_is_longer_for_a_start_and_the_users_own_counts(
    run: Callable[..., list[Any]], tmp_path: Path
) -> None:
    run("pi", 'await ask("one");')
    assert (tmp_path / "timeout").read_text() == "1500\n"
    run("pi", 'await ask("one"); await ask("two");')
    assert (tmp_path / "timeout").read_text() == "250\n"
    run("pi", 'await ask("one");', RECALL_TIMEOUT_MS="700")
    assert (tmp_path / "timeout").read_text() == "700\n"


@pytest.mark.parametrize("agent", AGENTS)
def test_what_nobody_typed_asks_nothing(run: Callable[..., list[Any]], agent: str, tmp_path: Path) -> None:
    script = 'await ask(""); await ask("  \\n"); await ask(3);'
    if agent == "pi":
        script += 'await ask(undefined); await ask("x", { messageType: "custom" });'
    if agent == "openclaw":
        script += 'await ask("x", { inputProvenance: { kind: "inter_session" } }); await ask("x", { trigger: "cron" });'
    run(agent, script)
    assert asked(tmp_path) == []


def test_pi_does_not_repeat_the_start_in_a_session_that_it_resumes(
    run: Callable[..., list[Any]], tmp_path: Path
) -> None:
    run("pi", 'await resume(); await ask("one");')
    assert [event["first"] for event in asked(tmp_path)] == [False]


def test_older_pi_has_no_message_type(run: Callable[..., list[Any]]) -> None:
    (result,) = run("pi", 'show(await ask("x", { messageType: undefined }));')
    assert result["message"]["content"] == "the notes say"


@pytest.mark.parametrize("agent", AGENTS)
def test_hosts_that_tell_less_than_they_should_are_survived(run: Callable[..., list[Any]], agent: str) -> None:
    bare = {
        "pi": "show(await handlers.before_agent_start({ prompt: 'x' }));",
        "openclaw": "show(await handlers.before_prompt_build({ prompt: 'x' }));",
        "opencode": "const parts = [{ type: 'text', text: 'x' }];"
        "await hooks['chat.message']({}, { parts }); show(parts.slice(1));"
        "await hooks['chat.message']({}, {}); await hooks.event({ event: {} });",
        "amp": "show(await handlers['agent.start']({ message: 'x' }));",
    }
    (result,) = run(agent, bare[agent])
    assert GIVEN[agent](result) == "the notes say"
