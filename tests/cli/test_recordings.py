"""`perfprobe list` and `perfprobe clean`."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path

import pytest

from perfprobe.support.text import printable
from tests.build import Program
from tests.collect.runs import Outcome, command, finish, perfprobe, start
from tests.snapshots import Snapshot

PROGRAM = """\
import multiprocessing, sys, perfprobe
if __name__ == "__main__":
    import torch
    for _ in range(int(sys.argv[1])):
        torch.ones(3).add(1)
        perfprobe.step()
    child = multiprocessing.get_context("spawn").Process(target=print)
    child.start(); child.join()
"""


def write(path: Path, age_s: int, **meta: object) -> Path:
    """A recording that was written last this long ago."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(Program(**meta).encode())
    os.utime(path, (1e9 - age_s, 1e9 - age_s))
    return path


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """Four recordings: the higher the number, the older."""
    for number in range(4):
        write(tmp_path / f".perfprobe/run{number}.perfprobe", number)
    return tmp_path


def listed(folder: Path, *words: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads(command(["list", "--json", *words], folder).out)["recordings"]
    return rows


def names(folder: Path) -> list[str]:
    return [str(row["recording"]) for row in listed(folder)]


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def test_recordings_of_both_folders_are_listed_newest_first(shelf: Path) -> None:
    write(shelf / "own.perfprobe", 1)
    os.utime(shelf / ".perfprobe/run1.perfprobe", (1, 1))
    own = [f".perfprobe/run{number}.perfprobe" for number in range(4)]
    assert names(shelf) == [own[0], "own.perfprobe", own[2], own[3], own[1]]
    assert len(listed(shelf, "--top", "2")) == 2
    text = command(["list", "--top", "2"], shelf).out.decode()
    assert "2 of 5; --top 0 " in text.splitlines()[-1]
    assert len(text.splitlines()) == 4


def test_what_is_said_of_a_recording(tmp_path: Path) -> None:
    """Steps: as the program counts them. Duration: at most that of a clock around it. Size: of all files."""
    (tmp_path / "program.py").write_text(PROGRAM)
    begun_ns, clock_ns = time.time_ns(), time.monotonic_ns()
    assert perfprobe(["-q", "program.py", "7", "--token=S3CR3T"], tmp_path).status == 0
    clock_ns = time.monotonic_ns() - clock_ns
    assert command(["report", "--json"], tmp_path).status == 0
    (row,) = listed(tmp_path)
    assert (row["command"], row["steps"], row["complete"], row["unread"]) == (
        "program.py 7 --token=***",
        7,
        True,
        None,
    )
    assert begun_ns <= row["begun_ns"] <= begun_ns + clock_ns  # type: ignore[operator]
    assert 0 < row["duration_ns"] < clock_ns  # type: ignore[operator]
    written = [path for path in (tmp_path / ".perfprobe").rglob("*") if path.is_file()]
    assert len(written) == 4  # with .gitignore, and the child's recording and sums
    assert row["size_bytes"] == sum(path.stat().st_size for path in written if path.name != ".gitignore")


def test_the_table(tmp_path: Path, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    facts = {"clock": {"realtime_ns": 1_790_000_000 * 10**9, "monotonic_ns": 0}}
    facts |= {"start": {"monotonic_ns": 0}, "stop": {"monotonic_ns": 12_300_000_000}}
    program = {"program": {"argv": ["train.py", "--learning-rate", "0.001", "--epochs", "12"]}}
    write(tmp_path / ".perfprobe/train-20260921-131320-4711.perfprobe", 1, **facts, **program)
    write(tmp_path / "old.perfprobe", 2)
    (tmp_path / "other.perfprobe").write_text("a file of the user")
    (tmp_path / "bad\x1b[2J.perfprobe").write_bytes(b"PERFPROBE\n")
    texts = {}
    for width in ("80", "120"):
        monkeypatch.setenv("COLUMNS", width)
        texts[width] = command(["list"], tmp_path).out.decode()
        assert max(map(len, texts[width].splitlines())) <= int(width)
    (tmp_path / "none").mkdir()
    snapshot(
        **{f"{width} columns": text for width, text in texts.items()},
        none=command(["list"], tmp_path / "none").out.decode(),
    )


@pytest.mark.parametrize(
    "meta", [{"clock": {"realtime_ns": 1e30}}, {"clock": 3}, {"program": 1}, {"recording": []}]
)
def test_a_recording_may_say_anything(meta: dict[str, object], tmp_path: Path) -> None:
    write(tmp_path / "a.perfprobe", 1, **meta)
    assert command(["list"], tmp_path).status == 0
    assert len(listed(tmp_path)) == 1


def test_a_linked_folder_is_not_read(shelf: Path) -> None:
    (shelf / ".perfprobe").rename(shelf / "real")
    (shelf / ".perfprobe").symlink_to("real")
    assert names(shelf) == []
    assert command(["report"], shelf).status == 3
    assert command(["report", "real"], shelf).status == 0


def test_commands_take_the_newest_one(shelf: Path) -> None:
    said = "perfprobe: the newest recording here is "
    assert command(["report"], shelf).said == (f"{said}.perfprobe/run0.perfprobe",)
    write(shelf / "own.perfprobe", -1)
    assert command(["report"], shelf).said == (f"{said}own.perfprobe",)
    assert command(["report", "--json", str(shelf)], shelf).out.count(b'"schema"') == 5


def clean(folder: Path, *words: str) -> Outcome:
    return command(["clean", *words], folder)


def test_the_oldest_are_removed_with_what_belongs_to_them(shelf: Path, snapshot: Snapshot) -> None:
    own = shelf / ".perfprobe"
    (own / "run2-children").mkdir()
    write(own / "run2-children/17.perfprobe", 3)
    for name in (
        "run2-children/sums",
        "run2.measurements.json",
        "run2.callgraph.dot",
        "run2.pstats",
        "run2-2.pstats",
    ):
        (own / name).write_text("12345")
    kept = [".gitignore", "run0.perfprobe", "run1.perfprobe", "run1.pstats", "run2.txt", "note.perfprobes"]
    for name in (*kept, "../run3.perfprobe", "../run3.pstats"):
        (own / name).touch()
    before = files(shelf)
    dry = clean(shelf, "--keep", "2", "--dry-run")
    assert files(shelf) == before
    done = clean(shelf, "--keep", "2")
    assert (dry.status, done.status, done.err) == (0, 0, b"")
    assert dry.out.replace(b"would remove", b"removed") == done.out
    removed = before - files(shelf)
    assert {f".perfprobe/{name}" for name in kept} | {"run3.perfprobe", "run3.pstats"} == files(shelf)
    assert len(removed) == 8
    snapshot(done.out.decode())


def test_it_says_how_many_bytes(shelf: Path) -> None:
    before = sum(path.stat().st_size for path in (shelf / ".perfprobe").iterdir())
    last = clean(shelf, "--keep", "1").out.decode().splitlines()[-1]
    after = sum(path.stat().st_size for path in (shelf / ".perfprobe").iterdir())
    assert re.findall(r"[\d,]*\d", last) == ["3", f"{before - after:,}", "1"]
    assert clean(shelf).out == b"removed 0 recordings, 0 bytes; 1 kept in .perfprobe/\n"
    (shelf / "none").mkdir()
    assert clean(shelf / "none").out == b"removed 0 recordings, 0 bytes; 0 kept in .perfprobe/\n"


def test_files_of_rotate_are_removed_together(tmp_path: Path) -> None:
    own, rotating = tmp_path / ".perfprobe", {"recording": {"rotate": 1 << 20}}
    for number, name in enumerate(("a", "b")):
        write(own / f"{name}.perfprobe", 9 - number, **rotating)
        write(own / f"{name}.2.perfprobe", 8 - number, **rotating)
    write(own / "c.perfprobe", 4)
    write(own / "c.2.perfprobe", 20)
    assert names(tmp_path) == [f".perfprobe/{name}.perfprobe" for name in ("c", "b", "a", "c.2")]
    clean(tmp_path, "--keep", "2")
    assert sorted(os.listdir(own)) == ["b.2.perfprobe", "b.perfprobe", "c.perfprobe"]


def test_the_ranks_of_a_job_count_as_one(tmp_path: Path) -> None:
    own = tmp_path / ".perfprobe"
    jobs = [
        [f"train-20260101-12000{job}-host-rank{rank}-{job}{rank}" for rank in range(3)] for job in range(3)
    ]
    for job in jobs:
        for name in job:
            write(own / f"{name}.perfprobe", 9 - int(name[-2:]) // 10)
    write(own / "alone.perfprobe", 20)
    said = clean(tmp_path, "--keep", "2").out.decode()
    assert {path.stem for path in own.glob("*.perfprobe")} == {*jobs[1], *jobs[2]}
    assert re.findall(r"[\d,]*\d", said.splitlines()[-1])[::2] == ["4", "6"]


def test_nothing_of_others_is_removed_and_no_link_is_followed(
    shelf: Path, tmp_path_factory: pytest.TempPathFactory, snapshot: Snapshot
) -> None:
    own, outside = shelf / ".perfprobe", tmp_path_factory.mktemp("outside")
    precious = write(outside / "1.perfprobe", 9)
    (own / "linked.perfprobe").symlink_to(precious)
    (own / "run3.pstats").symlink_to(precious)
    (own / "run3-children").symlink_to(outside)
    (own / "run2-children").mkdir()
    (own / "run2-children/mine.txt").touch()
    (own / "run2-children/1.perfprobe").symlink_to(precious)
    (own / "mine.perfprobe").write_text("not a recording")
    os.mkfifo(own / "pipe.perfprobe")
    (own / "folder.perfprobe").mkdir()
    outcome = clean(shelf, "--keep", "0")
    said = outcome.out.decode()
    assert precious.exists()
    snapshot("\n".join(sorted(line for line in said.splitlines() if line.startswith("left "))))
    left = {"folder", "linked", "mine", "pipe"}
    assert set(os.listdir(own)) == {f"{name}.perfprobe" for name in left} | {
        "run2-children",
        "run3-children",
        "run3.pstats",
    }


def test_a_recording_that_is_being_written_stays(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import sys\nprint('runs', flush=True)\nsys.stdin.read()\n")
    running = start(["-m", "perfprobe", "-q", "train.py"], tmp_path)
    assert running.stdout is not None
    running.stdout.readline()
    said = clean(tmp_path, "--keep", "0").out.decode()
    (name,) = (path.name for path in tmp_path.glob(".perfprobe/*.perfprobe"))
    assert said.split()[:4] == ["left", f"{name}:", "process", str(running.pid)]
    assert finish(running).status == 0
    assert clean(tmp_path, "--keep", "0").out.startswith(f"removed {name}: 1 file, ".encode())
    assert os.listdir(tmp_path / ".perfprobe") == [".gitignore"]


def test_a_killed_programs_recording_is_removed(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(f"import os\nos.kill(os.getpid(), {signal.SIGKILL})\n")
    assert perfprobe(["-q", "train.py"], tmp_path).status == -signal.SIGKILL
    assert len(listed(tmp_path)) == 1
    clean(tmp_path, "--keep", "0")
    assert listed(tmp_path) == []


@pytest.mark.parametrize("made", ["link", "file"])
def test_a_folder_that_is_none_is_one_line(made: str, shelf: Path) -> None:
    (shelf / ".perfprobe").rename(shelf / "real")
    if made == "link":
        (shelf / ".perfprobe").symlink_to("real")
    else:
        (shelf / ".perfprobe").touch()
    outcome = clean(shelf, "--keep", "0")
    assert (outcome.status, outcome.out, outcome.err) == (3, b"", b"")
    why = "it is a link" if made == "link" else "Not a directory"
    assert [line.split(": ", 2)[2] for line in outcome.said] == [f"{why}: ./.perfprobe"]
    assert len(os.listdir(shelf / "real")) == 4


def test_names_from_others_are_printable(tmp_path: Path) -> None:
    name = "a\x1b[2J\n.perfprobe"
    write(tmp_path / ".perfprobe" / name, 1)
    for words in (["list"], ["clean", "--keep", "0"]):
        text = command(words, tmp_path).out.decode()
        assert printable(name) in text
        assert "\x1b" not in text
