"""What threads ran between the sampler's ticks, and how often they were switched, by their own clocks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perfprobe.models.lock import lock_waits
from perfprobe.tables.events import Threads
from perfprobe.tables.processors import ThreadTimes
from perfprobe.tables.recording import Recording
from perfprobe.tables.storage import read
from perfprobe.tables.teams import ThreadActivity
from tests.collect.runs import finish, start
from tests.collect.test_host import put
from tests.collect.test_processors import Readings, of_thread

# A team of two: the second member is a helper, by its own clock, which any thread of the process may read.
TEAM = """
import json, os, threading, time
import torch
torch.set_num_threads(2)
a = torch.randn(400, 400)
a @ a
def clocks():
    found = {}
    for thread in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{thread}/comm") as file:
            if file.read().strip() != "perfprobe-own":
                found[int(thread)] = time.clock_gettime_ns(~int(thread) << 3 | 6)
    return found
time.sleep(1)  # threads are listed twice a second
begin_ns, before = time.monotonic_ns(), clocks()
while time.process_time_ns() < sum(before.values()) + 1_500_000_000:
    a @ a
end_ns, after = time.monotonic_ns(), clocks()
own = {thread.native_id for thread in threading.enumerate()}
ran = {thread: after[thread] - before.get(thread, 0) for thread in after}
helpers = [ran[thread] for thread in ran if thread not in own]
print(json.dumps([begin_ns, end_ns, sum(ran.values()) - sum(helpers), sum(helpers), max(helpers)]))
"""

SWITCHES = """
import resource, time
for _ in range(60):
    time.sleep(0.02)
used = resource.getrusage(resource.RUSAGE_THREAD)
print(used.ru_nvcsw, used.ru_nivcsw)
"""


# Two threads that need the global lock all the time, and one that waits for something else.
LOCK = """
import json, threading, time
idle = threading.Event()
def count():
    begin_ns = time.monotonic_ns()
    while time.thread_time_ns() < 400_000_000:
        sum(range(2000))
    waited_ns = time.monotonic_ns() - begin_ns - time.thread_time_ns()
    found[threading.get_native_id()] = waited_ns
    idle.wait()
found = {}
both = [threading.Thread(target=count) for _ in range(2)]
sleeper = threading.Thread(target=idle.wait)
for thread in (*both, sleeper):
    thread.start()
while len(found) < 2:
    time.sleep(0.05)
time.sleep(0.7)  # run time and waiting are read twice a second
idle.set()
print(json.dumps([found, sleeper.native_id]))
"""


def run(program: str, folder: Path) -> tuple[Recording, str]:
    (folder / "program.py").write_text(program)
    outcome = finish(start(["-m", "perfprobe", "-q", "-o", "made.perfprobe", "program.py"], folder))
    assert outcome.status == 0, outcome.err
    return read(folder / "made.perfprobe"), outcome.out.decode()


def test_callers_and_helpers_ran_what_their_clocks_say(tmp_path: Path) -> None:
    recording, out = run(TEAM, tmp_path)
    begin_ns, end_ns, callers_ns, helpers_ns, most_ns = json.loads(out)
    rows = recording[ThreadActivity]
    rows = rows.take((rows.start_ns >= begin_ns) & (rows.end_ns <= end_ns))
    assert len(rows) > 20
    # The first and the last interval lie partly outside.
    edge_ns = 2 * int((rows.end_ns - rows.start_ns).max())
    assert int(rows.callers_ns.sum()) == pytest.approx(callers_ns, rel=0.01, abs=edge_ns)
    assert int(rows.helpers_ns.sum()) == pytest.approx(helpers_ns, rel=0.01, abs=edge_ns)
    assert int(rows.most_ns.sum()) == pytest.approx(most_ns, rel=0.01, abs=edge_ns)
    assert bool((rows.start_ns[1:] == rows.end_ns[:-1]).all())


def test_switches_are_those_of_getrusage(tmp_path: Path) -> None:
    recording, out = run(SWITCHES, tmp_path)
    voluntary, involuntary = map(int, out.split())
    assert voluntary >= 60
    times = recording[ThreadTimes]
    main = times.take(recording.main_thread()[times.thread] & (times.voluntary >= 0))
    # What comes after the program's own look, to the end of the recording, is little.
    assert voluntary <= int(main.voluntary.max()) <= voluntary + 20
    assert involuntary <= int(main.involuntary.max()) <= involuntary + 200
    assert set(main.processor.tolist()) <= set(range(4096))


def test_waits_for_the_global_lock_are_the_time_without_cpu_time(tmp_path: Path) -> None:
    recording, out = run(LOCK, tmp_path)
    waited_ns = lock_waits(recording)
    if waited_ns is None:
        pytest.skip("the kernel does not name system calls of threads")
    known, sleeper = json.loads(out)
    # Of a holder of the lock that has no processor itself, both wait, but not both for the lock.
    queued_ns = waited_for_processor_ns(recording)
    for number, time_ns in known.items():
        least_ns = 0.7 * (time_ns - queued_ns.get(int(number), 0)) - 50_000_000
        assert least_ns < waited_ns[int(number)] < 1.1 * time_ns + 50_000_000
    # It needs the lock to begin and to end.
    assert waited_ns.get(sleeper, 0) < 0.2 * min(known.values())


def waited_for_processor_ns(recording: Recording) -> dict[int, int]:
    times, number = recording[ThreadTimes], recording[Threads].os_thread
    return {
        int(thread): int(times.wait_ns[number[times.thread] == thread].max())
        for thread in set(number[times.thread].tolist())
    }


def test_switches_and_processor_as_the_files_have_them(tmp_path: Path) -> None:
    readings = Readings(tmp_path)
    for thread in (11, 12):
        of_thread(tmp_path, thread, "1000 200 3\n")
    status = "Name:\tx\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t5\n"
    put(tmp_path, "proc/self/task/11/status", status)
    fields = " ".join(["S", *map(str, range(4, 39)), "3", "0"])
    put(tmp_path, "proc/self/task/11/stat", f"11 (a ) name) {fields}\n")
    readings.take()
    recording = readings.recording()
    times, number = recording[ThreadTimes], recording[Threads].os_thread
    columns = zip(
        number[times.thread].tolist(),
        times.voluntary.tolist(),
        times.involuntary.tolist(),
        times.processor.tolist(),
        strict=True,
    )
    assert sorted(columns) == [(11, 7, 5, 3), (12, -1, -1, -1)]
