"""Checks the clock by which `perfprobe bench` times GPUs, and the times of bench and its scripts."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from tests.gpu import process
from tests.gpu.child import Room, expect

SPINS_US = (2, 5, 20, 100)
_THREADS = 25  # as torch has on a server; the cost of the host's clocks grows with them
_SHORTER_US, _LONGER_US = (
    0.5,
    3.0,
)  # a spin by cycles is not shorter; starting a kernel takes a microsecond or two
_BETWEEN = 2.0  # factor between times of a product measured in different ways: GPU clocks vary
_CALLS = {
    "mm": ("aten::mm", "f32[1024,1024]@cuda:0", "f32[1024,1024]@cuda:0"),
    "add": ("aten::add.Tensor", "f32[4096]@cuda:0", "f32[4096]@cuda:0", "alpha=1"),
}


def device_clock(room: Room) -> None:
    """`DeviceClock` reads spins of known length, with 25 threads in the process."""
    import torch

    stop = threading.Event()
    idle = [threading.Thread(target=stop.wait, daemon=True) for _ in range(_THREADS)]
    for thread in idle:
        thread.start()
    try:
        judge_spins(read_spins(torch), room)
    finally:
        stop.set()


def read_spins(torch: Any) -> list[dict[str, float]]:
    """By length: the requested us of a spin, the times of five blocks, and how many blocks were starved."""
    from perfprobe.bench.clocks import DeviceClock, HostClock
    from perfprobe.bench.subjects import Arguments, Subject

    torch.zeros(1, device="cuda")
    cycles_a_us = _cycles_a_us(torch)
    clock, found = DeviceClock(torch.cuda, HostClock()), []
    for spin_us in SPINS_US:
        spin = Arguments((round(spin_us * cycles_a_us),))
        subject = Subject("spin", torch.cuda._sleep, [spin], torch.get_num_threads())
        subject.calibrate(clock)
        blocks = [subject.block(clock) for _ in range(9)]
        read_us = median(block.time_ns for block in blocks) / 1e3
        starved = sum(block.starved for block in blocks)
        found.append({"asked_us": spin_us, "read_us": read_us, "starved": starved, "calls": subject.calls})
    return found


def _cycles_a_us(torch: Any) -> float:
    """Cycles per us of the device's clock at present, from spins so long that their start does not matter."""
    cycles, rates = 20_000_000, []
    for _ in range(5):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        torch.cuda._sleep(cycles)
        last.record()
        torch.cuda.synchronize()
        rates.append(cycles / first.elapsed_time(last) / 1e3)
    return max(rates)


def judge_spins(found: Sequence[Mapping[str, float]], room: Room) -> None:
    """Each is as long as requested, plus a microsecond or two for starting a kernel."""
    for row in found:
        text = (
            f"reads {row['read_us']:.2f} us, {row['calls']:.0f} calls a block, {row['starved']:.0f} starved"
        )
        room.note(**{f"{row['asked_us']} us": text})
    for row in found:
        asked_us, read_us = row["asked_us"], row["read_us"]
        fits = asked_us - _SHORTER_US <= read_us <= asked_us * 1.1 + _LONGER_US
        expect(fits, f"a spin of {asked_us} us reads {read_us:.2f} us")
        expect(
            not row["starved"], f"{asked_us} us: the GPU waited for the host in {row['starved']:.0f} blocks"
        )


def bench_on_gpu(room: Room) -> None:
    """`perfprobe bench` and an emitted script time calls on the GPU like events around many calls."""
    rows = [timed(room, name, words) for name, words in _CALLS.items()]
    judge_bench(rows, room)


def timed(room: Room, name: str, words: Sequence[str]) -> dict[str, Any]:
    """The us per call by bench, by its script, and by a replayed graph of calls, which no host slows down."""
    bench = [sys.executable, "-m", "perfprobe", "bench", *words]
    measured = process.run([*bench, "--quick", "--json"], 60, room.folder)
    print(measured.output, flush=True)
    expect(measured.status == 0, f"bench {name} {measured.how()}: {measured.last_line()}")
    start, end = measured.output.index("{"), measured.output.rindex("}") + 1
    row = json.loads(measured.output[start:end])["tables"]["measurements"][0]
    folder = room.folder / name
    emitted = process.run([*bench, "--emit", folder], 40, room.folder)
    script = next(iter(sorted(folder.glob("*.py"))), None)
    expect(script is not None, f"bench --emit {emitted.how()}: {emitted.last_line()}")
    assert script is not None
    reported = process.run([sys.executable, script, "--warm", "--seconds", "1"], 40, room.folder)
    print(reported.output, flush=True)
    expect(reported.status == 0, f"the script {reported.how()}: {reported.last_line()}")
    graph = process.run([sys.executable, Path(__file__), name], 40, room.folder)
    expect(graph.status == 0, f"the graph {graph.how()}: {graph.last_line()}")
    return {
        "name": name,
        "clock": row["clock"],
        "bench_us": row["warm"]["value"] / 1e3 if row["warm"] else None,
        "script": device_line(reported.output),
        "graph_us": float(graph.last_line()),
    }


def device_line(output: str) -> str:
    """The device's time that the script prints."""
    lines = [line for line in output.splitlines() if line.startswith("device us/call ")]
    return lines[0].removeprefix("device us/call ") if lines else "nothing"


def graph_us(name: str) -> float:
    """The us per call: 100 calls in one CUDA graph, which is replayed."""
    import torch

    shape = (1024, 1024) if name == "mm" else (4096,)
    left, right = torch.randn(shape, device="cuda"), torch.randn(shape, device="cuda")
    call = torch.mm if name == "mm" else torch.add
    with torch.cuda.stream(torch.cuda.Stream()):
        call(left, right)  # set-up of a first call must not be in a capture
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(100):
            call(left, right)
    found = []
    for _ in range(7):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        graph.replay()  # the next begins when this ends: the host is ahead
        first.record()
        graph.replay()
        last.record()
        torch.cuda.synchronize()
        found.append(float(first.elapsed_time(last)) * 10)  # ms of 100 calls
    return median(found)


def judge_bench(rows: Sequence[Mapping[str, Any]], room: Room) -> None:
    """Both are by the GPU's clock and within a factor of two of the graph. The script is not starved."""
    for row in rows:
        room.note(**{row["name"]: {key: value for key, value in row.items() if key != "name"}})
    for row in rows:
        name, graph_us = row["name"], row["graph_us"]
        expect(row["clock"] == "gpu", f"{name}: bench times it by the {row['clock']} clock")
        expect(row["bench_us"] is not None, f"{name}: bench has no time")
        expect("at most" not in row["script"], f"{name}: the script says {row['script']}")
        script_us = float(row["script"]) if row["script"].replace(".", "", 1).isdigit() else None
        expect(script_us is not None, f"{name}: the script says {row['script']} of the device")
        for what, us in (("bench", row["bench_us"]), ("the script", script_us)):
            # In a graph a kernel starts within half a microsecond; launched alone it takes up to two more.
            fits = graph_us / _BETWEEN <= us <= graph_us * _BETWEEN + 2.0
            expect(fits, f"{name}: {what} reads {us:.2f} us, a graph of such calls {graph_us:.2f} us")


if __name__ == "__main__":
    print(graph_us(sys.argv[1]))
