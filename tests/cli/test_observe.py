"""``why``, ``log``, ``diff``, ``stats``, ``report`` and ``audit``: what they say, and their exit codes."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from answering import answered

from recall_git import audit, cli, report, trace
from recall_git.commands import why
from recall_git.engine import Engine

if TYPE_CHECKING:
    from conftest import GitRepo

Run = Callable[..., tuple[int, str, str]]
NOTES: dict[str, str | bytes] = {
    "lessons/zeppelin.md": "---\ndate: 2026-02-20\n---\n# Inflation\n\n"
    "The zeppelin is inflated for nine hours before departure.\n",
    "notes/other.md": "---\nexpires: 2020-01-01\n---\n# Zeppelin hours\n\n"
    "The zeppelin is inflated for two hours before departure.\n",
    "notes/cats.md": "# Cats\n\nCats purr at night.\n",
}
PROMPT = "For how many hours is the zeppelin inflated before departure?"


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine()


@pytest.fixture
def run(repo: GitRepo, engine: Engine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Opt in, and run a verb in the repository; return status, stdout, stderr."""
    repo.commit(NOTES)
    monkeypatch.chdir(repo.path)
    repo.git("config", "recall.enabled", "true")
    (repo.path / ".git" / "recall").mkdir()
    (repo.path / ".git" / "recall" / "nonce").write_text("n" * 64)
    monkeypatch.setattr("recall_git.engine.Engine", lambda: engine)  # one model for all of these
    monkeypatch.setenv("COLUMNS", "200")

    def inside(*args: str) -> tuple[int, str, str]:
        status = cli.main(list(args))
        out = capsys.readouterr()
        return status, out.out, out.err

    return inside


@pytest.fixture
def ask(repo: GitRepo, engine: Engine) -> Callable[..., None]:
    """Send a prompt through the hook, so that it stands in the log."""

    def send(prompt: str, session: str = "s1", event: str = "UserPromptSubmit", **more: str) -> None:
        data = {"hook_event_name": event, "session_id": session, "cwd": str(repo.path), "prompt": prompt, **more}
        answered(json.dumps(data).encode(), repo.path, os.environ, engine)

    return send


def test_why_answers_the_seven_dimensions(run: Run) -> None:
    status, out, _ = run("why", PROMPT)
    assert status == 0
    assert [line.split()[0] for line in out.split("\n")[:7]] == list(why.DIMENSIONS)
    lines = out.split("\n")
    assert "asks something" in lines[0]
    assert "withheld" in lines[4]
    assert any(re.match(r"● lessons/zeppelin\.md:4 .*score .*kept: in the digest", line) for line in lines)
    assert any(re.match(r"○ notes/other\.md:\d .*cut: expired", line) for line in lines)


def test_why_says_which_rule_closed_the_gate(run: Run) -> None:
    out = run("why", "thanks!")[1]
    assert "closed by rule thanks" in out
    assert "no candidates" in out


def test_why_names_the_gate_when_the_evidence_is_thin(run: Run) -> None:
    status, out, _ = run("why", "--json", "How do I centre a div over cats in a grid layout of three columns?")
    found = json.loads(out)
    assert status == 0
    assert found["outcome"] == "silent"
    assert all(row["rule"].startswith("cut: gate") for row in found["candidates"])
    assert list(found["dimensions"]) == list(why.DIMENSIONS)


def test_why_last_without_the_prompts_text(run: Run, ask: Callable[..., None]) -> None:
    assert run("why", "--last")[0] == 3
    ask(PROMPT)
    out = run("why", "--last")[1]
    assert "lessons/zeppelin.md:4" in out
    assert "recall.logPrompts" in out


def test_why_last_with_it(run: Run, ask: Callable[..., None], repo: GitRepo) -> None:
    repo.git("config", "recall.logPrompts", "true")
    ask(PROMPT)
    out = run("why")[1]
    assert "query “For how many hours" in out
    assert "logged 20" in out


def test_why_knows_the_session(run: Run, ask: Callable[..., None]) -> None:
    ask(PROMPT)
    out = run("why", "--session", "s1", PROMPT)[1]
    assert "1 sections given already; this prompt was asked before" in out
    assert "cut: given already" in out


def test_log(run: Run, ask: Callable[..., None]) -> None:
    assert run("log")[0] == 1
    ask(PROMPT)
    ask("thanks!", "other")
    status, out, _ = run("log")
    assert status == 0
    first, second = out.strip().split("\n")
    assert "injected" in first
    assert re.search(r"1 entries, \d{3} chars, ~\d{2,3} tokens", first)
    assert "skipped" in second
    assert "thanks" in second
    assert run("log", "--session", "oth")[1].count("\n") == 1
    rows = [json.loads(line) for line in run("log", "--json", "-n", "9")[1].splitlines()]
    assert [row["outcome"] for row in rows] == ["injected", "skipped"]
    assert all("prompt" not in row for row in rows)
    assert "+ lessons/zeppelin.md:4" in run("log", "-v")[1]
    assert "- relevant notes/other.md" in run("log", "-v", "--outcome", "injected")[1]
    assert run("log", "-n", "0")[0] == 3


def test_diff(run: Run, repo: GitRepo) -> None:
    repo.git("tag", "old")
    assert run("diff", "old..HEAD")[0] == 1
    repo.commit(
        {
            "lessons/new.md": "---\ndate: 2026-02-21\n---\n# Helium first\n\nFill helium first.\n",
            "lessons/zeppelin.md": str(NOTES["lessons/zeppelin.md"]).replace("---\n# Inf", "tags: []\n---\n\n# Inf"),
        }
    )
    status, out, err = run("diff", "old..")
    assert status == 0
    assert out.strip().split("\n") == [
        "Latest lessons and conclusions:", "+ Helium first — Fill helium first. · lessons/new.md:4 · 2026-02-21",
    ]  # fmt: skip
    assert "old" in err
    assert run("diff", "old", "HEAD")[1] == out
    repo.commit({"lessons/zeppelin.md": "# Inflation\n\nThe zeppelin is inflated for three hours before departure.\n"})
    out = run("diff", "old..HEAD", "--prompt", PROMPT)[1]
    assert re.search(r"^- .*nine hours", out, re.M)
    assert re.search(r"^\+ .*three hours", out, re.M)


@pytest.mark.parametrize("args", [("nowhere..HEAD",), ("a", "b", "c"), ("a...b",)])
def test_diff_mistakes(run: Run, args: tuple[str, ...]) -> None:
    assert run("diff", *args)[0] == 3


def test_stats(run: Run, ask: Callable[..., None]) -> None:
    assert run("stats")[0] == 1
    ask(PROMPT)
    ask("thanks!")
    status, out, _ = run("stats")
    assert status == 0
    assert "1 injected, 1 skipped" in out
    assert re.search(r"█+░+ 1 of 2", out)
    assert re.search(r"^ +1  lessons/zeppelin.md$", out, re.M)
    assert "never recalled: 2 of 3 notes" in out
    found = json.loads(run("stats", "--json")[1])
    assert found["never"] == ["notes/cats.md", "notes/other.md"]


def test_what_is_opened_after_it_was_given_counts_as_used(run: Run, ask: Callable[..., None], repo: GitRepo) -> None:
    assert run("show", "notes/cats.md:1")[0] == 0  # not given before: of no use to the figures
    ask(PROMPT)
    assert "(0 of 1 opened afterwards)" in run("stats")[1]
    assert run("show", "lessons/zeppelin.md:1")[0] == 0
    assert "(1 of 1 opened afterwards)" in run("stats")[1]
    assert json.loads(run("stats", "--json")[1])["used"] == 1
    last = trace.read(repo.path / ".git" / "recall", 1)[0]
    assert (last["outcome"], last["entries"]) == ("opened", ["lessons/zeppelin.md:1"])
    assert "injected" in run("status")[1]  # the last run of a hook is still that
    assert run("log", "--outcome", "injected")[0] == 0


def test_reading_leaves_no_log_where_recall_is_off(
    run: Run, make_repo: Callable[..., GitRepo], monkeypatch: pytest.MonkeyPatch
) -> None:
    off = make_repo("off")
    off.commit({"a.md": "# A\n\nText.\n"})
    monkeypatch.chdir(off.path)
    assert run("show", "a.md")[0] == 0
    assert not (off.path / ".git" / "recall").exists()


def rows(*days: str, **more: object) -> list[dict[str, object]]:
    return [{"time": f"{day}T10:00:00+00:00", "outcome": "injected", "entries": ["a.md:1"], **more} for day in days]


def test_weeks_have_no_gaps() -> None:
    found = report.figures(rows("2026-01-05", "2026-01-27"), ["a.md", "b.md"])
    assert [week.monday for week in found.weeks] == ["2026-01-05", "2026-01-12", "2026-01-19", "2026-01-26"]
    assert (found.most, found.never) == ((("a.md", 2),), ("b.md",))


@pytest.mark.parametrize(
    "record",
    [{}, {"time": 1}, {"time": "x", "outcome": "injected"}, {"time": "2026-01-01", "outcome": ["injected"]},
     {"time": "2026-01-01T00:00:00Z", "outcome": "silent", "entries": 5},
     {"time": "2026-01-01", "outcome": "late", "ms": "fast", "why": None}],
)  # fmt: skip
def test_any_record_can_be_counted(record: dict[str, object]) -> None:
    assert report.page(report.figures([record, *rows("2026-01-05")], ["a"]), "t", "c")


class Page(HTMLParser):
    """Collects the tags and what they refer to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.references: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.references += [value or "" for name, value in attrs if name in ("src", "href", "action", "data")]


def test_the_page_is_whole_and_escaped() -> None:
    evil = "<script>alert(1)</script>\u202e\x1b[0m.md"
    records = rows("2026-01-05", entries=[f"{evil}:1"], why="<img src=x>") + rows(
        "2026-01-06", outcome="silent", why="<b>"
    )
    text = report.page(report.figures(records, [evil, "x&y.md"]), "<i>t</i>", "abc")
    page = Page(text)
    assert not page.tags & {"script", "img", "link", "iframe"}
    assert page.references == []
    assert "http" not in text.split("</style>")[1]
    assert "<script" not in text
    assert "\u202e" not in text
    assert "default-src 'none'" in text


def test_report(run: Run, ask: Callable[..., None], tmp_path: Path) -> None:
    ask(PROMPT)
    target = tmp_path / "report.html"
    assert run("report", "--html", str(target))[0] == 0
    assert "lessons/zeppelin.md" in target.read_text(encoding="utf-8")
    assert run("report", "--html", str(tmp_path / "no" / "x.html"))[0] == 3
    assert run("report")[0] == 3


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ask Alice Zhang about it. Alice Zhang knows.", ["Alice Zhang", "Alice Zhang"]),
        ("The Alice Zhang rule; see Table One", ["Alice Zhang"]),
        ("ping @azhang, not a@azhang.org nor @scope/pkg nor @pytest.fixture", ["@azhang"]),
        ("由张伟负责，联系李小龙。张伟说可以。", ["张伟", "李小龙", "张伟"]),
        ("王老师和陈经理", ["王老师", "陈经理"]),
        ("于是任务成功，方法很好，高效。", []),
        ("老张说今天发布", ["老张"]),
        ("田中さんと佐藤氏が来た。スミスさんも。", ["田中", "佐藤", "スミス"]),
        ("ジュリアン・ジェインズの本", ["ジュリアン・ジェインズ"]),
        ("皆さん、お客さま", []),
        ("```\nAlice Zhang\n```", []),
    ],
)
def test_names_by_form(text: str, names: list[str]) -> None:
    assert list(audit.names_in(text)) == names


def test_audit(run: Run, repo: GitRepo) -> None:
    assert run("audit")[0] == 1
    repo.commit(
        {
            "notes/1.md": "# One\n\nAsk Alice Zhang. 由张伟负责。\n\n田中さんに聞く。\n",
            "notes/2.md": "# Two\n\nAlice Zhang said so. 由张伟负责。\n\n田中さんに聞く。\n",
            "notes/3.md": "# Three\n\nBob Ray. Bob Ray. Bob Ray. Bob Ray.\n",
            "entities.md": "| Name | Aliases | Who |\n|---|---|---|\n| Old | O. | a |\n| New | O. | b |\n",
        }
    )
    status, out, _ = run("audit", "--min", "2")
    assert status == 0
    assert "entities.md: line 4: 'O.' is also line 3 (Old: a)" in out
    assert [row.split(" | ")[0] for row in out.split("\n") if "×" in row] == ["| Alice Zhang", "| 张伟", "| 田中"]
    repo.write({"entities.md": "- Alice Zhang (张伟、田中): one person\n"})
    assert run("audit", "--min", "2")[0] == 1
    assert run("audit", "--min", "0")[0] == 3
