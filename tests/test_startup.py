"""What each entry loads: the prompt hook is as fast as an interpreter starts only as long as nothing creeps in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import recall_git
from recall_git import client, launcher, talk

HEAVY = {"numpy", "whoosh", "pygit2", "model2vec", "tokenizers", "huggingface_hub", "yaml", "rich", "pathspec"}
CLIENT = Path(client.__file__).resolve()

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there the console script answers by itself")


def loaded(*flags: str, code: str) -> set[str]:
    """Return the modules that an interpreter has after *code*."""
    command = (sys.executable, *flags, "-c", f"import sys\n{code}\nprint(*sys.modules)")
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())


def test_client_loads_sockets_and_itself_and_nothing_else() -> None:
    bare = loaded("-I", "-S", code="")
    code = f"sys.argv = ['client.py']\nsys.path.insert(0, {str(CLIENT.parent.parent)!r})\nimport recall_git.client"
    assert loaded("-I", "-S", code=code) - bare == {"recall_git", "recall_git.client", "recall_git.talk", "_socket"}


def test_client_run_as_a_script_finds_its_package_and_says_nothing() -> None:
    done = subprocess.run((sys.executable, "-I", "-S", CLIENT), input=b"", capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_client_as_a_script_is_small_because_it_is_compiled_each_time() -> None:
    assert CLIENT.stat().st_size < 1500


def test_launcher_starts_the_client_without_site_and_environment() -> None:
    text = launcher.script(sys.executable, CLIENT).decode()
    assert '"$python" -I -S "$client"' in text


@pytest.mark.parametrize(
    "entry", ["recall_git", "recall_git.cli", "recall_git.commands.hook", "recall_git.oneshot", "recall_git.server"]
)
def test_entry_imports_nothing_heavy(entry: str) -> None:
    assert not HEAVY & {name.partition(".")[0] for name in loaded(code=f"import {entry}")}


def test_versions_are_one() -> None:
    assert client.VERSION == talk.VERSION == recall_git.__version__


@pytest.mark.parametrize("text", ["", "²", "9" * 400, "-5", "1e3", "77"])
def test_a_deadline_that_is_no_number_is_the_usual_one(text: str) -> None:
    wanted = 77 if text == "77" else talk.TIMEOUT_MS
    assert talk._timeout({"RECALL_TIMEOUT_MS": text}, b"{}", is_git=False) == wanted
