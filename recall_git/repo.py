"""Git objects, and nothing but Git objects: the only user of pygit2.

Reads commits, trees, blobs, Git's index file and ``recall.*`` settings of one repository. Never reads
notes from the work tree, never fetches, never writes an object, a reference or Git's index, except
through ``set_note`` and ``drop_notes``. Paths are POSIX-relative ``str``; bytes that are not UTF-8 are
surrogate-escaped.

Objects, revisions and settings come from libgit2, which is fast. What it refuses (SHA-256, reftable,
extensions that it does not know) is asked of Git itself; what Git refuses too is an error with Git's reason.
"""

from __future__ import annotations

import os
import subprocess
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import IO, Protocol

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
NO_LIMIT = 1 << 62
KEPT_COMMITS = 256
"""Commits that stay read: every prompt asks for the same one three times."""
LAST_SECOND = 253402300799
"""Of the year 9999: anybody can write any number into a commit."""
_SCOPES = ("system", "global", "local", "worktree", "command")
"""Git's levels of configuration, each replacing the one before."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit: ids in hexadecimal, author time in seconds since the epoch."""

    oid: str
    tree: str
    author_time: int
    author_email: str
    parents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """One commit of a history: against each parent the paths whose blob it set; a root has one such set."""

    oid: str
    parents: tuple[str, ...]
    author_time: int
    paths: tuple[frozenset[str], ...]
    author: str = ""
    """Its author's name, when that was asked for."""


class _Objects(Protocol):
    """Where objects, revisions and settings come from."""

    def read(self, oid: str, limit: int) -> bytes | None:
        """Return the bytes of an object, None when it is not here. One above *limit* bytes is not read."""

    def commit_id(self, revision: str) -> str | None:
        """Return the id of the commit that *revision* names, or None."""

    def config(self) -> Iterator[tuple[int, str, str]]:
        """Yield (place in ``_SCOPES``, name, value) in Git's order."""


class _Library:
    """Objects by libgit2."""

    def __init__(self, repo: pygit2.Repository) -> None:
        self._repo = repo

    def read(self, oid: str, limit: int) -> bytes | None:
        try:
            name = pygit2.Oid(hex=oid)
            if limit < NO_LIMIT and (size := self._repo.odb.read_header(name)[1]) > limit:
                return _too_large(size, limit)
            return bytes(self._repo.read(name)[1])
        except (KeyError, ValueError, pygit2.GitError):
            return None

    def commit_id(self, revision: str) -> str | None:
        try:
            return str(self._repo.revparse_single(f"{revision}^{{commit}}").id)
        except (KeyError, ValueError, pygit2.GitError):
            return None

    def config(self) -> Iterator[tuple[int, str, str]]:
        levels = pygit2.enums.ConfigLevel
        scopes = {int(levels.LOCAL): 2, int(levels.WORKTREE): 3, int(levels.APP): 4}
        for entry in self._repo.config.snapshot():
            level = int(entry.level)
            yield scopes.get(level, 0 if level <= int(levels.SYSTEM) else 1), entry.name, entry.value or ""


class _Plumbing:
    """Objects by Git itself, for repositories that libgit2 does not open. *command* starts ``git`` there."""

    def __init__(self, command: Sequence[str], cwd: Path) -> None:
        self._command, self._cwd = tuple(command), cwd

    @cached_property
    def _talk(self) -> subprocess.Popen[bytes]:
        """``git cat-file --batch``, which ends with this object."""
        process = subprocess.Popen(
            (*self._command, "cat-file", "--batch"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._cwd,
            env=clean_environ(os.environ),
        )
        weakref.finalize(self, _end, process)
        return process

    def _run(self, *args: str) -> bytes:
        command, env = (*self._command, *args), clean_environ(os.environ)
        done = subprocess.run(
            command, cwd=self._cwd, env=env, capture_output=True, check=False, stdin=subprocess.DEVNULL
        )
        return b"" if done.returncode else done.stdout

    def read(self, oid: str, limit: int) -> bytes | None:
        if not oid.isalnum():
            return None
        asked, answer = _pipes(self._talk)
        try:
            asked.write(oid.encode("ascii") + b"\n")
            asked.flush()
        except BrokenPipeError:
            return None
        words = answer.readline().split()
        if len(words) != 3:  # "missing"
            return None
        size = int(words[2])
        if size <= limit:
            data = answer.read(size)
        else:
            data, left = _too_large(size, limit), size
            while left:
                left -= len(answer.read(min(left, 1 << 20)))
        answer.read(1)
        return data

    def commit_id(self, revision: str) -> str | None:
        out = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        return out.decode("ascii", "replace").strip().split("\n")[-1] or None

    def config(self) -> Iterator[tuple[int, str, str]]:
        fields = iter(self._run("config", "--list", "--null", "--show-scope").decode("utf-8", "replace").split("\0"))
        for scope in fields:
            name, _, value = next(fields, "").partition("\n")
            if scope in _SCOPES:
                yield _SCOPES.index(scope), name, value


def _too_large(size: int, limit: int) -> bytes:
    assert size > limit
    return bytes(limit + 1)


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


def _end(process: subprocess.Popen[bytes]) -> None:
    for pipe in _pipes(process):
        pipe.close()
    process.wait()


def clean_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return *environ* without Git's repository-local variables, and such that Git fetches and locks nothing.

    Replacement objects are off, as they are for libgit2.
    """
    env = {name: value for name, value in environ.items() if name not in LOCAL_ENV}
    env.update(
        GIT_NO_LAZY_FETCH="1",
        GIT_NO_REPLACE_OBJECTS="1",
        GIT_OPTIONAL_LOCKS="0",
        GIT_TERMINAL_PROMPT="0",
        LC_ALL="C.UTF-8",
    )
    return env


class Repo:
    """An open repository. ``git_dir`` is this worktree's, ``common_dir`` is shared by all worktrees."""

    def __init__(self, git_dir: Path) -> None:
        self.git_dir = git_dir.resolve()
        self._commits: dict[str, Commit] = {}
        self.common_dir = _common_dir(self.git_dir)
        try:
            opened = pygit2.Repository(str(self.git_dir))
        except pygit2.GitError:
            self.top = _asked_top(self.git_dir)
            self._objects: _Objects = _Plumbing(("git", f"--git-dir={self.git_dir}"), self.top or self.git_dir)
        else:
            self.top = Path(opened.workdir).resolve() if opened.workdir else None
            self._objects = _Library(opened)

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

    @cached_property
    def main_top(self) -> Path | None:
        """Work tree of the main worktree, None in a bare repository."""
        return self.top if self.common_dir == self.git_dir else Repo(self.common_dir).top

    @property
    def index_home(self) -> Path:
        """Where the search index lives: ``.recall/index`` of the main worktree; in a bare repository below it."""
        top = self.main_top
        return top / ".recall" / "index" if top else self.state_dir / "index"

    @property
    def border(self) -> str:
        """What a shallow clone's history ends at, '' for a whole history: commits beyond it date nothing."""
        try:
            return (self.common_dir / "shallow").read_text(encoding="ascii")
        except OSError:
            return ""

    def head(self) -> Commit | None:
        """Return the commit of HEAD, None before the first commit."""
        oid = self._objects.commit_id("HEAD")
        return self.commit(oid) if oid else None

    def resolve(self, revision: str) -> Commit:
        """Return the commit that *revision* names; raises BadRevision."""
        oid = None if revision.startswith("-") or "\0" in revision else self._objects.commit_id(revision)
        found = self.commit(oid) if oid else None
        if found is None:
            raise BadRevision(revision)
        return found

    def commit(self, oid: str) -> Commit | None:
        """Return the commit *oid*, None when it is not here."""
        kept = self._commits.get(oid)
        if kept is None:
            data = self._objects.read(oid, NO_LIMIT)
            kept = _commit(oid, data) if data is not None else None
            if kept is not None:
                if len(self._commits) >= KEPT_COMMITS:
                    self._commits.clear()
                self._commits[oid] = kept
        return kept

    def files(self, tree: str) -> Iterator[NoteEntry]:
        """Yield the regular files of *tree* in Git's order; links and submodules are left out.

        A subtree that is missing (partial clone) is left out: nothing is ever fetched.
        """
        yield from self._walk(tree, "")

    def _walk(self, tree: str, prefix: str) -> Iterator[NoteEntry]:
        for mode, name, oid in self._rows(tree):
            if mode == _TREE:
                yield from self._walk(oid, f"{prefix}{name}/")
            elif mode in (_REGULAR, _EXECUTABLE):
                yield NoteEntry(prefix + name, oid)

    def _rows(self, tree: str) -> tuple[tuple[bytes, str, str], ...]:
        data = self._objects.read(tree, NO_LIMIT)
        return _tree_rows(data, len(tree) // 2) if data is not None else ()

    def file_in_tree(self, tree: str, path: str) -> str | None:
        """Return the blob id of the regular file *path* in *tree*, or None."""
        found = tree
        parts = path.split("/")
        for depth, part in enumerate(parts):
            modes = (_TREE,) if depth + 1 < len(parts) else (_REGULAR, _EXECUTABLE)
            row = next((row for row in self._rows(found) if row[1] == part and row[0] in modes), None)
            if row is None:
                return None
            found = row[2]
        return found

    def staged(self, index_file: Path | None = None) -> list[NoteEntry]:
        """Return the regular files in Git's index (*index_file*, else the repository's own), conflicts left out.

        During ``git commit PATH`` Git hands the hook an index of its own: pass what GIT_INDEX_FILE says. Git
        itself reads it: libgit2 knows neither split nor sparse ones.
        """
        environ = {"GIT_INDEX_FILE": str(index_file.absolute())} if index_file else {}
        found = []
        for row in self.git("ls-files", "--stage", "--full-name", "-z", environ=environ).split(b"\0"):
            words, _, path = row.partition(b"\t")
            mode, blob, stage = words.split() or (b"", b"", b"")
            if mode in (_REGULAR, _EXECUTABLE) and stage == b"0":
                found.append(NoteEntry(os.fsdecode(path), blob.decode("ascii")))
        return found

    def read(self, blob: str, limit: int = NO_LIMIT) -> bytes | None:
        """Return the bytes of *blob*, None when the object is not here (partial clone).

        A blob of more than *limit* bytes is never loaded: ``limit + 1`` zero bytes stand for it.
        """
        return self._objects.read(blob, limit)

    def settings(self) -> dict[str, list[str]]:
        """Return ``recall.*`` of Git's configuration: lower-case names without the prefix → values in order.

        Values of a later level (system, global, local, worktree) replace those of an earlier one.
        ``enabled`` counts only in the repository's own files: opting in is local.
        """
        found: dict[str, tuple[int, list[str]]] = {}
        for level, name, value in self._objects.config():
            if not name.startswith("recall."):
                continue
            name = name.removeprefix("recall.")
            if name == "enabled" and level < _SCOPES.index("local"):
                continue
            if name not in found or found[name][0] < level:
                found[name] = (level, [])
            if level == found[name][0]:
                found[name][1].append(value)
        return {name: values for name, (_, values) in found.items()}

    def config_files(self) -> tuple[str, ...]:
        """Return the files whose content ``settings`` and ``identity`` depend on; some need not be there."""
        levels = pygit2.enums.ConfigLevel
        names = {
            levels.PROGRAMDATA: "config",
            levels.SYSTEM: "gitconfig",
            levels.XDG: "config",
            levels.GLOBAL: ".gitconfig",
        }
        folders = {level: str(pygit2.settings.search_path[level]).split(os.pathsep) for level in names}
        found = [Path(folder) / name for level, name in names.items() for folder in folders[level] if folder]
        found += [self.common_dir / "config", self.git_dir / "config.worktree"]
        included = [value for _, name, value in self._objects.config() if name.startswith("include") and value]
        for value in included:  # relative to the file that includes it, and which that is, nobody says
            found += [path.parent / Path(value).expanduser() for path in tuple(found)]
        return tuple(dict.fromkeys(map(str, found)))

    def identity(self, environ: Mapping[str, str] | None = None) -> str:
        """Return the e-mail that Git would commit with here (in *environ*), lower-case, or ''."""
        found = (os.environ if environ is None else environ).get("GIT_AUTHOR_EMAIL", "")
        if not found:
            values = [(level, value) for level, name, value in self._objects.config() if name == "user.email"]
            found = max(values, key=lambda pair: pair[0], default=(0, ""))[1] if values else ""
        return found.strip().lower()

    def git(
        self, *args: str, check: bool = True, data: bytes | None = None, environ: Mapping[str, str] | None = None
    ) -> bytes:
        """Run ``git ARGS`` in this repository with a clean environment (plus *environ*); return its standard output.

        Raises RecallError with Git's first line of complaint when *check* and the status is not 0.
        """
        try:
            done = subprocess.run(
                ("git", f"--git-dir={self.git_dir}", *args),
                input=data,
                stdin=None if data is not None else subprocess.DEVNULL,
                capture_output=True,
                env={**clean_environ(os.environ), **(environ or {})},
                cwd=self.top or self.git_dir,
                check=False,
            )
        except FileNotFoundError as error:
            raise RecallError("git cannot be started; put it on PATH") from error
        if check and done.returncode:
            complaint = done.stderr.decode("utf-8", "replace").strip().split("\n")[0]
            raise RecallError(f"git {args[0]} failed ({complaint}); see 'git status'")
        return done.stdout

    def history(self, head: str, without: str = "", *, mailmap: str | None = None) -> list[Change]:
        """Return the commits of *head* that *without* has not, children before parents.

        A path counts against a parent when its blob differs there. Commits of a shallow clone's border
        have no parents: they set all of their files. What a partial clone lacks is left out. With *mailmap*
        (the id of a blob, or '') each has its author's name, as that ``.mailmap`` and no other spells it.
        """
        names: tuple[str, ...] = ()
        form = "%x01%H %T %P%x02%at"
        if mailmap is not None:  # in a folder without a .mailmap: that of the work tree may be any commit's
            names = ("-C", str(self.git_dir), "-c", f"mailmap.blob={mailmap}", "-c", "mailmap.file=")
            form += "%x02%aN"
        out = self.git(
            *names, "-c", "log.diffMerges=separate", "-c", "log.showRoot=true", "-c", "log.showSignature=false",
            "log", "-m", "--topo-order", "--raw", "--no-abbrev", "--no-renames", "-z", f"--format={form}",
            "--end-of-options", head, *([f"^{without}"] if without else []), "--", check=False,
        )  # fmt: skip
        return list(self._changes(out))

    def _changes(self, out: bytes) -> Iterator[Change]:
        rows = list(_log_rows(out))
        trees = {row.oid: row.tree for row in rows}
        groups: dict[str, list[frozenset[str]]] = {}
        for row in rows:
            groups.setdefault(row.oid, []).append(row.paths)
        for row in {row.oid: row for row in rows}.values():
            found = iter(groups[row.oid])
            if len(row.parents) < 2:
                yield Change(row.oid, row.parents, row.author_time, (next(found),), row.author)
                continue
            paths = []
            for parent in row.parents:  # Git leaves out a parent with the same tree
                tree = trees.get(parent) or getattr(self.commit(parent), "tree", "")
                paths.append(frozenset() if tree == row.tree else next(found, frozenset()))
            yield Change(row.oid, row.parents, row.author_time, tuple(paths), row.author)

    def set_note(self, ref: str, commit: str, text: str) -> None:
        """Attach *text* to *commit* as a Git note below *ref*; an empty text removes the note. Equal text: no write."""
        before = self.git("notes", f"--ref={ref}", "show", commit, check=False)
        if before.decode("utf-8", "replace").strip() == text.strip():
            return
        if not text.strip():
            self.git("notes", f"--ref={ref}", "remove", "--ignore-missing", commit, check=False, environ=_US)
            return
        data = text.encode("utf-8", "replace")
        self.git("notes", f"--ref={ref}", "add", "-f", "-F", "-", commit, data=data, environ=_US)

    def drop_notes(self, ref: str) -> int:
        """Remove the notes below *ref* of commits that no reference and no reflog knows any more; return how many."""
        noted = {row.split()[-1] for row in self.git("notes", f"--ref={ref}", "list", check=False).splitlines()}
        if not noted:
            return 0
        gone = noted.difference(self.git("rev-list", "--all", "--reflog").split())
        if gone:
            names = b"\n".join(sorted(gone))
            self.git("notes", f"--ref={ref}", "remove", "--ignore-missing", "--stdin", data=names, environ=_US)
        return len(gone)

    def tip_trees(self) -> set[str]:
        """Return the trees of HEAD (this and every linked worktree's) and of all branches and tags."""
        tips = ("refs/heads", "refs/remotes", "refs/tags")
        listed = self.git("for-each-ref", "--format=%(tree)%(*tree)", *tips).decode("ascii", "replace")
        found = {tree for tree in listed.split("\n") if tree}
        heads = [path.read_text(encoding="ascii", errors="replace").strip() for path in self._worktree_heads()]
        for name in ("HEAD", *(head for head in heads if not head.startswith("ref:"))):
            oid = self._objects.commit_id(name)
            commit = self.commit(oid) if oid else None
            if commit:
                found.add(commit.tree)
        return found

    def _worktree_heads(self) -> list[Path]:
        return sorted((self.common_dir / "worktrees").glob("*/HEAD"))

    def tracked(self, prefix: str) -> list[str]:
        """Return the paths below *prefix* (``a/b/``) that Git's index tracks."""
        out = self.git("ls-files", "--full-name", "-z", "--", prefix, environ={"GIT_LITERAL_PATHSPECS": "1"})
        return sorted({os.fsdecode(path) for path in out.split(b"\0") if path})


_US = {f"GIT_{role}_{what}": "recall-git" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
"""Who writes notes: a commit of notes needs an identity, and the user may have none."""


def _commit(oid: str, data: bytes) -> Commit:
    """Parse a raw commit; its message, in whatever encoding, is not read."""
    tree, parents, time, email = "", [], 1, ""
    for line in data.partition(b"\n\n")[0].split(b"\n"):
        key, _, value = line.partition(b" ")
        if key == b"tree":
            tree = value.decode("ascii")
        elif key == b"parent":
            parents.append(value.decode("ascii"))
        elif key == b"author":
            who, _, when = value.rpartition(b"> ")
            email = who.rpartition(b"<")[2].decode("utf-8", "replace")
            time = _seconds(when.split(b" ")[0])
    return Commit(oid, tree, time, email, tuple(parents))


def _asked_top(git_dir: Path) -> Path | None:
    """Return the work tree of *git_dir* as Git says; raises RecallError with Git's reason when it refuses it.

    Git is started inside the folder and not told its name: named outright, it would not look whose it is.
    """
    command, env = ("git", "rev-parse", "--is-bare-repository", "--absolute-git-dir"), clean_environ(os.environ)
    try:
        done = subprocess.run(command, cwd=git_dir, env=env, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise RecallError(f"{git_dir} cannot be opened ({error.strerror}); see 'git status' there") from error
    if done.returncode:
        complaint = done.stderr.decode("utf-8", "replace").strip().split("\n")[0]
        raise RecallError(f"Git refuses {git_dir} ({complaint}); see 'git status' there")
    return _top_of(git_dir, bare=done.stdout.startswith(b"true"))


def _top_of(git_dir: Path, *, bare: bool) -> Path | None:
    """Return the work tree that belongs to *git_dir*: its own file or core.worktree names it, else it is around."""
    try:
        return Path((git_dir / "gitdir").read_text(encoding="utf-8").strip()).parent.resolve()
    except OSError:
        pass
    command = ("git", f"--git-dir={git_dir}", "config", "core.worktree")
    named = subprocess.run(command, env=clean_environ(os.environ), capture_output=True, check=False).stdout
    if named.strip():
        return (git_dir / os.fsdecode(named.rstrip(b"\n"))).resolve()
    return None if bare else git_dir.parent


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
def _tree_rows(data: bytes, width: int) -> tuple[tuple[bytes, str, str], ...]:
    """Return (mode, name, object id) of a raw tree object whose ids have *width* bytes."""
    rows, position = [], 0
    while position < len(data):
        space = data.index(b" ", position)
        nul = data.index(b"\0", space)
        end = nul + 1 + width
        rows.append((data[position:space], os.fsdecode(data[space + 1 : nul]), data[nul + 1 : end].hex()))
        position = end
    return tuple(rows)


@dataclass(frozen=True, slots=True)
class _LogRow:
    oid: str
    tree: str
    author_time: int
    parents: tuple[str, ...]
    author: str
    paths: frozenset[str]


def _log_rows(out: bytes) -> Iterator[_LogRow]:
    """Parse ``git log -m --raw -z`` of the format in ``history``; a merge comes once for each parent that differs.

    What Git cannot find in a commit (its author's date, say) it leaves out, or prints the format's own letters for.
    """
    head: list[bytes] = []
    paths: set[str] = set()
    fields: Iterable[bytes] = iter(out.split(b"\0"))
    for field in fields:
        field = field.lstrip(b"\n")
        if field.startswith(b"\x01"):
            if head:
                yield _log_row(head, paths)
            first, _, field = field[1:].partition(b"\n")
            head, paths = first.split(b"\x02", 2), set()
            field = field.lstrip(b"\n")
        if field.startswith(b":"):
            old_mode, _, before, after, _ = field[1:].split(b" ")
            path = os.fsdecode(next(iter(fields), b""))
            if before != after or old_mode not in (_REGULAR, _EXECUTABLE):
                paths.add(path)
    if head:
        yield _log_row(head, paths)


def _log_row(head: Sequence[bytes], paths: set[str]) -> _LogRow:
    oid, tree, *parents = head[0].decode("ascii").split()
    name = head[2].decode("utf-8", "replace") if len(head) > 2 else ""
    return _LogRow(oid, tree, _seconds(head[1]), tuple(parents), "" if name == "%aN" else name, frozenset(paths))


def _seconds(text: bytes) -> int:
    """Return an author time, never 0 and in a year that the calendar has; 1 for what is no number."""
    return min(max(int(text), 1), LAST_SECOND) if text.isdigit() and len(text) < 20 else 1
