"""``git recall init``: opt this repository in. Settings, hooks, first index; run it again to change or repair."""

from __future__ import annotations

import argparse
import os
import secrets
import shlex
import stat
import sys
from pathlib import Path

from recall_git import githooks, launcher, talk
from recall_git.config import Settings
from recall_git.errors import EXIT_OK, NoRepository, RecallError
from recall_git.receipt import FileState, Receipt, Refused, look, private_folder
from recall_git.repo import Repo

RECEIPT = "receipt.json"
NOTES_REF = "refs/notes/recall"
ATTRIBUTE = "/.recall/digest.md merge=recall"
SHARED = "+refs/notes/recall*:refs/notes/recall*"
"""The digests between repositories: with a star, for Git refuses to fetch or push a reference that is not there.
Forced both ways: a digest is a function of its commit, and one that got lost is computed again."""
SETTINGS = ("enabled", "digest", "hooks")
"""The settings that ``init`` writes to the repository's own configuration, and ``uninit`` takes out."""


def run(argv: list[str]) -> int:
    """Opt the repository in and say what was done; harmless to repeat.

    Raises NoRepository, and Refused when something of the user's is in the way (then nothing was done).
    """
    args = _parser().parse_args(argv)
    repo = open_repo()
    for folder in recall_folders(repo):
        check_folder(folder)
    receipt = Receipt(repo.state_dir / RECEIPT)
    before = look(repo.common_dir / "config")
    try:
        outcome = _install_hooks(repo, args.hooks, receipt)
        _configure(repo, receipt, {"enabled": "true", "digest": args.digest, "hooks": args.hooks})
        if _effective(repo).digest == "tracked":
            _track(repo, receipt)
        elif repo.top is not None:
            receipt.take_back(repo.top / ".gitattributes")
        if _effective(repo).digest == "notes":  # Git itself carries a digest to the commit that a rebase makes of its
            add_config(repo, receipt, "notes.rewriteRef", NOTES_REF)
        if args.share:
            _share(repo, args.share, receipt)
        _remember_config(repo, receipt, before)
        receipt.facts.setdefault("notes_ref", notes_ref(repo))
        write_nonce(repo)
        digest = _effective(repo).digest
        for folder in recall_folders(repo):
            write_ignore(folder, digest, receipt)
    finally:
        receipt.save()
    print(f"recall is on in {repo.top or repo.git_dir}")
    _say_hooks(outcome)
    return _first_index(repo)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="git recall init",
        description="Opt this repository in: recall.enabled in .git/config, Git hooks, .recall/.gitignore, first "
        "index. Run it again to change or repair; 'git recall uninit' takes everything back.",
    )
    parser.add_argument(
        "--digest",
        choices=("notes", "tracked", "off"),
        help="where the digest of a commit is kept: a Git note and an ignored file (notes), a tracked file, nowhere",
    )
    parser.add_argument(
        "--hooks",
        choices=("auto", "native", "config", "pre-commit", "none"),
        help="how Git calls recall: config hooks where Git has them (2.54), else hook files (auto); lines for the "
        "pre-commit framework; not at all",
    )
    parser.add_argument(
        "--share",
        nargs="?",
        const="origin",
        metavar="REMOTE",
        help="fetch and push the digests that are Git notes too, from and to REMOTE (default: origin)",
    )
    return parser


def open_repo() -> Repo:
    """Return the repository of the current folder; raises NoRepository."""
    try:
        return Repo.discover(Path.cwd(), os.environ)
    except FileNotFoundError as error:  # the folder we are in was deleted
        raise NoRepository(".") from error


def recall_folders(repo: Repo) -> list[Path]:
    """Return the ``.recall`` folders that are ours to keep: of this worktree, and of the main one (the index)."""
    tops = [top for top in (repo.top, repo.main_top) if top is not None]
    return [top / ".recall" for top in dict.fromkeys(tops)]


def check_folder(folder: Path) -> None:
    """Raise Refused unless *folder* and its ``.gitignore`` are absent or what they should be, never a link."""
    for path, wanted in ((folder, stat.S_ISDIR), (folder / ".gitignore", stat.S_ISREG)):
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            continue
        except NotADirectoryError:
            mode = 0
        if stat.S_ISLNK(mode):
            raise Refused(f"{path} is a symbolic link, and recall writes through none; remove it and try again")
        if not wanted(mode):
            raise Refused(f"{path} is in the way; move it away and try again")


def write_nonce(repo: Repo) -> None:
    """Write the secret that marks an index as made here (0600), if there is none yet."""
    path = private_folder(repo.state_dir) / "nonce"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        if path.stat().st_size:
            return
        handle = os.open(path, os.O_WRONLY | os.O_TRUNC)
    with os.fdopen(handle, "w", encoding="ascii") as out:
        out.write(secrets.token_hex(32) + "\n")


def write_ignore(folder: Path, digest: str, receipt: Receipt) -> None:
    """Make ``.recall/.gitignore`` hide the index and, unless it is tracked, the digest; other lines stay."""
    check_folder(folder)
    if not folder.exists():
        folder.mkdir()
        made = receipt.facts.setdefault("folders", [])
        made.append(receipt.name_of(folder))
    path = folder / ".gitignore"
    now = look(path)
    wanted = ["/index/"] if digest == "tracked" else ["/index/", "/digest.md"]
    lines = now.data.decode("utf-8", "surrogateescape").splitlines(keepends=True)
    kept = [line for line in lines if digest != "tracked" or line.strip() != "/digest.md"]
    missing = [line for line in wanted if line not in {kept_line.strip() for kept_line in kept}]
    if kept and missing and not kept[-1].endswith("\n"):
        kept[-1] += "\n"
    text = "".join((*kept, *(f"{line}\n" for line in missing)))
    after = FileState("file", text.encode("utf-8", "surrogateescape"), now.mode or 0o666 & ~_umask())
    if after != now:
        receipt.write(path, after)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _install_hooks(repo: Repo, wanted: str | None, receipt: Receipt) -> githooks.Outcome:
    """Install in the way that was asked for now, else the way in the settings."""
    git = githooks.version(repo.git("version"))
    found = launcher.ensure()
    return githooks.install(repo, wanted or _effective(repo).hooks, found, receipt, git=git)


def _effective(repo: Repo) -> Settings:
    from recall_git.sync import settings_of

    return settings_of(repo, environ=os.environ)[0]


def _configure(repo: Repo, receipt: Receipt, wanted: dict[str, str | None]) -> None:
    """Write the settings to the repository's own configuration, remembering what each was before."""
    remembered = receipt.facts.setdefault("config", {})
    for name, value in wanted.items():
        if value is None:
            continue
        values = config_values(repo, f"recall.{name}")
        remembered.setdefault(name, values)
        if values != [value]:
            repo.git("config", "--local", "--replace-all", f"recall.{name}", value)


def add_config(repo: Repo, receipt: Receipt, key: str, value: str) -> None:
    """Add a value of *key* to the repository's own configuration, for ``uninit`` to take out; once."""
    if value not in config_values(repo, key):
        repo.git("config", "--local", "--add", key, value)
        receipt.facts.setdefault("lines", []).append([key, value])


def _track(repo: Repo, receipt: Receipt) -> None:
    """Tell Git how to merge the tracked digest: a line in ``.gitattributes`` and, for this clone, a driver."""
    top = repo.top
    if top is None:
        return
    path = top / ".gitattributes"
    now = look(path)
    if now.kind == "link":
        raise Refused(f"{path} is a symbolic link, and recall writes through none; remove it and try again")
    lines = now.data.splitlines()
    if ATTRIBUTE.encode() not in lines:
        end = b"\r\n" if b"\r\n" in now.data else b"\n"
        gap = end if now.data and not now.data.endswith(b"\n") else b""
        data = now.data + gap + ATTRIBUTE.encode() + end
        receipt.write(path, FileState("file", data, now.mode or 0o666 & ~_umask()))
    add_config(repo, receipt, "merge.recall.name", "recall-git: the digest is computed anew after a merge")
    values = config_values(repo, "merge.recall.driver")
    if not values:
        add_config(repo, receipt, "merge.recall.driver", driver())


def driver() -> str:
    """Return the command of the merge driver; where this program has gone, Git merges the file as any other."""
    python = launcher.quote(sys.executable)
    program = talk.bootstrap("cli").replace("cli.main(sys.argv[1:])", "sys.exit(cli.main(sys.argv[1:]))")
    word, call = (text.replace("%", "%%") for text in (python, f"{python} -E -c {shlex.quote(program)}"))
    return f"[ -x {word} ] && {call} merge-driver %O %A %B %P || git merge-file %A %O %B"


def _share(repo: Repo, remote: str, receipt: Receipt) -> None:
    """Have the digests fetched from and pushed to *remote*, with what a plain ``git push`` pushes anyhow."""
    if not config_values(repo, f"remote.{remote}.url"):
        raise Refused(f"there is no remote called {remote}; 'git remote' lists them: --share REMOTE")
    add_config(repo, receipt, f"remote.{remote}.fetch", SHARED)
    if not config_values(repo, f"remote.{remote}.push"):
        add_config(repo, receipt, f"remote.{remote}.push", "HEAD")  # with a line here, Git pushes only what is named
    add_config(repo, receipt, f"remote.{remote}.push", SHARED)


def config_values(repo: Repo, key: str) -> list[str]:
    """Return the values of *key* in the repository's own configuration file."""
    out = repo.git("config", "--local", "--null", "--get-all", key, check=False)
    return [value.decode("utf-8", "surrogateescape") for value in out.split(b"\0")[:-1]]


def _remember_config(repo: Repo, receipt: Receipt, before: FileState) -> None:
    """Keep the bytes of ``.git/config`` too, so that uninit leaves even its blank lines as they were."""
    path = repo.common_dir / "config"
    after = look(path)
    if after != before:
        receipt.record(path, before, after)


def notes_ref(repo: Repo) -> str:
    """Return the object id that the digests' reference has, '' when there is none."""
    out = repo.git("rev-parse", "--verify", "--quiet", f"{NOTES_REF}^{{object}}", check=False)
    return out.decode("ascii", "replace").strip()


def _say_hooks(outcome: githooks.Outcome) -> None:
    how = {"native": "hook files", "config": "git config"}.get(outcome.mode)
    if how:
        print(f"hooks: {', '.join(outcome.events)} ({how})")
    for line in outcome.lines:
        print(line)


def _first_index(repo: Repo) -> int:
    """Index HEAD, with a progress bar where somebody watches; return the exit status."""
    from recall_git.commands import index

    if repo.head() is None:
        print("no commit yet: notes are indexed when the first one is made")
        return EXIT_OK
    try:
        return index.run([])
    except RecallError as error:
        print(f"git-recall: recall is on, but the first index failed: {error}", file=sys.stderr)
        return error.exit_code
