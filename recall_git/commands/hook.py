"""``git recall hook``: the same answer as ``recall-git-hook``, from this process."""

from __future__ import annotations

from argparse import ArgumentParser

from recall_git.errors import EXIT_OK


def run(argv: list[str]) -> int:
    """Answer the agent event on stdin, or do what ``git HOOK`` asks for; always 0."""
    if argv[:1] in (["-h"], ["--help"]):
        ArgumentParser(
            "git recall hook", description="Answer an agent's hook: JSON on stdin, JSON on stdout."
        ).print_help()
        return EXIT_OK
    from recall_git import oneshot

    oneshot.main(argv)
    return EXIT_OK
