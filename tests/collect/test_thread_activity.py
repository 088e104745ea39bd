"""What threads ran between the sampler's ticks, and how often they were switched, by their own clocks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

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
