"""History rewritten, undone and merged: the index follows HEAD, and dates do not depend on the way there."""

from __future__ import annotations

import random
import shlex
import sys
from typing import TYPE_CHECKING

import pytest

from recall_git import publish, sync
from recall_git.repo import Change, Repo

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import GitRepo
    from weather import Weather

DAY = "2026-01-{:02}T00:00:00Z"


@pytest.fixture
def line(weather: Weather) -> Weather:
    """Four commits, each with a note of its own, and one note that all of them change."""
    for number in range(1, 5):
        weather.repo.commit(
            {f"n{number}.md": f"# Note {number}\n", "log.md": "# Log\n" + "entry\n" * number},
            message=f"c{number}", date=DAY.format(number),
        )  # fmt: skip
    return weather


def test_cherry_pick_and_revert(line: Weather) -> None:
    repo = line.repo
    repo.git("checkout", "-q", "-b", "side", "HEAD~2")
    repo.commit({"s.md": "# Side\n"}, date=DAY.format(9))
    repo.git("checkout", "-q", "main")
    repo.git("cherry-pick", "side")
    assert {row[0]: row[4] for row in line.check()}["s.md"] == "2026-01-09"
    repo.git("revert", "--no-edit", "HEAD")
    assert "s.md" not in line.paths()


def test_reverting_a_revert_takes_the_date_of_the_last_commit(line: Weather) -> None:
    repo = line.repo
    repo.git("rm", "-q", "n1.md")
    repo.commit(date=DAY.format(10))
    line.check()
    repo.git("revert", "--no-edit", "HEAD", GIT_AUTHOR_DATE=DAY.format(3))  # the clock went backwards
    assert {row[0]: row[4] for row in line.check()}["n1.md"] == repo.git(
        "log", "-1", "--format=%ad", "--date=format:%Y-%m-%d", "--", "n1.md"
    )


def test_conflicting_cherry_pick_resolved_and_aborted(line: Weather) -> None:
    repo = line.repo
    repo.git("checkout", "-q", "-b", "side", "HEAD~2")
    repo.commit({"log.md": "# Log\nother\n"})
    repo.git("checkout", "-q", "main")
    repo.git("cherry-pick", "side", check=False)
    line.check()
    repo.git("cherry-pick", "--abort")
    line.check()
    repo.git("cherry-pick", "side", check=False)
    repo.write({"log.md": "# Log\nboth\n"})
    repo.git("add", "log.md")
    repo.git("-c", "core.editor=true", "cherry-pick", "--continue")
    line.check()


def test_stash_and_pop(line: Weather) -> None:
    repo = line.repo
    repo.write({"log.md": "# Log\nunsaved\n", "new.md": "# New\n"})
    repo.git("add", "new.md")
    repo.git("stash", "-q")
    line.check()
    repo.commit({"n9.md": "# Nine\n"})
    repo.git("stash", "pop", "-q")
    assert (repo.path / "log.md").read_text() == "# Log\nunsaved\n"
    assert "new.md" not in line.paths()
    assert repo.git("status", "--porcelain") == " M log.md\nA  new.md" or "A  new.md" in repo.git(
        "status", "--porcelain"
    )


def test_stash_of_untracked_files_leaves_the_index_alone(line: Weather) -> None:
    repo = line.repo
    documents = line.snapshot().documents
    repo.write({"new.md": "# New\n"})
    repo.git("stash", "-q", "-u")
    assert line.snapshot().documents == documents
    repo.git("stash", "pop", "-q")
    line.check()


def test_reset_hard_has_no_hook_and_adds_nothing(line: Weather) -> None:
    repo, documents = line.repo, line.snapshot().documents
    for target in ("HEAD~3", "ORIG_HEAD"):
        repo.git("reset", "-q", "--hard", target)
        line.check(seen=False)
    assert line.snapshot().documents == documents


@pytest.mark.parametrize("mode", ["--soft", "--mixed"])
def test_other_resets(line: Weather, mode: str) -> None:
    line.repo.git("reset", "-q", mode, "HEAD~2")
    line.check(seen=False)


def test_checkout_of_paths_moves_no_commit(line: Weather) -> None:
    repo = line.repo
    repo.write({"log.md": "garbage"})
    line.events.clear()
    repo.git("checkout", "--", "log.md")
    repo.git("checkout", "HEAD~2", "--", "log.md")
    line.check()
    assert repo.git("status", "--porcelain") == "M  log.md"


def test_checkout_of_a_commit_seen_before_indexes_nothing(line: Weather) -> None:
    repo, documents = line.repo, line.snapshot().documents
    for target in ("HEAD~3", "main", "HEAD~1", "main"):
        repo.git("checkout", "-q", target)
        line.check()
    assert line.snapshot().documents == documents


def edit_todo(repo: GitRepo, program: str, *args: str) -> None:
    """Run an interactive rebase whose list of commands *program* (of ``lines``) changes."""
    script = repo.path.parent / "todo.py"
    script.write_text(
        f"import sys\nlines = open(sys.argv[1]).read().split('\\n')\n{program}\n"
        "open(sys.argv[1], 'w').write('\\n'.join(lines))\n"
    )
    editor = f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}"
    repo.git("rebase", "-q", "-i", *args, check=False, GIT_SEQUENCE_EDITOR=editor, GIT_EDITOR="true")


def test_interactive_rebase_reorders_with_conflicts(line: Weather) -> None:
    repo = line.repo
    edit_todo(repo, "lines[0], lines[1] = lines[1], lines[0]", "HEAD~3")
    for _ in range(6):
        if not (repo.path / ".git" / "rebase-merge").exists():
            break
        line.check(seen=False)  # a question in the middle of it
        repo.write({"log.md": f"# Log\nresolved {_}\n"})
        repo.git("add", "-A")
        repo.git("rebase", "--continue", check=False, GIT_EDITOR="true")
    assert not (repo.path / ".git" / "rebase-merge").exists()
    assert line.events[-1] == "post-rewrite"
    line.check()


def test_interactive_rebase_squashes_drops_and_edits(line: Weather) -> None:
    repo = line.repo
    edit_todo(repo, "lines[1] = lines[1].replace('pick', 'fixup', 1)", "HEAD~3")
    line.check()
    edit_todo(repo, "lines[0] = lines[0].replace('pick', 'edit', 1)", "HEAD~2")
    repo.write({"extra.md": "# Extra\n"})
    repo.git("add", "extra.md")
    repo.git("commit", "-q", "--amend", "--no-edit")
    repo.git("rebase", "--continue", check=False, GIT_EDITOR="true")
    assert "extra.md" in line.paths()


def test_aborted_rebase(line: Weather) -> None:
    edit_todo(line.repo, "lines[0], lines[1] = lines[1], lines[0]", "HEAD~3")
    line.repo.git("rebase", "--abort", check=False)
    line.check(seen=False)


def test_rebase_onto_another_branch(line: Weather) -> None:
    repo = line.repo
    repo.git("checkout", "-q", "-b", "side", "HEAD~3")
    for number in range(3):
        repo.commit({f"side{number}.md": f"# Side {number}\n"}, date=DAY.format(10 + number))
    repo.git("rebase", "-q", "main")
    assert {row[0]: row[4] for row in line.check()}["side1.md"] == "2026-01-11"


def test_fast_forward_merge_and_pull(line: Weather, make_repo: Callable[..., GitRepo]) -> None:
    repo = line.repo
    repo.git("checkout", "-q", "-b", "side")
    repo.commit({"s.md": "# Side\n"})
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "side")
    assert line.events[-1] == "post-merge"
    assert "s.md" in line.paths()
    other = make_repo("other")
    other.git("pull", "-q", str(repo.path), "main")
    other.commit({"o.md": "# Other\n"})
    repo.git("pull", "-q", "--no-rebase", str(other.path), "main")
    assert "o.md" in line.paths()


def test_merge_of_two_lines_keeps_both_dates(line: Weather) -> None:
    repo = line.repo
    repo.git("checkout", "-q", "-b", "side", "HEAD~2")
    repo.commit({"s.md": "# Side\n"}, date=DAY.format(20))
    repo.git("checkout", "-q", "main")
    repo.commit({"m.md": "# Main\n"}, date=DAY.format(21))
    repo.git("merge", "-q", "--no-edit", "side", GIT_AUTHOR_DATE=DAY.format(25))
    dates = {row[0]: row[4] for row in line.check()}
    assert (dates["s.md"], dates["m.md"]) == ("2026-01-20", "2026-01-21")


def test_squash_merge(line: Weather) -> None:
    repo = line.repo
    repo.git("checkout", "-q", "-b", "side", "HEAD~2")
    repo.commit({"s.md": "# Side\n"}, date=DAY.format(20))
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--squash", "side")
    line.check()  # nothing is committed yet
    repo.git("commit", "-qm", "squashed", GIT_AUTHOR_DATE=DAY.format(22))
    assert {row[0]: row[4] for row in line.check()}["s.md"] == "2026-01-22"


def test_octopus_merge(line: Weather) -> None:
    repo = line.repo
    for name in ("one", "two", "three"):
        repo.git("checkout", "-q", "-b", name, "HEAD~1" if name == "one" else "main~1")
        repo.commit({f"{name}.md": f"# {name}\n"}, date=DAY.format(11 + len(name)))
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-edit", "one", "two", "three")
    assert len(repo.git("rev-list", "--parents", "-1", "HEAD").split()) == 5
    assert {"one.md", "two.md", "three.md"} <= set(line.paths())


def test_conflicting_merge_of_a_note(line: Weather) -> None:
    repo = line.repo
    repo.git("checkout", "-q", "-b", "side", "HEAD~2")
    repo.commit({"log.md": "# Log\ntheirs\n"})
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "side", check=False)
    assert "UU log.md" in repo.git("status", "--porcelain")
    line.check()  # the conflict markers are no note
    line.hook("pre-commit")
    line.check()
    repo.write({"log.md": "# Log\nresolved\n"})
    repo.git("add", "log.md")
    repo.git("commit", "-q", "--no-edit")
    assert "# Log\nresolved" in repo.git("show", "HEAD:log.md")
    line.check()


def test_merge_that_takes_one_side_whole(line: Weather) -> None:
    repo = line.repo
    repo.git("checkout", "-q", "-b", "side", "HEAD~2")
    repo.commit({"log.md": "# Log\ntheirs\n", "s.md": "# Side\n"}, date=DAY.format(20))
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-edit", "-s", "ours", "side")
    assert "s.md" not in line.paths()


def test_the_same_change_on_both_sides_has_the_later_date(line: Weather) -> None:
    repo = line.repo
    base = repo.head()
    repo.commit({"same.md": "# Same\n"}, date=DAY.format(25))
    repo.git("checkout", "-q", "-b", "side", base)
    repo.commit({"same.md": "# Same\n", "s.md": "# Side\n"}, date=DAY.format(15))
    repo.git("merge", "-q", "--no-edit", "main")
    assert {row[0]: row[4] for row in line.check()}["same.md"] == "2026-01-25"


def test_amend_and_rebase_leave_the_digest_of_the_new_commit(line: Weather) -> None:
    repo = line.repo
    old = repo.commit({"lessons/x.md": "---\npriority: high\n---\n# Never deploy on Friday\n\nIt broke.\n"})
    repo.git("commit", "-q", "--amend", "-m", "reworded")
    new = repo.head()
    assert new[:10] in repo.git("notes", "--ref=recall", "show", new)
    assert old in repo.git("notes", "--ref=recall", "list")
    repo.git("reflog", "expire", "--expire=now", "--all")
    assert publish.prune(Repo.discover(repo.path)) > 0
    left = repo.git("notes", "--ref=recall", "list")
    assert old not in left
    assert new in left


# --- dates as a function of the commit ---


def brute(changes: dict[str, tuple[tuple[str, ...], int, dict[str, str]]], head: str, path: str) -> sync.LastSet:
    """Return the date and the author of *path* at *head* by their definition."""
    parents, time, tree = changes[head]
    same = [parent for parent in parents if changes[parent][2].get(path) == tree[path]]
    return max(brute(changes, parent, path) for parent in same) if same else (time, author_of(head))


def author_of(name: str) -> str:
    return "ABC"[int(name[1:]) % 3]


@pytest.mark.parametrize("seed", range(30))
def test_dates_are_those_of_the_definition_in_any_history(seed: int) -> None:
    chance = random.Random(seed)
    commits: dict[str, tuple[tuple[str, ...], int, dict[str, str]]] = {"c0": ((), 5, {"a": "1", "b": "1"})}
    for number in range(1, 25):
        names = list(commits)
        parents = tuple(chance.sample(names[-5:], min(len(names), chance.choice((1, 1, 1, 2, 3)))))
        tree = dict(commits[parents[0]][2])
        for parent in parents[1:]:
            tree |= {path: blob for path, blob in commits[parent][2].items() if chance.random() < 0.5}
        for path in "abcd":
            if chance.random() < 0.3:
                tree[path] = str(chance.randint(1, 3))
            elif chance.random() < 0.1:
                tree.pop(path, None)
        commits[f"c{number}"] = (parents, chance.randint(1, 9), tree)

    def rows(names: list[str]) -> list[Change]:
        made = []
        for name in names:
            parents, time, tree = commits[name]
            trees = [commits[parent][2] for parent in parents] or [{}]
            paths = [frozenset(p for p in {*tree, *other} if tree.get(p) != other.get(p)) for other in trees]
            made.append(Change(name, parents, time, tuple(paths), author_of(name)))
        return made

    head = "c24"
    found, beyond = sync.last_set(rows(list(reversed(commits))), head, commits[head][2])
    assert not beyond
    assert found == {path: brute(commits, head, path) for path in commits[head][2]}
    # a history that was read only in part, and the rest known
    part, beyond = sync.last_set(rows([f"c{n}" for n in range(24, 11, -1)]), head, commits[head][2])
    for oid, paths in beyond.items():
        for path in paths:
            part[path] = max(part.get(path, (0, "")), brute(commits, oid, path))
    assert part == found


@pytest.mark.parametrize("seed", range(4))
def test_random_histories_in_real_git(weather: Weather, seed: int) -> None:
    chance, repo = random.Random(seed), weather.repo
    repo.git("config", "recall.authors", str(bool(seed % 2)).lower())
    repo.commit({"a.md": "# A0\n"}, date=DAY.format(1))
    for number in range(14):
        path, text = chance.choice("abcd") + ".md", f"# T{chance.randint(0, 2)}\n"
        what = chance.choice(("commit", "commit", "branch", "merge", "back", "delete"))
        day = DAY.format(chance.randint(1, 28))
        repo.git("config", "user.name", chance.choice(("Ada", "Lin", "Mei")))
        if what == "branch":
            repo.git("checkout", "-q", "-b", f"b{number}")
        elif what == "merge":
            others = repo.git("branch", "--format=%(refname:short)").split()
            repo.git("merge", "-q", "--no-edit", "-X", "ours", chance.choice(others), check=False, GIT_AUTHOR_DATE=day)
            repo.git("add", "-A")
            repo.git("commit", "-q", "--no-edit", check=False, GIT_AUTHOR_DATE=day)
        elif what == "back":
            repo.git("checkout", "-q", chance.choice(repo.git("rev-list", "--all", "--max-count=5").split()))
        elif what == "delete" and (repo.path / path).exists():
            repo.git("rm", "-q", path)
            repo.commit(date=day)
        else:
            repo.commit({path: text}, date=day)
        weather.check(seen=False)
