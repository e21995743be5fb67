"""``git recall mcp``: raw JSON-RPC in, exact answers out."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from recall_git import cli, mcp, remember
from recall_git.commands.init import write_nonce
from recall_git.repo import Repo

if TYPE_CHECKING:
    from conftest import GitRepo

HANDSHAKE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
NOTE = "# Staging\n\nAbout our servers.\n\n## Database\n\nThe staging database of Marmot listens on port 5433.\n"
FORBIDDEN = "---\ntype: lesson\npriority: high\n---\n# Never restart Marmot by day\n\nIt loses its queue.\n"


def talk(*lines: object) -> list[Any]:
    """Send messages (bytes as they are) to a server in this process; return its answers."""
    data = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
    sink = io.BytesIO()
    mcp.serve(io.BytesIO(data), sink)
    assert sink.getvalue().isascii()
    return [json.loads(line) for line in sink.getvalue().splitlines()]


def request(method: str, params: object = None, number: object = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, **({} if params is None else {"params": params})}


def call(name: str, **arguments: object) -> dict[str, Any]:
    """Return the result of one tool call."""
    (answer,) = talk(request("tools/call", {"name": name, "arguments": arguments}))
    result: dict[str, Any] = answer["result"]
    return result


def text_of(result: dict[str, Any]) -> str:
    (part,) = result["content"]
    assert part["type"] == "text"
    return str(part["text"])


@pytest.fixture
def notes(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    monkeypatch.chdir(repo.path)
    repo.commit({"ops/staging.md": NOTE, "lessons/marmot.md": FORBIDDEN})
    assert cli.main(["init", "--hooks", "none"]) == 0
    return repo


# the protocol ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", [*mcp.REVISIONS, "1999-01-01", None, 3])
def test_initialize_speaks_the_clients_revision_or_the_newest(revision: object) -> None:
    params = {**HANDSHAKE["params"], "protocolVersion": revision}  # type: ignore[dict-item]
    (answer,) = talk({**HANDSHAKE, "params": params})
    result = answer["result"]
    assert result["protocolVersion"] == (revision if revision in mcp.REVISIONS else "2025-11-25")
    assert result["capabilities"] == {"tools": {}, "resources": {}}
    assert result["serverInfo"]["name"] == "git-recall"


def test_a_client_without_a_handshake_is_sent_back_to_it() -> None:
    """2026-07-28 begins with server/discover; clients fall back on this code."""
    (answer,) = talk(request("server/discover", {"_meta": {}}))
    assert answer["error"]["code"] == -32601


def test_the_whole_conversation() -> None:
    answers = talk(
        HANDSHAKE,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        request("ping", number="p"),
        request("tools/list", number=2),
        request("resources/list", number=3),
        request("resources/templates/list", number=4),
        request("prompts/list", number=5),
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}},
    )
    assert [answer["id"] for answer in answers] == [0, "p", 2, 3, 4, 5]
    assert answers[1]["result"] == {}
    assert [tool["name"] for tool in answers[2]["result"]["tools"]] == ["recall", "show", "remember"]
    assert [resource["uri"] for resource in answers[3]["result"]["resources"]] == ["recall://digest"]
    assert answers[4]["result"] == {"resourceTemplates": []}
    assert answers[5]["error"]["code"] == -32601


def test_tools_are_described_as_the_schema_wants() -> None:
    (answer,) = talk(request("tools/list"))
    for tool in answer["result"]["tools"]:
        assert set(tool) <= {"name", "title", "description", "inputSchema", "annotations"}
        schema = tool["inputSchema"]
        assert schema["type"] == "object"
        assert set(schema["required"]) <= set(schema["properties"])
        assert all(property["type"] in ("string", "integer", "array") for property in schema["properties"].values())
    assert set(mcp.TYPES) == set(remember.TYPES)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"no json\n", -32700),
        (b"\xff\xfe\n", -32700),
        (b"[" * 100_000 + b"\n", -32700),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping"\n', -32700),
        (b"3\n", -32600),
        (b"null\n", -32600),
        (b"[]\n", -32600),
        (b'"ping"\n', -32600),
        (b'{"jsonrpc": "2.0", "id": 1}\n', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 3}\n', -32600),
        (b'{"jsonrpc": "2.0", "id": [], "method": "nothing"}\n', -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}\n', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": [1]}\n', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": ["recall"]}}\n', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "file:///etc/passwd"}}\n', -32602),
    ],
)
def test_malformed_lines_are_answered_and_survived(line: bytes, code: int) -> None:
    bad, good = talk(line, request("ping", number=9))
    assert bad["error"]["code"] == code
    assert good == {"jsonrpc": "2.0", "id": 9, "result": {}}


def test_blank_lines_and_stray_answers_say_nothing() -> None:
    stray = [{"jsonrpc": "2.0", "id": 7, "result": {}}, {"jsonrpc": "2.0", "id": "roots", "error": {"code": 1}}]
    assert talk(b"\n", b"  \r\n", *stray, {"jsonrpc": "2.0", "id": "roots", "result": {"roots": [3, {"uri": 3}]}}) == []


def test_a_line_that_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp, "MAX_LINE", 64)
    long = json.dumps(request("ping", {"x": "y" * 200})).encode() + b"\n"
    bad, good = talk(long, request("ping"))
    assert bad["error"]["code"] == -32700
    assert good["result"] == {}


def test_a_last_line_without_an_end_and_windows_ends() -> None:
    assert len(talk(json.dumps(request("ping")).encode())) == 1
    assert len(talk(json.dumps(request("ping")).encode() + b"\r\n")) == 1


def test_a_batch_is_answered_as_one() -> None:
    (answers,) = talk(
        [request("ping", number=1), {"jsonrpc": "2.0", "method": "notifications/x"}, request("ping", number=2)]
    )
    assert [answer["id"] for answer in answers] == [1, 2]
    assert talk([{"jsonrpc": "2.0", "method": "notifications/x"}]) == []


# the tools ------------------------------------------------------------------------------------------


def test_recall_names_the_place(notes: GitRepo) -> None:
    result = call("recall", query="which port does the Marmot staging database listen on")
    assert result["isError"] is False
    assert "· ops/staging.md:5" in text_of(result)
    assert notes.head()[:10] in text_of(result)


def test_recall_says_when_the_notes_say_nothing(notes: GitRepo) -> None:
    result = call("recall", query="sourdough hydration percentages")
    assert text_of(result) == "The notes say nothing about this."
    assert result["isError"] is False


def test_recall_keeps_to_its_limit(notes: GitRepo) -> None:
    notes.commit(
        {f"n/{number}.md": f"# Marmot {number}\n\nThe Marmot queue number {number} drains.\n" for number in range(9)}
    )
    assert text_of(call("recall", query="Marmot queue drains", limit=2)).count("\n- ") == 2


def test_recall_keeps_the_guardrails(notes: GitRepo) -> None:
    notes.commit({"p.md": "---\nowner: eve@example.org\n---\n# Eve's zeppelin\n\nEve parks her zeppelin in Kiel.\n"})
    assert "zeppelin" not in text_of(call("recall", query="where does Eve park her zeppelin in Kiel"))


def test_show_prints_the_section(notes: GitRepo) -> None:
    section = "## Database\n\nThe staging database of Marmot listens on port 5433."
    shown = f"ops/staging.md:5-7 at {notes.head()[:10]}\n\n{section}"
    assert text_of(call("show", path="ops/staging.md", line=6)) == shown
    assert text_of(call("show", path="ops/staging.md:6")) == shown
    assert text_of(call("show", path="ops/staging.md")).endswith(NOTE.rstrip("\n"))


def test_show_opens_what_recall_prints_as_uncommitted(notes: GitRepo) -> None:
    notes.write({"z.md": "# Zeppelin\n\nThe zeppelin is inflated for nine hours before departure.\n"})
    entry = text_of(call("recall", query="How long is the zeppelin inflated before departure?")).split("\n")[1]
    assert "[uncommitted]" in entry
    shown = text_of(call("show", path=entry.split(" · ")[1].split(" ")[0]))
    assert shown.startswith("z.md:1-3 in the work tree, uncommitted\n\n# Zeppelin")


def test_show_takes_what_recall_prints_of_another_repository(notes: GitRepo, make_repo: Callable[..., GitRepo]) -> None:
    mine = make_repo("mine")
    mine.commit({"z.md": "# Zeppelin\n\nThe zeppelin is inflated for nine hours before departure.\n"})
    mine.git("config", "recall.enabled", "true")
    write_nonce(Repo.discover(mine.path))
    notes.git("config", "recall.source", str(mine.path))
    entry = text_of(call("recall", query="How long is the zeppelin inflated before departure?")).split("\n")[1]
    place = entry.split(" · ")[1]
    assert place == "mine › z.md:1"
    assert text_of(call("show", path=place)).startswith(f"{place}-3 at {mine.head()[:10]}\n\n# Zeppelin")
    assert text_of(call("show", path="mine › z.md", line=3)).startswith(f"{place}-3 at")


def test_remember_writes_a_note(notes: GitRepo) -> None:
    result = call("remember", text="The Marmot queue is drained at noon.", type="lesson", tags=["marmot", "ops"])
    assert result["isError"] is False
    path = text_of(result).split()[2].rstrip(".")
    written = (notes.path / path).read_text()
    assert "type: lesson" in written
    assert '"marmot"' in written
    assert notes.git("status", "--porcelain", "-uall") != ""


def test_remember_refuses_secrets(notes: GitRepo) -> None:
    result = call("remember", text="The key is AKIAIOSFODNN7EXAMPLE.")
    assert result["isError"] is True
    assert list(notes.path.glob("knowledge/*")) == []


def test_the_digest_is_a_resource(notes: GitRepo) -> None:
    (answer,) = talk(request("resources/read", {"uri": "recall://digest"}))
    (content,) = answer["result"]["contents"]
    assert content["uri"] == "recall://digest"
    assert "Never restart Marmot by day" in content["text"]


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("recall", {}, "'query' is missing"),
        ("recall", {"query": None}, "'query' is missing"),
        ("recall", {"query": " "}, "'query' should be string"),
        ("recall", {"query": ["x"]}, "'query' should be string"),
        ("recall", {"query": "x", "limit": 0}, "'limit' should be integer"),
        ("recall", {"query": "x", "limit": True}, "'limit' should be integer"),
        ("show", {"path": "none.md"}, "no note 'none.md'"),
        ("show", {"path": "../outside.md"}, "no note"),
        ("remember", {"text": "x", "type": "poem"}, "'type' should be"),
        ("remember", {"text": "x", "tags": "one"}, "'tags' should be array"),
    ],
)
def test_a_mistake_is_a_result_that_says_so(notes: GitRepo, name: str, arguments: dict[str, Any], words: str) -> None:
    result = call(name, **arguments)
    assert result["isError"] is True
    assert words in text_of(result)


def test_where_recall_is_off_it_says_how_to_turn_it_on(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (repo.path, tmp_path):
        monkeypatch.chdir(place)
        result = call("recall", query="anything")
        assert result["isError"] is True
        assert "git recall init" in text_of(result)


def test_a_bug_is_a_result_too(notes: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **more: object) -> None:
        raise RuntimeError("on fire")

    monkeypatch.setattr("recall_git.recall.answer", broken)
    bad, good = talk(request("tools/call", {"name": "recall", "arguments": {"query": "x"}}), request("ping", number=2))
    assert bad["result"]["isError"] is True
    assert "on fire" in text_of(bad["result"])
    assert good["result"] == {}


def test_the_repository_is_named_or_the_clients_folder(
    notes: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A desktop program starts servers in the home folder."""
    monkeypatch.chdir(tmp_path)
    question = {"query": "which port does the Marmot staging database listen on"}
    assert "staging.md:5" in text_of(call("recall", **question, repository=str(notes.path)))
    hello = {**HANDSHAKE, "params": {**HANDSHAKE["params"], "capabilities": {"roots": {"listChanged": True}}}}  # type: ignore[dict-item]
    roots = [{"uri": "https://example.org"}, {"uri": tmp_path.as_uri()}, {"uri": notes.path.as_uri(), "name": "n"}]
    answers = talk(
        hello,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "roots", "result": {"roots": roots}},
        request("tools/call", {"name": "recall", "arguments": question}),
    )
    assert answers[1] == {"jsonrpc": "2.0", "id": "roots", "method": "roots/list"}
    assert "staging.md:5" in text_of(answers[2]["result"])


def test_a_new_commit_is_seen(notes: GitRepo) -> None:
    server = mcp.Server()
    ask = request("tools/call", {"name": "recall", "arguments": {"query": "who feeds the Marmot mascot"}})
    (before,) = server.answers(json.dumps(ask).encode())
    notes.commit({"mascot.md": "# Mascot\n\nPetra feeds the Marmot mascot on Mondays.\n"})
    (after,) = server.answers(json.dumps(ask).encode())
    assert "mascot.md" not in json.dumps(before)
    assert "mascot.md:1" in json.dumps(after)


# the process ----------------------------------------------------------------------------------------


def test_the_process_answers_and_ends_with_its_input(notes: GitRepo) -> None:
    """Nothing but messages on stdout, ready before anything heavy is imported."""
    lines = [HANDSHAKE, request("tools/call", {"name": "show", "arguments": {"path": "ops/staging.md:5"}})]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    done = subprocess.run(
        (sys.executable, "-m", "recall_git", "mcp"), input=data, capture_output=True, check=False, timeout=120,
        env={**os.environ, "PYTHONPATH": str(Path(mcp.__file__).parents[1])},
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stderr == b""
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["result"]["protocolVersion"] == "2025-06-18"
    assert "port 5433" in text_of(second["result"])


def test_nothing_heavy_before_the_first_question() -> None:
    code = (
        "import io, json, sys\n"
        "from recall_git import mcp\n"
        f"mcp.serve(io.BytesIO({json.dumps(HANDSHAKE).encode()!r}), io.BytesIO())\n"
        "print(*sys.modules)"
    )
    environ = {**os.environ, "PYTHONPATH": str(Path(mcp.__file__).parents[1])}
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, check=True, text=True, env=environ)
    loaded = set(done.stdout.split())
    assert not loaded & {
        "numpy",
        "whoosh",
        "pygit2",
        "model2vec",
        "yaml",
        "typing",
        "argparse",
        "pathlib",
        "dataclasses",
    }


def test_the_command_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["mcp", "-h"]) == 0
    assert "recall, show and remember" in capsys.readouterr().out
    assert cli.main(["mcp", "--nonsense"]) == 3


@pytest.mark.parametrize("stop", [BrokenPipeError, KeyboardInterrupt])
def test_a_client_that_leaves_is_no_error(stop: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(*streams: object) -> None:
        raise stop

    saved: Callable[..., None] = os.dup2
    monkeypatch.setattr(mcp, "serve", leave)
    monkeypatch.setattr(os, "dup2", lambda *fds: None)
    mcp.main()
    assert saved is not os.dup2
