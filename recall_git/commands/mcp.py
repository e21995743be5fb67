"""``git recall mcp``: the notes as tools of the Model Context Protocol, on the standard streams."""

from __future__ import annotations

from recall_git.errors import EXIT_OK


def run(argv: list[str]) -> int:
    """Serve until stdin ends. An agent starts this; a person tries it with 'git recall query'."""
    if argv:
        from argparse import ArgumentParser

        ArgumentParser(
            "git recall mcp",
            description="Serve the tools recall, show and remember to an agent over MCP, on stdin and stdout.",
        ).parse_args(argv)
    from recall_git import mcp

    mcp.main()
    return EXIT_OK
