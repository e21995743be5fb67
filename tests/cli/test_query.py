"""``query``, ``show``, ``digest``, ``status``, ``index``, ``gc``, ``test`` and ``eval`` as a person calls them."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recall_git import cli
from recall_git.commands.init import write_nonce
from recall_git.engine import Engine
from recall_git.repo import Repo

if TYPE_CHECKING:
    from conftest import GitRepo

Run = Callable[..., tuple[int, str, str]]
NOTES: dict[str, str | bytes] = {
    "lessons/terraform.md": "---\npriority: high\n---\n# Never run terraform destroy\n\nIt wiped staging.\n",
    "kb/postgres.md": "# Postgres\n\nIntro.\n\n## Port\n\nThe development database listens on port 5433.\n",
    "kb/部署.md": "# 部署流程\n\n生产环境只在周二和周四上午发布。\n",
}
PROMPT = "which port does the development database listen on?"


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine()


@pytest.fixture
def run(repo: GitRepo, engine: Engine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    repo.commit(NOTES)
    monkeypatch.chdir(repo.path)
    monkeypatch.setattr("recall_git.engine.Engine", lambda: engine)  # one model for all of these
    assert cli.main(["init", "--hooks", "none"]) == 0
    capsys.readouterr()

    def inside(*args: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode("utf-8", "surrogatepass"))))
        status = cli.main(list(args))
        out = capsys.readouterr()
        return status, out.out, out.err

    return inside


def test_json_and_the_short_form(run: Run) -> None:
    status, out, _ = run("query", "--json", "-n", "1", *PROMPT.split())
    (row,) = json.loads(out)
    assert (status, row["path"], row["line"], row["heading"], row["inject"]) == (0, "kb/postgres.md", 5, "Port", True)
    status, out, _ = run("terraform", "destroy")
    assert status == 0
    assert "lessons/terraform.md:4" in out


def test_a_query_may_begin_with_a_dash(run: Run) -> None:
    status, out, err = run("query", "--json", "-port", "5433")
    assert (status, err) == (0, "")
    assert json.loads(out)[0]["path"] == "kb/postgres.md"


def test_nothing_found_is_one(run: Run) -> None:
    assert run("query", "title:zeppelin")[0] == 1
    assert run("query", "--json", "title:zeppelin")[1].strip() == "[]"


def test_a_wrong_call_is_three_and_never_two(run: Run) -> None:
    for args in (
        ("query",),
        ("query", "-n", "x", "y"),
        ("show",),
        ("digest", "--nope"),
        ("status", "--nope"),
        ("test",),
    ):
        status, out, err = run(*args)
        assert (status, out) == (3, ""), args
        assert err, args


def test_stdin_answers_one_line_a_query_in_order(run: Run) -> None:
    lines = [
        json.dumps({"id": "a", "text": PROMPT}),
        "什么时候发布到生产环境",
        "thanks!",
        '{"broken',
        "",
        '{"id": 7, "text": 3}',
    ]
    status, out, _ = run("query", "--stdin", "--json", stdin="\n".join(lines) + "\n")
    rows = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    assert [row["id"] for row in rows] == ["a", 2, 3, 4, 5, 7]
    assert all(set(row) == {"id", "inject", "why", "hits"} for row in rows)
    assert rows[0]["inject"] is True
    assert rows[0]["hits"][0]["path"] == "kb/postgres.md"
    assert rows[1]["hits"][0]["path"] == "kb/部署.md"
    assert rows[2]["inject"] is False
    assert "thanks" in rows[2]["why"]


@pytest.mark.parametrize(
    ("place", "options", "expected"),
    [
        ("kb/postgres.md:6", (), "## Port\n\nThe development database listens on port 5433.\n"),
        ("kb/postgres.md:6", ("-C", "0"), "\n"),
        ("kb/postgres.md:7", ("-C", "0"), "The development database listens on port 5433.\n"),
        ("kb/部署.md", (), "# 部署流程\n\n生产环境只在周二和周四上午发布。\n"),
    ],
)
def test_show(run: Run, place: str, options: tuple[str, ...], expected: str) -> None:
    status, out, _ = run("show", place, *options)
    assert (status, out) == (0, expected)


@pytest.mark.parametrize("line", ["²", "9" * 5000])
def test_show_takes_what_is_no_line_for_part_of_the_name(run: Run, line: str) -> None:
    status, out, err = run("show", f"kb/postgres.md:{line}")
    assert (status, out, "Traceback" in err) == (3, "", False)


def test_show_from_a_folder_and_of_a_past_commit(run: Run, repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit({"kb/postgres.md": "# Gone\n\nNothing here.\n"}, date="2026-03-02T00:00:00Z")
    monkeypatch.chdir(repo.path / "kb")
    assert "Nothing here." in run("show", "postgres.md:3")[1]
    assert "5433" in run("show", "postgres.md:7", "--at", "HEAD~1")[1]
    assert run("show", "missing.md")[0] == 3
    assert run("show", "kb/postgres.md", "--at", "nowhere")[0] == 3


def test_show_opens_what_is_recalled_as_uncommitted(run: Run, repo: GitRepo, engine: Engine) -> None:
    new = "# Zeppelin\n\n## Hangar\n\nThe zeppelin sleeps in hall nine.\n"
    repo.write({"kb/zeppelin.md": new, "kb/postgres.md": "Moved.\n\n# Postgres\n\nListens on port 6000.\n"})
    entry = next(line for line in run("query", "zeppelin", "hangar", "hall")[1].splitlines() if "zeppelin.md" in line)
    assert "uncommitted" in entry
    status, out, err = run("show", "kb/zeppelin.md:5")
    assert (status, out) == (0, "## Hangar\n\nThe zeppelin sleeps in hall nine.\n")
    assert err == "kb/zeppelin.md:3-5 in the work tree, uncommitted\n"
    assert run("show", "kb/zeppelin.md", "--at", "HEAD")[0] == 3
    assert "6000" in run("show", "kb/postgres.md:5")[1]
    assert "5433" in run("show", "kb/postgres.md:7", "--at", "HEAD")[1]
    repo.git("config", "recall.overlay", "false")
    assert run("show", "kb/zeppelin.md")[0] == 3
    assert "5433" in run("show", "kb/postgres.md:7")[1]


def test_show_opens_nothing_of_the_work_tree_that_is_not_recalled(run: Run, repo: GitRepo, tmp_path: Path) -> None:
    repo.commit({".gitignore": "drafts/\n", ".recallignore": "secret.md\n"})
    (tmp_path / "outside.md").write_text("# Outside\n")
    repo.write(dict.fromkeys(("drafts/a.md", "secret.md", "README.md", "key.txt", "kb/large.md"), "# Here\n"))
    repo.write({"kb/large.md": "# Large\n" * 40_000})
    (repo.path / "link.md").symlink_to(tmp_path / "outside.md")
    for name in ("drafts/a.md", "secret.md", "README.md", "key.txt", "kb/large.md", "link.md", "../outside.md"):
        assert run("show", name)[0] == 3, name
    repo.write({"kb/postgres.md": "# Postgres\n\nElsewhere.\n"})
    assert "Elsewhere" in run("show", "kb/postgres.md")[1]
    repo.git("config", "recall.enabled", "false")
    assert "5433" in run("show", "kb/postgres.md:7")[1]


@pytest.fixture
def mine(make_repo: Callable[..., GitRepo], engine: Engine) -> GitRepo:
    """Another repository of the user's, that is on."""
    made = make_repo("mine")
    made.commit({"kb/postgres.md": "# Mine\n\nListens nowhere.\n", "z.md": "# Zeppelin\n\nUp and away.\n"})
    made.git("config", "recall.enabled", "true")
    write_nonce(Repo.discover(made.path))
    made.git("config", "--global", "--add", "recall.source", str(made.path))
    return made


def test_show_of_another_source_as_an_entry_prints_it(run: Run, repo: GitRepo, mine: GitRepo) -> None:
    assert run("show", "mine › kb/postgres.md:1")[1] == "# Mine\n\nListens nowhere.\n"
    status, out, err = run("show", "mine", "›", "z.md:3", "-C", "0")
    assert (status, out) == (0, "Up and away.\n")
    assert err == f"mine › z.md:3-3 at {mine.head()[:10]}\n"
    assert "5433" in run("show", f"{repo.path.name} › kb/postgres.md:7")[1]
    assert run("show", "z.md:1")[0] == 3
    assert run("show", "others › z.md:1")[0] == 3
    (mine.path / "z.md").write_text("# Zeppelin\n\nDown again.\n")  # of sources only commits are recalled
    assert run("show", "mine › z.md:3")[1] == "# Zeppelin\n\nUp and away.\n"
    (repo.path / "new.md").write_text("# New\n")
    assert run("show", f"{repo.path.name} › new.md:1")[1] == "# New\n"
    repo.commit({"mine › z.md": "# Own\n"})
    assert run("show", "mine › z.md:1")[1] == "# Own\n"
    mine.git("config", "recall.enabled", "false")
    assert run("show", "mine › kb/postgres.md:1")[0] == 3


def test_show_where_recall_is_not_on_is_of_who_answers_there(
    run: Run, mine: GitRepo, make_repo: Callable[..., GitRepo], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = make_repo("clone")
    clone.commit({"a.md": "# Clone\n"})
    monkeypatch.chdir(clone.path)
    assert run("show", "z.md:1")[1] == "# Zeppelin\n\nUp and away.\n"
    assert run("show", "a.md:1")[1] == "# Clone\n"
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path / "plain")
    assert run("show", "z.md:1")[0] == 0
    mine.git("config", "--global", "--unset-all", "recall.source")
    assert run("show", "z.md:1")[0] == 3


def test_digest_is_what_is_injected(run: Run) -> None:
    status, out, _ = run("digest")
    assert status == 0
    assert "Never run terraform destroy" in out
    status, out, _ = run("digest", "--prompt", PROMPT, "--json")
    row = json.loads(out)
    assert (status, row["outcome"]) == (0, "injected")
    assert row["entries"][0]["path"] == "kb/postgres.md"
    status, out, err = run("digest", "--prompt", "thanks!")
    assert (status, out) == (1, "")
    assert "thanks" in err


def test_equal_inputs_give_equal_bytes(run: Run) -> None:
    assert run("digest", "--prompt", PROMPT)[1] == run("digest", "--prompt", PROMPT)[1]


def test_status_says_what_is_indexed_and_whether_it_is_current(run: Run, repo: GitRepo) -> None:
    state = json.loads(run("status", "--json")[1])
    assert (state["notes"], state["stale"], state["missing"], state["commit"]) == (3, False, 0, repo.head())
    repo.commit({"kb/new.md": "# New\n\nA new note.\n"}, date="2026-03-02T00:00:00Z")
    state = json.loads(run("status", "--json")[1])
    assert (state["notes"], state["stale"], state["missing"]) == (4, True, 1)
    assert run("index", "--quiet") == (0, "", "")
    assert json.loads(run("status", "--json")[1])["stale"] is False


def test_gc_drops_what_no_branch_has(run: Run, repo: GitRepo) -> None:
    repo.commit({"kb/postgres.md": "# Postgres\n\nMoved to port 6000.\n"}, date="2026-03-02T00:00:00Z")
    run("index", "--quiet")
    before = json.loads(run("status", "--json")[1])
    assert run("gc")[0] == 0
    after = json.loads(run("status", "--json")[1])
    assert before["sections_kept"] > after["sections_kept"] == after["sections"]
    assert run("query", "--json", "port", "6000")[0] == 0


def test_assertions_are_recorded_and_checked(run: Run, repo: GitRepo) -> None:
    assert run("test", "--add", PROMPT, "kb/postgres.md")[0] == 0
    assert run("test", "--add", "how do I bake bread?")[0] == 0
    assert run("test")[0] == 0
    assert run("test", "--add", "什么时候发布", "lessons/")[0] == 0
    status, out, err = run("test")
    assert status == 1
    assert "FAILED recall.yml:3" in out
    assert "2 of 3 hold" in err


def test_eval_measures_your_own_questions(run: Run, tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text(json.dumps({"id": "q", "text": PROMPT}) + "\n", encoding="utf-8")
    (tmp_path / "r.tsv").write_text("q\tkb/postgres.md\t1\n", encoding="utf-8")
    status, out, _ = run("eval", str(tmp_path / "q.jsonl"), str(tmp_path / "r.tsv"), "--json")
    row = json.loads(out)
    assert (status, row["ndcg10"], row["hit1"], row["fired"]) == (0, 1.0, 1.0, 1.0)
    (tmp_path / "r.tsv").write_text("q kb/postgres.md\n", encoding="utf-8")
    assert run("eval", str(tmp_path / "q.jsonl"), str(tmp_path / "r.tsv"))[0] == 3


def test_outside_a_repository_and_without_opting_in(
    tmp_path: Path,
    make_repo: Callable[..., GitRepo],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path / "plain")
    assert cli.main(["query", "x"]) == 3
    assert "git init" in capsys.readouterr().err
    other = make_repo("other")
    other.commit({"a.md": "# A\n"})
    monkeypatch.chdir(other.path)
    assert cli.main(["query", "x"]) == 3
    assert "git recall init" in capsys.readouterr().err
