"""Make notes repositories from retrieval sets in the layout of ``--data DIR`` (see quality.py).

A set is a folder with ``corpus.jsonl`` ({"id", "title", "text"}), ``queries.jsonl`` ({"id", "text", "group"?})
and ``qrels.tsv`` (query, document, relevance). Each document becomes one note; each group one repository.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

NO_TITLES = ("xquad-zh", "xquad-en")
"""Sets whose titles are not in the language of the text, or tell nothing (their README says so)."""


@dataclass(frozen=True)
class Query:
    """One question: its id, text and the group whose notes may answer it."""

    id: str
    text: str
    group: str


@dataclass(frozen=True)
class Corpus:
    """One retrieval set."""

    name: str
    documents: dict[str, dict[str, str]]
    queries: list[Query]
    qrels: dict[str, dict[str, float]]

    @property
    def groups(self) -> list[str]:
        """The groups, '' alone when the set has none."""
        return sorted({query.group for query in self.queries})


def load(folder: Path) -> Corpus:
    """Read one set."""
    documents = {str(row["id"]): row for row in _rows(folder / "corpus.jsonl")}
    queries = [Query(str(row["id"]), row["text"], str(row.get("group", ""))) for row in _rows(folder / "queries.jsonl")]
    qrels: dict[str, dict[str, float]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, document, relevance = line.split("\t")
        if float(relevance) > 0:
            qrels.setdefault(query, {})[document] = float(relevance)
    return Corpus(folder.name, documents, queries, qrels)


def make_repository(corpus: Corpus, group: str, folder: Path) -> Path:
    """Write the documents of *group* as notes of a new repository in *folder* and commit them; return its path."""
    folder.mkdir(parents=True)
    for name, document in corpus.documents.items():
        if group and name.split("/")[0] != group:
            continue
        path = folder / path_of(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        title = "" if corpus.name in NO_TITLES else document.get("title", "")
        text = f"# {title}\n\n{document['text']}\n" if title.strip() else f"{document['text']}\n"
        path.write_text(text, encoding="utf-8")
    env = {**os.environ, "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
    for command in (
        ("init", "-q"),
        ("add", "-A"),
        ("-c", "user.name=bench", "-c", "user.email=bench@example.org", "commit", "-q", "-m", "notes"),
    ):
        subprocess.run(("git", *command), cwd=folder, env=env, check=True)
    return folder


def path_of(document: str) -> str:
    """Return the note's path for a document id; ``id_of`` takes it back."""
    return "/".join(quote(part, safe=":, ()") for part in document.split("/")) + ".md"


def id_of(path: str) -> str:
    """Return the document id for a note's path."""
    return unquote(path.removesuffix(".md"))


def _rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
