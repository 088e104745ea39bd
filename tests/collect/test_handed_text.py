"""What perfprobe hands to the processes that it starts or follows has no limit of length."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from perfprobe import native
from perfprobe.experiment import sweep
from perfprobe.support.errors import EnvironmentLack
from perfprobe.tables.sweep import SweepSetting
from tests.collect.runs import both, command, perfprobe, where

# More than a word of a command line holds (128 KiB), and than a pipe (64 KiB).
NAMES = [f"/folder/with/a/long/name/for/pictures/of/the/training/n{at:08}.JPEG" for at in range(2600)]

SPAWNING = """
import multiprocessing, os, sys
def inner():
    os.write(1, b"inner %d %d\\n" % (len(sys.argv), os.dup(0)))  # whole, beside others
def work(number):
    child = multiprocessing.get_context(sys.argv[1]).Process(target=inner)
    child.start(); child.join(); sys.exit(child.exitcode + number)
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    children = [context.Process(target=work, args=(number,)) for number in range(3)]
    for child in children: child.start()
    for child in children: child.join()
    print([child.exitcode for child in children], len(sys.argv), os.dup(0))
"""
CANNOT_START = """
import multiprocessing, os, sys, _posixsubprocess
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    context.set_executable("/absent")
    child = context.Process(target=print)
    child.start(); child.join()
    print(child.exitcode, os.dup(0))
    def refused(*_): raise BlockingIOError(11, "no more processes")
    _posixsubprocess.fork_exec = refused
    context.Process(target=print).start()
"""


@pytest.mark.parametrize(("method", "recorded"), [("spawn", 6), ("forkserver", 0)])
def test_a_program_with_long_arguments_starts_its_children(
    method: str, recorded: int, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(SPAWNING)
    pair = both(["program.py", method, *NAMES], tmp_path)
    assert (pair.recorded.status, pair.recorded.err) == (0, b"")
    assert sorted(pair.recorded.out.splitlines()) == sorted(pair.plain.out.splitlines())
    folder = pair.recording.with_name(f"{pair.recording.stem}-children")
    found = {path.suffix for path in folder.glob("*")}
    assert found == ({"", ".perfprobe"} if recorded else set())  # the suffix of `sums` is ""
    paths = [str(path) for path in folder.glob("*.perfprobe")]
    assert len(paths) == recorded
    for path in paths[:1]:
        document = json.loads(command(["report", "--json", path], tmp_path).out)
        assert document["meta"]["program"]["argv"] == ["program.py", method, *NAMES]


def test_a_child_that_cannot_start_leaves_nothing_open(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(CANNOT_START)
    pair = both(["program.py", *NAMES[:100]], tmp_path)
    assert pair.recorded.out == pair.plain.out
    assert pair.recorded.status == pair.plain.status == 1
    if sys.version_info >= (3, 11):  # 3.10 adds a frame of perfprobe to the traceback
        assert pair.recorded.err == pair.plain.err


def test_what_to_report_may_be_long(tmp_path: Path) -> None:
    pytest.importorskip("numpy", reason="reports need numpy")
    (tmp_path / "program.py").write_text("pass")
    long = "é" * 50_000  # 300 KB of JSON
    outcome = perfprobe(["--focus", long, "--json", "run.json", "program.py"], tmp_path)
    assert outcome.said[0].startswith(where(tmp_path))
    assert json.loads((tmp_path / "run.json").read_bytes())["schema"] == 1


def test_a_text_is_read_by_a_new_process_from_its_start() -> None:
    descriptor = native.core().handed_text(b"x" * 1_000_000)
    try:
        assert os.fstat(descriptor).st_nlink == 0
        read = "import sys; print(len(sys.stdin.buffer.read()))"
        done = subprocess.run([sys.executable, "-c", read], stdin=descriptor, capture_output=True, check=True)
    finally:
        os.close(descriptor)
    assert done.stdout == b"1000000\n"


def test_a_sweep_says_that_arguments_are_too_long() -> None:
    setting = SweepSetting("1 thread", {}, None)
    with pytest.raises(EnvironmentLack, match="cannot be started: Argument list too long, with"):
        sweep.swept(
            ["program.py", *["x" * 100_000] * 100], [setting], rounds=1, time_s=None, progress=lambda *_: None
        )
