"""``git recall audit``: what the entity dictionary lacks, and what in it does not agree."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser
from pathlib import Path

from recall_git.errors import EXIT_NOTHING, EXIT_OK, NoCommits, UsageError


def run(argv: list[str]) -> int:
    """Print the names that recur in the notes without an entry, and what clashes; exit 1 when there is neither."""
    parser = ArgumentParser(
        "git recall audit",
        description="Names that recur in the notes and are missing from the entity dictionary (recall.entities), "
        "ready to be pasted into it; entries that are there twice or contradict each other. Exit status 1: nothing.",
    )
    parser.add_argument(
        "--min", type=int, default=3, metavar="N", help="occurrences from which a name counts (default 3)"
    )
    parser.add_argument("-n", type=int, default=30, metavar="N", help="most names (default 30)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    if args.min < 1:
        raise UsageError("--min wants a number from 1 on")
    from recall_git import audit, beside, entities, notes, sync
    from recall_git.repo import Repo
    from recall_git.select import select

    repo = Repo.discover(Path.cwd(), os.environ)
    settings, _ = sync.settings_of(repo, environ=os.environ)
    head = repo.head()
    if head is None:
        raise NoCommits
    dictionary = beside.dictionary(repo, settings.entities, head)
    texts = (
        (entry.path, note.body)
        for entry in select(repo.files(head.tree), settings, repo.read)
        if entry.path != settings.entities
        and (note := notes.parse(entry.path, repo.read(entry.blob, sync.MAX_NOTE_BYTES) or b""))
    )
    known = [spelling for entity in dictionary for spelling in entity.spellings]
    found = audit.missing(texts, known, args.min)[: max(1, args.n)]
    clashes = list(entities.clashes(dictionary))
    if args.json:
        rows = [{"name": one.name, "times": one.times, "notes": list(one.paths)} for one in found]
        print(json.dumps({"missing": rows, "clashes": clashes}, ensure_ascii=False))
        return EXIT_OK if rows or clashes else EXIT_NOTHING
    for clash in clashes:
        print(f"{settings.entities}: {clash}")
    if found:
        print("| name | aliases | type | who | more |\n|---|---|---|---|---|")
        for one in found:
            places = ", ".join(path.replace("|", "\\|") for path in one.paths[:2])
            print(f"| {one.name} | | | | {one.times}×: {places} |")
    elif not clashes:
        print(f"no name occurs {args.min} times without an entry in {settings.entities}", file=sys.stderr)
    return EXIT_OK if found or clashes else EXIT_NOTHING
