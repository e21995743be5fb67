"""``git recall <verb>``: pick one command and import only that one."""

from __future__ import annotations

import sys
from importlib import import_module

from recall_git.errors import EXIT_INTERNAL, EXIT_OK, EXIT_USER, RecallError

COMMANDS = {
    "init": "opt this repository in: settings, hooks, first index",
    "uninit": "take back exactly what init did",
    "install": "connect an agent (claude-code, …)",
    "uninstall": "disconnect an agent",
    "index": "bring the index up to date with HEAD",
    "query": "search the notes (also: git recall TEXT…)",
    "show": "print a section, or lines around PATH:LINE",
    "digest": "print exactly what would be injected now",
    "why": "for one prompt: what decided, and about what",
    "log": "what was injected, when, and why or why not",
    "diff": "what the agent would be told differently (A..B)",
    "remember": "write a note",
    "stats": "what is recalled, how often, and what never is",
    "report": "the same as one HTML page",
    "audit": "names that the entity dictionary lacks",
    "status": "notes, sections, commit indexed, last run",
    "gc": "drop what no commit needs any more",
    "check": "check changed notes: front matter, supersedes",
    "doctor": "check the installation and say what to do",
    "test": "check what prompts must recall, or must leave silent",
    "eval": "measure retrieval on your own questions",
    "demo": "make a small notes repository and recall from it",
    "merge-driver": "settle a merge of the tracked digest (Git runs it)",
    "hook": "answer an agent's hook (JSON on stdin)",
    "mcp": "serve the notes to an agent as MCP tools",
    "server": "status, stop or run the resident process",
}
"""Verb → one line of help, in the order in which a person meets them."""


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit status; a RecallError becomes one line on stderr."""
    args = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    if not args or args[0] in ("-h", "--help", "help"):
        print(usage())
        return EXIT_OK if args else EXIT_USER
    if args[0] in ("-V", "--version", "version"):
        from recall_git import __version__

        print(f"git-recall {__version__}")
        return EXIT_OK
    verb, rest = (args[0], args[1:]) if args[0] in COMMANDS else ("query", args)
    try:
        return int(import_module(f"recall_git.commands.{verb.replace('-', '_')}").run(rest))
    except RecallError as error:
        print(f"git-recall: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        sys.stderr.close()
        return EXIT_OK
    except KeyboardInterrupt:
        return EXIT_INTERNAL
    except SystemExit as leaving:  # argparse exits 2, which would erase an agent's prompt
        return EXIT_USER if leaving.code else EXIT_OK


def usage() -> str:
    """Return the text of ``git recall -h``."""
    lines = [f"  {verb:<12} {text}" for verb, text in COMMANDS.items()]
    return "\n".join(
        (
            "usage: git recall VERB [OPTIONS]   (git recall VERB -h explains one)",
            "       git recall TEXT…            the same as: git recall query TEXT…",
            "",
            *lines,
        )
    )


if __name__ == "__main__":
    sys.exit(main())
