"""``git recall query TEXT…``: search by hand or by script."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recall_git.errors import EXIT_NOTHING, EXIT_OK, UsageError

if TYPE_CHECKING:
    from recall_git.search import Found, Memory
    from recall_git.types import Hit

_DESCRIPTION = """Search the notes. Plain words are ranked by words and meaning together; "a phrase",
title: tag: type: path: date:[2026-01 TO 2026-03], AND OR NOT and wild* cards are understood.
Exit status: 0 found, 1 nothing found, 3 a mistake in the call."""


def run(argv: list[str]) -> int:
    """Print the best sections for a text, or answer one query a line."""
    args = _parse(argv)
    from recall_git import overlay, search
    from recall_git.engine import Engine

    engine = Engine()
    flags = {"gate": args.gate} if args.gate else {}
    opened = engine.open(engine.repository(Path.cwd(), os.environ), revision=args.at, environ=os.environ, flags=flags)
    memory = opened.memory if args.at else overlay.lay_over(opened.repo, opened.memory)
    if args.stdin:
        for name, text in _lines():
            _emit({"id": name, **_as_prompt(memory, text, args)}, args)
        return EXIT_OK
    text = " ".join(args.text)
    found = search.search(memory, text, limit=args.limit, legs=args.legs, language=True)
    if args.json:
        _emit(list(map(row_of, found.hits)), args)
    else:
        _print(found, memory)
    return EXIT_OK if found.hits else EXIT_NOTHING


def _as_prompt(memory: Memory, text: str, args: Namespace) -> dict[str, Any]:
    """Return whether a prompt hook would inject anything for *text*, why, and the hits whatever the gate says."""
    from recall_git import gate, search

    verdict = gate.judge(text)
    found = search.search(memory, verdict.query if verdict.open else text, limit=args.limit, legs=args.legs)
    inject = verdict.open and found.inject
    hits = [row_of(hit) | {"inject": hit.inject and inject} for hit in found.hits]
    return {"inject": inject, "why": found.why if verdict.open else verdict.why, "hits": hits}


def _parse(argv: list[str]) -> Namespace:
    parser = ArgumentParser("git recall query", description=_DESCRIPTION)
    parser.add_argument("-n", dest="limit", type=int, default=10, metavar="N", help="most results (default 10)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--stdin", action="store_true", help='read one prompt a line (plain words): text, or {"id", "text"}'
    )
    parser.add_argument("--legs", choices=("hybrid", "lexical", "dense"), default="hybrid", help="for measurements")
    parser.add_argument("--gate", choices=("strict", "normal", "open"), help="instead of recall.gate")
    parser.add_argument("--at", default="", metavar="REV", help="as of this commit, tag or branch")
    parser.add_argument("text", nargs="*", help="what to look for (after -- when it starts with a dash)")
    args, _ = parser.parse_known_args(argv)
    args.text = _words(argv, parser)
    if not args.text and not args.stdin:
        raise UsageError("there is nothing to look for; write: git recall query TEXT")
    if args.limit < 1:
        raise UsageError("-n wants a number from 1 on")
    return args


def _words(argv: list[str], parser: ArgumentParser) -> list[str]:
    """Return the query's words: what is no option of ours, in order, so that a text may begin with a dash."""
    options = {name: action.nargs != 0 for action in parser._actions for name in action.option_strings}
    words: list[str] = []
    rest = iter(argv)
    for word in rest:
        if word == "--":
            return [*words, *rest]
        name = word.split("=", 1)[0]
        if name not in options:
            words.append(word)
        elif options[name] and "=" not in word:
            next(rest, None)
    return words


def _lines() -> Iterator[tuple[Any, str]]:
    """Yield (id, text) of each line of stdin; a plain line's id is its number from 1."""
    for number, line in enumerate(sys.stdin.buffer, start=1):
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        name: Any = number
        if text.startswith("{"):
            try:
                row = json.loads(text)
                name, text = row.get("id", number), str(row["text"])
            except (ValueError, KeyError, AttributeError):
                pass  # a text that happens to begin like JSON
        yield name, text


def row_of(hit: Hit) -> dict[str, Any]:
    """Return *hit* as it stands in JSON."""
    document = hit.document
    return {
        "path": document.path,
        "line": document.line,
        "heading": " › ".join(document.heading),
        "title": document.title,
        "summary": document.summary,
        "tags": list(document.tags),
        "type": document.type,
        "date": document.date,
        "score": round(hit.score, 4),
        "lexical": round(hit.lexical, 4),
        "dense": round(hit.dense, 4),
        "inject": hit.inject,
        "why": hit.why,
    }


def _emit(value: object, args: Namespace) -> None:
    print(json.dumps(value, ensure_ascii=False), flush=args.stdin)


def _print(found: Found, memory: Memory) -> None:
    """Print results for people: what would be injected is marked."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for hit in found.hits:
        document = hit.document
        title = " › ".join(dict.fromkeys((document.title, *document.heading)))
        line = Text.assemble(
            ("● " if hit.inject else "○ ", "green" if hit.inject else "dim"),
            (title, "bold"),
            f"  {document.path}:{document.line}",
            (f"  {document.date}{f' [{document.mark}]' if document.mark else ''}", "dim"),
        )
        console.print(line)
        console.print(Text(f"    {document.summary}"))
    if not found.hits:
        print(f"nothing found at {memory.commit[:10]}", file=sys.stderr)
