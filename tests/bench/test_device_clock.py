"""The device's clock measures kernels of known length, on a simulated GPU with many threads on the host."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest

from perfprobe.bench import cases
from perfprobe.bench.answers import Answer, decode, encode
from perfprobe.bench.ceilings import worker
from perfprobe.bench.ceilings.case import Call, Case
from perfprobe.bench.ceilings.timing import Timed, timed
from perfprobe.bench.clocks import Block, DeviceClock, HostClock
from perfprobe.bench.emit import runner
from perfprobe.bench.subjects import Arguments, Subject
from perfprobe.bench.summary import summarise
from perfprobe.tables.measurements import Wanted
from tests.bench.simulated_gpu import Simulation, simulated
from tests.snapshots import Snapshot


def measured_us(simulation: Simulation, call: Call) -> list[float]:
    """The measured times of blocks of a call, made as by `perfprobe bench`."""
    clock = DeviceClock(simulation, HostClock())
    subject = Subject("call", call, [Arguments(())], 1)
    subject.calibrate(clock)
    blocks = [subject.block(clock) for _ in range(5)]
    assert not any(block.starved for block in blocks)
    return [block.time_ns / 1e3 for block in blocks]


def with_readings_between(simulation: Simulation, kernel_us: float, calls: int) -> float:
    """The measured times if the slow readings of the host are between the events and the calls."""
    host, events = HostClock(), [simulation.Event(enable_timing=True) for _ in range(2)]
    simulation._sleep(1_000_000)
    events[0].record()
    host.begin()
    for _ in range(calls):
        simulation.launch(kernel_us * 1e3)
    host.end(calls)
    events[1].record()
    simulation.synchronize()
    return float(events[0].elapsed_time(events[1])) * 1e3 / calls


@pytest.mark.parametrize(("kernel_us", "calls", "wrong_us"), [(2, 25, 26), (50, 3, 181)])
def test_readings_of_25_threads_are_not_timed(
    kernel_us: int, calls: int, wrong_us: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second figure is what the clock read before the fix: it shows that the simulation has the fault."""
    simulation = simulated(monkeypatch, 25)
    assert with_readings_between(simulation, kernel_us, calls) == pytest.approx(wrong_us, rel=0.05)
    clock = DeviceClock(simulation, HostClock())
    clock.begin()
    for _ in range(calls):
        simulation.launch(kernel_us * 1e3)
    block = clock.end(calls)
    assert block.time_ns / 1e3 == pytest.approx(kernel_us, abs=0.3)
    assert not block.starved


@pytest.mark.parametrize("threads", [1, 25, 70])
@pytest.mark.parametrize("kernel_us", [2, 5, 20, 50, 100, 5000])
def test_a_kernel_of_known_length_is_measured(
    kernel_us: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulation = simulated(monkeypatch, threads)
    read = measured_us(simulation, partial(simulation.launch, kernel_us * 1e3))
    assert read == pytest.approx([kernel_us] * 5, abs=0.3)


def test_slow_launches_get_a_longer_head_start(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = simulated(monkeypatch)
    read = measured_us(simulation, partial(simulation.launch, 10e3, launch_ns=700e3))
    assert read == pytest.approx([10] * 5, abs=0.3)
    assert max(simulation.sleeps) > min(simulation.sleeps)


def test_ceilings_are_timed_in_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = simulated(monkeypatch)
    clock: Any = DeviceClock(simulation, HostClock())
    found = timed(partial(simulation.launch, 2e3), clock, 0.01)
    assert found.call_ns == pytest.approx(2000, abs=300)
    assert not found.starved


def test_a_call_that_waits_for_the_device_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = simulated(monkeypatch)

    def call() -> None:
        simulation.launch(2e3)
        simulation.synchronize()

    clock = DeviceClock(simulation, HostClock())
    subject = Subject("call", call, [Arguments(())], 1)
    subject.calibrate(clock)
    sleeps = len(simulation.sleeps)
    blocks = [subject.block(clock) for _ in range(5)]
    assert all(block.starved for block in blocks)
    assert len(simulation.sleeps) - sleeps == 5  # already known: no more tries
    assert timed(call, clock, 0.01).starved


def test_after_one_delay_of_the_host_it_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if another program took the processor between the launches of one block."""
    simulation = simulated(monkeypatch)
    clock, calls = DeviceClock(simulation, HostClock()), 0

    def call() -> None:
        nonlocal calls
        calls += 1
        simulation.launch(2e3, launch_ns=4e6 if calls == 100 else 5e3)

    subject = Subject("call", call, [Arguments(())], 1)
    subject.calibrate(clock)
    blocks = [subject.block(clock) for _ in range(8)]
    assert calls > 8 * subject.calls + 100
    assert [block.time_ns for block in blocks] == pytest.approx([2000] * 8, abs=300)


def script_output(simulation: Simulation, call: Call, *, writes: bool = False) -> str:
    """The device's us per call that an emitted script prints, for a block of 20,000."""
    torch, sets = SimpleNamespace(cuda=simulation), [SimpleNamespace(args=(), kwargs={}, restore=int)]
    loop = runner._Loop(torch, call, cast(Any, sets), writes, "cuda:0")
    return loop.on_device(20_000)


@pytest.mark.parametrize("kernel_us", [2, 50, 5000])
def test_a_script_prints_the_time_of_the_kernel(kernel_us: int, monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = simulated(monkeypatch)
    text = script_output(simulation, partial(simulation.launch, kernel_us * 1e3))
    assert float(text) == pytest.approx(kernel_us, abs=0.3)


def test_a_script_reports_that_the_device_waited_for_the_host(
    monkeypatch: pytest.MonkeyPatch, snapshot: Snapshot
) -> None:
    simulation = simulated(monkeypatch)

    def call() -> None:
        simulation.launch(2e3)
        simulation.synchronize()

    text = script_output(simulation, call)
    snapshot(text)


def block(device_ns: float, *, starved: bool) -> Block:
    return Block(1.0, 1.0, 0.0, 0.0, 1.0, device_ns=device_ns, starved=starved)


def test_blocks_in_which_the_device_waited_are_dropped() -> None:
    few = [block(900.0, starved=True), block(900.0, starved=True), block(10.0, starved=False)]
    some, every = ({"rotating": few}, {"rotating": few[:2]})
    seen = []
    for blocks in (some, every):
        line = encode(Answer(0, operator="aten::add", device="cuda:0", blocks=blocks))
        answer = decode(line)
        assert answer is not None
        row = summarise(Wanted("aten::add", "f32[1]@cuda:0"), None, [answer], None)
        assert row.rotating is not None
        seen.append((row.rotating.value, cases._starved("aten::add", answer.blocks)))
    note = "aten::add: the GPU waited for the host between the calls: its time contains that of launching"
    assert seen == [(10.0, []), (900.0, [note])]


def test_a_ceiling_is_missing_if_the_device_waited(snapshot: Snapshot) -> None:
    run = worker._Run(None, cast(Any, None), HostClock(), 0.0)
    case = Case("bandwidth", "f32", 1, "triad", cast(Any, None), work=1e6)
    found = Timed(1e3, 1e3, 1e3, 0.0, 1.0, 1.0, starved=True)
    snapshot("\n".join(run._row(case, found)["missing"]))
