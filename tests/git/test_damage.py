"""Locks, races, damage, full disks: never a crash, never a wrong answer, and healed from Git's objects."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from answering import answered
from weather import rows_of

from recall_git import gitevents, hook, publish, sync
from recall_git.commands import gc
from recall_git.errors import IndexBusy, IndexUnusable, IndexUnwritable, RecallError
from recall_git.index import store as stores
from recall_git.index.store import Store
from recall_git.repo import Repo
from recall_git.search import search

if TYPE_CHECKING:
    from weather import Weather

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
PROMPT = b'{"hook_event_name": "UserPromptSubmit", "prompt": "How do I store quince jelly?", "session_id": "s%d"}'


@pytest.fixture
def filled(weather: Weather) -> Weather:
    """Three segments and a few views."""
    for number in range(3):
        weather.repo.commit({f"n{number}.md": f"# Note {number}\n\nQuince jelly, part {number}.\n"})
    return weather


def opened(weather: Weather) -> tuple[Repo, Store]:
    repo = Repo.discover(weather.repo.path)
    return repo, sync.open_store(repo, sync.settings_of(repo)[0])


def index_files(weather: Weather) -> list[Path]:
    _, store = opened(weather)
    return sorted(path for path in store.folder.rglob("*") if path.is_file())


# --- damage ---


def test_every_file_flipped_or_cut_means_silence_or_the_same_answer(filled: Weather) -> None:
    """Each file in turn: readers never see another answer, and the next indexing makes the index whole again."""
    chance = random.Random(7)
    right = filled.check()
    names = [path.name if path.parent.name != "views" else "view" for path in index_files(filled)]
    assert {"manifest.json", "files.npy", "docs.npy", "vectors.npy", "scales.npy", "rows.jsonl", "view"} <= set(names)
    number = 0
    while number < len(index_files(filled)):  # fewer once the index was built again in one piece
        path = index_files(filled)[number]
        number += 1
        data = path.read_bytes()
        harms = [data[: len(data) // 2], b"", data + b"x"]
        for _ in range(3):
            place = chance.randrange(len(data)) if data else 0
            harms.append(data[:place] + bytes([data[place] ^ (1 << chance.randrange(8))]) + data[place + 1 :])
        for harm in harms:
            if harm == data:
                continue
            path.write_bytes(harm)
            engine = filled.new_engine()
            try:
                memory = engine.open(engine.repository(filled.repo.path), catch_up=False).memory
            except IndexUnusable:
                memory = None
            if memory is not None:
                assert rows_of(memory.view) == right or memory.commit != filled.repo.head()
        filled.engine = filled.new_engine()  # a process that has it open already does not look again
        filled.hook("post-commit")
        assert filled.check() == right
    assert not list(opened(filled)[1].folder.glob("tmp-*"))


@pytest.mark.parametrize("gone", ["manifest.json", "views", "seg-*", "."])
def test_removed_files(filled: Weather, gone: str) -> None:
    right = filled.check()
    folder = opened(filled)[1].folder
    for path in [folder] if gone == "." else list(folder.glob(gone)):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    answer = answered(PROMPT % 1, filled.repo.path, {}, filled.new_engine())
    assert answer.digest.outcome in ("injected", "silent")  # few notes: made again before answering
    assert filled.check(seen=False) == right


def test_a_file_of_another_segment_is_not_taken_for_this_one(filled: Weather) -> None:
    right = filled.check()
    one, two = [path for path in index_files(filled) if path.name == "rows.jsonl"][:2]
    one.write_bytes(two.read_bytes())
    with pytest.raises(IndexUnusable):
        opened(filled)[1].open()
    filled.engine = filled.new_engine()
    filled.hook("post-commit")
    assert filled.check() == right


def test_damage_under_an_open_index_gets_no_new_seal(filled: Weather) -> None:
    right = filled.check()
    reuse = filled.snapshot()
    rows = next(path for path in index_files(filled) if path.name == "rows.jsonl")
    with rows.open("r+b") as file:  # in place: the open index maps it
        file.write(b"?")
    _, store = opened(filled)
    with store.writing(reuse=reuse) as writer, pytest.raises(IndexUnusable, match="damaged"):
        writer.merge(writer.current.segments)
    filled.engine = filled.new_engine()
    filled.hook("post-commit")
    assert filled.check() == right


def test_a_view_under_another_name_is_not_read(filled: Weather) -> None:
    snapshot = filled.snapshot()
    one, two = sorted(snapshot.folder.glob("views/*.npy"))[:2]
    two.write_bytes(one.read_bytes())
    assert snapshot.read_view(two.stem) is None
    assert snapshot.read_view(one.stem) is not None


def test_an_index_of_an_older_format_is_left_and_later_collected(
    filled: Weather, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = opened(filled)[1].folder
    monkeypatch.setattr(stores, "FORMAT", stores.FORMAT + 1)
    with pytest.raises(IndexUnusable):
        opened(filled)[1].open()
    filled.hook("post-commit")
    filled.check()
    repo, store = opened(filled)
    assert store.folder != old
    assert old.exists()
    sync.collect(repo, sync.settings_of(repo)[0])
    assert old.exists()  # another installed version may use it
    os.utime(old / "manifest.json", (1, 1))
    sync.collect(repo, sync.settings_of(repo)[0])
    assert not old.exists()


# --- clocks ---


def test_clock_going_backwards(weather: Weather) -> None:
    repo = weather.repo
    for number, date in enumerate(("2026-05-01", "2020-01-01", "2031-01-01", "1970-01-02", "2026-05-02")):
        repo.commit({"a.md": f"# A {number % 2}\n", f"n{number}.md": "# N\n"}, date=f"{date}T00:00:00Z")
        weather.check()
    for path in index_files(weather):
        os.utime(path, (1, 1))
    repo.commit({"b.md": "# B\n"})
    weather.check()


# --- several at once ---


def test_one_writer_waits_for_the_other(filled: Weather) -> None:
    repo, store = opened(filled)
    settings = sync.settings_of(repo)[0]
    filled.repo.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "x")
    with store.writing():
        with pytest.raises(IndexBusy):
            sync.refresh(repo, settings, encoder=filled.encoder, lock_timeout_s=0.05)
        assert sync.index_staged(repo, settings, repo.staged(), filled.encoder) == 0
        asked: list[Path] = []
        line = gitevents.handle("post-commit", (), filled.repo.path, {}, filled.engine, behind=asked.append)
        assert asked == [filled.repo.path], line
    filled.hook("post-commit")
    filled.check()


WRITE = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from recall_git import sync
from recall_git.repo import Repo
from recall_git.index.vectors import Encoded, Encoder
import numpy as np
class Quick(Encoder):
    def begin(self, texts):
        ones = np.ones(len(texts), np.int64)
        return lambda: Encoded(np.ones((len(texts), 4), np.float32) / 2, ones.astype(np.uint16), ones)
repo = Repo.discover(Path(sys.argv[2]))
for revision in sys.argv[3:]:
    sync.refresh(repo, sync.settings_of(repo)[0], commit=repo.resolve(revision), encoder=Quick())
    if revision.endswith("3"):
        sync.collect(repo, sync.settings_of(repo)[0])
"""


def test_writers_in_processes_and_readers_in_threads(weather: Weather) -> None:
    """Two processes index ten commits each, and collect, while readers open and read everything all the time."""
    repo = weather.repo
    weather.stop()
    repo.git("config", "core.hooksPath", "/dev/null")
    for number in range(20):
        repo.commit(
            {f"n{number}.md": f"# Note {number}\n\nQuince {number}.\n", "log.md": f"# Log\n\nJelly {number}.\n"}
        )
        repo.git("tag", f"t{number}")
    package = str(Path(sync.__file__).parents[1])
    writers = [
        subprocess.Popen((sys.executable, "-c", WRITE, package, str(repo.path), *(f"t{n}" for n in numbers)))
        for numbers in (range(0, 20, 2), range(1, 20, 2))
    ]
    problems: list[str] = []
    seen = 0

    def read() -> None:
        nonlocal seen
        while any(writer.poll() is None for writer in writers):
            try:
                snapshot = opened(weather)[1].open()
            except IndexUnusable as error:
                if "yet" not in str(error):
                    problems.append(str(error))
                continue
            for segment in snapshot.segments:
                time.sleep(0.01)  # time for a writer to remove it
                titles = [segment.document(number).title for number in range(len(segment))]
                if not (all(titles) and list(segment.lexical.terms("body")) and len(segment.vectors) == len(titles)):
                    problems.append(f"{segment.name} is not whole")
            snapshot.close()
            seen += 1

    def watched() -> None:
        try:
            read()
        except Exception as error:  # noqa: BLE001 - shown by the main thread
            problems.append(repr(error))

    threads = [threading.Thread(target=watched) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [writer.wait() for writer in writers] == [0, 0]
    assert not problems
    assert seen
    assert len(weather.snapshot().segments) < 2 + sync.MANY_SMALL


def test_an_open_reader_goes_on_after_gc_removed_its_files(filled: Weather) -> None:
    engine = filled.new_engine()
    memory = engine.open(engine.repository(filled.repo.path)).memory
    repo, store = opened(filled)
    before = {path.name for path in store.folder.glob("seg-*")}
    sync.collect(repo, sync.settings_of(repo)[0])
    assert not before & {path.name for path in store.folder.glob("seg-*")}
    found = search(memory, "quince jelly part 1")
    assert found.hits[0].document.path == "n1.md"


def test_two_publishers_at_once(filled: Weather) -> None:
    filled.repo.commit({"lessons/x.md": "---\npriority: high\n---\n# Never deploy on Friday\n\nIt broke.\n"})
    repo = Repo.discover(filled.repo.path)
    filled.repo.git("update-ref", "-d", publish.NOTES_REF)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            engine = filled.new_engine()
            mine = engine.repository(filled.repo.path)
            publish.publish(mine, engine.open(mine).memory)
        except Exception as error:  # noqa: BLE001 - shown by the main thread
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert "Friday" in repo.git("notes", "--ref=recall", "show", "HEAD").decode()


# --- disks ---


def mounted(*options: str) -> bool:
    """Mount as *options* say, if we may."""
    return ROOT and not subprocess.run(("mount", *options), capture_output=True, check=False).returncode


class Limited:
    """No file may grow past *size* bytes: what a full disk does, without one."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __enter__(self) -> None:
        self.before = resource.getrlimit(resource.RLIMIT_FSIZE)
        self.handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.size, self.before[1]))

    def __exit__(self, *_: object) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self.before)
        signal.signal(signal.SIGXFSZ, self.handler)


@pytest.mark.parametrize("size", [0, 100, 1000, 3000])
def test_a_full_disk_keeps_the_last_state(filled: Weather, size: int) -> None:
    right = filled.check()
    old = filled.repo.head()
    filled.stop()
    filled.repo.git("config", "core.hooksPath", "/dev/null")
    filled.repo.commit({f"m{number}.md": f"# More {number}\n\n" + f"word{number} " * 400 for number in range(40)})
    repo, store = opened(filled)
    settings = sync.settings_of(repo)[0]
    with Limited(size), pytest.raises(IndexUnwritable, match="make room"):
        sync.refresh(repo, settings, encoder=filled.encoder)
    assert store.open().last["commit"] == old
    with Limited(size):
        answer = answered(PROMPT % 2, filled.repo.path, {}, filled.new_engine())
    assert answer.digest.outcome in ("silent", "injected", "failed")
    hook.git_event("post-commit", (), filled.repo.path, {}, filled.engine)
    assert len({row[0] for row in filled.check()}) == len(right) + 40
    assert not list(store.folder.glob("tmp-*"))


def test_read_only_folders(filled: Weather) -> None:
    if ROOT:
        pytest.skip("root writes everywhere; see test_a_read_only_file_system")
    _, store = opened(filled)
    for folder in (store.folder, store.home):
        folder.chmod(0o555)
    try:
        filled.repo.write({"x.md": "# X\n"})
        filled.repo.git("add", "-A")
        filled.repo.git("-c", "core.hooksPath=/dev/null", "commit", "-qm", "x")
        hook.git_event("post-commit", (), filled.repo.path, {}, filled.new_engine())
        answer = answered(PROMPT % 3, filled.repo.path, {}, filled.new_engine())
        assert answer.digest.outcome in ("silent", "injected")
    finally:
        for folder in (store.home, store.folder):
            folder.chmod(0o755)


def test_a_read_only_file_system(filled: Weather) -> None:
    """The index lies on a file system that became read-only: commits and questions go on with what there is."""
    _, store = opened(filled)
    home = store.home
    if not mounted("--bind", str(home), str(home)):
        pytest.skip("only root may mount")
    try:
        subprocess.run(("mount", "-o", "remount,ro,bind", str(home)), check=True)
        filled.repo.write({"x.md": "# X\n"})
        filled.repo.git("add", "-A")
        filled.repo.git("-c", "core.hooksPath=/dev/null", "commit", "-qm", "x")
        hook.git_event("post-commit", (), filled.repo.path, {}, filled.new_engine())
        answer = answered(PROMPT % 3, filled.repo.path, {}, filled.new_engine())
        assert answer.digest.outcome in ("silent", "injected")
        assert answer.stale
    finally:
        subprocess.run(("umount", "-l", str(home)), check=True)  # Git may look at it behind the answer
    assert "x.md" in {row[0] for row in filled.check(seen=False)}


def test_a_small_disk(filled: Weather, tmp_path: Path) -> None:
    """A real file system of 256 kB that fills up: ENOSPC, and the state before it stays readable."""
    _, store = opened(filled)
    home = store.home
    shutil.rmtree(home)
    home.mkdir()
    if not mounted("-t", "tmpfs", "-o", "size=256k", "tmpfs", str(home)):
        pytest.skip("only root may mount")
    try:
        filled.hook("post-commit")
        filled.check()
        old = filled.repo.head()
        filled.repo.git("config", "core.hooksPath", "/dev/null")
        filled.repo.commit({f"m{n}.md": f"# M{n}\n\n" + " ".join(f"w{n}x{k}" for k in range(300)) for n in range(60)})
        hook.git_event("post-commit", (), filled.repo.path, {}, filled.new_engine())
        repo, store = opened(filled)
        assert store.open().last["commit"] == old
        log = (repo.state_dir / "log.jsonl").read_text()
        assert "No space left" in log
        answer = answered(PROMPT % 4, filled.repo.path, {}, filled.new_engine())
        assert answer.digest.outcome in ("silent", "injected")
    finally:
        subprocess.run(("umount", "-l", str(home)), check=True)


# --- gc ---


def test_gc_drops_what_no_tip_has_and_says_so(
    filled: Weather, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(5):
        filled.repo.commit({"n0.md": f"# Note 0\n\nversion {number}\n"})
    assert filled.snapshot().documents == 8
    monkeypatch.chdir(filled.repo.path)
    assert gc.run([]) == 0
    assert capsys.readouterr().out.startswith("5 sections dropped, 3 kept")
    assert len(filled.check()) == 3
    filled.repo.git("checkout", "-q", "HEAD~2")
    filled.check()


def test_gc_runs_by_itself_once_most_of_the_index_may_be_dead(filled: Weather, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync, "DEAD_DOCS", 6)
    sizes = []
    for number in range(20):
        filled.repo.commit({"n0.md": f"# Note 0\n\nversion {number}\n"})
        sizes.append(filled.snapshot().documents)
    assert max(sizes) <= 3 + 6 + 1
    assert min(sizes[7:]) == 3
    assert len(filled.check()) == 3


def test_views_are_bounded(filled: Weather, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "KEPT_VIEWS", 4)
    for number in range(8):
        filled.repo.git("commit", "-q", "--allow-empty", "-m", str(number))
    assert len(list(opened(filled)[1].folder.glob("views/*.npy"))) == 4
    filled.check()


def test_publishing_nothing_when_the_digest_is_off(filled: Weather) -> None:
    filled.repo.git("config", "recall.digest", "off")
    filled.repo.git("update-ref", "-d", publish.NOTES_REF, check=False)
    filled.repo.commit({"lessons/y.md": "---\npriority: high\n---\n# Never\n\nDo it.\n"})
    assert filled.repo.git("for-each-ref", publish.NOTES_REF) == ""


def test_a_digest_that_cannot_be_written_is_one_line(filled: Weather, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "digest.md")

    monkeypatch.setattr(publish, "write_file", refuse)
    repo = Repo.discover(filled.repo.path)
    with pytest.raises(RecallError, match="make it writable"):
        publish.publish(repo, filled.engine.open(filled.engine.repository(filled.repo.path)).memory)


def test_time_is_not_asked_for_answers(filled: Weather, monkeypatch: pytest.MonkeyPatch) -> None:
    right = filled.check()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert filled.check() == right


@pytest.mark.parametrize("authors", ["true", "false"])
@pytest.mark.parametrize(
    "author",
    [
        b"J\xfcrgen <j@example.org> 1767830400 +0000",
        b"No Date <n@example.org>",
        b"Late <l@example.org> 99999999999999 +0000",
        b"Zero <z@example.org> 0 +0000",
        b"Before <b@example.org> -5 +0000",
        b"Line+AAo-end <l@example.org> 1767830400 -0100",
        b"Control \x01\x02 <c@example.org> 1767830400 +0000",
    ],
    ids=range(7),
)
def test_a_commit_whose_author_line_is_odd_dates_its_notes_somehow(
    weather: Weather, author: bytes, authors: str
) -> None:
    repo = weather.repo
    repo.git("config", "recall.authors", authors)
    repo.commit({"a.md": "# A\n"})
    repo.write({"odd.md": "# Odd\n"})
    repo.git("add", "-A")
    tree, parent = repo.git("write-tree"), repo.head()
    raw = repo.path / ".git" / "raw"
    committer = b"\ncommitter C <c@example.org> 1767830400 -0100\nencoding UTF-7\n\nodd\n"
    raw.write_bytes(f"tree {tree}\nparent {parent}\nauthor ".encode() + author + committer)
    repo.git("reset", "-q", "--hard", repo.git("hash-object", "-t", "commit", "-w", "--literally", str(raw)))
    assert "odd.md" in weather.paths(seen=False)
    repo.commit({"b.md": "# B\n"})
    assert "odd.md" in weather.paths()
