"""``git recall status``: what is indexed, and whether it is current."""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from recall_git.errors import EXIT_OK


def run(argv: list[str]) -> int:
    """Print the state of the index; reads only."""
    parser = ArgumentParser("git recall status", description="What is indexed, and whether it is current.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    state = state_of(Path.cwd())
    if args.json:
        print(json.dumps(state, ensure_ascii=False))
        return EXIT_OK
    from rich.console import Console
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in state.items():
        table.add_row(name.replace("_", " "), value if isinstance(value, str) else json.dumps(value))
    Console(highlight=False).print(table)
    return EXIT_OK


def state_of(start: Path) -> dict[str, Any]:
    """Return the state of the repository that *start* lies in; raises NoRepository and NotEnabled."""
    from recall_git import sync, trace
    from recall_git.errors import IndexUnusable
    from recall_git.repo import Repo
    from recall_git.select import select

    repo = Repo.discover(start, os.environ)
    settings, problems = sync.settings_of(repo, environ=os.environ)
    store = sync.open_store(repo, settings)
    head = repo.head()
    state: dict[str, Any] = {"repository": str(repo.top or repo.git_dir), "index": str(store.folder)}
    wanted = sync.keyed(store, settings, select(repo.files(head.tree), settings, repo.read)) if head else {}
    state |= {"notes": len(wanted), "head": head.oid if head else ""}
    try:
        snapshot = store.open()
    except IndexUnusable as error:
        state |= {"stale": True, "problem": str(error)}
    else:
        rows = snapshot.read_view(sync.view_name(head, settings)) if head else None
        from recall_git.retrieve import View

        state |= {
            "commit": snapshot.last.get("commit", ""),
            "tree": snapshot.last.get("view", "").split("-")[0],
            "sections": View(snapshot, rows).count if rows is not None else 0,
            "sections_kept": sum(map(len, snapshot.segments)),
            "segments": len(snapshot.segments),
            "bytes": sum(path.stat().st_size for path in store.folder.rglob("*") if path.is_file()),
            "missing": int(snapshot.missing(sync.keys_of(wanted)).sum()),
            "stale": rows is None,
        }
    last = trace.runs(repo.state_dir, 1)
    state |= {
        "model": settings.model or "bundled",
        "model_id": store.model,
        "last_run": f"{last[0].get('time')} {last[0].get('event')} {last[0].get('outcome')}: {last[0].get('why')}"
        if last
        else "",
        "problems": list(problems),
    }
    return state
