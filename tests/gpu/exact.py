"""GPU recordings, compared with kernels and copies of known number, size and duration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from perfprobe.tables.gpu import Copies, CopyKind, Kernels, MemoryKind
from perfprobe.tables.strings import Strings
from tests.gpu import recorded
from tests.gpu.child import Room, expect
from tests.gpu.recorded import Seen, spread_ns

# The device's timer has steps of up to a microsecond. A kernel takes longer than between its own two reads.
_SHORTER_NS, _LONGER_NS = 2_500, 25_000
_CLOCK_SLACK_NS = 20_000  # times of the device are converted to our clock by interpolation
_ELAPSED_SLACK_NS = 100_000  # CUDA events come before the first launch and after the last


def spin_truth(room: Room) -> None:
    """Kernels of known length: number, duration by the device's clock, and CUDA events around them."""
    judge_spins(recorded.record(room, "spins"), room)


def judge_spins(seen: Seen, room: Room) -> None:
    """Every launch is recorded once, with the kernel's own duration, between the events."""
    spins, rounds = seen.kernels("perfprobe_spin"), seen.truth["rounds"]
    expected = 1 + sum(len(each["stamps"]) for each in rounds)
    empties = seen.kernels("perfprobe_empty")
    room.note(
        spins=f"{len(spins['row'])} of {expected}", empties=f"{len(empties['row'])} of {seen.truth['empty']}"
    )
    expect(len(spins["row"]) == expected, f"{len(spins['row'])} spins recorded, {expected} ran")
    expect(len(empties["row"]) == seen.truth["empty"], f"{len(empties['row'])} empty kernels recorded")
    expect((spins["start_ns"] > 0).all() and (empties["start_ns"] > 0).all(), "kernels without times")
    at = 1
    for each in rounds:
        count = len(each["stamps"])
        start, end = spins["start_ns"][at : at + count], spins["end_ns"][at : at + count]
        at += count
        own_ns = np.array([stamp[1] - stamp[0] for stamp in each["stamps"]])
        longer_ns = (end - start) - own_ns
        outside_ns = each["events_ns"] - (end[-1] - start[0])
        room.note(
            **{
                f"{each['asked_ns']} ns": f"recorded minus the device's own: {spread_ns(longer_ns)}; "
                f"CUDA events minus first start to last end: {outside_ns:.0f} ns"
            }
        )
        fits = (longer_ns >= -_SHORTER_NS) & (longer_ns <= _LONGER_NS)
        expect(fits.all(), f"durations of {each['asked_ns']} ns spins are off by {spread_ns(longer_ns)}")
        expect(abs(outside_ns) <= _ELAPSED_SLACK_NS, f"CUDA events differ by {outside_ns:.0f} ns")


def monotonic_clock(room: Room) -> None:
    """The timestamp callback works: kernels are between the program's readings of perf_counter."""
    judge_clock(recorded.record(room, "spins"), room)


def judge_clock(seen: Seen, room: Room) -> None:
    """Every kernel is within its window, and after the start of the call that launched it."""
    spins, at = seen.kernels("perfprobe_spin"), 1
    before, after = [], []
    for each in seen.truth["rounds"]:
        count = len(each["stamps"])
        expect(len(spins["row"]) >= at + count, "kernels are missing: the clocks cannot be compared")
        before.append(spins["start_ns"][at] - each["before_ns"])
        after.append(each["after_ns"] - spins["end_ns"][at + count - 1])
        at += count
    launch_ns = dict(
        zip(*(seen.calls("cudaLaunchKernel")[key] for key in ("correlation", "start_ns")), strict=True)
    )
    waits = [
        s - launch_ns[c]
        for c, s in zip(spins["correlation"], spins["start_ns"], strict=True)
        if c in launch_ns
    ]
    room.note(
        start_after_window=spread_ns(np.array(before)),
        end_before_window=spread_ns(np.array(after)),
        start_after_call=spread_ns(np.array(waits)),
    )
    expect(
        min(*before, *after) >= -_CLOCK_SLACK_NS, "kernels lie outside of the program's own clock readings"
    )
    expect(len(waits) == len(spins["row"]), f"{len(waits)} of {len(spins['row'])} kernels have their launch")
    expect(min(waits) >= -_CLOCK_SLACK_NS, f"a kernel started {-min(waits)} ns before its launch")


def copies(room: Room) -> None:
    """Copies by direction, kind of memory and bytes."""
    judge_copies(recorded.record(room, "copies"), room)


_COPIES: Mapping[str, tuple[int, str, int]] = {
    "to device, pageable": (CopyKind.HOST_TO_DEVICE, "source", MemoryKind.PAGEABLE),
    "to device, pinned": (CopyKind.HOST_TO_DEVICE, "source", MemoryKind.PINNED),
    "to host, pageable": (CopyKind.DEVICE_TO_HOST, "destination", MemoryKind.PAGEABLE),
    "to host, pinned": (CopyKind.DEVICE_TO_HOST, "destination", MemoryKind.PINNED),
    "on device": (CopyKind.DEVICE_TO_DEVICE, "destination", MemoryKind.DEVICE),
    "fill": (CopyKind.FILL, "kind", CopyKind.FILL),
}


def judge_copies(seen: Seen, room: Room) -> None:
    """The numbers of copies agree with the program. Bytes per second are evidence."""
    rows = recorded.columns(seen.recording[Copies])
    wrong = []
    for what, (count, size_bytes) in seen.truth.items():
        kind, column, memory = _COPIES[what]
        fits = (rows["kind"] == kind) & (rows[column] == memory) & (rows["size_bytes"] == size_bytes)
        took_ns = (rows["end_ns"] - rows["start_ns"])[fits]
        speed = np.median(size_bytes / np.maximum(took_ns, 1)) if fits.any() else 0
        is_async = sorted(set(rows["is_async"][fits].tolist()))
        room.note(**{what: f"{fits.sum()} of {count}, {speed:.1f} GB/s, is_async {is_async}"})
        wrong += [f"{what}: {fits.sum()} of {count}"] if fits.sum() != count else []
        wrong += [f"{what}: without times"] if fits.any() and took_ns.min() <= 0 else []
    expect(not wrong, "; ".join(wrong))


def streams(room: Room) -> None:
    """Kernels on two streams keep their stream and overlap."""
    judge_streams(recorded.record(room, "streams"), room)


def judge_streams(seen: Seen, room: Room) -> None:
    """The spins of each length are all on one stream, and the two streams overlap."""
    spins = seen.kernels("perfprobe_spin")
    long = spins["end_ns"] - spins["start_ns"] > 1_000_000
    of: dict[int, tuple[int, int, int]] = {}
    for stream in sorted(set(spins["stream"][long].tolist())):
        mine = long & (spins["stream"] == stream)
        of[stream] = (int(mine.sum()), int(spins["start_ns"][mine].min()), int(spins["end_ns"][mine].max()))
    room.note(
        streams={stream: f"{found[0]} spins in {found[2] - found[1]} ns" for stream, found in of.items()}
    )
    expect(len(of) == 2, f"spins on {len(of)} streams, not on 2")
    expect({found[0] for found in of.values()} == {seen.truth["launches"]}, "not as many spins as launched")
    first, second = of.values()
    expect(max(first[1], second[1]) < min(first[2], second[2]), "the two streams did not overlap")


def kineto_counts(room: Room) -> None:
    """The same program, recorded by perfprobe and in a second run by torch.profiler: kernels by name."""
    seen = recorded.record(room, "training")
    judge_kineto(seen, recorded.alone(room, "kineto")["by_name"], room)


def judge_kineto(seen: Seen, theirs: Mapping[str, Any], room: Room) -> None:
    """The same numbers of kernels by name, copies and fills; the sums of times within a factor of two."""
    kernels = recorded.columns(seen.recording[Kernels])
    ours: dict[str, list[int]] = {}
    for name, start_ns, end_ns in zip(*(kernels[key] for key in ("name", "start_ns", "end_ns")), strict=True):
        entry = ours.setdefault(plain(seen.recording[Strings][name]), [0, 0])
        entry[0] += 1
        entry[1] += int(end_ns - start_ns)
    of_torch = {plain(name): found for name, found in theirs.items()}
    differ = [
        f"{name[:80]}: {found[0]} against {of_torch.get(name, [0])[0]}"
        for name, found in ours.items()
        if of_torch.get(name, [0])[0] != found[0]
    ]
    moves = sum(found[0] for name, found in theirs.items() if name.startswith(("Memcpy", "Memset")))
    ours_ns = sum(found[1] for found in ours.values())
    theirs_ns = sum(of_torch[name][1] for name in ours if name in of_torch)
    room.note(
        kernels=f"{len(ours)} names, {sum(found[0] for found in ours.values())} kernels",
        kernel_ns=f"perfprobe {ours_ns}, torch.profiler {theirs_ns}",
        copies=f"perfprobe {len(seen.recording[Copies])}, torch.profiler {moves}",
        names_of_torch_only=[name[:80] for name in of_torch if name not in ours],
        differ=differ,
    )
    expect(ours, "no kernel was recorded")
    expect(not differ, f"{len(differ)} names differ, first {differ[:1]}")
    expect(len(seen.recording[Copies]) == moves, "copies and fills differ in number")
    expect(
        0.5 < ours_ns / max(1, theirs_ns) < 2, f"kernels took {ours_ns} ns, by torch.profiler {theirs_ns} ns"
    )


def counters(room: Room) -> None:
    """The running totals are readable during the program, and finally equal the sums of the records."""
    judge_counters(recorded.record(room, "counting"), room)


def judge_counters(seen: Seen, room: Room) -> None:
    """Compares the counters with the rows by kind of copy, and with the values that the program read."""
    counted, kernels = seen.recording.fact("gpu", "counters"), seen.recording[Kernels]
    room.note(live=seen.truth["live"], looks=seen.truth["looks"], counters=counted)
    expect(isinstance(counted, dict), "the recording has no counters")
    took_ns = kernels.end_ns - kernels.start_ns
    sums = {"calls": len(kernels), "ns": int(took_ns[kernels.start_ns > 0].sum())}
    expect(counted["kernels"] == sums, f"counters of kernels {counted['kernels']}, rows {sums}")
    expect(
        len(kernels) == seen.truth["kernels"], f"{len(kernels)} kernels recorded, {seen.truth['kernels']} ran"
    )
    rows = recorded.columns(seen.recording[Copies])
    for name, total in [*counted["copies"].items(), ("fills", counted["fills"])]:
        kind = CopyKind.FILL if name == "fills" else CopyKind[name.upper()]
        of_kind = rows["kind"] == kind
        took_ns = np.where(rows["start_ns"] > 0, rows["end_ns"] - rows["start_ns"], 0)
        sizes = {
            "calls": of_kind.sum(),
            "bytes": rows["size_bytes"][of_kind].sum(),
            "ns": took_ns[of_kind].sum(),
        }
        expect(total == sizes, f"counters of {name} {total}, rows {sizes}")
    live = seen.truth["live"]
    expect(live is not None, "gpu_counters() says that no GPU is recorded")
    expect(live["kernels"]["calls"] == seen.truth["kernels"], f"after 3 s the program read {live['kernels']}")


def plain(name: str) -> str:
    """A kernel's name without blanks, in which demanglers differ."""
    return "".join(name.split())
