"""``recall``, ``show`` and ``remember`` for agents over the Model Context Protocol: one JSON object a line.

Written by hand: the official library takes two thirds of a second to import. Nothing heavy is imported before the
first question; until then this is a table of answers. Speaks the revisions with a handshake; a client that probes
for the one without (``server/discover``) is told so and falls back.
"""

from __future__ import annotations

import sys

from recall_git import __version__, quickjson

TYPE_CHECKING = False  # typing's own costs 5 ms of a start that takes 30
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Any, BinaryIO

    from recall_git.engine import Engine, Opened
    from recall_git.repo import Repo
    from recall_git.types import Digest

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MAX_LINE = 16 << 20
LIMIT, LIMIT_MAX = 5, 50
DIGEST = "recall://digest"
TYPES = ("lesson", "conclusion", "decision", "knowledge", "profile", "note")
PARSE_ERROR, BAD_REQUEST, NO_METHOD, BAD_PARAMS = -32700, -32600, -32601, -32602

_REPOSITORY = {"type": "string", "description": "Folder of the notes repository; default: the open project."}
TOOLS: dict[str, dict[str, Any]] = {
    "recall": {
        "title": "Search the notes",
        "description": "Search this repository's notes: earlier decisions, lessons, conclusions, conventions, people. "
        "Ask before answering from memory or starting work that may have a history. Returns titles, summaries and "
        "path:line; read one with show.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to look for, in words of any language."},
                "limit": {"type": "integer", "minimum": 1, "maximum": LIMIT_MAX, "default": LIMIT},
                "repository": _REPOSITORY,
            },
            "required": ["query"],
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    },
    "show": {
        "title": "Read a section of a note",
        "description": "Print the section of a note that holds a line, as it is recalled. Cheaper than the file.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "As recall gives it; path:line and source › path work too."},
                "line": {"type": "integer", "minimum": 1, "description": "Default: the whole note."},
                "repository": _REPOSITORY,
            },
            "required": ["path"],
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    },
    "remember": {
        "title": "Write a note",
        "description": "Write one note into the repository, for a lesson learned, a decision taken, or when the user "
        "says 'remember'. One thought, with its reason. It is not committed; never write secrets.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "text": {"type": "string", "description": "Markdown; the first sentence becomes the title."},
                "type": {"type": "string", "enum": list(TYPES), "default": "knowledge"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "repository": _REPOSITORY,
            },
            "required": ["text"],
        },
        "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
    },
}
_CHECKS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str) and bool(value.strip()),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool) and value > 0,
    "array": lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
}


class Failure(Exception):
    """A request that cannot be answered: code and message of JSON-RPC."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Server:
    """Answers one client, one message after the other."""

    def __init__(self) -> None:
        self.roots: list[str] = []
        """The folders that the client has open, as ``file:`` addresses."""
        self._has_roots = False
        self._notes: Notes | None = None
        self._methods: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "initialize": self._initialize,
            "ping": lambda params: {},
            "tools/list": lambda params: {"tools": [{"name": name, **tool} for name, tool in TOOLS.items()]},
            "tools/call": self._call,
            "resources/list": lambda params: {"resources": [_RESOURCE]},
            "resources/templates/list": lambda params: {"resourceTemplates": []},
            "resources/read": self._read,
        }

    def answers(self, line: bytes) -> Iterator[object]:
        """Yield what is to be sent after one line: an answer, a request of ours, or nothing."""
        try:
            message = quickjson.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            yield _error(None, PARSE_ERROR, "this line is not JSON")
            return
        if isinstance(message, list) and message:  # a batch, in 2025-03-26
            replies = [reply for part in message for reply in self._one(part)]
            yield from [replies] if replies else []
        else:
            yield from self._one(message)

    def _one(self, message: object) -> Iterator[object]:
        if not isinstance(message, dict):
            yield _error(None, BAD_REQUEST, "a message is a JSON object")
            return
        method, number = message.get("method"), message.get("id")
        params = message.get("params")
        if "method" not in message and ("result" in message or "error" in message):
            self._hear_roots(message)
        elif not isinstance(method, str):
            yield _error(number, BAD_REQUEST, "a request names a method")
        elif "id" not in message:
            if self._has_roots and method in ("notifications/initialized", "notifications/roots/list_changed"):
                yield {"jsonrpc": "2.0", "id": "roots", "method": "roots/list"}
        elif method not in self._methods:
            yield _error(number, NO_METHOD, f"there is no method {method}")
        else:
            try:
                result = self._methods[method](params if isinstance(params, dict) else {})
            except Failure as failure:
                yield _error(number, failure.code, str(failure))
            else:
                yield {"jsonrpc": "2.0", "id": number, "result": result}

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        wanted, theirs = params.get("protocolVersion"), params.get("capabilities")
        self._has_roots = isinstance(theirs, dict) and isinstance(theirs.get("roots"), dict)
        return {
            "protocolVersion": wanted if wanted in REVISIONS else REVISIONS[-1],
            "capabilities": {"tools": {}, "resources": {}},
            "serverInfo": {"name": "git-recall", "title": "Notes of this repository", "version": __version__},
        }

    def _hear_roots(self, message: dict[str, Any]) -> None:
        result = message.get("result")
        roots = result.get("roots") if isinstance(result, dict) else None
        if message.get("id") == "roots" and isinstance(roots, list):
            self.roots = [root["uri"] for root in roots if isinstance(root, dict) and isinstance(root.get("uri"), str)]

    def _call(self, params: dict[str, Any]) -> dict[str, Any]:
        name, given = params.get("name"), params.get("arguments")
        if not isinstance(name, str) or name not in TOOLS:
            raise Failure(BAD_PARAMS, f"there is no tool {name}")
        given = given if isinstance(given, dict) else {}
        schema = TOOLS[name]["inputSchema"]
        for key, wanted in schema["properties"].items():
            if given.get(key) is None:
                if key in schema["required"]:
                    return _result(f"'{key}' is missing", failed=True)
            elif not _CHECKS[wanted["type"]](given[key]) or given[key] not in wanted.get("enum", [given[key]]):
                return _result(f"'{key}' should be {wanted.get('enum') or wanted['type']}", failed=True)
        notes = self._open()
        work = {"recall": notes.recall, "show": notes.show, "remember": notes.remember}[name]
        text, failed = notes.guarded(lambda: work(given))
        return _result(text, failed=failed)

    def _read(self, params: dict[str, Any]) -> dict[str, Any]:
        if params.get("uri") != DIGEST:
            raise Failure(BAD_PARAMS, f"there is no resource {params.get('uri')}")
        notes = self._open()
        text, _ = notes.guarded(lambda: notes.digest({}))
        return {"contents": [{"uri": DIGEST, "mimeType": "text/markdown", "text": text}]}

    def _open(self) -> Notes:
        if self._notes is None:
            self._notes = Notes(self)
        return self._notes


_RESOURCE = {
    "uri": DIGEST,
    "name": "digest",
    "title": "Notes for a session's start",
    "description": "Profile, prohibitions, and the latest lessons and conclusions of this repository.",
    "mimeType": "text/markdown",
}


class Notes:
    """The tools. From here on everything that recall needs is loaded, and stays."""

    def __init__(self, server: Server) -> None:
        from recall_git.engine import Engine

        self._server = server
        self._engine: Engine = Engine()

    def guarded(self, work: Callable[[], str]) -> tuple[str, bool]:
        """Return what *work* says, or why it could not, and whether that is a failure."""
        from recall_git import hook
        from recall_git.types import Digest

        def digest() -> Digest:
            return Digest(text=work(), outcome="injected")

        done = hook.guarded(digest)
        if done is None:
            return "recall is not enabled here; run 'git recall init' in the notes repository, or name it", True
        if done.outcome != "injected":
            return done.why, True
        return done.text, False

    def recall(self, given: dict[str, Any]) -> str:
        """Return the best sections, one line each; only what is more than a chance match."""
        from recall_git import beside, digest, guard, recall

        opened = self._memory(given, gate="open")
        limit, query, withheld = min(given.get("limit") or LIMIT, LIMIT_MAX), given["query"], list[str]()
        around = beside.beside(self._engine, opened)
        memories = recall.together(opened.memory, around, withheld)
        memories[0] = around.overlay(memories[0])
        answers = [recall.answer(memory, query, 4 * limit + 10, withheld) for memory in memories]
        cards = [card for card in around.cards(memories[0], query) if card.summary]
        found = recall.merged(answers)[:limit]
        if not found and not cards:
            return "The notes say nothing about this."
        lines = [f"- {guard.line(card.summary, digest.ENTRY_CHARS)}" for card in cards]
        lines += [digest.entry(document) for document in found]
        return "\n".join((f"Notes at commit {opened.memory.commit[:10]}; reference, may be outdated:", *lines))

    def show(self, given: dict[str, Any]) -> str:
        """Return a section with its place."""
        from recall_git.commands import show

        place = f"{given['path']}:{given['line']}" if given.get("line") else given["path"]
        found = show.passage(self._repository(given), place)
        return f"{found.place}\n\n{found.text}"

    def remember(self, given: dict[str, Any]) -> str:
        """Write a note; return where."""
        from datetime import datetime

        from recall_git import remember, sync

        repo = self._repository(given)
        wanted = remember.Wanted(
            text=given["text"],
            type=given.get("type") or "knowledge",
            tags=tuple(given.get("tags") or ()),
            date=datetime.now().astimezone().strftime("%Y-%m-%d"),
        )
        path = remember.write(repo, sync.settings_of(repo)[0], wanted)
        return f"Written to {path}. It is recalled as uncommitted until it is committed."

    def digest(self, given: dict[str, Any]) -> str:
        """Return what a session is given at its start."""
        from recall_git import beside, recall

        opened = self._memory(given)
        made = recall.start_digest(opened.memory, beside=beside.beside(self._engine, opened))
        return made.text or "The notes have no profile, no prohibitions and no lessons yet."

    def _memory(self, given: dict[str, Any], **flags: str) -> Opened:
        return self._engine.open(self._repository(given), flags=flags)

    def _repository(self, given: dict[str, Any]) -> Repo:
        """Return the repository that is meant: named, else the first of the client's folders that has recall on.

        Raises NoRepository, NotEnabled.
        """
        from pathlib import Path

        from recall_git import beside
        from recall_git.engine import is_enabled
        from recall_git.errors import NoRepository, NotEnabled

        named = given.get("repository")
        places = [Path(named).expanduser()] if named else [*map(_folder, self._server.roots), Path.cwd()]
        for place in places:
            try:
                repo = self._engine.repository(place)
            except NoRepository:
                continue
            if is_enabled(repo):
                return repo
        other = None if named else beside.elsewhere(self._engine, Path.cwd())
        if other is None:
            raise NotEnabled
        return other


def _folder(uri: str) -> Path:
    from pathlib import Path
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    parts = urlsplit(uri)
    return Path(url2pathname(parts.path)) if parts.scheme == "file" else Path("/nonexistent")


def _result(text: str, *, failed: bool) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def _error(number: object, code: int, message: str) -> dict[str, Any]:
    known = number if isinstance(number, str | int | float) else None
    return {"jsonrpc": "2.0", "id": known, "error": {"code": code, "message": message}}


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Answer each line of *source* on *sink* until it ends; what is no message is answered with an error."""
    server = Server()
    while line := source.readline(MAX_LINE):
        rest = line
        while not rest.endswith(b"\n") and (rest := source.readline(MAX_LINE)):
            line = b"too long"  # and so no JSON
        if line.strip():
            for answer in server.answers(line):
                sink.write(quickjson.dumps(answer).encode("ascii") + b"\n")
            sink.flush()


def main() -> None:
    """Serve on the standard streams; whatever else prints does so on stderr."""
    import os

    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:  # noqa: SIM105 - importing contextlib would be a third of the start
        serve(sys.stdin.buffer, sink)
    except (BrokenPipeError, KeyboardInterrupt):
        pass
