"""Run time and waiting for a processor, beside the kernel's files and a process that shares one."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from perfprobe import native
from perfprobe.merge import link
from perfprobe.models.waiting import waited_ns
from perfprobe.tables.events import Losses, Progress, Threads
from perfprobe.tables.processors import Processors, ProcessorTimes, ThreadTimes
from perfprobe.tables.recording import Recording
from perfprobe.tables.storage import read
from perfprobe.tables.strings import Strings
from tests.collect.runs import finish, start
from tests.collect.test_host import put
from tests.found import find

TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
HOUR_NS = 3_600_000_000_000

# Shares one processor with another process. It never sleeps, so it waits whenever it does not run.
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

# Three threads on one processor without the GIL. They stay alive, so that they are read at the end.
TEAM = """
import hashlib, os, threading, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
data, done = bytes(1_000_000), threading.Barrier(4)
def spin():
    while time.thread_time_ns() < 400_000_000:
        hashlib.sha256(data).digest()
    os.write(1, b"%d %d\\n" % (threading.get_native_id(), time.thread_time_ns()))  # in one piece
    done.wait()
    threading.Event().wait()
for _ in range(3):
    threading.Thread(target=spin, daemon=True).start()
done.wait()
"""

KILLED = """
import os, signal, time
end = time.monotonic() + 1.6
while time.monotonic() < end:
    pass
os.kill(os.getpid(), signal.SIGKILL)
"""


class Readings:
    """Reads a folder as if it were the kernel's, on request."""

    def __init__(self, folder: Path, cpu_stat: str = "") -> None:
        self._path = folder / "made.perfprobe"
        self._recorder = native.core().Recorder(str(self._path), flush_ns=HOUR_NS)
        self._times = native.core().ThreadTimes(self._recorder.capsule(), f"{folder}/", cpu_stat)

    def take(self) -> None:
        """Takes a reading."""
        self._times.start()

    def recording(self) -> Recording:
        """The recording of all readings."""
        self._recorder.close()
        return read(self._path)


@contextmanager
def allowed(processors: set[int]) -> Iterator[None]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def of_thread(root: Path, thread: int, text: str, name: str = "worker") -> None:
    put(root, f"proc/self/task/{thread}/schedstat", text)
    put(root, f"proc/self/task/{thread}/comm", f"{name}\n")


def rows(recording: Recording) -> list[tuple[int, int, int, int]]:
    """(reading, thread number, run, wait), in order."""
    times, readings = recording[ThreadTimes], recording[ProcessorTimes].time_ns.tolist()
    number = recording[Threads].os_thread.tolist()
    columns = (times.time_ns.tolist(), times.thread.tolist(), times.run_ns.tolist(), times.wait_ns.tolist())
    return sorted(
        (readings.index(time), number[thread], *rest) for time, thread, *rest in zip(*columns, strict=True)
    )


def test_readings_equal_the_threads_files(tmp_path: Path) -> None:
    readings = Readings(tmp_path)
    of_thread(tmp_path, 11, "1000 200 3\n")
    of_thread(tmp_path, 12, "70 -5 3\n", "perfprobe")
    readings.take()
    of_thread(tmp_path, 11, "5000 900 4\n")
    of_thread(tmp_path, 13, "8 9 1\n", "näme")
    put(tmp_path, "proc/self/task/14/schedstat", "")
    readings.take()
    recording = readings.recording()
    assert rows(recording) == [
        *((0, 11, 1000, 200), (0, 12, 70, -1)),
        *((1, 11, 5000, 900), (1, 12, 70, -1), (1, 13, 8, 9)),
    ]
    names = [recording[Strings][name] for name in recording[Threads].name.tolist()]
    assert names == ["worker", "perfprobe", "näme"]


def test_a_reused_thread_number_is_a_new_thread(tmp_path: Path) -> None:
    readings = Readings(tmp_path)
    of_thread(tmp_path, 11, "1000 200 3\n")
    readings.take()
    of_thread(tmp_path, 11, "40 2 1\n", "new")
    readings.take()
    assert readings.recording()[ThreadTimes].thread.tolist() == [0, 1]


def test_only_usable_processors_count(tmp_path: Path) -> None:
    own = min(os.sched_getaffinity(0))
    lines = {own: "10 20 30 999 999 50 60 7 1000 1000", own + 1: "10000 0 0 0 0 0 0 5000 0 0"}
    stat = "".join(f"cpu{number} {line}\n" for number, line in lines.items())
    put(tmp_path, "proc/stat", f"cpu  777 0 0 0 0 0 0 0 0 0\n{stat}intr 4 5\n")
    put(tmp_path, "proc/pressure/cpu", "some avg10=1.00 avg60=2.00 avg300=3.00 total=4567\nfull total=9\n")
    put(tmp_path, "cpu.stat", "usage_usec 1\nnr_throttled 3\nthrottled_usec 88\n")
    readings = Readings(tmp_path, str(tmp_path / "cpu.stat"))
    with allowed({own}):
        readings.take()
    found = readings.recording()[ProcessorTimes]
    assert (found.busy_ns[0], found.stolen_ns[0]) == ((10 + 20 + 30 + 50 + 60) * TICK_NS, 7 * TICK_NS)
    assert (found.pressure_ns[0], found.throttled_ns[0]) == (4_567_000, 88_000)
    assert found.processors.tolist() == [1]


def test_grandchildren_count_for_the_program(tmp_path: Path) -> None:
    own = os.getpid()
    for process, children, ticks in ((own, "500 501 ", 10**6), (500, "600 ", 3), (501, "", 5), (600, "", 7)):
        put(tmp_path, f"proc/{process}/task/{process}/children", children)
        fields = " ".join(["S", *map(str, range(4, 14)), str(ticks), "1", "0", "0", "20"])
        put(tmp_path, f"proc/{process}/stat", f"{process} (a ) name) {fields}\n")
    readings = Readings(tmp_path)
    ended_ns = sum(os.times()[2:4]) * 1e9
    readings.take()
    found = readings.recording()[ProcessorTimes].children_cpu_ns[0]
    assert found - ended_ns == pytest.approx((3 + 5 + 7 + 3) * TICK_NS, abs=2 * TICK_NS)


def test_missing_values_are_not_zero(tmp_path: Path) -> None:
    put(tmp_path, "proc/stat", "intr 4 5\n")
    readings = Readings(tmp_path, str(tmp_path / "absent"))
    readings.take()
    found = readings.recording()
    reported = found[ProcessorTimes]
    assert len(found[ThreadTimes]) == 0
    for column in (reported.busy_ns, reported.stolen_ns, reported.pressure_ns, reported.throttled_ns):
        assert column.tolist() == [-1]


def run(program: str, folder: Path, status: int = 0) -> tuple[Recording, str]:
    (folder / "program.py").write_text(program)
    words = ["-m", "perfprobe", "--python", "off", "-q", "-o", "made.perfprobe", "program.py"]
    outcome = finish(start(words, folder))
    assert outcome.status == status, outcome.err
    return read(folder / "made.perfprobe"), outcome.out.decode()


def test_waiting_of_a_busy_loop_is_the_time_it_did_not_run(tmp_path: Path) -> None:
    recording, out = run(SHARED, tmp_path)
    main_ns = waited_ns(recording, main=True)
    assert main_ns is not None
    assert any("threads in operators are not known" in reason for reason in recording[Losses].reason)
    # Starting the other process and the end of the program may also wait.
    assert main_ns / 1e9 == pytest.approx(float(out), rel=0.15, abs=0.3)


def test_threads_sharing_one_processor(tmp_path: Path) -> None:
    """Each thread's run time equals its own clock, and the sum equals the process's."""
    recording, out = run(TEAM, tmp_path)
    reported = {int(thread): int(run_ns) for thread, run_ns in map(str.split, out.splitlines())}
    found = find(link(recording), Processors)[Processors]
    number = recording[Threads].os_thread[found.threads.thread].tolist()
    times_ns: dict[int, int] = dict(zip(number, found.threads.run_ns.tolist(), strict=True))
    for thread, time_ns in reported.items():
        assert times_ns[thread] == pytest.approx(time_ns, rel=0.01, abs=2_000_000)
    process_ns = found.used_cores * found.wall_ns
    assert sum(times_ns.values()) + found.other_run_ns == pytest.approx(process_ns, rel=0.01, abs=2_000_000)
    # Two wait while one runs, even if no other process runs.
    assert found.own_ns is not None
    assert found.own_ns > 1.2 * sum(reported.values())


def test_a_killed_run_keeps_its_readings(tmp_path: Path) -> None:
    recording, _ = run(KILLED, tmp_path, -signal.SIGKILL)
    assert not recording.complete
    assert len(recording[ProcessorTimes]) >= 2
    is_main = recording.main_thread()[recording[ThreadTimes].thread]
    main_ns = recording[ThreadTimes].run_ns[is_main]
    # Since the start of the process, up to its clock at the same heartbeats.
    last_ns = int(recording[Progress].cpu_ns[-1])
    assert 0.5 * last_ns < int(np.max(main_ns)) <= last_ns
