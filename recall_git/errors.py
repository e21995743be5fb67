"""Every error that a person can meet: what happened, what to do, and the exit code.

Exit codes: 0 done, 1 nothing found where that is the question, 3 a mistake of the user's,
4 ours. Never 2: an agent that sees 2 from a hook erases the user's prompt.
"""

from __future__ import annotations

EXIT_OK = 0
EXIT_NOTHING = 1
EXIT_USER = 3
EXIT_INTERNAL = 4


class RecallError(Exception):
    """Base of all errors with a message for people; ``str(error)`` is one line."""

    exit_code = EXIT_INTERNAL


class UsageError(RecallError):
    """The command line is wrong."""

    exit_code = EXIT_USER


class NoRepository(RecallError):
    """There is no Git repository here."""

    exit_code = EXIT_USER

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} is not inside a Git repository; change into one, or make one with 'git init'")


class NotEnabled(RecallError):
    """The repository was not opted in."""

    exit_code = EXIT_USER

    def __init__(self) -> None:
        super().__init__("recall is not enabled in this repository; run 'git recall init'")


class NoCommits(RecallError):
    """Nothing was committed yet, so there is nothing to recall."""

    exit_code = EXIT_USER

    def __init__(self) -> None:
        super().__init__("this repository has no commit yet; commit a note first")


class BadRevision(RecallError):
    """A revision that Git does not know."""

    exit_code = EXIT_USER

    def __init__(self, revision: str) -> None:
        super().__init__(f"'{revision}' is not a commit, tag or branch of this repository; see 'git log --oneline'")


class NoSuchNote(RecallError):
    """A path that the commit does not have."""

    exit_code = EXIT_USER

    def __init__(self, path: str) -> None:
        super().__init__(f"no note '{path}' in this commit; find it with 'git recall query'")


class IndexUnusable(RecallError):
    """The index is missing, damaged, foreign or of another format: it must be rebuilt."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the index cannot be used ({reason}); run 'git recall index --full'")


class IndexBusy(RecallError):
    """Another process holds the writer's lock for too long."""

    def __init__(self, waited_s: float) -> None:
        super().__init__(f"another process has been writing the index for {waited_s:.0f} s; try again")


class IndexUnwritable(RecallError):
    """The disk is full, or the index's folder is read-only or somebody else's."""

    def __init__(self, folder: str, reason: str) -> None:
        super().__init__(f"the index in {folder} cannot be written ({reason}); make room or make it writable")


class ModelUnusable(RecallError):
    """The embedding model cannot be loaded."""

    exit_code = EXIT_USER

    def __init__(self, model: str, reason: str) -> None:
        super().__init__(
            f"the model '{model}' cannot be loaded ({reason}); unset it with 'git config --unset recall.model'"
        )


class HoldsSecret(RecallError):
    """A text that is to be written down looks like it holds a credential."""

    exit_code = EXIT_USER

    def __init__(self, where: str) -> None:
        super().__init__(f"this looks like a credential: '{where}'; leave it out, or say --force")


class NotWritable(RecallError):
    """A note that cannot be written where it should go."""

    exit_code = EXIT_USER

    def __init__(self, reason: str) -> None:
        super().__init__(f"the note cannot be written ({reason}); choose another --title or --type")
