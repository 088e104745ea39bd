"""Checks that sessions lose nothing: one after another, with long captures, and after torch's profiler."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from perfprobe.tables import storage
from perfprobe.tables.gpu import ApiCalls, Kernels
from tests.gpu import machine, recorded
from tests.gpu.child import Room, expect
from tests.gpu.links import judge_graph
from tests.gpu.recorded import Seen, spread_ns
from tests.gpu.result import Skip

_SLACK_NS = 20_000  # times of the device are converted to our clock by interpolation
_OTHER_CLIENT = r"another tool uses CUPTI already.* \(cuptiSubscribe\w*: 39\)"
_NAMED_CLIENT = r"another tool uses CUPTI already: .+ \(cuptiSubscribe\w*: 39\)"
_NONE_OF = ("malformed", "unknown_kinds", "untimed", "dropped_records", "beyond_limits", "unread_names")
_NOT_INITIALISED = 3  # CUDA_ERROR_NOT_INITIALIZED in cuda.h


def three_sessions(room: Room) -> None:
    """Three `profile()` blocks after CUDA was used, with gaps: each has its kernels, after their launches."""
    paths = [room.folder / f"block{number}.perfprobe" for number in (1, 2, 3)]
    truth = recorded.alone(room, "three_blocks", *map(str, paths))
    for path in paths:
        expect(path.exists(), f"{path.name} was not written")
    judge_blocks([Seen(storage.read(path), truth) for path in paths], room)


def judge_blocks(sessions: Sequence[Seen], room: Room) -> None:
    """Every kernel is in its session only, has times, is in the block, after its call. Nothing is lost."""
    for number, (seen, block) in enumerate(zip(sessions, sessions[0].truth["rounds"], strict=True), 1):
        name, kernels = f"block {number}", recorded.columns(seen.recording[Kernels])
        wanted = {"perfprobe_spin": seen.truth["spins"], "perfprobe_empty": seen.truth["empty"]}
        found = {kernel: len(seen.kernels(kernel)["row"]) for kernel in wanted}
        timed = kernels["start_ns"] > 0
        room.note(**{name: f"{found}, {np.count_nonzero(~timed)} untimed, losses {seen.losses()}"})
        expect(found == wanted, f"{name}: kernels {found}, {wanted} ran")
        expect(timed.all(), f"{name}: {np.count_nonzero(~timed)} kernels without times")
        early = block["before_ns"] - kernels["start_ns"].min()
        late = kernels["end_ns"].max() - block["after_ns"]
        expect(max(early, late) <= _SLACK_NS, f"{name}: kernels {max(early, late)} ns outside of the block")
        waits = after_launch(seen)
        room.note(**{f"{name}, start after call": spread_ns(waits)})
        expect(len(waits) == len(timed), f"{name}: {len(waits)} of {len(timed)} kernels have their launch")
        expect(waits.min() >= -_SLACK_NS, f"{name}: a kernel started {-waits.min()} ns before its launch")
        expect(not seen.losses(), f"{name}: lost {seen.losses()}")


def after_launch(seen: Seen) -> Any:
    """For every kernel whose call was recorded: how long after the call's start it started."""
    calls, kernels = (recorded.columns(seen.recording[of]) for of in (ApiCalls, Kernels))
    began_ns = dict(zip(calls["correlation"].tolist(), calls["start_ns"].tolist(), strict=True))
    rows = zip(kernels["correlation"].tolist(), kernels["start_ns"].tolist(), strict=True)
    return np.array([start_ns - began_ns[call] for call, start_ns in rows if call in began_ns])


def no_losses(room: Room) -> None:
    """Plain recordings lose nothing: the canary arrived, all records were decoded, no buffer is missing."""
    for name in ["spins"] if machine.has_standin() else ["spins", "copies", "training"]:
        seen = recorded.record(room, name)
        judge_losses(name, seen.recording.fact("gpu"), seen.losses(), room)


def judge_losses(name: str, session: Mapping[str, Any], losses: Sequence[str], room: Room) -> None:
    """session: its final figures."""
    lent = session["requested_buffers"] - session["completed_buffers"] - session["refused_buffers"]
    wrong = {figure: session[figure] for figure in _NONE_OF if session[figure]}
    room.note(**{name: f"canary {session['canary']}, {lent} buffers lent, losses {list(losses)}, {wrong}"})
    expect(not wrong, f"{name}: {wrong}")
    expect(session["canary"], f"{name}: the canary did not arrive")
    expect(not session["broken"], f"{name}: the recording ended early")
    expect(lent == 0, f"{name}: {lent} buffers were never given back")
    expect(not losses, f"{name}: lost {list(losses)}")


def beyond_valid(room: Room) -> None:
    """CUPTI writes nothing after a buffer's valid bytes: only these are cleared for the next use."""
    from tests.gpu.clients import started
    from tests.gpu.raw_cupti import CONCURRENT_KERNEL, RUNTIME

    kernels, client = started()
    client.enable(CONCURRENT_KERNEL, RUNTIME)
    for _ in range(5):
        kernels.timed_empty(400)
        client.flush(forced=False)
    client.disable(CONCURRENT_KERNEL, RUNTIME)
    client.flush(forced=True)
    client.unsubscribe()
    judge_rests(client.beyond, room)


def judge_rests(buffers: Sequence[tuple[int, int, int]], room: Room) -> None:
    """buffers: size, valid bytes, and how many bytes after these are not 0."""
    partly = [buffer for buffer in buffers if 0 < buffer[1] < buffer[0]]
    written = [buffer for buffer in buffers if buffer[2]]
    room.note(buffers=len(buffers), partly_filled=len(partly), written_beyond=written[:5])
    expect(partly, f"none of {len(buffers)} buffers is filled in part: there is nothing to look at")
    expect(not written, f"{len(written)} buffers have bytes behind the valid ones, first {written[:1]}")


def long_capture(room: Room) -> None:
    """Fetching records four times a second does not break a graph capture that takes longer."""
    seen = recorded.record(room, "long_capture")
    judge_capture(seen, room)


def judge_capture(seen: Seen, room: Room) -> None:
    """Records were fetched during the capture, and the replays are complete."""
    flushes, capture_ns = seen.recording.fact("gpu", "flushes"), seen.truth["capture_ns"]
    room.note(flushes=flushes, capture=f"{capture_ns / 1e6:.0f} ms")
    expect(capture_ns > 1e9, f"the capture took {capture_ns / 1e6:.0f} ms only")
    expect(flushes >= capture_ns / 1e9, f"{flushes} flushes: none came during the capture")
    judge_graph(seen, seen.truth["replays"], seen.truth["nodes"], room)
    expect(not seen.losses(), f"lost {seen.losses()}")


def after_profiler(room: Room) -> None:
    """A block after torch.profiler used CUPTI: it has every kernel, or names the tool that holds CUPTI."""
    path = room.folder / "after.perfprobe"
    truth = recorded.alone(room, "after_profiler", str(path))
    expect(path.exists(), "the block wrote nothing")
    judge_after(Seen(storage.read(path), truth), room)


def judge_after(seen: Seen, room: Room) -> None:
    """There are kernels, or a loss that names the other client if CUPTI can; never neither."""
    found = len(seen.kernels("perfprobe_empty")["row"])
    room.note(kernels=f"{found} of {seen.truth['empty']}", by_torch=seen.truth["seen_by_torch"])
    room.note(losses=seen.losses())
    if found == 0:
        wanted = _NAMED_CLIENT if seen.truth["can_name"] else _OTHER_CLIENT
        named = [loss for loss in seen.losses() if re.search(wanted, loss)]
        expect(named, f"no kernel, and no word of the other client: losses {seen.losses()}")
        return
    expect(found == seen.truth["empty"], f"{found} kernels recorded, {seen.truth['empty']} ran")


def quiet_without_gpu(room: Room) -> None:
    """`--gpu auto` on a program without a GPU: nobody initialises the driver, and nothing is printed."""
    seen = recorded.record(room, "cpu_only", "--gpu", "auto")
    if isinstance(seen.truth["driver"], str):
        raise Skip(f"no driver: {seen.truth['driver']}")
    judge_quiet(seen, room)


def judge_quiet(seen: Seen, room: Room) -> None:
    """The driver says that it is not initialised, and perfprobe's lines do not mention GPUs.

    The report's section on the environment may name them, because it reads files.
    """
    lines = [line for line in seen.output.splitlines() if line.startswith("perfprobe:")]
    said = [line for line in lines if re.search("GPU|CUDA|CUPTI", line)]
    room.note(driver=seen.truth["driver"], said=said[:5], losses=seen.losses())
    expect(seen.truth["driver"] == _NOT_INITIALISED, f"the driver answers {seen.truth['driver']}, not 3")
    expect(not seen.losses(), f"losses {seen.losses()}")
    expect(not said, f"it says {said[:1]}")
