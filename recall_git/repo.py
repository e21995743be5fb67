"""Git objects, and nothing but Git objects: the only user of pygit2.

Reads commits, trees, blobs, Git's index file and ``recall.*`` settings of one repository. Never reads
notes from the work tree, never fetches, never writes an object, a reference or Git's index, except
through ``set_note``. Paths are POSIX-relative ``str``; bytes that are not UTF-8 are surrogate-escaped.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pygit2

from recall_git.errors import BadRevision, NoRepository, RecallError
from recall_git.types import NoteEntry

LOCAL_ENV = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT",
    "GIT_OBJECT_DIRECTORY", "GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE", "GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE", "GIT_PREFIX", "GIT_SHALLOW_FILE",
    "GIT_COMMON_DIR", "GIT_INTERNAL_SUPER_PREFIX", "GIT_QUARANTINE_PATH",
)  # fmt: skip
"""Names printed by ``git rev-parse --local-env-vars``: in a hook they point at the repository being
committed to, and would make Git answer for that one wherever it is asked."""

_TREE, _REGULAR, _EXECUTABLE = b"40000", b"100644", b"100755"


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit: ids in hexadecimal, author time in seconds since the epoch."""

    oid: str
    tree: str
    author_time: int
    author_email: str
    parents: tuple[str, ...]


def clean_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return *environ* without Git's repository-local variables, and such that Git fetches and locks nothing."""
    env = {name: value for name, value in environ.items() if name not in LOCAL_ENV}
    env.update(GIT_NO_LAZY_FETCH="1", GIT_OPTIONAL_LOCKS="0", GIT_TERMINAL_PROMPT="0", LC_ALL="C.UTF-8")
    return env


class Repo:
    """An open repository. ``git_dir`` is this worktree's, ``common_dir`` is shared by all worktrees."""

    def __init__(self, git_dir: Path) -> None:
        try:
            self._repo = pygit2.Repository(str(git_dir))
        except pygit2.GitError as error:
            raise RecallError(f"Git refuses to open {git_dir} ({error}); see 'git status' there") from error
        self.git_dir = Path(self._repo.path).resolve()
        self.common_dir = _common_dir(self.git_dir)
        self.top = Path(self._repo.workdir).resolve() if self._repo.workdir else None

    @classmethod
    def discover(cls, start: Path, environ: Mapping[str, str] | None = None) -> Repo:
        """Open the repository that *start* lies in (``GIT_DIR`` of *environ* wins); raises NoRepository."""
        named = (environ or {}).get("GIT_DIR")
        if named:
            return cls(start / named)
        try:
            found = pygit2.discover_repository(str(start))
        except (KeyError, pygit2.GitError):
            found = None
        if found is None:
            raise NoRepository(str(start))
        return cls(Path(found))

    @property
    def state_dir(self) -> Path:
        """Our folder below the common Git directory: nonce, sessions, log. Never tracked, never cloned."""
        return self.common_dir / "recall"

    @property
    def main_top(self) -> Path | None:
        """Work tree of the main worktree, None in a bare repository."""
        if self.common_dir == self.git_dir:
            return self.top
        workdir = pygit2.Repository(str(self.common_dir)).workdir
        return Path(workdir).resolve() if workdir else None

    @property
    def index_home(self) -> Path:
        """Where the search index lives: ``.recall/index`` of the main worktree; in a bare repository below it."""
        top = self.main_top
        return top / ".recall" / "index" if top else self.state_dir / "index"

    def head(self) -> Commit | None:
        """Return the commit of HEAD, None before the first commit."""
        try:
            return _commit(self._repo.revparse_single("HEAD^{commit}").peel(pygit2.Commit))
        except (KeyError, pygit2.GitError):
            return None

    def resolve(self, revision: str) -> Commit:
        """Return the commit that *revision* names; raises BadRevision."""
        if revision.startswith("-"):
            raise BadRevision(revision)
        try:
            return _commit(self._repo.revparse_single(f"{revision}^{{commit}}").peel(pygit2.Commit))
        except (KeyError, ValueError, pygit2.GitError) as error:
            raise BadRevision(revision) from error

    def files(self, tree: str) -> Iterator[NoteEntry]:
        """Yield the regular files of *tree* in Git's order; links and submodules are left out.

        A subtree that is missing (partial clone) is left out: nothing is ever fetched.
        """
        yield from self._walk(tree, "")

    def _walk(self, tree: str, prefix: str) -> Iterator[NoteEntry]:
        try:
            _, data = self._repo.read(pygit2.Oid(hex=tree))
        except KeyError:
            return
        for mode, name, oid in _tree_rows(data):
            if mode == _TREE:
                yield from self._walk(oid, f"{prefix}{name}/")
            elif mode in (_REGULAR, _EXECUTABLE):
                yield NoteEntry(prefix + name, oid)

    def file_in_tree(self, tree: str, path: str) -> str | None:
        """Return the blob id of the regular file *path* in *tree*, or None."""
        found = tree
        parts = path.split("/")
        for depth, part in enumerate(parts):
            try:
                _, data = self._repo.read(pygit2.Oid(hex=found))
            except (KeyError, ValueError):
                return None
            modes = (_TREE,) if depth + 1 < len(parts) else (_REGULAR, _EXECUTABLE)
            row = next((row for row in _tree_rows(data) if row[1] == part and row[0] in modes), None)
            if row is None:
                return None
            found = row[2]
        return found

    def staged(self, index_file: Path | None = None) -> list[NoteEntry]:
        """Return the regular files in Git's index (*index_file*, else the repository's own), conflicts left out.

        During ``git commit PATH`` Git hands the hook an index of its own: pass what GIT_INDEX_FILE says.
        """
        index = pygit2.Index(str(index_file)) if index_file else self._repo.index
        index.read(force=True)
        regular = (pygit2.enums.FileMode.BLOB, pygit2.enums.FileMode.BLOB_EXECUTABLE)
        return [NoteEntry(entry.path, str(entry.id)) for entry in index if entry.mode in regular]

    def read(self, blob: str) -> bytes | None:
        """Return the bytes of *blob*, None when the object is not here (partial clone)."""
        try:
            _, data = self._repo.read(pygit2.Oid(hex=blob))
        except (KeyError, ValueError):
            return None
        return bytes(data)

    def settings(self) -> dict[str, list[str]]:
        """Return ``recall.*`` of Git's configuration: lower-case names without the prefix → values in order.

        Values of a later level (system, global, local, worktree) replace those of an earlier one.
        ``enabled`` counts only in the repository's own files: opting in is local.
        """
        found: dict[str, tuple[int, list[str]]] = {}
        local = pygit2.enums.ConfigLevel.LOCAL
        for entry in self._repo.config.snapshot():
            if not entry.name.startswith("recall."):
                continue
            name, level = entry.name.removeprefix("recall."), int(entry.level)
            if name == "enabled" and level < local:
                continue
            if name not in found or found[name][0] < level:
                found[name] = (level, [])
            if level == found[name][0]:
                found[name][1].append(entry.value or "")
        return {name: values for name, (_, values) in found.items()}

    def identity(self) -> str:
        """Return the e-mail that Git would commit with here, lower-case, or ''."""
        environ = os.environ.get("GIT_AUTHOR_EMAIL", "")
        try:
            return (environ or self._repo.config["user.email"] or "").strip().lower()
        except KeyError:
            return ""

    def git(
        self, *args: str, check: bool = True, data: bytes | None = None, environ: Mapping[str, str] | None = None
    ) -> bytes:
        """Run ``git ARGS`` in this repository with a clean environment (plus *environ*); return its standard output.

        Raises RecallError with Git's first line of complaint when *check* and the status is not 0.
        """
        done = subprocess.run(
            ("git", f"--git-dir={self.git_dir}", *args),
            input=data,
            stdin=None if data is not None else subprocess.DEVNULL,
            capture_output=True,
            env={**clean_environ(os.environ), **(environ or {})},
            cwd=self.top or self.git_dir,
            check=False,
        )
        if check and done.returncode:
            complaint = done.stderr.decode("utf-8", "replace").strip().split("\n")[0]
            raise RecallError(f"git {args[0]} failed ({complaint}); see 'git status'")
        return done.stdout

    def changes(self, head: str, since: str = "") -> Iterator[tuple[str, str, int]]:
        """Yield (path, blob, author time) for each file that a commit of ``since..head`` set.

        Merges count where the result differs from every parent. Commits of a shallow clone's border set
        all of their files. Order is Git's; a caller wants the latest time for a (path, blob).
        """
        revisions = [head, f"^{since}"] if since else [head]
        out = self.git(
            "log", "-c", "--raw", "--no-abbrev", "--no-renames", "-z", "--format=%x01%at", "--end-of-options",
            *revisions, "--", check=False,
        )  # fmt: skip
        yield from _log_rows(out)

    def set_note(self, ref: str, commit: str, text: str) -> None:
        """Attach *text* to *commit* as a Git note below *ref*; an empty text removes the note. Equal text: no write."""
        before = self.git("notes", f"--ref={ref}", "show", commit, check=False)
        if before.decode("utf-8", "replace").strip() == text.strip():
            return
        who = {f"GIT_{role}_{what}": "recall-git" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        if not text.strip():
            self.git("notes", f"--ref={ref}", "remove", "--ignore-missing", commit, check=False, environ=who)
            return
        data = text.encode("utf-8", "replace")
        self.git("notes", f"--ref={ref}", "add", "-f", "-F", "-", commit, data=data, environ=who)

    def tip_trees(self) -> set[str]:
        """Return the trees of HEAD (this and every linked worktree's) and of all branches and tags."""
        found = set()
        tips = [
            name for name in self._repo.references if name.startswith(("refs/heads/", "refs/remotes/", "refs/tags/"))
        ]
        heads = [path.read_text(encoding="ascii", errors="replace").strip() for path in self._worktree_heads()]
        for name in ("HEAD", *tips, *(head for head in heads if not head.startswith("ref:"))):
            try:
                found.add(str(self._repo.revparse_single(f"{name}^{{commit}}").peel(pygit2.Commit).tree_id))
            except (KeyError, ValueError, pygit2.GitError):
                continue  # a tag of something else, a branch without a commit
        return found

    def _worktree_heads(self) -> list[Path]:
        return sorted((self.common_dir / "worktrees").glob("*/HEAD"))

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether *old* is *new* or one of its ancestors; False when either is unknown."""
        if old == new:
            return True
        try:
            return bool(self._repo.descendant_of(pygit2.Oid(hex=new), pygit2.Oid(hex=old)))
        except (KeyError, ValueError, pygit2.GitError):
            return False

    def tracked(self, prefix: str) -> list[str]:
        """Return the paths below *prefix* (``a/b/``) that Git's index tracks."""
        return [entry.path for entry in self._repo.index if entry.path.startswith(prefix)]


def _commit(commit: pygit2.Commit) -> Commit:
    return Commit(
        oid=str(commit.id),
        tree=str(commit.tree_id),
        author_time=commit.author.time,
        author_email=commit.author.email or "",
        parents=tuple(str(parent) for parent in commit.parent_ids),
    )


def git_config_list(data: bytes) -> bytes:
    """Return what ``git config --list --null`` makes of *data*, includes not followed; b'' when it is broken."""
    command = ("git", "config", "--no-includes", "--file", "-", "--null", "--list")
    done = subprocess.run(command, input=data, capture_output=True, env=clean_environ(os.environ), check=False)
    return b"" if done.returncode else done.stdout


def _common_dir(git_dir: Path) -> Path:
    try:
        text = (git_dir / "commondir").read_text(encoding="utf-8").strip()
    except OSError:
        return git_dir
    return (git_dir / text).resolve()


@lru_cache(maxsize=4096)
def _tree_rows(data: bytes) -> tuple[tuple[bytes, str, str], ...]:
    """Return (mode, name, object id) of a raw tree object; the id's size follows from the last row."""
    rows, position, width = [], 0, _oid_width(data)
    while position < len(data):
        space = data.index(b" ", position)
        nul = data.index(b"\0", space)
        end = nul + 1 + width
        rows.append((data[position:space], os.fsdecode(data[space + 1 : nul]), data[nul + 1 : end].hex()))
        position = end
    return tuple(rows)


def _oid_width(data: bytes) -> int:
    """Bytes of an object id in this tree: 20 (SHA-1) unless only 32 (SHA-256) makes the rows end where they should."""
    for width in (20, 32):
        position = 0
        while position < len(data):
            nul = data.find(b"\0", position)
            if nul < 0 or data[position : position + 1] not in b"14":
                break
            position = nul + 1 + width
        if position == len(data):
            return width
    return 20


def _log_rows(out: bytes) -> Iterator[tuple[str, str, int]]:
    """Parse ``git log -c --raw -z --format=%x01%at``: see ``git help diff-format``, 'combined' rows included."""
    time = 0
    fields: Iterable[bytes] = iter(out.split(b"\0"))
    for field in fields:
        field = field.lstrip(b"\n")
        if field.startswith(b"\x01"):
            head, _, field = field[1:].partition(b"\n")
            time = int(head or b"0")
            field = field.lstrip(b"\n")
        if not field.startswith(b":"):
            continue
        colons = len(field) - len(field.lstrip(b":"))
        words = field[colons:].split(b" ")
        path = next(iter(fields), b"")
        mode, blob = words[colons], words[2 * colons + 1]
        if mode in (b"100644", b"100755"):
            yield os.fsdecode(path), blob.decode("ascii"), time
