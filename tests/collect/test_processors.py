"""Waiting for a processor, against the kernel's files and against a process that shares one."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from perfprobe.collect.base import Facts
from perfprobe.collect.processors import ProcessorWaits
from perfprobe.tables.storage import read
from tests.collect.runs import finish, start
from tests.collect.test_host import put

# Shares one processor with another process; it never sleeps, so what it did not run it waited.
SHARED = """
import os, subprocess, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
other = subprocess.Popen([sys.executable, "-Sc", "while True: pass"])
begin, begin_cpu = time.perf_counter(), time.process_time()
while time.process_time() < begin_cpu + 0.5:
    pass
print(time.perf_counter() - begin - (time.process_time() - begin_cpu))
other.kill()
other.wait()
"""


class Kept:
    """Keeps facts in the place of a recorder."""

    def __init__(self) -> None:
        self.facts: dict[str, str] = {}

    def add_meta(self, key: str, value: str) -> None:
        self.facts[key] = value


def told(root: Path, before: dict[str, str], after: dict[str, str]) -> dict[str, int] | None:
    """The fact, with the kernel's files before and after."""
    kept = Kept()
    collector = ProcessorWaits(Facts(kept, print), f"{root}/")  # type: ignore[arg-type]
    for files, step in ((before, collector.start), (after, collector.stop)):
        for path, text in files.items():
            put(root, path, text)
        step()
    found: dict[str, int] | None = json.loads(kept.facts.get("processors", "null"))
    return found


def waited(thread: int, time_ns: int) -> dict[str, str]:
    return {f"proc/self/task/{thread}/schedstat": f"99 {time_ns} 7\n"}


def test_of_every_thread_what_came_since_the_start(tmp_path: Path) -> None:
    main = os.getpid()
    before = {**waited(main, 1000), **waited(5, 70), "proc/stat": "cpu 100 0 50 900 7 0 0 0 0 0\n"}
    after = {**waited(main, 4000), **waited(6, 30), "proc/stat": "cpu 90100 0 50 999 7 0 0 0 0 0\n"}
    found = told(tmp_path, before, after)
    assert found is not None
    assert (found["main_waited_ns"], found["waited_ns"]) == (3000, 3000 + 30)
    # 90,000 ticks, of which this test took hardly any itself.
    assert found["others_cpu_ns"] == pytest.approx(90_000 / os.sysconf("SC_CLK_TCK") * 1e9, rel=0.01)


@pytest.mark.parametrize("stat", ["", "cpu 1 2\n", "cpu0 1 2 3 4 5 6 7 8\n"])
def test_what_the_kernel_does_not_tell_is_left_out(tmp_path: Path, stat: str) -> None:
    assert told(tmp_path, {}, {}) is None
    found = told(tmp_path, {**waited(5, 70), "proc/stat": stat}, {})
    assert found == {"waited_ns": 0}


def test_waiting_is_the_time_in_which_a_busy_loop_did_not_run(tmp_path: Path) -> None:
    (tmp_path / "shared.py").write_text(SHARED)
    words = ["-m", "perfprobe", "--python", "off", "-q", "-o", "made.perfprobe", "shared.py"]
    outcome = finish(start(words, tmp_path))
    assert outcome.status == 0, outcome.err
    main_ns = read(tmp_path / "made.perfprobe").number("processors", "main_waited_ns")
    assert main_ns is not None
    # Starting the other process and the end of the program may wait as well.
    assert main_ns / 1e9 == pytest.approx(float(outcome.out), rel=0.15, abs=0.3)
