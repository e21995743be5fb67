"""``git recall remember``: a proper note, nothing overwritten, no secret, and a commit of that file alone."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from recall_git import cli, notes, remember

if TYPE_CHECKING:
    from conftest import GitRepo

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(repo: GitRepo, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run ``git recall remember …`` in the repository; return status, stdout, stderr."""

    def inside(*args: str, folder: str = ".") -> tuple[int, str, str]:
        monkeypatch.chdir(repo.path / folder)
        status = cli.main(["remember", *args])
        out = capsys.readouterr()
        return status, out.out.strip(), out.err.strip()

    return inside


def test_a_sentence_becomes_a_note(repo: GitRepo, run: Run) -> None:
    status, path, err = run("Backups go to bucket pg-dumps. They are kept for 30 days.", "--tag", "db", "--tag", "#ops")
    assert (status, path) == (0, "knowledge/backups-go-to-bucket-pg-dumps.md")
    assert "until you commit" in err
    written = (repo.path / path).read_text()
    day = notes.parse(path, written.encode()).date  # type: ignore[union-attr]
    assert written == (
        f'---\ntype: knowledge\ndate: {day}\ntags: ["db", "ops"]\n---\n# Backups go to bucket pg-dumps\n\n'
        "Backups go to bucket pg-dumps. They are kept for 30 days.\n"
    )


def test_what_is_written_is_read_back(repo: GitRepo, run: Run) -> None:
    repo.commit({"lessons/a.md": "# A\n"})
    _, path, _ = run(
        "Never: drop tables 'by hand'\n\nReason.", "--priority", "high",
        "--title", 'Never: "drop" #tables', "--tag", "a: b", "--supersedes", "lessons/a.md",
    )  # fmt: skip
    note = notes.parse(path, (repo.path / path).read_bytes())
    assert note is not None
    assert (note.problem, note.title, note.type, note.priority) == ("", 'Never: "drop" #tables', "lesson", "high")
    assert (note.tags, note.supersedes) == (("a: b",), ("lessons/a.md",))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("发布只在周二和周四。", "knowledge/发布只在周二和周四.md"),
        ("アクセストークンの有効期限は15分です。", "knowledge/アクセストークンの有効期限は15分です.md"),
        ("# Own heading\n\nText.", "knowledge/own-heading.md"),
        ("../../etc/passwd", "knowledge/etc-passwd.md"),
        ("CON", "knowledge/note-7c7b1a8b.md"),
        ("Ünïcode & <tags>", "knowledge/ünïcode-tags.md"),
    ],
)
def test_file_names(run: Run, text: str, path: str) -> None:
    found = run(text)[1]
    assert found == path or (path.startswith("knowledge/note-") and found.startswith("knowledge/note-"))


@pytest.mark.parametrize("title", ["", "!!!", "字" * 300, "word " * 80, "nul", "a" * 300, "\ud800", "🧠🧠"])
def test_slugs_are_file_names_everywhere(title: str) -> None:
    name = remember.slug(title)
    assert 0 < len(name) <= 60
    assert len(f"{name}-99.md".encode("utf-8", "surrogatepass")) < 200
    assert not set(name) & set('\\/:*?"<>|. \n')
    assert name not in ("nul", "con")


def test_it_is_found_before_it_is_committed(
    repo: GitRepo, run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit({"a.md": "# A\n"})
    monkeypatch.chdir(repo.path)
    assert cli.main(["init", "--hooks", "none"]) == 0
    run("The zeppelin is moored at the northern mast.")
    assert cli.main(["query", "where is the zeppelin moored"]) == 0
    out = capsys.readouterr().out
    assert "knowledge/the-zeppelin-is-moored-at-the-northern-mast.md:5" in out
    assert "[uncommitted]" in out
    assert cli.main(["query", "--at", "HEAD", "zeppelin"]) == 1


def test_nothing_is_overwritten(repo: GitRepo, run: Run) -> None:
    paths = [run("Same title")[1] for _ in range(3)]
    assert paths == ["knowledge/same-title.md", "knowledge/same-title-2.md", "knowledge/same-title-3.md"]
    assert len({(repo.path / path).stat().st_ino for path in paths}) == 3


def test_the_folder_that_is_there_is_used(repo: GitRepo, run: Run) -> None:
    repo.commit({"docs/adr/one.md": "# One\n", "docs/adr/two.md": "# Two\n", "decisions/old.md": "# Old\n"})
    assert run("We use Postgres", "--type", "decision")[1] == "docs/adr/we-use-postgres.md"


@pytest.mark.parametrize("where", ["text", "title", "tag"])
def test_a_secret_is_refused(repo: GitRepo, run: Run, where: str) -> None:
    secret = "password = hunter2x"
    args = {"text": [secret], "title": ["T", "--title", secret], "tag": ["T", "--tag", secret]}[where]
    status, out, err = run(*args)
    assert (status, out) == (3, "")
    assert "looks like a credential" in err
    assert "hunter2x" not in err
    assert repo.git("status", "--porcelain", "-uall") == ""
    assert run(*args, "--force")[0] == 0


def test_only_that_file_is_committed(repo: GitRepo, run: Run) -> None:
    repo.commit({"a.txt": "a"})
    repo.write({"staged.txt": "s", "a.txt": "changed"})
    repo.git("add", "staged.txt")
    status, path, err = run("We use Postgres", "--type", "decision", "--commit")
    assert status == 0
    assert err.startswith("committed ")
    assert repo.git("show", "--name-only", "--format=%s", "HEAD").split("\n") == [
        "Remember: We use Postgres", "", path,
    ]  # fmt: skip
    assert repo.git("status", "--porcelain").split("\n") == [" M a.txt", "A  staged.txt"]


def test_the_first_commit_can_be_a_note(repo: GitRepo, run: Run) -> None:
    assert run("We use Postgres", "--commit")[0] == 0
    assert repo.git("ls-files") == "knowledge/we-use-postgres.md"


def test_a_commit_that_fails_leaves_the_note_and_says_so(repo: GitRepo, run: Run) -> None:
    hook = repo.path / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    hook.chmod(0o755)
    status, path, err = run("We use Postgres", "--commit")
    assert status == 4
    assert "is written, but not committed" in err
    assert (repo.path / path).is_file()


def test_text_from_standard_input(repo: GitRepo, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("# 标题\n\n正文。\n".encode())))
    path = run("-")[1]
    assert path == "knowledge/标题.md"
    assert (repo.path / path).read_text().endswith("# 标题\n\n正文。\n")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ((" ",), "nothing to remember"),
        (("x", "--supersedes", "gone.md"), "no note 'gone.md'"),
        (("x", "--type", "poem"), ""),
    ],
)
def test_mistakes(repo: GitRepo, run: Run, args: tuple[str, ...], says: str) -> None:
    status, out, err = run(*args)
    assert (status, out) == (3, "")
    assert says in err
    assert repo.git("status", "--porcelain", "-uall") == ""


def test_a_folder_that_is_a_link_is_not_written_through(repo: GitRepo, run: Run) -> None:
    outside = repo.path.parent / "outside"
    outside.mkdir()
    (repo.path / "knowledge").symlink_to(outside)
    status, _, err = run("x")
    assert status == 3
    assert "is a link" in err
    assert not list(outside.iterdir())


def test_what_would_be_no_note_is_not_written(repo: GitRepo, run: Run) -> None:
    repo.git("config", "recall.exclude", "knowledge/")
    status, _, err = run("x")
    assert status == 3
    assert "no note" in err


def test_superseded_paths_are_named_from_where_one_stands(repo: GitRepo, run: Run) -> None:
    repo.commit({"lessons/a.md": "# A\n"})
    path = run("B", "--supersedes", "a.md", folder="lessons")[1]
    assert 'supersedes: ["lessons/a.md"]' in (repo.path / path).read_text()
