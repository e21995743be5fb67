"""What the documentation says is what the program does: verbs, settings, files, links and examples."""

from __future__ import annotations

import ast
import importlib.util
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from recall_git import __version__, agents, claim, cli, client, search
from recall_git.cli import COMMANDS
from recall_git.commands import demo
from recall_git.config import KEYS
from recall_git.gate import QUERY_CHARS

if TYPE_CHECKING:
    from conftest import GitRepo

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "recall_git"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("hooks/*.md")])
HANDBOOK = [page for page in PAGES if page.parent.name != "adr"]
MANUAL = ROOT / "git-recall.1"


def text_of(pages: list[Path]) -> str:
    return "\n".join(page.read_text("utf-8") for page in pages)


@pytest.fixture(scope="session")
def generate() -> ModuleType:
    """Return docs/generate.py."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["generate"] = module
    spec.loader.exec_module(module)
    return module


# what is generated ------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="agents keep their files elsewhere on other systems")
def test_generated_files_are_current(generate: ModuleType) -> None:
    assert [path.name for path in generate.stale()] == [], "run: python docs/generate.py"


def test_the_picture_shows_the_demo_as_it_is(generate: ModuleType) -> None:
    root = ElementTree.parse(generate.PICTURE).getroot()
    shown = " ".join("".join(root.itertext()).replace("\xa0", " ").split())
    for prompt in demo.PROMPTS:
        assert prompt in shown, "run: python docs/generate.py --picture"


def test_the_man_page_is_understood() -> None:
    lines = MANUAL.read_text("utf-8").splitlines()
    known = (".TH", ".SH", ".SS", ".TP", ".nf", ".fi", '.\\"')
    assert [line for line in lines if line.startswith(".") and not line.startswith(known)] == []
    assert lines[1].startswith(".TH GIT\\-RECALL 1")


@pytest.mark.parametrize("name", ["git-recall.bash", "_git-recall", "git-recall.fish"])
def test_completions_offer_every_verb_and_agent(name: str) -> None:
    words = set(re.split(r"[\s'\":()]+", (ROOT / "completions" / name).read_text("utf-8")))
    assert set(COMMANDS) <= words
    if name != "git-recall.fish":
        assert set(agents.AGENTS) <= words


@pytest.mark.skipif(sys.platform == "win32", reason="there is no bash that must be there")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("git-recall doc", ["doctor"]),
        ("git recall uninst", ["uninstall"]),
        ("git recall install claude", ["claude-code"]),
        ("git recall server st", ["status", "stop"]),
        ("git recall digest --se", ["--session"]),
    ],
)
def test_bash_completes(line: str, expected: list[str]) -> None:
    words = line.split(" ")
    script = f"""
    source {shlex.quote(str(ROOT / "completions" / "git-recall.bash"))}
    COMP_WORDS=({" ".join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}
    _git_recall; printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(("bash", "-c", script), capture_output=True, text=True, check=True)
    assert done.stdout.split() == expected


# verbs and settings -----------------------------------------------------------------------------------


def test_every_verb_is_in_the_handbook_and_the_man_page() -> None:
    handbook, manual = text_of(HANDBOOK), MANUAL.read_text("utf-8")
    for verb in COMMANDS:
        assert re.search(rf"git recall {verb}\b", handbook), verb
        assert f".SS git recall {verb}".replace("-", "\\-") in manual, verb


def test_every_verb_that_is_written_down_is_there() -> None:
    """``git recall one two three`` is a question, if it has that many words; everything shorter names a verb."""
    for page in (*PAGES, MANUAL):
        for code in code_in(page.read_text("utf-8").replace("\\-", "-")):
            for words in re.findall(r"\bgit[ -]recall ((?:[\w-]+ ?)+)", code):
                verb, *more = words.split()
                assert verb in {*COMMANDS, "VERB", "TEXT"} or verb.startswith("-") or len(more) > 2, (page.name, words)


def code_in(text: str) -> Iterator[str]:
    """Yield what is set as code: fences, indented lines, spans."""
    yield from re.findall(r"(?ms)^```.*?\n(.*?)^```", text)
    yield from re.findall(r"(?m)^(?: {4}|\.nf\n)(.*)$", text)
    yield from re.findall(r"`([^`\n]+)`", text)


def test_every_setting_is_in_the_handbook_and_the_man_page() -> None:
    handbook, manual = text_of(HANDBOOK), MANUAL.read_text("utf-8")
    for key in KEYS:
        assert f"`recall.{key.name}`" in handbook, key.name
        assert f"\\fBrecall.{key.name}\\fR" in manual, key.name


def test_every_setting_that_is_written_down_is_there() -> None:
    names = {key.name for key in KEYS}
    for page in (*PAGES, MANUAL):
        for name, after in re.findall(r"(?<![\w./-])recall\.([A-Za-z]\w*)(\()?", page.read_text("utf-8")):
            assert name in names or after or name in ("py", "prompt_digest"), (page.name, name)


def test_the_numbers_of_the_claim_are_those_that_are_explained() -> None:
    page = (ROOT / "docs" / "how-it-decides.md").read_text("utf-8")
    assert f"at most {QUERY_CHARS:,} characters" in page
    assert f"more than {search.MAX_TERMS} terms" in page
    decision = (ROOT / "docs" / "adr" / "0006-the-claim.md").read_text("utf-8")
    assert re.findall(r"(?m)^\| `(\w+)` \|", decision) == list(claim.COEFFICIENTS)


# files and links --------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        path, _, anchor = target.partition("#")
        if "://" in target:
            continue
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), target
        if anchor:
            headings = re.findall(r"(?m)^#+ (.+)$", there.read_text("utf-8"))
            assert anchor in {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}, target


def test_versions_agree() -> None:
    assert __version__ == client.VERSION
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"rev: v{__version__}\n" in (ROOT / "docs" / "git.md").read_text("utf-8")


def test_the_listing_names_every_module_and_no_other() -> None:
    listing = re.search(r"(?ms)^recall_git/\n(.*?)^hooks/", (ROOT / "ARCHITECTURE.md").read_text("utf-8"))
    assert listing is not None
    named = set(re.findall(r"(\w+\.py)\b", re.sub(r"(?m)^  agents/.*$", "", listing[1])))
    files = {path.name for folder in (PACKAGE, PACKAGE / "index") for path in folder.glob("*.py")}
    assert named == files


def test_libraries_are_imported_where_the_table_says() -> None:
    architecture = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    table = re.findall(r"(?m)^\| (\w+) \| ((?:`[\w/.]+`(?:, )?)+) \|$", architecture)
    said = {name: set(re.findall(r"`([^`]+)`", places)) for name, places in table}
    found: dict[str, set[str]] = {name: set() for name in said}
    for path in PACKAGE.rglob("*.py"):
        place = path.relative_to(PACKAGE).as_posix()
        for name in imported(path) & set(said):
            covering = [
                entry for entry in said[name] if place == entry or (entry.endswith("/") and place.startswith(entry))
            ]
            assert covering, f"{place} imports {name}"
            found[name].update(covering)
    assert found == said


def imported(path: Path) -> set[str]:
    """Return the top-level packages that a file imports, at its top or in a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


def test_the_two_sides_meet_only_on_disk() -> None:
    for name, others in {
        "sync": {"recall", "search", "retrieve"},
        "recall": {"sync", "repo"},
        "search": {"sync", "repo"},
        "retrieve": {"sync", "repo"},
    }.items():
        text = (PACKAGE / f"{name}.py").read_text("utf-8")
        used = set(re.findall(r"from recall_git\.(\w+) import", text))
        for line in re.findall(r"from recall_git import ([^\n]+)", text):
            used |= set(re.split(r"\W+", line))
        assert not used & others, name


# examples ---------------------------------------------------------------------------------------------


def examples() -> Iterator[object]:
    """Yield every block that is marked as runnable: ``<!-- run: notes -->`` in a repository of notes."""
    for page in PAGES:
        for number, block in enumerate(
            re.findall(r"(?ms)^<!-- run: notes -->\n```sh\n(.*?)^```", page.read_text("utf-8"))
        ):
            yield pytest.param(block, id=f"{page.name}-{number}")


@pytest.mark.skipif(sys.platform == "win32", reason="the examples are for a POSIX shell")
@pytest.mark.parametrize("block", list(examples()))
def test_examples_run(block: str, repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit({**demo.NOTES})
    monkeypatch.chdir(repo.path)
    for line in block.splitlines():
        words = shlex.split(line, comments=True)
        if words[:2] == ["git", "recall"]:  # in this process, which has everything imported
            status = cli.main(words[2:])
        else:
            status = subprocess.run(("sh", "-c", line), check=False).returncode
        assert status == 0, line


def test_there_are_examples_that_run() -> None:
    assert len(list(examples())) >= 2
