"""A server's waiting for requests is in no step; nor is it slow code."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfprobe import _core
from perfprobe.analyse.loop.covered import outside
from perfprobe.report.section.screen.screen import screen_rows
from perfprobe.tables.findings import Findings
from perfprobe.tables.python import WaitsFor
from perfprobe.tables.steps import StepTimes
from tests.build import NEXT, Program, op
from tests.collect.together import together
from tests.report.test_screen import found
from tests.snapshots import Snapshot

MS = 1_000_000
CALLS, EACH, WORK = 10, 100, 20  # ms
MAIN = "/p/serve.py:12/1 <module>"
WAITS = {
    "select": (
        "/usr/lib/python3.11/socketserver.py:237 serve_forever",
        "/usr/lib/python3.11/selectors.py:415 select",
    ),
    "queue": (
        "/usr/lib/python3.11/queue.py:171 Queue.get",
        "/usr/lib/python3.11/threading.py:327 Condition.wait",
    ),
}


def server(*waits: str, beside: str = "", line: str = MAIN, waits_for: int = -1) -> Program:
    """10 calls of 20 ms, each after a wait of 70 ms and Python of 10 ms at another line.

    line: the frame that waits, or calls what waits. beside: what another thread ran during the waits.
    """
    program = Program(
        start={"monotonic_ns": 0, "cpu_ns": 0},
        stop={"monotonic_ns": CALLS * EACH * MS, "cpu_ns": 0},
        program={"argv": ["serve.py"], "pid": 1001},
        roots={"stdlib": ["/usr/lib/python3.11"], "script": "/p"},
        sampler={"ticks": 40},
    )
    program.thread(1)
    program.thread(2)
    stack = program.stack("/p/serve.py:14/1 <module>", ("/p/net.py:9 forward", program.module("", "Net")))
    for call in range(CALLS):
        at, work = call * EACH * MS, (call * EACH + EACH - WORK) * MS
        if waits or waits_for >= 0:
            program.sample(at, at + 70 * MS, line, *waits, looks=14, cpu_ns=0, waits_for=waits_for)
            program.sample(at + 70 * MS, work, "/p/serve.py:13/1 <module>", looks=2, cpu_ns=10 * MS)
        if beside:
            program.sample(at, work, beside, thread=1, looks=16, cpu_ns=80 * MS)
        program.sample(work, work + WORK * MS, "/p/serve.py:14/1 <module>", looks=4, cpu_ns=WORK * MS)
        program.run(op("aten::mm", work, work + WORK * MS, stack=stack))
    return program


def said(findings: Findings) -> dict[str, str]:
    return {row.label: row.text for row in screen_rows(findings)}


@pytest.mark.parametrize("waits", WAITS.values(), ids=WAITS)
def test_waiting_for_requests_is_between_the_steps(
    tmp_path: Path, waits: tuple[str, ...], snapshot: Snapshot
) -> None:
    findings = found(server(*waits), tmp_path)
    times = findings[StepTimes]
    assert int(times.loops.idle_ns[0]) == (CALLS - 1) * 70 * MS  # the first wait is start-up
    took_ns = times.steps.end_ns - times.steps.start_ns
    assert took_ns.tolist() == [WORK * MS, *[30 * MS] * (CALLS - 1)]
    lines = said(findings)
    assert "serve.py:12" not in lines["SLOW"]
    snapshot(lines["IDLE"])


def test_waiting_for_what_another_thread_makes_is_not_idle(tmp_path: Path) -> None:
    findings = found(server(*WAITS["queue"], beside="/p/serve.py:30/25 produce"), tmp_path)
    assert findings[StepTimes].loops.idle_ns.tolist() == [0]
    assert "IDLE" not in said(findings)


def test_a_sleep_of_the_program_is_not_idle(tmp_path: Path) -> None:
    findings = found(server("/p/serve.py:40/38 pause"), tmp_path)
    assert findings[StepTimes].loops.idle_ns.tolist() == [0]


@pytest.mark.parametrize("waits_for", [WaitsFor.MESSAGE, WaitsFor.THREAD])
def test_a_c_function_may_wait_for_requests(tmp_path: Path, waits_for: WaitsFor, snapshot: Snapshot) -> None:
    findings = found(server(waits_for=waits_for), tmp_path)
    assert findings[StepTimes].loops.idle_ns.tolist() == [(CALLS - 1) * 70 * MS]
    lines = said(findings)
    assert "serve.py:12" not in lines["SLOW"]
    snapshot(lines["IDLE"])


@pytest.mark.parametrize(
    ("line", "waits", "waits_for"),
    [
        (MAIN, (), WaitsFor.OTHER),
        (NEXT + MAIN, (), WaitsFor.MESSAGE),
        (MAIN, ("/usr/lib/python3.11/site-packages/torch/cuda/streams.py:9 wait",), WaitsFor.THREAD),
    ],
    ids=["a sleep", "an iterator of data", "a library's"],
)
def test_other_waits_are_not_idle(
    tmp_path: Path, line: str, waits: tuple[str, ...], waits_for: WaitsFor
) -> None:
    findings = found(server(*waits, line=line, waits_for=waits_for), tmp_path)
    assert findings[StepTimes].loops.idle_ns.tolist() == [0]


def test_waiting_for_helper_threads_is_not_idle(tmp_path: Path) -> None:
    program = server(waits_for=WaitsFor.THREAD)
    for call in range(CALLS):
        at = call * EACH * MS
        program.activity(at, at + 80 * MS, callers_ns=0, helpers_ns=75 * MS)
    assert found(program, tmp_path)[StepTimes].loops.idle_ns.tolist() == [0]


@pytest.mark.parametrize(("cpu_ms", "idle_calls"), [(20, CALLS), (60, CALLS - 1)])
def test_a_sample_in_an_operator_hides_the_wait_before_it(
    tmp_path: Path, cpu_ms: int, idle_calls: int
) -> None:
    """A last call, seen only at its end: the thread waited for 80 ms if it did not run for longer than 20."""
    program, at = server(waits_for=WaitsFor.MESSAGE), CALLS * EACH * MS
    stack = program.stack("/p/serve.py:14/1 <module>", ("/p/net.py:9 forward", program.module("", "Net")))
    program.sample(at, at + 90 * MS, "/p/serve.py:14/1 <module>", cpu_ns=cpu_ms * MS, wait_ns=0)
    program.run(op("aten::mm", at + 80 * MS, at + 100 * MS, stack=stack))
    program.meta["stop"] = {"monotonic_ns": at + EACH * MS, "cpu_ns": 0}
    idle_ms = int(found(program, tmp_path)[StepTimes].loops.idle_ns[0]) / MS
    assert idle_ms == (CALLS - 1) * 70 + (80 if idle_calls == CALLS else 0)


# Each server waits in a C function that its own line calls, and says how long.
SERVERS = """\
import multiprocessing, os, queue, select, socket, sys, threading, time, torch
KIND, TRAINS, REQUESTS = sys.argv[1], len(sys.argv) > 2, 12
net = torch.nn.Linear(8, 8)
opt = torch.optim.SGD(net.parameters(), lr=0.1) if TRAINS else None
def work():
    if TRAINS:
        net(torch.zeros(4, 8)).sum().backward()
        opt.step()
    else:
        net(torch.zeros(4, 8))
def later(send):
    for number in range(REQUESTS):
        time.sleep(0.15)
        send(b"x")
def from_child(send):
    if os.fork() == 0:
        later(send)
        os._exit(0)
if KIND == "socket":
    here, there = socket.socketpair()
    from_child(there.send)
elif KIND == "queue":
    items = queue.SimpleQueue()
    threading.Thread(target=later, args=(items.put,)).start()
elif KIND == "select":
    pipes = os.pipe(), os.pipe()
    from_child(lambda each: os.write(pipes[1][1], each))
else:
    ours, theirs = multiprocessing.Pipe()
    from_child(theirs.send)
def serve():
    waited = []
    for _ in range(REQUESTS):
        begin = time.monotonic_ns()
        if KIND == "socket": here.recv(1)
        elif KIND == "queue": items.get()
        elif KIND == "select": os.read(select.select([pipes[0][0], pipes[1][0]], [], [])[0][0], 1)
        else: ours.recv()
        waited.append(time.monotonic_ns() - begin)
        work()
    print(sum(waited[1:]))
serve()
"""


SERVER = """\
import queue, threading, time, torch
net, requests = torch.nn.Linear(8, 8), queue.Queue()
def ask():
    for number in range(12):
        time.sleep(0.2)
        requests.put(number)
    requests.put(None)
threading.Thread(target=ask).start()
waited = last = 0
while True:
    begin = time.monotonic_ns()
    number = requests.get()
    if number is None:
        break
    last = time.monotonic_ns() - begin
    waited += last if number else 0
    net(torch.zeros(4, 8))
print(waited)
"""
KINDS = ("socket", "queue", "select", "connection")
TRAINING = ("socket", "queue")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[dict[str, Any], str]]:
    """The tables of a server, and how long it waited."""
    servers = {kind: (SERVERS, kind) for kind in KINDS}
    training = {f"{kind} train": (SERVERS, kind, "train") for kind in TRAINING}
    return together(tmp_path_factory.mktemp("servers"), {**servers, **training, "timed": (SERVER,)})


@pytest.mark.skipif(_core.sampler_missing() is not None, reason=str(_core.sampler_missing()))
@pytest.mark.parametrize("kind", KINDS)
def test_servers_are_idle_as_long_as_they_say(
    ran: Callable[[str], tuple[dict[str, Any], str]], kind: str
) -> None:
    run, waited_ns = ran(kind)
    (loop,) = run["loops"]
    assert loop["steps"] == 12
    assert loop["idle_ns"] == pytest.approx(int(waited_ns), rel=0.3)  # it may wait for a processor too
    assert "IDLE" in [row["label"] for row in run["first_screen"]]


@pytest.mark.skipif(_core.sampler_missing() is not None, reason=str(_core.sampler_missing()))
@pytest.mark.parametrize("kind", TRAINING)
def test_a_training_loop_that_waits_so_waits_for_data(
    ran: Callable[[str], tuple[dict[str, Any], str]], kind: str
) -> None:
    run, waited_ns = ran(f"{kind} train")
    (loop,) = run["loops"]
    assert (loop["kind"], loop["steps"], loop["idle_ns"]) == ("training", 12, 0)
    data_ns = sum(row["phases"].get("data", 0) for row in run["steps"])
    assert data_ns == pytest.approx(int(waited_ns), rel=0.3)  # it may wait for a processor too


@pytest.mark.skipif(_core.sampler_missing() is not None, reason=str(_core.sampler_missing()))
def test_idle_time_is_as_the_program_timed_it(ran: Callable[[str], tuple[dict[str, Any], str]]) -> None:
    run, waited_ns = ran("timed")
    (loop,) = run["loops"]
    assert loop["steps"] == 12
    assert loop["idle_ns"] == pytest.approx(int(waited_ns), rel=0.1)
    assert "IDLE" in [row["label"] for row in run["first_screen"]]


def test_parts_outside_of_cuts_are_those_that_single_moments_show() -> None:
    random.seed(3)
    for _ in range(200):
        bounds = sorted(random.sample(range(60), 8))
        start_ns, end_ns = np.array(bounds[::2]), np.array(bounds[1::2])
        cut_start_ns = np.array([random.randrange(60) for _ in range(4)])
        cut_end_ns = cut_start_ns + np.array([random.randrange(1, 12) for _ in range(4)])
        cut = {t for begin, end in zip(cut_start_ns, cut_end_ns, strict=True) for t in range(begin, end)}
        wanted = {t for begin, end in zip(start_ns, end_ns, strict=True) for t in range(begin, end)} - cut
        row, begins_ns, ends_ns = outside(start_ns, end_ns, cut_start_ns, cut_end_ns)
        found_ns = [t for begin, end in zip(begins_ns, ends_ns, strict=True) for t in range(begin, end)]
        assert sorted(found_ns) == sorted(wanted)
        assert bool((start_ns[row] <= begins_ns).all() and (ends_ns <= end_ns[row]).all())
