"""One query against one memory: what ranks, what is judged enough, and that history bends nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from recall_git import claim, rank, sync
from recall_git.analysis import query_terms
from recall_git.engine import Engine
from recall_git.index.background import rarity
from recall_git.search import FUSIONS, Memory, search
from recall_git.types import Document, Hit
from tests.conftest import GitRepo

NOTES = {
    "kb/postgres.md": "# Postgres\n\n## Port\n\nThe development database listens on port 5433.\n\n"
    "## Backups\n\nNightly dumps are kept for thirty days in the bucket pg-dumps.\n",
    "kb/redis.md": "# Redis\n\nWe dropped Redis because the queue lost jobs when the host was restarted.\n",
    "kb/deploy.md": "# 部署流程\n\n生产环境只在周二和周四上午发布，发布前要通知值班同事。\n",
    "kb/auth.md": "# 認証トークン\n\nアクセストークンの有効期限は15分、リフレッシュトークンは30日です。\n",
    "memory/style.md": "# Code style\n\nLines are at most one hundred and twenty characters long.\n",
}


def enable(repo: GitRepo) -> Engine:
    """Opt *repo* in and index it."""
    engine = Engine()
    opened = engine.repository(repo.path)
    opened.state_dir.mkdir(exist_ok=True)
    (opened.state_dir / "nonce").write_text("secret", encoding="ascii")
    repo.git("config", "recall.enabled", "true")
    sync.refresh(opened, sync.settings_of(opened)[0], encoder=engine.encoder())
    return engine


def memory_of(repo: GitRepo, engine: Engine) -> Memory:
    return engine.open(engine.repository(repo.path)).memory


@pytest.fixture
def memory(repo: GitRepo) -> Memory:
    repo.commit(dict(NOTES))
    return memory_of(repo, enable(repo))


@pytest.mark.parametrize(
    ("prompt", "path"),
    [
        ("which port does the postgres database use?", "kb/postgres.md"),
        ("why did we drop Redis?", "kb/redis.md"),
        ("什么时候可以发布到生产环境", "kb/deploy.md"),
        ("リフレッシュトークンの有効期限", "kb/auth.md"),
        ("how long may a line be in our code style", "memory/style.md"),
    ],
)
def test_the_right_note_comes_first(memory: Memory, prompt: str, path: str) -> None:
    assert search(memory, prompt).hits[0].document.path == path


OFF_TOPIC = [
    "How do I center a div with CSS grid?", "怎么做红烧肉", "おいしいラーメン屋を教えて",
    "translate this paragraph to French",
    "the", "…", "\udcff", "",
]  # fmt: skip


@pytest.mark.parametrize("prompt", OFF_TOPIC)
def test_nothing_is_injected_when_nothing_fits(memory: Memory, prompt: str) -> None:
    assert not search(memory, prompt).inject


def test_a_hit_names_its_section_and_its_evidence(memory: Memory) -> None:
    found = search(memory, "which port does the postgres database use?")
    best = found.hits[0]
    assert (best.document.line, best.document.heading, best.inject) == (3, ("Port",), True)
    assert {"port", "postgr", "databas"} <= set(best.matched)
    assert best.document.date == "2026-03-01"
    assert set(found.features) == set(claim.COEFFICIENTS)


def test_an_index_grown_over_many_commits_ranks_like_a_fresh_one(repo: GitRepo) -> None:
    engine = Engine()
    for number in range(6):
        repo.commit({f"old/{number}.md": f"# Port {number}\n\nPort port port {number} postgres.\n", **NOTES})
        engine = enable(repo)
    repo.git("rm", "-rq", "old")
    repo.commit(dict(NOTES))
    grown = memory_of(repo, engine)
    sync.refresh(engine.repository(repo.path), grown.settings, full=True)
    fresh = memory_of(repo, engine)
    assert len(grown.view.live) > len(fresh.view.live) == fresh.view.count == grown.view.count
    for prompt in ("which port does postgres use", "redis", "部署", "backup bucket"):
        rows = [
            [(h.document.path, h.document.line, round(h.score, 4), h.inject) for h in search(m, prompt).hits]
            for m in (grown, fresh)
        ]
        assert rows[0] == rows[1]


def test_the_scores_of_notes_are_those_of_their_sections_together(memory: Memory) -> None:
    view = memory.view
    evidence = view.ask(["postgr"], memory.encoder.ask("nightly dumps"))
    vector = memory.encoder.encode(["nightly dumps"]).vectors[0]
    note = next(int(view.note[n]) for n in range(len(view.live)) if evidence.lexical[n] > 0)
    sections = np.flatnonzero(view.note == note)
    assert evidence.note_lexical[note] > 0
    vectors = np.concatenate([np.asarray(s.vectors, np.float32) * s.scales[:, None] for s in view.segments])
    mean = vectors[sections].sum(axis=0)
    assert evidence.note_dense[note] == pytest.approx(float(mean @ vector / np.linalg.norm(mean)), abs=1e-3)
    assert set(FUSIONS) == {"hybrid", "lexical", "dense"}


def test_what_the_notes_have_no_words_for_is_left_to_meaning(memory: Memory) -> None:
    view, hybrid = memory.view, FUSIONS["hybrid"]
    evidence = view.ask(["port"], memory.encoder.ask("a queue that loses jobs"))
    unknown = replace(evidence, words=replace(evidence.words, frequencies=(*evidence.frequencies, *[0] * 9)))
    by_words, by_meaning = int(np.argmax(evidence.lexical)), int(np.argmax(evidence.dense))
    assert by_words != by_meaning
    lead = [fused[by_words] - fused[by_meaning] for fused in (view.fuse(e, hybrid) for e in (evidence, unknown))]
    assert lead[0] > 0 > lead[1]


@pytest.mark.parametrize("legs", FUSIONS)
def test_a_score_is_the_weighted_sum_of_its_evidence(memory: Memory, legs: str) -> None:
    prompt, fusion = "nightly dumps of the database", FUSIONS[legs]
    best = search(memory, prompt, legs=legs).hits[0]
    view, words = memory.view, query_terms(prompt)
    evidence = view.ask(words, memory.encoder.ask(prompt))
    number = int(np.argmax(evidence.lexical))
    note, most = view.note[number], view.reachable(evidence.frequencies)
    expected = fusion.lexical * evidence.lexical[number] / most
    expected += fusion.note_lexical * evidence.note_lexical[note] / most
    expected += fusion.dense * evidence.dense[number] + fusion.note_dense * evidence.note_dense[note]
    assert best.document.heading == ("Backups",)
    near = float(view.nearness(evidence, [number], memory.encoder.cosines)[0])
    assert 0 < near <= 1
    assert best.score == pytest.approx(expected + fusion.nearness * near, abs=1e-5)


def test_the_query_language_restricts_what_is_ranked(memory: Memory) -> None:
    found = search(memory, "path:kb NOT title:postgres", language=True)
    assert {hit.document.path for hit in found.hits} == {"kb/redis.md", "kb/deploy.md", "kb/auth.md"}
    assert search(memory, "title:nothing", language=True).hits == ()
    plain = search(memory, "path:kb NOT title:postgres")
    assert plain.hits[0].document.path == "kb/postgres.md"  # a prompt is words


@pytest.mark.parametrize(("common", "rare"), [("the", "terraform"), ("use", "kubernet"), ("の", "認"), ("的", "镜")])
def test_rarity_orders_words_by_what_they_say(common: str, rare: str) -> None:
    assert 0 <= rarity(common) < rarity(rare) <= 8


def test_a_word_that_the_table_does_not_have_is_rare() -> None:
    assert rarity("xqzvwtk") > rarity("databas")


def hit(path: str, score: float, line: int = 1, digest: str = "", summary: str = "") -> Hit:
    document = Document(
        path=path, blob="", line=line, heading=(), title=path, summary=summary or f"{path}{line}", tags=(), type="note",
        priority="", date="", owner="", expires="", supersedes=(), superseded_by="", aliases=(),
        content_hash=digest or f"{path}:{line}",
    )  # fmt: skip
    return Hit(document, score)


def test_at_most_two_sections_of_a_note_and_no_copies() -> None:
    hits = [hit("a.md", 9 - n, line=n) for n in range(4)] + [hit("b.md", 4, digest="a.md:0"), hit("c.md", 3)]
    assert [(h.document.path, h.document.line) for h in rank.order(hits, ())] == [("a.md", 0), ("a.md", 1), ("c.md", 1)]


def test_a_directory_weight_moves_near_ties_and_no_more() -> None:
    weights = ("memory/=1.3", "workspace/=0.85")
    near = rank.order([hit("workspace/x.md", 0.5), hit("memory/y.md", 0.495)], weights)
    assert [h.document.path for h in near] == ["memory/y.md", "workspace/x.md"]
    far = rank.order([hit("workspace/x.md", 0.5), hit("memory/y.md", 0.48)], weights)
    assert [h.document.path for h in far] == ["workspace/x.md", "memory/y.md"]
    beside = rank.order([hit("z.md", 0.5), hit("memory-old/x.md", 0.499)], weights)
    assert [h.document.path for h in beside] == ["z.md", "memory-old/x.md"]  # not below memory/


@pytest.mark.parametrize(
    ("topic", "part", "words"),
    [
        ("新员工入职审批流程", "入职审批", "窗户 窗帘 天窗 车窗 门口 出口 路口 人口"),
        ("新入社員の承認手続き", "新入社員", "窓枠 窓辺 車窓 出窓 入口 出口 人口 蛇口"),
    ],
)
def test_a_rare_pair_is_a_strong_word_and_its_characters_apart_are_not(
    repo: GitRepo, topic: str, part: str, words: str
) -> None:
    pair = words[0] + words[-1]
    others = [*[topic] * 5, *words.split()]
    repo.commit(
        {
            "topic.md": f"# {topic}\n\n{topic}、{topic}、{topic}。\n",
            "pair.md": f"# 1\n\n{part}、{pair}。\n",
            "apart.md": f"# 2\n\n{part}、{pair[1]}、{pair[0]}。\n",
            **{f"{n}.md": f"# 1{n}\n\n{text}、{n}。\n" for n, text in enumerate(others)},
        }
    )
    found = search(memory_of(repo, enable(repo)), f"{topic}、{pair}", limit=30)
    stands = {hit.document.path: hit.inject for hit in found.hits}
    assert (stands["topic.md"], stands["pair.md"], stands["apart.md"]) == (True, True, False)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("What did I write in Lock Files?", ["b.md"]),
        ("ＬＯＣＫ—files", ["b.md"]),
        ("what is in lock filesystems", []),
        ("block files", []),
        ("the note lockfiles, please", ["b.md"]),
        ("設計模式:享元について", ["d.md", "c.md"]),
        ("", []),
    ],
)
def test_a_title_or_alias_that_stands_in_the_prompt_is_named(text: str, named: list[str]) -> None:
    titles = {"a.md": "Locks", "b.md": "Lock files", "c.md": "設計模式", "d.md": "設計模式 - 享元", "e.md": "…"}
    hits = [hit(path, 0.5) for path in titles for _ in range(2)]
    hits = [
        replace(h, document=replace(h.document, title=titles[h.document.path], aliases=("lockfiles",) * (n in (2, 3))))
        for n, h in enumerate(hits)
    ]
    assert [h.document.path for h in rank.named(hits, text, lambda title: True)] == named


@pytest.mark.parametrize(
    ("contents", "title", "body", "prompt"),
    [
        ("# 目录\n\n静态链接过程，动态链接过程，静态链接过程的链接。\n", "静态链接过程", "目标文件在装入前合并。",
         "静态链接过程的笔记"),
        ("# Index\n\nRotating signing keys, rotating signing keys yearly, signing keys.\n", "Rotating signing keys",
         "Every quarter, by whoever is on call.", "what did I write in Rotating signing keys?"),
    ],
)  # fmt: skip
def test_the_note_that_is_named_comes_first(repo: GitRepo, contents: str, title: str, body: str, prompt: str) -> None:
    other = "# Other\n\nNothing of the kind.\n"
    repo.commit({"contents.md": contents, "named.md": f"# {title}\n\n{body}\n", "other.md": other})
    best = search(memory_of(repo, enable(repo)), prompt).hits[0]
    assert (best.document.path, best.inject) == ("named.md", True)


def test_a_title_that_is_only_a_word_of_the_question_is_not_named(repo: GitRepo) -> None:
    notes = {"port.md": "# Port\n\nA port is a number.\n", "staging.md": "# Staging\n\nThe database of staging "
             "listens on another port: 6543, behind the tunnel.\n"}  # fmt: skip
    repo.commit({**NOTES, **notes})
    prompt = "behind which tunnel does the staging database listen, on which port"
    assert search(memory_of(repo, enable(repo)), prompt).hits[0].document.path == "staging.md"


def test_the_parts_of_a_name_that_the_notes_know_are_no_words_of_their_own(repo: GitRepo) -> None:
    repo.commit({**NOTES, "kb/sqlite.md": "# WAL mode\n\nSQLite is put into WAL mode by a pragma.\n"})
    memory = memory_of(repo, enable(repo))
    written, lower = (search(memory, f"how do I pay my taxes in {name}") for name in ("SQLite", "sqlite"))
    assert written.features["coverage"] == lower.features["coverage"]
    assert written.features["evidence"] == lower.features["evidence"]
    assert not written.inject
    assert "sqlite" in search(memory, "SqLite").hits[0].matched
    unknown = search(memory, "getPragmaMode")  # what the notes do not know as a whole they may know in parts
    assert {"pragma", "mode"} <= set(unknown.hits[0].matched)


@pytest.mark.parametrize("gate", ["strict", "normal", "open"])
def test_the_claim_grows_with_the_evidence(gate: str) -> None:
    weak = dict.fromkeys(claim.COEFFICIENTS, 0.0)
    strong = {**weak, "coverage": 1.0, "evidence": 3.2, "rarest": 5.0, "size": 4.0, "cosine": 0.7, "nearness": 0.8}
    assert claim.judge(weak, gate).level == "none"
    assert claim.judge(strong, gate).level == "entries"
    assert claim.probability(weak) < claim.probability(strong)


def test_what_is_no_number_is_no_evidence() -> None:
    assert claim.likely(float("nan")) < 1e-9


def test_json_rows_are_what_scripts_are_promised(memory: Memory) -> None:
    from recall_git.commands.query import row_of

    row = json.loads(json.dumps(row_of(search(memory, "postgres port").hits[0])))
    assert set(row) == {
        "path", "line", "heading", "title", "summary", "tags", "type", "date", "score", "lexical", "dense", "inject",
        "why",
    }  # fmt: skip
    assert Path(row["path"]).suffix == ".md"
