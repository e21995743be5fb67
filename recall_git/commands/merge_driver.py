"""``git recall merge-driver``: what Git runs when both sides of a merge changed the tracked digest."""

from __future__ import annotations

import argparse
from pathlib import Path

from recall_git.errors import EXIT_NOTHING, EXIT_OK


def run(argv: list[str]) -> int:
    """Let our side stand for the result, without conflict: the digest is computed anew when the merge is there.

    Git gives our side in the file in which it expects the result, so there is nothing to write. A result that
    is not there is a conflict.
    """
    parser = argparse.ArgumentParser(
        prog="git recall merge-driver",
        description="Git runs this when both sides of a merge changed .recall/digest.md, as 'git recall init "
        "--digest tracked' told it in .git/config. Our side stands until the digest is computed anew.",
    )
    parser.add_argument("base", help="%%O: the common ancestor")
    parser.add_argument("ours", help="%%A: our side, and the result")
    parser.add_argument("theirs", help="%%B: their side")
    parser.add_argument("path", nargs="?", help="%%P: the path being merged")
    args = parser.parse_args(argv)
    return EXIT_OK if Path(args.ours).is_file() else EXIT_NOTHING
