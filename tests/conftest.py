"""Hermetic tests: an own home, fixed identity and dates, no network, no variable of a surrounding Git."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pygit2
import pytest

from recall_git.repo import LOCAL_ENV


@pytest.fixture(autouse=True)
def hermetic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test a home of its own and a Git that knows nothing of this machine."""
    home = tmp_path / "home"
    home.mkdir()
    for name in list(os.environ):
        if name.startswith(("RECALL_", "CLAUDE_", "GIT_", "PRE_COMMIT")) or name in LOCAL_ENV:
            monkeypatch.delenv(name)
    for name, value in {
        "HOME": home,
        "USERPROFILE": home,
        "XDG_CONFIG_HOME": home / ".config",
        "XDG_DATA_HOME": home / ".local" / "share",
        "XDG_CACHE_HOME": home / ".cache",
        "XDG_RUNTIME_DIR": home / "run",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": home / ".gitconfig",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_DATE": "2026-03-01T12:00:00+0000",
        "GIT_COMMITTER_DATE": "2026-03-01T12:00:00+0000",
        "HF_HUB_OFFLINE": "1",
        "RECALL_SERVER": "false",
        "NO_COLOR": "1",
    }.items():
        monkeypatch.setenv(name, str(value))
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n[commit]\n\tgpgsign = false\n"
        "[advice]\n\tdetachedHead = false\n",
        encoding="utf-8",
    )
    for level in (pygit2.enums.ConfigLevel.GLOBAL, pygit2.enums.ConfigLevel.XDG, pygit2.enums.ConfigLevel.SYSTEM):
        pygit2.settings.search_path[level] = str(home)  # libgit2 looks at HOME only when it is loaded
    return home


class GitRepo:
    """A repository built by the test, with verbs."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def git(self, *args: str, check: bool = True, **environ: str) -> str:
        """Run Git here; return its standard output."""
        done = subprocess.run(
            ("git", *args),
            cwd=self.path,
            capture_output=True,
            check=False,
            env={**os.environ, **environ},
            stdin=subprocess.DEVNULL,
        )
        if check and done.returncode:
            raise AssertionError(f"git {' '.join(args)}: {done.returncode}\n{done.stderr.decode('utf-8', 'replace')}")
        return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")

    def write(self, files: dict[str, str | bytes]) -> None:
        """Write files into the work tree; text gets UTF-8 and the line ends it has."""
        for name, content in files.items():
            target = self.path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)

    def commit(self, files: dict[str, str | bytes] | None = None, message: str = "notes", date: str = "") -> str:
        """Write *files*, add everything and commit; return the commit id. *date* is an ISO author date."""
        self.write(files or {})
        self.git("add", "-A")
        environ = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date} if date else {}
        self.git("commit", "-q", "--allow-empty", "-m", message, **environ)
        return self.head()

    def head(self) -> str:
        """Return the commit id of HEAD."""
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def make_repo(tmp_path: Path) -> Callable[..., GitRepo]:
    """Return a maker of empty repositories: ``make_repo("name", "--bare")``."""

    def make(name: str = "notes", *options: str) -> GitRepo:
        path = tmp_path / name
        path.mkdir(parents=True)
        made = GitRepo(path)
        made.git("init", "-q", *options)
        return made

    return make


@pytest.fixture
def repo(make_repo: Callable[..., GitRepo]) -> GitRepo:
    """An empty repository."""
    return make_repo()
