"""Writes what is said twice from where it is said first: settings from KEYS, verbs and options from the parsers.

    python docs/generate.py            write what has changed
    python docs/generate.py --check    write nothing, end with 1 if anything would change
    python docs/generate.py --picture  also run the demo and draw its terminal

tests/test_docs.py holds the files to it.
"""

from __future__ import annotations

import argparse
import html
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from pathlib import Path
from unittest.mock import patch

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from recall_git import __version__, agents, claim  # noqa: E402
from recall_git.cli import COMMANDS  # noqa: E402
from recall_git.config import DEFAULT_EXCLUDE, KEYS, Key, Settings  # noqa: E402

NAME = "Makes a Git repository of Markdown notes an AI agent's working memory."
NOT_EDITED = "Written by docs/generate.py; do not edit."
TITLE = "git recall demo"
PICTURE = ROOT / "docs" / "images" / "demo.svg"
EXIT_STATUS = (
    ("0", "done, or found"),
    ("1", "nothing found, where that is the question; a check that found a fault"),
    ("3", "a mistake in the call, or a repository in which it cannot be done"),
    ("4", "a fault of ours or of the system's"),
)
FILES = (
    (".recall/.gitignore", "hides the index and, unless it is tracked, the digest"),
    (
        ".recall/config",
        "optional, tracked: settings that come with the repository, in the syntax of Git's configuration",
    ),
    (".recall/digest.md", "the digest of HEAD for agents without hooks"),
    (".recall/index/", "the index; disposable, never tracked"),
    (".git/recall/", "the secret of the opt-in, sessions, the log, and what init has changed"),
    ("refs/notes/recall", "the digest of each commit, as Git notes"),
)


# verbs ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Option:
    """One argument of a verb: how it is written, and what it does."""

    names: tuple[str, ...]
    value: str
    help: str
    choices: tuple[str, ...] = ()

    @property
    def written(self) -> str:
        """The option as a person writes it, ``-n N, --number N``."""
        return ", ".join(f"{name} {self.value}".rstrip() for name in self.names) or self.value


@dataclass(frozen=True)
class Verb:
    """One verb and its arguments."""

    name: str
    summary: str
    description: str
    options: tuple[Option, ...]
    arguments: tuple[Option, ...]

    @property
    def usage(self) -> str:
        """The call in one line."""
        words = ["git recall", self.name, *(["[OPTIONS]"] if self.options else []), *(a.value for a in self.arguments)]
        return " ".join(words)


def verbs() -> list[Verb]:
    """Return every verb, as its own parser describes it."""
    return [_verb(name, summary) for name, summary in COMMANDS.items()]


def _verb(name: str, summary: str) -> Verb:
    parser = _parser(name)
    options = [_option(parser, action) for action in parser._actions if action.help != argparse.SUPPRESS]
    description = " ".join((parser.description or "").split())
    named = tuple(option for option in options if option.names and "--help" not in option.names)
    return Verb(name, summary, description, named, tuple(option for option in options if not option.names))


def _parser(verb: str) -> argparse.ArgumentParser:
    """Return the parser of *verb*: the one that would print its help."""
    seen: list[argparse.ArgumentParser] = []
    caught = patch.object(argparse.ArgumentParser, "print_help", lambda self, file=None: seen.append(self))
    with caught, suppress(SystemExit):
        import_module(f"recall_git.commands.{verb.replace('-', '_')}").run(["-h"])
    return seen[0]


def _option(parser: argparse.ArgumentParser, action: argparse.Action) -> Option:
    choices = tuple(map(str, action.choices or ()))
    value = "" if action.nargs == 0 else _value(action, choices)
    text = parser._get_formatter()._expand_help(action) if action.help else ""
    return Option(tuple(action.option_strings), value, " ".join(text.split()), choices)


def _value(action: argparse.Action, choices: tuple[str, ...]) -> str:
    name = action.metavar or ("{" + ",".join(choices) + "}" if choices else action.dest.upper())
    if isinstance(name, tuple):
        return " ".join(name)
    return {"*": f"[{name}…]", "+": f"{name}…", "?": f"[{name}]"}.get(str(action.nargs), name)


# settings ---------------------------------------------------------------------------------------------


CONFIGURATION = """\
# Settings

<!-- {not_edited} -->

Settings are Git settings:

    git config recall.entries 3                    # in this repository
    git config --global recall.gate strict         # for you, everywhere
    git config --add recall.exclude 'drafts/'      # one more value of a setting with several

The first of these that has a value counts: the command line; the environment (`RECALL_` and the name in capitals,
words joined by `_`, several values on lines of their own); `git config` (worktree, local, global, system);
`.recall/config` of the commit; the default. The values of one level replace those of a lower one. A value that cannot
be used is named by `git recall doctor`, and the default is used: a typing error never stops a conversation.

`.recall/config` is tracked and comes with a clone. It has the syntax of Git's configuration and may set what the last
column allows: which files are notes, weights, and numbers that make recall say less.

| setting | default | environment | what it does | in `.recall/config` |
|---|---|---|---|---|
{rows}

## What is never a note by default

Agents load these by themselves, or they are ours: {excluded}.
`git config --add recall.exclude '!README.md'` takes one back.

## For one hook

The thin client reads the environment before anything else is there: `RECALL_SERVER=false` answers without the
resident process, `RECALL_TIMEOUT_MS` and `RECALL_START_TIMEOUT_MS` are its deadlines.
"""


def default_of(key: Key) -> str:
    """Return the default of *key* as a person would write it, '' for none."""
    value = getattr(Settings(), key.field)
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _shared(key: Key) -> str:
    return {"": "no", "any": "yes", "less": "only to say less"}[key.shared]


def configuration() -> str:
    """Return docs/configuration.md."""
    rows = (
        f"| `recall.{key.name}`{' (several)' if key.many else ''} | {_code(default_of(key))} "
        f"| {'–' if key.name == 'enabled' else _code('RECALL_' + key.field.upper())} "
        f"| {key.help.replace('|', chr(92) + '|')} | {_shared(key)} |"
        for key in KEYS
    )
    excluded = ", ".join(map(_code, DEFAULT_EXCLUDE))
    return CONFIGURATION.format(not_edited=NOT_EDITED, rows="\n".join(rows), excluded=excluded)


def _code(text: str) -> str:
    return f"`{text}`" if text else "–"


def commands() -> str:
    """Return docs/commands.md."""
    lines = [
        "# Commands",
        "",
        f"<!-- {NOT_EDITED} -->",
        "",
        "`git recall VERB -h` says the same. `git recall TEXT…` is `git recall query TEXT…`. Exit status: "
        + "; ".join(f"{number} {text}" for number, text in EXIT_STATUS)
        + ".",
        "",
    ]
    for verb in verbs():
        lines += [f"## git recall {verb.name}", "", f"    {verb.usage}", "", verb.description, ""]
        rows = [f"- `{option.written}`" + (f": {option.help}" if option.help else "") for option in _all(verb)]
        lines += [*rows, ""] if rows else []
    return "\n".join(lines)


def _all(verb: Verb) -> Iterator[Option]:
    yield from verb.arguments
    yield from verb.options


def decisions() -> str:
    """Return docs/how-it-decides.md with the thresholds as they are."""
    page = (ROOT / "docs" / "how-it-decides.md").read_text("utf-8")
    rows = (
        f"| `{gate}` | ≥ {entries:.2f} | ≥ {pointer:.2f} |".replace("0.", ".")
        for gate, (entries, pointer) in claim.THRESHOLDS.items()
    )
    table = "\n".join(("| `recall.gate` | for entries | for one line that only points |", "|---|---|---|", *rows))
    return re.sub(r"(?s)(<!-- thresholds -->\n).*?(\n<!-- /thresholds -->)", rf"\1{table}\2", page)


# agents -----------------------------------------------------------------------------------------------

AGENTS_PAGE = """\
# Agents

<!-- {not_edited} -->

    git recall install claude-code codex      # for you, everywhere
    git recall install --all                  # every agent that is on this machine
    git recall install cursor --project       # in this repository, for all who clone it
    git recall install gemini --dry-run       # show the change, write nothing

`install` edits the agent's own files, keeps every other byte of them, may be repeated, and writes down what it did;
`git recall uninstall AGENT` takes out exactly that. Afterwards `git recall doctor` runs the hook as each connected
agent would, measures it, and says which consent of the agent's is still missing.

*Prompt*: what is related to a prompt comes with that prompt. *Start*: profile, prohibitions and latest lessons come
when a session starts. An agent without both has no hook that takes text; it gets the MCP server, and the skill, which
tells it when to ask, where it reads skills.

| agent | name | prompt | start | for you | for a project |
|---|---|---|---|---|---|
{rows}

## What an agent has to be told afterwards

{notes}

## Any other agent

A hook is one command, `recall-git-hook`, which reads the event as JSON on stdin, finds the dialect by itself, and
prints the answer. It ends with 0 whatever happens. By hand, or in a script of your own:

    git recall digest --prompt 'how do we roll back?'

An agent without hooks can read `.recall/digest.md`: write `@.recall/digest.md` into its instructions file.
"""


def agents_page() -> str:
    """Return docs/agents.md."""
    rows, notes = [], []
    home = Path("/home/you")
    plain = {name: value for name, value in os.environ.items() if not name.endswith(("_HOME", "_DIR"))}
    with patch.object(Path, "home", lambda: home), patch.dict(os.environ, plain, clear=True):
        for name in agents.AGENTS:
            agent = agents.load(name)
            kinds = set(agent.events.values())
            files = (
                " ".join(_code(_below(home, target.path)) for target in agent.targets(scope, Path()))
                if scope in agent.scopes
                else "–"
                for scope in ("user", "project")
            )
            marks = ("yes" if kind in kinds else "–" for kind in ("prompt", "start"))
            rows.append(f"| {agent.title} | `{name}` | {' | '.join(marks)} | {' | '.join(files)} |")
            said = list(dict.fromkeys(line for scope in agent.scopes for line in agent.notes(scope)))
            said = [line for line in said if not any(line in longer and line != longer for longer in said)]
            notes += [f"- **{agent.title}**: {' '.join(said)}"] if said else []
    return AGENTS_PAGE.format(not_edited=NOT_EDITED, rows="\n".join(rows), notes="\n".join(notes))


def _below(home: Path, path: Path) -> str:
    return f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else path.as_posix()


# man page ---------------------------------------------------------------------------------------------


def manual() -> str:
    """Return git-recall.1."""
    lines = [
        f'.\\" {NOT_EDITED}',
        f'.TH GIT\\-RECALL 1 "" "recall\\-git {__version__}" "Git Manual"',
        ".SH NAME",
        f"git\\-recall \\- {_roff(NAME[0].lower() + NAME[1:].rstrip('.'))}",
        ".SH SYNOPSIS",
        *_lines(("git recall VERB [OPTIONS]", "git recall TEXT…")),
        ".SH DESCRIPTION",
        "Git hooks index the notes when they are committed; a prompt hook of the coding agent puts the few that matter",
        "now in front of the model before it answers; \\fBgit recall\\fR asks by hand. Nothing is asked of a network.",
        ".SH COMMANDS",
    ]
    for verb in verbs():
        lines += [f".SS {_roff(verb.usage)}", _roff(verb.description or verb.summary)]
        for option in _all(verb):
            lines += [".TP", f"\\fB{_roff(option.written)}\\fR", _roff(option.help) or "\\&"]
    lines += [
        ".SH CONFIGURATION",
        "Order: command line, environment (\\fBRECALL_NAME\\fR), \\fBgit config\\fR, \\fB.recall/config\\fR of the",
        "commit, default.",
    ]
    for key in KEYS:
        default = default_of(key)
        more = (["may have several values"] if key.many else []) + ([f"default: {default}"] if default else [])
        lines += [".TP", f"\\fB{_roff('recall.' + key.name)}\\fR", _roff(key.help)]
        lines += [_roff(f"({'; '.join(more)})")] if more else []
    for title, rows in (("FILES", FILES), ("EXIT STATUS", EXIT_STATUS)):
        lines.append(f".SH {title}")
        for name, text in rows:
            lines += [".TP", f"\\fB{_roff(name)}\\fR", _roff(text)]
    lines += [
        ".SH EXAMPLES",
        *_lines(
            (
                "git recall init",
                "git recall install claude-code",
                "git recall which port does postgres use",
                'git recall query "title:postgres AND port"',
                "git recall digest --prompt 'how do we roll back?'",
                "git recall show knowledge/postgres.md:5",
            )
        ),
        ".SH SEE ALSO",
        "\\fBgit\\fR(1), \\fBgithooks\\fR(5), \\fBgit\\-notes\\fR(1), \\fBgit\\-config\\fR(1)",
        "",
    ]
    return "\n".join(lines)


def _lines(rows: tuple[str, ...]) -> list[str]:
    return [".nf", *map(_roff, rows), ".fi"]


def _roff(text: str) -> str:
    """Return *text* for roff: a leading dot or quote is no request, dashes are dashes."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + escaped if escaped.startswith((".", "'")) else escaped


# completions ------------------------------------------------------------------------------------------


def _words(verb: Verb) -> list[str]:
    """Return what may follow *verb*: its options, and the names that it takes."""
    names = list(agents.AGENTS) if verb.name in ("install", "uninstall") else []
    choices = [choice for argument in verb.arguments for choice in argument.choices]
    return [*names, *choices, *(name for option in verb.options for name in option.names)]


def bash() -> str:
    """Return the completion for bash; ``_git_recall`` is what Git's own completion looks for."""
    cases = "\n".join(f"        {verb.name}) words='{' '.join(_words(verb))}' ;;" for verb in verbs() if _words(verb))
    return f"""# bash completion for git recall. {NOT_EDITED}
_git_recall_words() {{
    local words=''
    case "$1" in
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$2"))
}}

_git_recall() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} verb='' word
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$word" in
            recall | -*) ;;
            *) verb=$word; break ;;
        esac
    done
    if [ -n "$verb" ]; then
        _git_recall_words "$verb" "$cur"
    else
        COMPREPLY=($(compgen -W '{" ".join(COMMANDS)}' -- "$cur"))
    fi
}}

complete -o bashdefault -o default -F _git_recall git-recall
"""


def zsh() -> str:
    """Return the completion for zsh."""
    described = "\n".join(f"        '{verb.name}:{_quoted(verb.summary)}'" for verb in verbs())
    cases = "\n".join(f"        {verb.name}) words=({' '.join(_words(verb))}) ;;" for verb in verbs() if _words(verb))
    return f"""#compdef git-recall
#description recall notes of this repository
# {NOT_EDITED}
local -a verbs words
if (( CURRENT == 2 )); then
    verbs=(
{described}
    )
    _describe verb verbs
else
    case $words[2] in
{cases.replace(" words=(", " compadd -- ").replace(") ;;", " ;;")}
    esac
    _files
fi
""".replace("local -a verbs words", "local -a verbs")


def _quoted(text: str) -> str:
    return text.replace("'", "").replace(":", "\\:")


def fish() -> str:
    """Return the completion for fish."""
    lines = [
        f"# fish completion for git recall. {NOT_EDITED}",
        "complete -f -c git -n __fish_git_needs_command -a recall -d 'Recall notes of this repository'",
        "function __recall_needs_verb",
        f"    __fish_seen_subcommand_from recall; and not __fish_seen_subcommand_from {' '.join(COMMANDS)}",
        "end",
    ]
    for verb in verbs():
        lines.append(
            f"complete -f -c git -n __recall_needs_verb -a {verb.name} -d '{verb.summary.replace(chr(39), '')}'"
        )
        inside = f"'__fish_seen_subcommand_from recall; and __fish_seen_subcommand_from {verb.name}'"
        for option in verb.options:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
            value = f" -x -a '{' '.join(option.choices)}'" if option.value else ""
            lines.append(f"complete -c git -n {inside} {names}{value} -d '{option.help.replace(chr(39), '')}'")
    return "\n".join((*lines, ""))


# picture ----------------------------------------------------------------------------------------------


def picture() -> str:
    """Run the demo and return its terminal as SVG."""
    from rich.console import Console
    from rich.text import Text

    with tempfile.TemporaryDirectory() as folder:
        home, notes = Path(folder) / "home", Path(folder) / "notes"
        home.mkdir()
        env = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "RECALL_", "XDG_"))},
            "HOME": str(home),
            "PYTHONPATH": str(ROOT),
            "GIT_AUTHOR_DATE": "2026-03-04T10:00:00Z",
            "GIT_COMMITTER_DATE": "2026-03-04T10:00:00Z",
        }
        command = (sys.executable, "-m", "recall_git", "demo", "--keep", str(notes))
        out = subprocess.run(command, capture_output=True, check=True, env=env, cwd=folder).stdout.decode("utf-8")
        out = out.replace(str(notes.resolve()), "~/notes")
    console = Console(record=True, width=112, file=StringIO(), force_terminal=True)
    console.print(Text.assemble(("$ ", "bold green"), TITLE))
    for line in out.rstrip("\n").split("\n"):
        style = "bold cyan" if line.startswith("# ") else "dim" if line.startswith(("(", "Notes from")) else ""
        console.print(Text(line, style=style, overflow="fold"))
    svg = re.sub(r'(<text [^>]*textLength=")([\d.]+)("[^>]*>)([^<]*)', _full_width, console.export_svg(title=TITLE))
    return "\n".join(line.rstrip() for line in svg.split("\n")).rstrip() + "\n"


def _full_width(match: re.Match[str]) -> str:
    """Return a piece of text with its length in columns: rich counts characters, and squeezes wide ones."""
    from rich.cells import cell_len

    text = html.unescape(match[4])
    length = float(match[2]) * cell_len(text) / max(len(text), 1)
    return f"{match[1]}{length:g}{match[3]}{match[4]}"


# ------------------------------------------------------------------------------------------------------


def outputs() -> dict[Path, str]:
    """Return every generated file but the picture."""
    completions = ROOT / "completions"
    return {
        ROOT / "docs" / "configuration.md": configuration(),
        ROOT / "docs" / "commands.md": commands(),
        ROOT / "docs" / "agents.md": agents_page(),
        ROOT / "docs" / "how-it-decides.md": decisions(),
        ROOT / "git-recall.1": manual(),
        completions / "git-recall.bash": bash(),
        completions / "_git-recall": zsh(),
        completions / "git-recall.fish": fish(),
    }


def stale() -> dict[Path, str]:
    """Return those files that are missing or differ, with what should be in them."""
    return {path: text for path, text in outputs().items() if not path.exists() or path.read_text("utf-8") != text}


def main(argv: list[str] | None = None) -> int:
    """Write or check; return 0 when everything is as it should be."""
    parser = argparse.ArgumentParser(description=re.split(r"\n\n", __doc__ or "")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--picture", action="store_true", help="draw the README's picture too")
    args = parser.parse_args(argv)
    old = stale()
    if args.picture:
        old[PICTURE] = picture()
    for path, text in old.items():
        print(path.relative_to(ROOT))
        if not args.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
    return int(args.check and bool(old))


if __name__ == "__main__":
    sys.exit(main())
