"""``git recall uninit``: take back exactly what ``init`` did."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from recall_git import githooks
from recall_git.commands.init import (
    NOTES_REF,
    RECEIPT,
    SETTINGS,
    config_values,
    notes_ref,
    open_repo,
    recall_folders,
)
from recall_git.errors import EXIT_OK, NoRepository
from recall_git.receipt import FileState, Receipt, look
from recall_git.repo import Repo


def run(argv: list[str]) -> int:
    """Take settings, hooks, ignored files, the index and our state out of the repository; notes stay."""
    argparse.ArgumentParser(
        prog="git recall uninit",
        description="Take back what 'git recall init' did: settings in .git/config, hooks, .recall/.gitignore, the "
        "index and the ignored digest. Your notes and their history stay.",
    ).parse_args(argv)
    repo = open_repo()
    receipt = Receipt(repo.state_dir / RECEIPT)
    config = repo.common_dir / "config"
    bytes_before = receipt.before(config) if receipt.untouched(config) else None
    receipt.forget(config)
    lines = githooks.uninstall(repo, receipt)
    lines += _restore_attributes(repo, receipt)
    for folder in _all_folders(repo, receipt):
        lines += _clean_folder(repo, folder, receipt)
    lines += _restore_settings(repo, receipt)
    lines += _remove_lines(repo, receipt)
    if bytes_before is not None and look(config) != bytes_before:
        _replace_config(config, bytes_before)
    lines += _remove_notes(repo, receipt)
    if repo.state_dir.is_dir() and not repo.state_dir.is_symlink():
        shutil.rmtree(repo.state_dir)
        lines.append(f"{repo.state_dir} removed")
    print("\n".join(lines) if lines else "recall was not on here; nothing to take back")
    return EXIT_OK


def _remove_notes(repo: Repo, receipt: Receipt) -> list[str]:
    """Remove the digests that our hooks attached to commits, unless there were some before ``init``."""
    if not notes_ref(repo):
        return []
    if receipt.facts.get("notes_ref", "unknown"):
        return [f"digests in Git notes stay; 'git update-ref -d {NOTES_REF}' removes them"]
    repo.git("update-ref", "-d", NOTES_REF)
    return [f"{NOTES_REF} removed (each digest can be computed again)"]


def _all_folders(repo: Repo, receipt: Receipt) -> list[Path]:
    """Return every ``.recall`` folder that we may have written: of each worktree, and those in the receipt."""
    listed = repo.git("worktree", "list", "--porcelain", check=False).decode("utf-8", "surrogateescape")
    tops = [Path(line[9:]) for line in listed.splitlines() if line.startswith("worktree ")]
    known = [path.parent for path in receipt.paths() if path.name == ".gitignore"]
    return list(dict.fromkeys((*recall_folders(repo), *(top / ".recall" for top in tops), *known)))


def _clean_folder(repo: Repo, folder: Path, receipt: Receipt) -> list[str]:
    """Remove from one ``.recall`` folder what is ours and not tracked."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    lines = []
    tracked = _tracked(folder)
    index = folder / "index"
    if index.is_dir() and not index.is_symlink() and not any(name.startswith("index/") for name in tracked):
        shutil.rmtree(index)
        lines.append(f"{index} removed")
    digest = folder / "digest.md"
    if "digest.md" not in tracked and digest.is_file() and not digest.is_symlink():
        digest.unlink()
        lines.append(f"{digest} removed")
    ignore = folder / ".gitignore"
    if tracked.get(".gitignore") == look(ignore).data:
        lines.append(f"{ignore} is committed and stays; 'git rm' it if nobody uses recall here")
    elif receipt.take_back(ignore):
        lines.append(f"{ignore} {'removed' if look(ignore).kind == 'absent' else 'is as it was before'}")
    made = receipt.facts.get("folders", [])
    if receipt.name_of(folder) in made and not any(folder.iterdir()):
        folder.rmdir()
    return lines


def _tracked(folder: Path) -> dict[str, bytes | None]:
    """Return what its worktree's index tracks below *folder*: path → bytes."""
    try:
        repo = Repo.discover(folder.parent)
    except NoRepository:
        return {}
    staged = {entry.path: repo.read(entry.blob) for entry in repo.staged() if entry.path.startswith(".recall/")}
    return {path.removeprefix(".recall/"): staged.get(path) for path in repo.tracked(".recall/")}


def _restore_settings(repo: Repo, receipt: Receipt) -> list[str]:
    """Make our settings in the repository's configuration what they were before ``init``."""
    remembered: dict[str, list[str]] = receipt.facts.get("config", {})
    lines = []
    for name in SETTINGS:
        values = config_values(repo, f"recall.{name}")
        old = remembered.get(name, [])
        if not values or values == old:
            continue
        repo.git("config", "--local", "--unset-all", f"recall.{name}")
        for value in old:
            repo.git("config", "--local", "--add", f"recall.{name}", value)
        lines.append(f"recall.{name} {'restored' if old else 'unset'} in .git/config")
    if remembered.get("enabled"):
        lines.append("recall.enabled was set before 'init' and stays; 'git config --unset recall.enabled' ends it")
    return lines


def _remove_lines(repo: Repo, receipt: Receipt) -> list[str]:
    """Take the values out of the repository's configuration that ``init`` added beside others: merge, remotes."""
    lines = []
    for key, value in receipt.facts.get("lines", []):
        if value in config_values(repo, key):
            repo.git("config", "--local", "--fixed-value", "--unset-all", key, value)
            lines.append(f"{key} = {value} removed from .git/config")
    return lines


def _restore_attributes(repo: Repo, receipt: Receipt) -> list[str]:
    """Take our line out of ``.gitattributes`` if nobody has changed or committed the file since."""
    if repo.top is None:
        return []
    path = repo.top / ".gitattributes"
    if receipt.before(path) is None:
        return []
    staged = next((repo.read(entry.blob) for entry in repo.staged() if entry.path == ".gitattributes"), None)
    if staged == look(path).data:
        return [f"{path} is committed and stays; take the line with 'merge=recall' out if nobody uses recall here"]
    if receipt.take_back(path):
        return [f"{path} {'removed' if look(path).kind == 'absent' else 'is as it was before'}"]
    return [f"{path} was changed since and stays"]


def _replace_config(path: Path, state: FileState) -> None:
    """Make Git's configuration byte for byte *state*, the way Git writes it: through its lock file."""
    lock = path.with_name(path.name + ".lock")
    try:
        with lock.open("xb") as out:
            out.write(state.data)
    except FileExistsError:
        return  # somebody is writing it: the settings are out, blank lines do not matter
    lock.chmod(state.mode)
    lock.replace(path)
