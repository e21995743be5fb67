"""``recall.digest = tracked``: the digest is in the commit it belongs to, and nothing of the user's moves."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recall_git import cli, publish, sync
from recall_git.commands import check
from recall_git.commands.init import ATTRIBUTE, SHARED, driver
from recall_git.repo import Repo

if TYPE_CHECKING:
    from conftest import GitRepo
    from weather import Weather


def lesson(title: str, more: str = "") -> str:
    return f"---\npriority: high\n{more}---\n# {title}\n\nIt broke twice.\n"


@pytest.fixture
def tracked(weather: Weather) -> Weather:
    """Two notes and their digest, committed."""
    repo = weather.repo
    repo.git("config", "recall.digest", "tracked")
    repo.write({".recall/.gitignore": "/index/\n"})
    repo.commit({"lessons/a.md": "# Anvil\n"})  # the first index is post-commit's
    repo.commit({"lessons/a.md": lesson("Alpha"), "lessons/b.md": lesson("Beta")})
    return weather


def committed(repo: GitRepo, revision: str = "HEAD") -> str:
    return repo.git("show", f"{revision}:{publish.DIGEST_FILE}", check=False)


def on_disk(repo: GitRepo) -> str:
    return (repo.path / publish.DIGEST_FILE).read_text().rstrip("\n")


def right(weather: Weather) -> bool:
    """Whether HEAD holds the digest of its own tree, the work tree too, and no status is left."""
    repo = Repo.discover(weather.repo.path)
    head = repo.head()
    assert head is not None
    weather.check()
    text = publish.tracked_text(repo, sync.settings_of(repo)[0], list(repo.files(head.tree)), weather.encoder)
    assert text
    return committed(weather.repo) == text.rstrip("\n")


def test_the_digest_is_in_the_commit(tracked: Weather) -> None:
    repo = tracked.repo
    assert "Alpha" in committed(repo)
    assert right(tracked)
    assert on_disk(repo) == committed(repo)
    assert repo.git("status", "--porcelain", "-uall") == ""
    assert repo.git("for-each-ref", "refs/notes") == ""


def test_equal_trees_have_equal_digests(tracked: Weather, make_repo: Callable[..., GitRepo]) -> None:
    repo = tracked.repo
    repo.git("config", "recall.latest", "0")  # a person's own settings do not count
    repo.git("config", "user.email", "grace@example.org")
    repo.commit({"lessons/c.md": lesson("Gamma", "owner: grace@example.org\n"), "lessons/d.md": lesson("Delta")})
    assert "Gamma" not in committed(repo)
    first = repo.git("rev-parse", "HEAD^{tree}")
    repo.git("commit", "-q", "--amend", "-m", "x", "--date", "2031-01-01T00:00:00Z")
    assert repo.git("rev-parse", "HEAD^{tree}") == first
    assert right(tracked)
    assert "2026" not in committed(repo)


def test_dates_are_those_that_notes_give(tracked: Weather) -> None:
    repo = tracked.repo
    notes = {f"conclusions/{n}.md": f"---\ndate: 2026-01-{n:02}\n---\n# Number {n}\n\nText.\n" for n in range(1, 9)}
    repo.commit({**notes})
    found = committed(repo)
    assert [f"Number {n} " in found for n in range(1, 9)] == [False] * 3 + [True] * 5
    assert found.index("Number 8") < found.index("Number 7")
    assert "2026-01-08" in found
    assert right(tracked)


@pytest.mark.parametrize("option", ["", "-o", "-i"])
def test_partial_commit(tracked: Weather, option: str) -> None:
    repo = tracked.repo
    repo.write({"lessons/a.md": lesson("Omega"), "lessons/b.md": lesson("Psi"), "plain.txt": "mine\n"})
    repo.git("add", "lessons/b.md")
    repo.git("commit", "-qm", "x", *([option] if option else []), "lessons/a.md")
    assert "Omega" in committed(repo)
    assert ("Psi" in committed(repo)) is (option == "-i")
    assert right(tracked)
    left = "?? plain.txt" if option == "-i" else "M  lessons/b.md\n?? plain.txt"
    assert repo.git("status", "--porcelain", "-uall") == left
    repo.git("commit", "-qm", "y", "--allow-empty", "-a")
    assert "Psi" in committed(repo)
    assert right(tracked)


def test_first_digest_in_a_partial_commit(weather: Weather) -> None:
    repo = weather.repo
    repo.write({".recall/.gitignore": "/index/\n"})
    repo.commit({"lessons/a.md": lesson("Alpha")})
    repo.git("config", "recall.digest", "tracked")
    (repo.path / publish.DIGEST_FILE).unlink(missing_ok=True)
    repo.write({"lessons/a.md": lesson("Omega")})
    repo.git("commit", "-qm", "x", "lessons/a.md")
    assert "Omega" in committed(repo)
    assert repo.git("status", "--porcelain", "-uall") == ""


def test_linked_worktree(tracked: Weather, tmp_path: Path) -> None:
    repo = tracked.repo
    before = committed(repo)
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "tree"))
    tree = type(repo)(tmp_path / "tree")
    tree.write({"lessons/a.md": lesson("Omega"), "lessons/b.md": lesson("Psi")})
    tree.git("commit", "-qm", "x", "lessons/a.md")
    assert not tracked.failures
    assert "Omega" in committed(tree)
    assert on_disk(tree) == committed(tree)
    assert tree.git("status", "--porcelain", "-uall") == " M lessons/b.md"
    assert committed(repo) == on_disk(repo) == before
    assert repo.git("status", "--porcelain", "-uall") == ""


def test_rebase_ends_with_the_right_file(tracked: Weather) -> None:
    repo = tracked.repo
    repo.commit({".gitattributes": f"{ATTRIBUTE}\n"})
    repo.git("config", "merge.recall.driver", driver())
    diverged(repo)
    repo.git("rebase", "-q", "side")
    assert not tracked.failures
    assert "Gamma" in on_disk(repo)
    assert "Delta" in on_disk(repo)


def test_commit_all_and_unstaged_edits(tracked: Weather) -> None:
    repo = tracked.repo
    repo.write({"lessons/a.md": lesson("Staged")})
    repo.git("add", "lessons/a.md")
    repo.write({"lessons/a.md": lesson("Edited")})
    repo.git("commit", "-qm", "x")
    assert "Staged" in committed(repo)
    assert right(tracked)
    assert repo.git("status", "--porcelain", "-uall") == " M lessons/a.md"
    repo.git("commit", "-qam", "y")
    assert "Edited" in committed(repo)
    assert right(tracked)
    assert repo.git("status", "--porcelain", "-uall") == ""


def test_an_edit_of_the_digest_is_not_lost(tracked: Weather) -> None:
    repo = tracked.repo
    (repo.path / publish.DIGEST_FILE).write_text("mine\n")
    repo.write({"lessons/a.md": lesson("Omega")})
    repo.git("commit", "-qm", "x", "lessons/a.md")
    assert "Omega" in committed(repo)
    assert on_disk(repo) == "mine"
    assert repo.git("status", "--porcelain") == " M .recall/digest.md"


def test_a_staged_change_of_the_digest_survives_a_partial_commit(tracked: Weather) -> None:
    repo = tracked.repo
    repo.git("rm", "-q", "--cached", publish.DIGEST_FILE)
    repo.write({"lessons/a.md": lesson("Omega")})
    repo.git("commit", "-qm", "x", "lessons/a.md")
    assert "Omega" in committed(repo)
    assert repo.git("ls-files", publish.DIGEST_FILE) == ""


def test_nothing_staged_is_still_no_commit(tracked: Weather) -> None:
    repo = tracked.repo
    repo.git("-c", "core.hooksPath=/dev/null", "rm", "-q", "--cached", publish.DIGEST_FILE)
    repo.git("-c", "core.hooksPath=/dev/null", "commit", "-qm", "no digest")
    before = repo.head(), repo.git("ls-files", "--stage")
    repo.git("commit", "-qm", "nothing", check=False)
    assert (repo.head(), repo.git("ls-files", "--stage")) == before


def test_a_failed_commit_leaves_a_digest_that_the_next_one_renews(tracked: Weather) -> None:
    repo = tracked.repo
    hook = repo.path / ".git" / "hooks" / "commit-msg"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    repo.write({"lessons/a.md": lesson("Omega")})
    repo.git("commit", "-qm", "x", "lessons/a.md", check=False)
    hook.unlink()
    repo.write({"lessons/a.md": lesson("Sigma")})
    repo.git("commit", "-qm", "x", "lessons/a.md")
    assert right(tracked)
    assert repo.git("status", "--porcelain", "-uall") == ""


def test_no_verify_leaves_a_stale_digest_that_check_reports(
    tracked: Weather, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repo = tracked.repo
    monkeypatch.chdir(repo.path)
    assert check.run([]) == 0
    repo.write({"lessons/a.md": lesson("Omega")})
    repo.git("commit", "-qam", "x", "--no-verify")
    assert check.run([]) == 1
    assert capsys.readouterr().out.startswith(".recall/digest.md:1: is not the digest of the staged notes")
    assert repo.git("status", "--porcelain") == ""
    monkeypatch.setenv("PRE_COMMIT", "1")  # the framework: rewrites and fails once, as formatters do
    assert check.run([]) == 1
    repo.git("add", publish.DIGEST_FILE)
    assert check.run([]) == 0
    assert "Omega" in on_disk(repo)


def diverged(repo: GitRepo) -> None:
    repo.git("checkout", "-q", "-b", "side")
    repo.commit({"lessons/c.md": lesson("Gamma")})
    repo.git("checkout", "-q", "main")
    repo.commit({"lessons/d.md": lesson("Delta")})


def test_the_merge_driver_settles_and_the_file_is_refreshed(tracked: Weather) -> None:
    repo = tracked.repo
    repo.commit({".gitattributes": f"{ATTRIBUTE}\n"})
    repo.git("config", "merge.recall.driver", driver())
    diverged(repo)
    repo.git("merge", "-q", "-m", "both", "side")
    assert not tracked.failures
    assert "Gamma" in on_disk(repo)
    assert "Delta" in on_disk(repo)
    assert repo.git("status", "--porcelain") == " M .recall/digest.md"
    repo.git("commit", "-qam", "digest")
    assert right(tracked)
    assert repo.git("status", "--porcelain") == ""


@pytest.mark.parametrize("how", ["unset", "gone"])
def test_without_a_driver_it_is_an_ordinary_conflict(
    tracked: Weather, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = tracked.repo
    repo.commit({".gitattributes": f"{ATTRIBUTE}\n"})
    if how == "gone":
        monkeypatch.setattr("sys.executable", "/no/such/python")
        repo.git("config", "merge.recall.driver", driver())
    diverged(repo)
    repo.git("merge", "-q", "-m", "both", "side", check=False)
    assert repo.git("status", "--porcelain", publish.DIGEST_FILE) == "AA .recall/digest.md".replace("AA", "UU")
    assert "<<<<<<<" in on_disk(repo)
    repo.git("checkout", "-q", "--ours", publish.DIGEST_FILE)
    repo.git("add", publish.DIGEST_FILE)
    repo.git("commit", "-qm", "both")
    assert right(tracked)
    assert repo.git("status", "--porcelain") == ""


# init and uninit --------------------------------------------------------------------------------------


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    def inside(folder: Path, *args: str) -> int:
        monkeypatch.chdir(folder)
        return cli.main(list(args))

    return inside


@pytest.mark.parametrize("before", [None, b"*.png binary", b"*.png binary\r\n"])
def test_init_and_uninit_of_tracked_leave_every_byte(
    repo: GitRepo, run: Callable[..., int], before: bytes | None
) -> None:
    repo.commit({"lessons/a.md": lesson("Alpha"), **({".gitattributes": before} if before else {})})
    config = (repo.path / ".git" / "config").read_bytes()
    assert run(repo.path, "init", "--digest", "tracked") == 0
    assert run(repo.path, "init", "--digest", "tracked") == 0
    attributes = repo.path / ".gitattributes"
    assert attributes.read_bytes().splitlines()[-1] == ATTRIBUTE.encode()
    assert attributes.read_bytes().startswith(before or b"/.recall")
    assert repo.git("check-attr", "merge", publish.DIGEST_FILE).endswith(": recall")
    assert repo.git("config", "merge.recall.driver") == driver()
    assert run(repo.path, "uninit") == 0
    assert (attributes.read_bytes() if attributes.exists() else None) == before
    assert (repo.path / ".git" / "config").read_bytes() == config
    assert repo.git("status", "--porcelain", "-uall") == ""


def test_real_hooks_of_a_real_init(repo: GitRepo, run: Callable[..., int]) -> None:
    """The launcher, the client and a full interpreter: the digest is there when ``git commit`` ends."""
    repo.commit({"lessons/a.md": lesson("Alpha")})
    assert run(repo.path, "init", "--digest", "tracked", "--hooks", "native") == 0
    repo.write({"lessons/a.md": lesson("Omega")})
    repo.git("commit", "-qam", "x")
    assert "Omega" in committed(repo)
    assert "digest.md" not in repo.git("status", "--porcelain", "-uall")


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no resident process here")
def test_real_hooks_with_a_resident_process(
    repo: GitRepo, run: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git waits for it, even for one that must start first; a partial commit is settled behind Git's back."""
    repo.commit({"lessons/a.md": lesson("Alpha")})
    assert run(repo.path, "init", "--digest", "tracked", "--hooks", "native") == 0
    place = tempfile.mkdtemp(prefix="recall-")
    monkeypatch.setenv("XDG_RUNTIME_DIR", place)
    monkeypatch.delenv("RECALL_SERVER")
    try:
        for name in ("Omega", "Sigma"):
            repo.write({"lessons/a.md": lesson(name)})
            repo.git("add", "-A")
            repo.git("commit", "-qm", name)
            assert name in committed(repo)
        repo.write({"lessons/a.md": lesson("Tau")})
        repo.git("commit", "-qm", "part", "lessons/a.md")
        assert "Tau" in committed(repo)
        for _ in range(600):
            if not repo.git("status", "--porcelain", "-uall"):
                break
            time.sleep(0.05)
        assert repo.git("status", "--porcelain", "-uall") == ""
    finally:
        run(repo.path, "server", "stop")
        shutil.rmtree(place, ignore_errors=True)


def test_without_the_program_a_commit_goes_on(repo: GitRepo, run: Callable[..., int], hermetic: Path) -> None:
    repo.commit({"lessons/a.md": lesson("Alpha")})
    assert run(repo.path, "init", "--digest", "tracked", "--hooks", "native") == 0
    shutil.rmtree(hermetic / ".local")
    repo.write({"lessons/a.md": lesson("Omega")})
    repo.git("commit", "-qam", "x")
    assert committed(repo) == ""


def test_share_carries_notes_both_ways(
    repo: GitRepo, make_repo: Callable[..., GitRepo], run: Callable[..., int], tmp_path: Path
) -> None:
    origin = make_repo("origin", "--bare")
    repo.commit({"plain.md": "# Plain\n"})
    repo.git("remote", "add", "origin", str(origin.path))
    before = (repo.path / ".git" / "config").read_bytes()
    assert run(repo.path, "init", "--share", "--hooks", "none") == 0
    assert repo.git("config", "--get-all", "remote.origin.push") == f"HEAD\n{SHARED}"
    repo.git("push", "-q")  # there is no note yet, and that is no error
    repo.git("fetch", "-q")
    repo.commit({"lessons/a.md": lesson("Alpha")})
    assert run(repo.path, "index", "--quiet") == 0
    repo.git("push", "-q")
    other = type(repo)(tmp_path / "other")
    repo.git("clone", "-q", str(origin.path), str(other.path))
    assert run(other.path, "init", "--share", "--hooks", "none") == 0
    for one, name in ((repo, "b"), (other, "c")):  # both go on, and both push
        one.git("checkout", "-q", "-b", name)
        one.commit({f"lessons/{name}.md": lesson(name.upper() * 3)})
        assert run(one.path, "index", "--quiet") == 0
        one.git("push", "-q")
    repo.git("fetch", "-q")
    assert "CCC" in repo.git("log", "-1", "--notes=recall", "refs/remotes/origin/c")
    assert run(repo.path, "index", "--quiet") == 0  # what the other machine's push replaced is computed again
    assert "BBB" in repo.git("log", "-1", "--notes=recall")
    repo.git("push", "-q")
    other.git("fetch", "-q")
    assert "BBB" in other.git("log", "-1", "--notes=recall", "refs/remotes/origin/b")
    repo.git("checkout", "-q", "main")
    assert run(repo.path, "uninit") == 0
    assert "refs/notes" not in (repo.path / ".git" / "config").read_text()
    assert repo.git("config", "--get-all", "remote.origin.push", check=False) == ""
    assert before.split(b"[branch")[0] in (repo.path / ".git" / "config").read_bytes()


def test_share_wants_a_remote(repo: GitRepo, run: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    repo.commit({"a.md": "# A\n"})
    assert run(repo.path, "init", "--share=nowhere") != 0
    assert "no remote called nowhere" in capsys.readouterr().err
