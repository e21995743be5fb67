"""How fast recall is: hook, retrieval, commits, checkout, full index, memory, at several sizes, in one run.

    python benchmarks/latency.py [--sections 1000,10000,50000] [--notes DIR] [--fuyao PATH] [--rounds 40] [--json FILE]

Builds a repository of each size from the Markdown files below ``--notes``, or from text that it makes up in
three languages, in a temporary folder with a home of its own, and removes it. What is compared is measured in
turn, one after the other in each round, so that a busy machine touches all alike; ratios tell more than times.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from recall_git import client
from recall_git import launcher as launchers

PROMPTS = 200
WARM = 5
"""Prompts of each repository that are not counted."""
PAUSED, PAUSE_S = 8, 2.5
"""Prompts after a pause: Git is asked again then what is uncommitted."""
SEED = 20260301


# ---------------------------------------------------------------- text


class Language:
    """Makes up words with the frequencies of a natural language (Zipf), and sentences of them."""

    def __init__(self, pieces: Sequence[str], length: tuple[int, int], words: int, gap: str, stop: str) -> None:
        rng = random.Random(f"{SEED}{gap}{stop}{len(pieces)}")
        made = ("".join(rng.choices(pieces, k=rng.randint(*length))) for _ in range(words))
        self.words = list(dict.fromkeys(made))
        self.steps = list(accumulate(1 / (rank + 2.7) for rank in range(len(self.words))))
        self.gap, self.stop = gap, stop

    def some(self, rng: random.Random, count: int) -> str:
        """Return *count* words."""
        whole = self.steps[-1]
        return self.gap.join(self.words[bisect(self.steps, rng.random() * whole)] for _ in range(count))

    def paragraph(self, rng: random.Random, words: int) -> str:
        """Return about *words* words in sentences."""
        lines = []
        while words > 0:
            count = rng.randint(6, 16)
            lines.append(self.some(rng, count) + self.stop)
            words -= count
        return (" " if self.gap else "").join(lines)


def languages() -> list[Language]:
    """Return made-up English, Chinese and Japanese."""
    han = [chr(code) for code in range(0x4E00, 0x4E00 + 2400)]
    kana = [chr(code) for code in range(0x3042, 0x3094)]
    starts, ends = "b d f g k l m n p r s t v st tr pl sh", "a e i o u an er in ot"
    starts, ends = "b d f g k l m n p r s t v st tr pl sh", "a e i o u an er in ot"
    syllables = [start + end for start in starts.split() for end in ends.split()]
    return [
        Language(syllables, (1, 4), 60_000, " ", ". "),
        Language(han, (1, 3), 20_000, "", "。"),
        Language(kana + han[:800], (1, 4), 20_000, "", "。"),
    ]


def made_up(sections: int) -> Iterator[tuple[str, str]]:
    """Yield (path, Markdown) of notes with about *sections* sections: five a note, 40 to 160 words each."""
    spoken = languages()
    for number in range(max(1, sections // 5)):
        rng = random.Random(SEED + number)
        language = rng.choices(spoken, (60, 25, 15))[0]
        parts = [f"# {language.some(rng, 4)}\n\n{language.paragraph(rng, rng.randint(40, 160))}"]
        parts += [f"## {language.some(rng, 3)}\n\n{language.paragraph(rng, rng.randint(40, 160))}" for _ in range(4)]
        yield f"notes/{number % 100:02d}/{number:06d}.md", "\n\n".join(parts) + "\n"


def from_folder(folder: Path, sections: int) -> Iterator[tuple[str, str]]:
    """Yield notes made of the sections of the Markdown files below *folder*, mixed when there are too few."""
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in sorted(folder.rglob("*.md"))]
    parts = [part.strip() for text in texts for part in re.split(r"(?m)^(?=#{1,2} )", text) if len(part.strip()) > 80]
    if not parts:
        raise SystemExit(f"no sections in {folder}")
    for number in range(max(1, sections // 5)):
        rng = random.Random(SEED + number)
        chosen = [re.sub(r"^# ", "## ", part) for part in rng.sample(parts, min(5, len(parts)))]
        yield f"notes/{number % 100:02d}/{number:06d}.md", f"# Note {number}\n\n" + "\n\n".join(chosen) + "\n"


def prompts(notes: Sequence[str], count: int) -> list[str]:
    """Return *count* prompts of 5 to 60 words, each from the words of one of *notes* and some of another."""
    rng = random.Random(SEED)
    made = []
    for _ in range(count):
        words = _words(rng.choice(notes)) + _words(rng.choice(notes))[:60]
        made.append(" ".join(rng.sample(words, min(len(words), rng.randint(5, 60)))))
    return made


def _words(text: str) -> list[str]:
    return re.findall(r"[A-Za-z]{2,}|[\u3040-\u30ff\u4e00-\u9fff]{1,3}", text)[:400]


# ---------------------------------------------------------------- the lab


@dataclass
class Lab:
    """A folder with a home of its own, and the commands run in it."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        home, run = self.folder / "home", self.folder / "run"
        home.mkdir()
        run.mkdir(mode=0o700)
        keep = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
        self.environ = {
            **keep, "HOME": str(home), "XDG_RUNTIME_DIR": str(run), "XDG_DATA_HOME": str(home / ".local/share"),
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "HF_HUB_OFFLINE": "1",
        }  # fmt: skip
        text = "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n"
        (home / ".gitconfig").write_text(text, encoding="utf-8")
        self.launcher = launchers.ensure(home / ".local/share/recall-git")

    def run(self, *command: str, cwd: Path | None = None, data: bytes = b"", **environ: str) -> bytes:
        """Run a command to its end; return what it printed."""
        done = subprocess.run(
            command,
            cwd=cwd or self.folder,
            input=data,
            capture_output=True,
            env={**self.environ, **environ},
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command[:6])}: {done.returncode}\n{done.stderr.decode()}")
        return done.stdout

    def recall(self, *args: str, cwd: Path | None = None) -> bytes:
        """Run ``git recall ARGS``."""
        return self.run(sys.executable, "-c", client.bootstrap("cli"), *args, cwd=cwd)

    def hook(self, repo: Path, prompt: str, session: str, **environ: str) -> bytes:
        """Run the prompt hook as an agent does."""
        event = {"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": str(repo), "prompt": prompt}
        return self.run(str(self.launcher), cwd=repo, data=json.dumps(event).encode(), **environ)

    def status(self) -> dict[str, Any]:
        """Return what the resident process says about itself, {} when there is none."""
        done = subprocess.run(
            (sys.executable, "-c", client.bootstrap("cli"), "server", "status", "--json"),
            cwd=self.folder, capture_output=True, env=self.environ, check=False,
        )  # fmt: skip
        found: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
        return found

    def stop(self) -> None:
        """Stop the resident process and wait until it has gone."""
        pid = self.status().get("pid")
        if pid is None:
            return
        self.recall("server", "stop")
        for _ in range(200):
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return
            sleep(0.02)
        os.kill(pid, signal.SIGKILL)

    def repository(self, name: str, notes: Sequence[tuple[str, str]]) -> tuple[Path, dict[str, Any]]:
        """Make a repository of *notes*, all in one commit, and opt it in; return how fast it was indexed too."""
        repo = self.folder / name
        for path, text in notes:
            target = repo / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        self.run("git", "init", "-q", str(repo))
        self.run("git", "add", "-A", cwd=repo)
        self.run("git", "commit", "-q", "-m", "notes", cwd=repo)
        started = perf_counter()
        said = self.recall("init", "--hooks", "native", cwd=repo).decode()
        return repo, index_speed(said, perf_counter() - started)


def timed(work: Callable[..., object], *args: Any, **named: Any) -> float:
    """Return how long ``work(*args, **named)`` takes, ms."""
    started = perf_counter()
    work(*args, **named)
    return 1000 * (perf_counter() - started)


def percentiles(times: Sequence[float]) -> dict[str, float]:
    """Return p50, p95 and p99."""
    ordered = sorted(times)
    return {f"p{p}": round(ordered[min(len(ordered) - 1, int(len(ordered) * p / 100))], 2) for p in (50, 95, 99)}


# ---------------------------------------------------------------- what is measured


def measure_hooks(lab: Lab, repos: Mapping[str, Path], asked: Sequence[str], rounds: int) -> dict[str, Any]:
    """Measure bare Python and the warm hook, in turn, at one size after the other; and the first hook of all."""
    lab.stop()
    repo = list(repos.values())[-1]
    first = timed(lab.hook, repo, asked[0], "first", RECALL_TIMEOUT_MS="20000")
    empty = lab.folder / "empty.py"
    empty.write_text("", encoding="utf-8")
    rows: dict[str, Any] = {}
    for name, path in repos.items():
        for turn in range(WARM):
            lab.hook(path, asked[-turn - 1], f"warm-{name}-{turn}", RECALL_TIMEOUT_MS="20000")
        bare, isolated, times, spoke = [], [], [], 0
        for turn in range(rounds):
            bare.append(timed(lab.run, sys.executable, "-c", "pass"))
            isolated.append(timed(lab.run, sys.executable, "-I", "-S", str(empty)))
            started = perf_counter()
            spoke += bool(lab.hook(path, asked[turn % len(asked)], f"{name}-{turn}"))
            times.append(1000 * (perf_counter() - started))
        rows[name] = {
            "bare": round(median(bare), 2),
            "python -I -S": round(median(isolated), 2),
            **percentiles(times),
            "of_bare": round(median(times) / median(bare), 2),
            "spoke": spoke,
        }
    paused, bare = [], []
    for turn in range(min(rounds, PAUSED)):
        sleep(PAUSE_S)
        paused.append(timed(lab.hook, repo, asked[-turn - 1], f"paused-{turn}"))
        bare.append(timed(lab.run, sys.executable, "-c", "pass"))
    pause = {**percentiles(paused), "of_bare": round(median(paused) / median(bare), 2)}
    return {"after_pause": pause, "first_ms": round(first, 1), "rows": rows}


def measure_retrieval(repos: Mapping[str, Path], asked: Sequence[str]) -> dict[str, Any]:
    """Measure the engine in this process: both legs (``ask``), the whole search, the whole answer."""
    from recall_git import analysis, hook, search
    from recall_git.engine import Engine

    found: dict[str, Any] = {}
    for name, path in repos.items():
        engine = Engine()
        memory = engine.open(engine.repository(path), catch_up=False).memory
        legs, whole, answers = [], [], []
        for warm in (True, False):
            for number, prompt in enumerate(asked):
                event = {"hook_event_name": "UserPromptSubmit", "session_id": f"r{warm}{number}", "prompt": prompt}
                data = json.dumps(event).encode()
                terms = search._rarest(memory.view, analysis.query_terms(prompt))
                question = memory.encoder.ask(prompt)
                one = (
                    timed(memory.view.ask, terms, question),
                    timed(search.search, memory, prompt),
                    timed(hook.prepare, data, path, {}, engine),
                )
                if warm and number >= 20:
                    break
                if not warm:
                    for kept, value in zip((legs, whole, answers), one, strict=True):
                        kept.append(value)
        found[name] = {
            "sections": memory.view.count,
            "legs": percentiles(legs),
            "search": percentiles(whole),
            "answer": percentiles(answers),
        }
    return found


def measure_commits(lab: Lab, repo: Path, rounds: int) -> dict[str, Any]:
    """Measure the commit of one note with our hooks and without any, in turn."""
    times: dict[str, list[float]] = {"without hooks": [], "with hooks": []}
    note = sorted(repo.glob("notes/*/*.md"))[0]
    lab.hook(repo, "warm up the resident process", "commits", RECALL_TIMEOUT_MS="20000")
    for turn in range(2 * rounds):
        note.write_text(f"# Turn {turn}\n\nThe commit number {turn} measures the hooks.\n", encoding="utf-8")
        lab.run("git", "add", "-A", cwd=repo)
        hooks = turn % 2 == 1
        options = () if hooks else ("-c", f"core.hooksPath={lab.folder / 'none'}")
        name = "with hooks" if hooks else "without hooks"
        times[name].append(timed(lab.run, "git", *options, "commit", "-q", "-m", "one note", cwd=repo))
        sleep(0.3)  # what runs behind the commit is not part of it, nor of the next one
    rows: dict[str, Any] = {name: percentiles(values) for name, values in times.items()}
    rows["added"] = round(median(times["with hooks"]) - median(times["without hooks"]), 1)
    return rows


def measure_checkout(lab: Lab, repo: Path) -> dict[str, Any]:
    """Check out a commit that was indexed before, and count the documents that this adds to the index."""
    from recall_git import sync
    from recall_git.engine import Engine

    def documents() -> int:
        engine = Engine()
        found = engine.repository(repo)
        return sum(map(len, sync.open_store(found, sync.settings_of(found)[0]).open().segments))

    for name in ("HEAD~1", "main"):
        lab.run("git", "checkout", "-q", name, cwd=repo)
        lab.recall("index", "--quiet", cwd=repo)
    before = documents()
    took = timed(lab.run, "git", "checkout", "-q", "HEAD~1", cwd=repo)
    lab.recall("index", "--quiet", cwd=repo)
    after = documents()
    lab.run("git", "checkout", "-q", "main", cwd=repo)
    return {"documents_indexed": after - before, "checkout_ms": round(took, 1)}


def index_speed(said: str, seconds: float) -> dict[str, Any]:
    """Return the speed of the first index from what ``init`` *said* and took."""
    numbers = re.search(r"(\d+) sections indexed in ([\d.]+) s", said)
    assert numbers, said
    sections = int(numbers[1])
    return {
        "sections": sections,
        "process_s": round(seconds, 2),
        "sections_per_s": round(sections / float(numbers[2])),
        "sections_per_s_with_start": round(sections / seconds),
    }


def measure_fuyao(lab: Lab, program: Path, repos: Mapping[str, Path], asked: Sequence[str]) -> dict[str, Any]:
    """Measure the peer on the same notes, in the folder that it looks for: build, and a query in a new process."""
    found = {}
    for name, path in repos.items():
        folder = lab.folder / f"fuyao-{path.name}"
        shutil.copytree(path / "notes", folder / "memory")
        built = timed(lab.run, sys.executable, str(program), "build", cwd=folder)
        times = [timed(lab.run, sys.executable, str(program), "q", prompt, cwd=folder) for prompt in asked[:15]]
        found[name] = {"build_ms": round(built), **percentiles(times)}
    return found


# ---------------------------------------------------------------- report


def report(result: Mapping[str, Any]) -> None:
    """Print the result as tables."""
    from rich.console import Console
    from rich.table import Table

    console = Console()

    def table(title: str, rows: Mapping[str, Mapping[str, Any]]) -> None:
        columns = list(dict.fromkeys(key for row in rows.values() for key in row))
        made = Table("", *columns, title=title, title_justify="left")
        for name, row in rows.items():
            made.add_row(name, *(_cell(row.get(key)) for key in columns))
        console.print(made)

    table("whole hook process, warm, ms", result["hook"]["rows"])
    console.print(f"after a pause, largest: {result['hook']['after_pause']}")
    console.print(f"first hook (starts the resident process): {result['hook']['first_ms']} ms")
    rows = {
        f"{name} {part}": row[part]
        for name, row in result["retrieval"].items()
        for part in ("legs", "search", "answer")
    }
    table(f"in the engine, {PROMPTS} prompts, ms", rows)
    table("git commit of one note, ms", {k: v for k, v in result["commit"].items() if k != "added"})
    console.print(f"the hooks add {result['commit']['added']} ms")
    table("checkout of a commit already seen", {"": result["checkout"]})
    table("full index", result["index"])
    shown = ("resident_mb", "repositories", "answered")
    table("resident process", {name: {key: row.get(key) for key in shown} for name, row in result["resident"].items()})
    if "fuyao" in result:
        table("fuyao-agent-recall, ms", result["fuyao"])
    console.print(
        f"load average {result['load'][0]:.1f} at the start, {result['load'][1]:.1f} at the end, {os.cpu_count()} cores"
    )


def _cell(value: object) -> str:
    return "" if value is None else str(value)


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description="How fast recall is, at several sizes.")
    parser.add_argument("--sections", default="1000,10000,50000", help="sizes, comma-separated")
    parser.add_argument("--notes", type=Path, help="a folder of Markdown to take the text from")
    parser.add_argument("--fuyao", type=Path, help="path of fuyao-agent-recall's bin/recall")
    parser.add_argument("--rounds", type=int, default=40, help="rounds of what is measured in turn")
    parser.add_argument("--json", type=Path, help="write the result there")
    args = parser.parse_args()
    sizes = [int(size) for size in args.sections.split(",")]
    folder = Path(tempfile.mkdtemp(prefix="recall-latency-"))
    lab = Lab(folder)
    for name in list(os.environ):
        if name.startswith(("RECALL_", "GIT_", "XDG_")):
            del os.environ[name]
    os.environ.update({k: v for k, v in lab.environ.items() if k != "PATH"})
    load = os.getloadavg()[0]
    try:
        repos, asked, index = {}, [], {}
        for size in sizes:
            notes = list(from_folder(args.notes, size) if args.notes else made_up(size))
            name = f"{size} sections"
            repos[name], index[name] = lab.repository(f"n{size}", notes)
            asked = asked or prompts([text for _, text in notes], PROMPTS)
        result: dict[str, Any] = {"python": sys.version.split()[0], "index": index}
        result["hook"] = measure_hooks(lab, repos, asked, args.rounds)
        result["resident"] = {"after prompts": lab.status()}
        sleep(PAUSE_S)
        result["resident"]["at rest"] = lab.status()
        result["retrieval"] = measure_retrieval(repos, asked)
        largest = min(repos.values(), key=lambda path: abs(int(path.name[1:]) - 10_000))
        result["commit"] = {
            "repository": {"sections": largest.name[1:]},
            **measure_commits(lab, largest, args.rounds // 2),
        }
        result["checkout"] = measure_checkout(lab, largest)
        if args.fuyao:
            result["fuyao"] = measure_fuyao(lab, args.fuyao, repos, asked)
        result["load"] = [load, os.getloadavg()[0]]
    finally:
        lab.stop()
        shutil.rmtree(folder, ignore_errors=True)
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    report(result)


if __name__ == "__main__":
    main()
