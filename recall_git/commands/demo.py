"""``git recall demo``: the whole way on a small repository of its own, in a temporary folder."""

from __future__ import annotations

import os
import subprocess
import tempfile
from argparse import ArgumentParser
from pathlib import Path

from recall_git.errors import EXIT_INTERNAL, EXIT_OK

NOTES = {
    "profile/me.md": "---\ntype: profile\n---\n# Who I am\n\nI answer for the payments service and like short answers.\n",
    "lessons/terraform.md": (
        "---\ntags: [infra]\npriority: high\ndate: 2026-02-11\n---\n# Never run terraform destroy on shared accounts\n\n"
        "It wiped staging in February; ask in #infra and use a plan file instead.\n"
    ),
    "lessons/migrations.md": (
        "---\ntags: [db]\ndate: 2026-03-02\n---\n# Migrations must be reversible\n\n"
        "A one-way migration kept us down for two hours. Every migration has a tested way back.\n"
    ),
    "knowledge/postgres.md": (
        "# Postgres in development\n\n## Port\n\nThe development database listens on port 5433, because 5432 is taken by "
        "the host.\n\n## Backups\n\nNightly dumps go to the bucket `pg-dumps` and are kept for 30 days. #backup\n"
    ),
    "knowledge/部署.md": (
        "# 部署流程\n\n## 发布窗口\n\n生产环境只在周二和周四上午发布，发布前要在群里通知值班同事。\n\n## 回滚\n\n"
        "回滚用上一个镜像标签，不要重新构建。\n"
    ),
    "knowledge/認証.md": (
        "# 認証トークン\n\n## 有効期限\n\nアクセストークンの有効期限は15分、リフレッシュトークンは30日です。\n\n"
        "## 失効\n\nログアウト時はリフレッシュトークンを失効リストに入れます。\n"
    ),
}
"""Notes in three languages: a profile, two lessons, knowledge."""

PROMPTS = (
    "Which port does the Postgres database use in development?",
    "生产环境的发布窗口是什么时候？",
    "リフレッシュトークンの有効期限は？",
    "thanks, that works!",
    "How do I center a div with CSS grid?",
)
"""Three prompts that the notes answer, one that is small talk, one that they know nothing about."""


def run(argv: list[str]) -> int:
    """Make a notes repository, commit, index, and print what an agent would be told for five prompts."""
    parser = ArgumentParser("git recall demo", description="Make a small notes repository and recall from it.")
    parser.add_argument("--keep", metavar="DIR", help="make it here (an empty or new folder) and keep it")
    args = parser.parse_args(argv)
    if args.keep:
        Path(args.keep).mkdir(parents=True, exist_ok=True)
        return _run(Path(args.keep).resolve())
    with tempfile.TemporaryDirectory(prefix="recall-demo-") as folder:
        return _run(Path(folder).resolve())


def _run(folder: Path) -> int:
    from recall_git import recall
    from recall_git.commands import init
    from recall_git.engine import Engine
    from recall_git.repo import clean_environ

    for path, text in NOTES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8", newline="\n")
    identity = ("-c", "user.name=Demo", "-c", "user.email=demo@example.org", "-c", "commit.gpgsign=false")
    env = clean_environ(os.environ)
    for command in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-q", "--no-verify", "-m", "Add notes")):
        subprocess.run(("git", *command), cwd=folder, env=env, check=True)
    print(f"$ git recall init        # in {folder}")
    here = Path.cwd()
    try:
        os.chdir(folder)
        init.run(["--hooks", "none"])
    finally:
        os.chdir(here)
    # Only here are hooks unwanted: whoever keeps the folder and runs 'git recall init' in it gets them.
    subprocess.run(("git", "config", "--unset", "recall.hooks"), cwd=folder, env=env, check=True)
    engine = Engine()
    memory = engine.open(engine.repository(folder)).memory
    print("\n# a session starts; the agent is told:")
    print(recall.start_digest(memory).text)
    silent = 0
    for prompt in PROMPTS:
        made = recall.prompt_digest(memory, prompt)
        print(f"\n# you ask: {prompt}")
        print(made.text or f"(silence: {made.why})")
        silent += not made.text
    return EXIT_OK if silent == 2 else EXIT_INTERNAL
