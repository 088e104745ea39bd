"""Recording under load: many launches, many threads, whole training steps, bad ends, and the cost."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from statistics import median
from typing import Any

import numpy as np

from perfprobe.tables import storage
from perfprobe.tables.gpu import ApiCalls, Copies, CopyKind, Kernels, MemoryKind
from tests.gpu import machine, process, recorded
from tests.gpu.child import Room, expect
from tests.gpu.links import judge_threads
from tests.gpu.recorded import Seen

LAUNCHES, FEW_LAUNCHES = 2_000_000, 100_000
_MOST_GROWTH = 3.0  # of the cost of fetching a launch's records, from the first tenth to the last
_SLACK_NS = 300.0  # per launch, for busy machines


def storm(room: Room) -> None:
    """Two million launches: all are recorded, and fetching the last ones costs as much as the first ones."""
    launches = FEW_LAUNCHES if machine.has_standin() else LAUNCHES
    seen = recorded.record(
        room, "storm", "--python", "off", "--operators", "off", arguments=[str(launches)], limit_s=150
    )
    judge_storm(seen, room)


def judge_storm(seen: Seen, room: Room) -> None:
    """CPU time of all threads except the launching one: for the first tenth of launches, and the last."""
    launched, found = seen.truth["launches"], len(seen.kernels("perfprobe_empty")["row"])
    each_ns = [ns * len(seen.truth["others_cpu_ns"]) / launched for ns in seen.truth["others_cpu_ns"]]
    early_ns, late_ns = min(each_ns[:3]), min(each_ns[-3:])
    room.note(kernels=f"{found} of {launched}", fetching=f"{early_ns:.0f} ns a launch, then {late_ns:.0f}")
    room.note(most_buffers=seen.recording.fact("gpu", "most_buffers"), losses=seen.losses())
    expect(found == launched, f"{found} kernels recorded, {launched} ran")
    expect(not seen.losses(), f"lost {seen.losses()}")
    grown = late_ns > _MOST_GROWTH * early_ns + _SLACK_NS
    expect(not grown, f"to fetch a launch took {early_ns:.0f} ns, in the end {late_ns:.0f} ns")


def crowd(room: Room) -> None:
    """Seventy threads launch at the same time, with 64 buffers: everything is recorded, on its thread."""
    seen = recorded.record(room, "crowd")
    judge_threads(seen, room)
    judge_crowd(seen, room)


def judge_crowd(seen: Seen, room: Room) -> None:
    """As many kernels as all threads launched."""
    launched, found = sum(seen.truth["launches"].values()), len(seen.kernels("perfprobe_empty")["row"])
    room.note(kernels=f"{found} of {launched}", most_buffers=seen.recording.fact("gpu", "most_buffers"))
    expect(found == launched, f"{found} kernels recorded, {launched} ran")
    expect(not seen.losses(), f"lost {seen.losses()}")


def whole_step(room: Room) -> None:
    """Workers forked after CUDA's start, pinned memory, autograd's thread, a compiled net: all recorded."""
    how = "plain" if find_spec("triton") is None else "compiled"
    judge_step(recorded.record(room, "whole_step", arguments=[how], limit_s=140), room)


def judge_step(seen: Seen, room: Room) -> None:
    """Training works: kernels of every step, with their launches, on two threads; no losses."""
    truth, gpu = seen.truth, seen.recording
    copies, kernels = recorded.columns(gpu[Copies]), recorded.columns(gpu[Kernels])
    pinned = (copies["kind"] == CopyKind.HOST_TO_DEVICE) & (copies["source"] == MemoryKind.PINNED)
    graphs, steps = int((kernels["graph"] >= 0).sum()), truth["steps"]
    trace = seen.trace()
    assert trace.gpu is not None
    calls = trace.gpu.kernel_call[trace.gpu.kernel_call >= 0]
    linked, launching = len(calls), set(gpu[ApiCalls].thread[calls].tolist())
    room.note(
        steps=steps, workers=truth["workers"], kernels=len(gpu[Kernels]), of_graphs=graphs, linked=linked
    )
    room.note(pinned_copies=int(pinned.sum()), launching_threads=len(launching), losses=seen.losses())
    expect(np.isfinite(truth["losses"]).all() and steps, f"training gave {truth['losses'][:3]}")
    expect(truth["workers"] == 2, f"{truth['workers']} workers made data, not 2")
    expect(len(kernels["name"]) >= 5 * steps, f"{len(kernels['name'])} kernels in {steps} steps")
    expect((kernels["start_ns"] > 0).all(), f"{int((kernels['start_ns'] <= 0).sum())} kernels without times")
    expect(linked == len(gpu[Kernels]), f"{len(gpu[Kernels]) - linked} kernels have no launch")
    expect(pinned.sum() >= 2 * steps, f"{int(pinned.sum())} copies from pinned memory in {steps} steps")
    expect(len(launching) >= 2, "all kernels were launched by one thread: autograd has its own")
    expect(
        graphs or truth["compiled"] != "compiled", "no kernel of a CUDA graph, though the net was compiled"
    )
    expect(not seen.losses(), f"lost {seen.losses()}")


def endings(room: Room) -> None:
    """However a program ends, it ends as without perfprobe, and its recording is readable."""
    from tests.gpu.loads import ENDINGS

    chosen = [how for how in ENDINGS if how != "asserted" or not machine.has_standin()]
    with ThreadPoolExecutor(2) as pool:  # no times are measured
        judge_endings(list(pool.map(lambda how: ended(room, how), chosen)), room)


def ended(room: Room, how: str) -> dict[str, Any]:
    """The program alone and recorded: exit statuses (None: hung), and kernels (None: unreadable)."""
    path, truth = room.folder / f"{how}.perfprobe", room.folder / "ends.json"
    program = [recorded.LOADS, "ends", truth, how]
    alone = process.run([sys.executable, *program], 20, room.folder)
    ours = [sys.executable, "-m", "perfprobe", "--gpu", "cupti", "-o", path, *program]
    seen = process.run(ours, 30, room.folder)
    print(seen.output, flush=True)
    try:
        kernels = len(storage.read(path)[Kernels])
    except Exception as error:
        room.note(**{f"{how}, reading": f"{type(error).__name__}: {error}"})
        kernels = None
    return {"how": how, "alone": alone.status, "recorded": seen.status, "kernels": kernels}


def judge_endings(rows: Sequence[Mapping[str, Any]], room: Room) -> None:
    """After a device assert the last kernels may be missing, because CUPTI delivers no more."""
    for row in rows:
        how = row["how"]
        room.note(**{how: f"status {row['recorded']}, alone {row['alone']}, {row['kernels']} kernels"})
    for row in rows:
        how = row["how"]
        expect(row["recorded"] is not None, f"{how}: hung")
        expect(row["recorded"] == row["alone"], f"{how}: status {row['recorded']}, alone {row['alone']}")
        expect(row["kernels"] is not None, f"{how}: the recording cannot be read")
        least = 0 if how == "asserted" else 1000
        expect(row["kernels"] >= least, f"{how}: {row['kernels']} kernels recorded, 1000 ran long before")


def pageable_wait(room: Room) -> None:
    """A copy to pageable memory after 30 ms of kernels is a wait, on the copy's line."""
    path = room.folder / "pageable-report.json"
    truth = recorded.record(room, "pageable", "--json", str(path)).truth
    judge_pageable(json.loads(path.read_text(encoding="utf-8"))["tables"]["gpu_waits"], truth, room)


def judge_pageable(waits: Sequence[Mapping[str, Any]], truth: Mapping[str, Any], room: Room) -> None:
    """waits: rows of the report. As long as the program measured around the call, and not counted twice."""
    wanted, took_ns = {truth["marks"][mark] for mark in ("PAGEABLE", "STANDIN")}, truth["took_ns"]
    waited_ns = sum(row["total_ns"] for row in waits if row["line"] in wanted)
    room.note(took=f"{took_ns / 1e6:.1f} ms", waits=list(waits)[:5], waited=f"{waited_ns / 1e6:.1f} ms")
    expect(took_ns > 15e6, f"the copy took {took_ns / 1e6:.1f} ms: nothing lay before it")
    expect(waited_ns >= 0.8 * took_ns, f"waits of {waited_ns / 1e6:.1f} ms, {took_ns / 1e6:.1f} ms passed")
    expect(waited_ns <= 1.05 * took_ns, f"waits of {waited_ns / 1e6:.1f} ms in {took_ns / 1e6:.1f} ms")


OURS, THEIRS = ("perfprobe, GPU only", "perfprobe, GPU and operators"), ("torch.profiler CUDA",)
BOTH_OF_THEIRS = "torch.profiler CPU+CUDA"


def launch_bound(room: Room) -> None:
    """The cost of recording a kernel in a loop that only launches, compared with torch.profiler."""
    from benchmarks.overhead import gpu

    names = (*OURS, *THEIRS, BOTH_OF_THEIRS)
    judge_launch_bound({name: gpu.run(name, 0.25, room.folder) for name in names}, room)


def judge_launch_bound(found: Mapping[str, Any], room: Room) -> None:
    """Medians of blocks. perfprobe must not cost more than torch's profiler recording the same."""
    failed = {name: of for name, of in found.items() if isinstance(of, str)}
    expect(not failed, f"not measured: {failed}")
    added_ns = {}
    for name, loops in found.items():
        for loop, of in loops.items():
            pairs = zip(of["watched_ns"], of["plain_ns"], strict=True)
            added_ns[name, loop] = median(watched - plain for watched, plain in pairs)
            plain = f"plain {median(of['plain_ns']):.0f} ns a kernel"
            room.note(**{f"{loop}: {name}": f"{added_ns[name, loop]:.0f} ns a kernel more, {plain}"})
    for ours, theirs in zip(OURS, (*THEIRS, BOTH_OF_THEIRS), strict=True):
        for loop in next(iter(found.values())):
            own, other = added_ns[ours, loop], added_ns[theirs, loop]
            expect(own <= other + _SLACK_NS, f"{loop}: {ours} adds {own:.0f} ns, {theirs} {other:.0f} ns")
