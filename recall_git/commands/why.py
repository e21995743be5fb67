"""``git recall why``: for one prompt, what decided about each thing that was or was not said."""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recall_git.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from recall_git.engine import Opened
    from recall_git.recall import Considered
    from recall_git.session import Session
    from recall_git.types import Hit

DIMENSIONS = ("when", "signal", "rank", "budget", "guardrail", "state", "observe")
"""The seven dimensions of memory injection (DESIGN L1)."""
_RULES = {
    "given": "given already in this session",
    "duplicate": "an earlier slot has it",
    "max-entries": "recall.entries is reached",
    "relevant-chars": "no room left of recall.relevantChars",
    "budget": "no room left of recall.budget",
    "owner": "it belongs to somebody else (owner)",
    "owner-unsure": "it has an owner, and nobody knows who asks",
    "expired": "expired",
    "superseded": "superseded",
}
_GUARDS = ("owner", "owner-unsure", "expired", "stale", "superseded", "unprotected")


@dataclass(frozen=True)
class Candidate:
    """One section that was looked at, and the rule that decided."""

    hit: Hit
    kept: bool
    rule: str


def run(argv: list[str]) -> int:
    """Print the seven dimensions, one line each, then every candidate with its scores and its rule."""
    parser = ArgumentParser("git recall why", description="Why a prompt was given what it was given, or nothing.")
    parser.add_argument("prompt", nargs="*", help="the prompt; none, or --last: the last one in the log")
    parser.add_argument("--last", action="store_true", help="the last prompt in the log")
    parser.add_argument("--session", default="", metavar="ID", help="as this session, with what it was given already")
    parser.add_argument("--at", default="", metavar="REV", help="as of this commit, tag or branch")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    from recall_git import trace
    from recall_git.engine import Engine
    from recall_git.session import Session

    engine = Engine()
    repo = engine.repository(Path.cwd(), os.environ)
    prompt, record = " ".join(args.prompt), {}
    if args.last or not prompt:
        record = _last(trace.read(repo.state_dir, 1000))
        prompt = prompt or str(record.get("prompt", ""))
    if record and not prompt:
        _print_record(record, as_json=args.json)
        return EXIT_OK
    opened = engine.open(repo, revision=args.at, environ=os.environ)
    session = Session.load(repo.state_dir / "sessions", args.session) if args.session else None
    from recall_git import beside, recall

    found = recall.consider(
        opened.memory,
        prompt,
        given=session.given if session else frozenset(),
        with_static=opened.memory.settings.static == "turn",
        beside=beside.beside(engine, opened, environ=os.environ, revision=args.at),
    )
    rows = list(candidates(found))
    lines = dict(zip(DIMENSIONS, _dimensions(found, opened, session, prompt, record), strict=True))
    if args.json:
        print(json.dumps(_as_json(found, lines, rows), ensure_ascii=False))
    else:
        _print(found, lines, rows)
    return EXIT_OK


def _last(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    for record in reversed(records):
        if record.get("prompt_hash"):
            return dict(record)
    raise UsageError("no prompt is in the log yet; write: git recall why PROMPT")


def candidates(found: Considered) -> Iterator[Candidate]:
    """Yield every section that was looked at, in each memory's order, with the rule that kept or cut it."""
    placed = {(item.document.source, item.document.path, item.document.line) for item in found.digest.placed}
    reasons: dict[str, str] = {}
    for cut in found.digest.cut:
        slot, _, rest = cut.partition(" ")
        if slot == "relevant":
            for answer in found.answers:
                for hit in answer.found.hits:
                    where = f"{hit.document.path}:{hit.document.line} "
                    if rest.startswith(where):
                        reasons.setdefault(where, rest.removeprefix(where))
    for answer in found.answers:
        for hit in answer.found.hits:
            document = hit.document
            reason = reasons.get(f"{document.path}:{document.line} ", "")
            if (answer.memory.source, document.path, document.line) in placed:
                yield Candidate(hit, True, "kept: in the digest")
            elif reason:
                yield Candidate(hit, False, f"cut: {_RULES.get(reason, reason)}")
            elif not answer.found.inject:
                yield Candidate(hit, False, f"cut: gate {answer.memory.settings.gate}, {answer.found.why}")
            elif not hit.inject:
                yield Candidate(hit, False, "cut: too little evidence of its own beside the best")
            else:
                yield Candidate(hit, False, "cut: another entry says the same")


def _dimensions(
    found: Considered, opened: Opened, session: Session | None, prompt: str, record: Mapping[str, Any]
) -> Iterator[str]:
    from recall_git import trace

    digest, settings, memory = found.digest, opened.memory.settings, opened.memory
    opening = (
        "asks something, so the notes were searched" if found.verdict.open else f"closed by rule {found.verdict.why}"
    )
    yield f"{opening}; fixed slots {'every turn' if settings.static == 'turn' else 'at the start of a session'}"
    hits = [hit for answer in found.answers for hit in answer.found.hits]
    cards = [item.document.title for item in digest.placed if item.slot == "cards"]
    uncommitted = sum("uncommitted" in hit.document.mark for hit in hits)
    shown = found.verdict.query if len(found.verdict.query) <= 80 else found.verdict.query[:79] + "…"
    yield (
        f"query “{shown}”; {len(hits)} candidates by words and meaning"
        + (f", {uncommitted} of them uncommitted" if uncommitted else "")
        + (f"; names: {', '.join(cards)}" if cards else "")
        + (f"; {len(found.answers)} repositories" if len(found.answers) > 1 else "")
    )
    claims = ", ".join(answer.found.why for answer in found.answers) or "nothing ranked"
    yield f"claim {claims} at gate {settings.gate}; {sum(hit.inject for hit in hits)} hits strong enough"
    relevant = [item for item in digest.placed if item.slot == "relevant"]
    yield (
        f"{len(digest.text)} of {settings.budget} characters, ~{trace.tokens(digest.text)} tokens; "
        f"{len(relevant)} of {settings.entries} relevant entries; "
        f"{sum(cut.endswith((' budget', ' relevant-chars', ' max-entries')) for cut in digest.cut)} cut for room"
    )
    withheld = [cut for cut in digest.cut if cut.split(" ")[-1] in _GUARDS or " superseded-by " in cut]
    yield (
        f"identity {memory.identity or 'unknown'}; {len(withheld)} withheld"
        + (f" ({'; '.join(withheld[:3])})" if withheld else "")
        + (f"; secrets masked {digest.text.count('[masked]')}" if "[masked]" in digest.text else "")
    )
    if session is None:
        yield "no session given (--session ID): nothing counts as given already"
    else:
        asked = session.asked(trace.prompt_hash(prompt))
        yield f"{len(session.given)} sections given already; this prompt {'was' if asked else 'was not'} asked before"
    steps = ", ".join(f"{step} {value:.1f}" for step, value in digest.timings_ms.items())
    logged = f"; logged {record.get('time')}: {record.get('outcome')}" if record else ""
    yield f"{digest.outcome}: {digest.why}; ms: {steps}{logged}"


def _print(found: Considered, lines: Mapping[str, str], rows: Sequence[Candidate]) -> None:
    from rich.console import Console
    from rich.text import Text

    from recall_git import guard

    console = Console(highlight=False, soft_wrap=True)
    for name, line in lines.items():
        console.print(Text.assemble((f"{name:<10}", "bold"), guard.line(line, 400)))
    console.print()
    for row in rows:
        hit, document = row.hit, row.hit.document
        console.print(
            Text.assemble(
                ("● " if row.kept else "○ ", "green" if row.kept else "dim"),
                f"{guard.location(document.path)}:{document.line}  ",
                (f"score {hit.score:.2f} {hit.why}  ", "dim"),
                (row.rule, "green" if row.kept else "yellow"),
            )
        )
    if not rows:
        console.print(f"no candidates: {found.digest.why}", style="dim")


def _as_json(found: Considered, lines: Mapping[str, str], rows: Sequence[Candidate]) -> dict[str, Any]:
    return {
        "outcome": found.digest.outcome,
        "why": found.digest.why,
        "dimensions": dict(lines),
        "candidates": [
            {
                "path": row.hit.document.path,
                "line": row.hit.document.line,
                "score": round(row.hit.score, 4),
                "lexical": round(row.hit.lexical, 4),
                "dense": round(row.hit.dense, 4),
                "coverage": round(row.hit.coverage, 4),
                "kept": row.kept,
                "rule": row.rule,
            }
            for row in rows
        ],
        "cut": list(found.digest.cut),
        "text": found.digest.text,
    }


def _print_record(record: Mapping[str, Any], *, as_json: bool) -> None:
    """Print what the log kept of a prompt whose text it does not have (``recall.logPrompts``)."""
    if as_json:
        print(json.dumps(record, ensure_ascii=False))
        return
    from recall_git.commands.log import show

    show(record, verbose=True)
    print("\nthe log keeps no prompts; 'git config recall.logPrompts true' does, or write: git recall why PROMPT")
