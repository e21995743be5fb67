"""What Git's hooks ask for: pre-commit indexes the staged blobs, all others write the view and the digest.

Hooks are hints: no set of them sees every change, so the tree is compared again at every question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter

from recall_git import publish, sync
from recall_git.config import Settings
from recall_git.engine import Engine
from recall_git.errors import IndexBusy, IndexUnusable
from recall_git.repo import Repo

HOOKS = ("pre-commit", "post-commit", "post-merge", "post-checkout", "post-rewrite")


def handle(
    hook: str,
    args: Sequence[str],
    cwd: Path,
    environ: Mapping[str, str],
    engine: Engine,
    *,
    release: Callable[[], None] = lambda: None,
    behind: Callable[[Path], None] | None = None,
) -> str:
    """Do what *hook* asks for in the repository of *cwd*; return one line for the log.

    *release* is called as soon as Git may go on: in pre-commit when Git's index has been read (it may be a
    temporary file) and a tracked digest is in it, else at once. Git's variables in *environ* point at the right
    repository only for GIT_INDEX_FILE, which is relative to *cwd*; the others are not used. *behind* gets the work
    tree when there is much to index, and is expected to see to it elsewhere; without it the work is done here.
    """
    if hook != "pre-commit":
        release()
    if hook not in HOOKS or (hook == "post-checkout" and args[2:3] == ["0"]):
        return "skipped"
    repo = engine.repository(cwd)
    settings, _ = sync.settings_of(repo)
    sync.open_store(repo, settings)  # raises NotEnabled before anything is read
    started = perf_counter()
    framework = "PRE_COMMIT" in environ  # it forbids changes of Git's index; 'git recall check' is its hook
    if hook == "pre-commit":
        index_file = environ.get("GIT_INDEX_FILE", "")
        index = cwd / index_file if index_file else None
        staged = repo.staged(index)
        tracked = settings.digest == "tracked" and not framework
        if not tracked:
            release()
        added = sync.index_staged(repo, settings, staged, engine.encoder(settings.model))
        if tracked:  # the one thing that must be in the commit: Git waits for it
            publish.stage(repo, settings, staged, index, engine.encoder(settings.model))
            release()
    else:
        if hook == "post-commit" and settings.digest == "tracked":
            publish.settle(repo)
        if _in_progress(repo) and hook == "post-commit":
            return "skipped: post-rewrite will follow"
        if behind and _is_much(repo, engine):
            behind(repo.top or repo.git_dir)
            return f"{hook}: much to do, done elsewhere"
        try:
            done = _refresh(repo, settings, engine, hook, wait_s=0.2 if behind else 30)
        except (IndexBusy, IndexUnusable) as error:
            if not behind:
                raise
            behind(repo.top or repo.git_dir)
            return f"{hook}: done elsewhere, {error}"
        added = done.documents_added
        if settings.digest == "tracked" and not framework and hook in ("post-merge", "post-rewrite"):
            publish.refresh_tracked(repo, settings, engine.encoder(settings.model))
        if done.overgrown and behind:
            behind(repo.top or repo.git_dir)
        elif done.overgrown:
            sync.collect(repo, settings)
    return f"{hook}: {added} documents, {1000 * (perf_counter() - started):.0f} ms"


def _is_much(repo: Repo, engine: Engine) -> bool:
    """Whether the index lacks more than may be done between two prompts, or must be built anew."""
    try:
        return engine.open(repo).behind
    except IndexUnusable:
        return True


def _refresh(repo: Repo, settings: Settings, engine: Engine, hook: str, *, wait_s: float) -> sync.SyncResult:
    encoder = engine.encoder(settings.model)
    done = sync.refresh(repo, settings, encoder=encoder, lock_timeout_s=wait_s, reuse=engine.snapshot(repo))
    publish.publish(repo, engine.open(repo).memory, note=hook != "post-checkout")
    return done


def _in_progress(repo: Repo) -> bool:
    return any((repo.git_dir / name).is_dir() for name in ("rebase-merge", "rebase-apply"))
