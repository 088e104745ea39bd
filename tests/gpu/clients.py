"""CUPTI with several clients, and what it delivers to a client in plain ctypes."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import Any

from perfprobe.tables.gpu import Kernels
from perfprobe.tables.ranges import Ranges
from perfprobe.tables.strings import Strings
from tests.gpu import process, recorded
from tests.gpu.child import Room, expect
from tests.gpu.result import Skip

_OTHER_CLIENT = 39  # CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
_TOOL_WORDS = ("NSYS", "NSIGHT", "NV_", "NVTX", "CUDA_INJECTION", "COMPUTE_PROFILER", "LD_PRELOAD")


def profiler_holds_cupti(room: Room) -> None:
    """Checks whether a torch.profiler for the CPU only takes CUPTI, and by what name."""
    import torch

    from tests.gpu.raw_cupti import Client

    torch.zeros(1, device="cuda")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        torch.zeros(1).add_(1)
    client = Client()
    code, other = client.subscribe()
    room.note(torch=str(torch.__version__), subscribe_code=code, other_client=other)
    expect(code in (0, _OTHER_CLIENT), f"cuptiSubscribe answers {code}, neither 0 nor {_OTHER_CLIENT}")
    if code == 0:
        room.note(unsubscribe_code=client.unsubscribe())


def profiler_beside_us(room: Room) -> None:
    """A program uses torch.profiler during our recording: we get every kernel, and the program goes on."""
    seen = recorded.record(room, "profiler_inside")
    found = len(seen.kernels("perfprobe_empty")["row"])
    said = [line for line in seen.output.splitlines() if "CUPTI" in line or line.startswith("perfprobe:")]
    room.note(
        kernels=f"{found} of {seen.truth['empty']}", seen_by_torch=seen.truth["seen_by_torch"], said=said[:8]
    )
    expect(found == seen.truth["empty"], f"{found} kernels recorded, {seen.truth['empty']} ran")


def started() -> tuple[Any, Any]:
    """A subscribed client and the kernels. torch is not used from here on."""
    from tests.gpu.device import started as start_kernels
    from tests.gpu.raw_cupti import Client

    kernels, client = start_kernels(), Client()
    code, other = client.subscribe()
    expect(code == 0, f"cuptiSubscribe answers {code}, other client {other!r}")
    code = client.register()
    expect(code == 0, f"cuptiActivityRegisterCallbacks answers {code}")
    return kernels, client


def buffer_delivery(room: Room) -> None:
    """On which thread buffers arrive, and how long after a flush."""
    from tests.gpu.raw_cupti import CONCURRENT_KERNEL, RUNTIME

    kernels, client = started()
    room.note(enabled=client.enable(CONCURRENT_KERNEL, RUNTIME))
    kernels.timed_empty(1000)
    begin_ns = time.monotonic_ns()
    code = client.flush(forced=False)
    returned_ns = time.monotonic_ns()
    in_time = client.counts.get(CONCURRENT_KERNEL, 0)
    for _ in range(20):
        if client.counts.get(CONCURRENT_KERNEL, 0) >= 1000:
            break
        time.sleep(0.1)
    late = client.counts.get(CONCURRENT_KERNEL, 0)
    client.disable(CONCURRENT_KERNEL, RUNTIME)
    forced_code = client.flush(forced=True)
    time.sleep(0.2)
    room.note(
        flush_codes=(code, forced_code),
        flush_ns=returned_ns - begin_ns,
        kernels_at_return=in_time,
        kernels_within_2_s=late,
        kernels_after_forced_flush=client.counts.get(CONCURRENT_KERNEL, 0),
        buffers=len(client.arrivals),
        threads=sorted({thread for thread, _ in client.arrivals}),
        main_thread=threading.get_native_id(),
        first_after_ns=client.arrivals[0][1] - begin_ns if client.arrivals else None,
        last_after_ns=client.arrivals[-1][1] - begin_ns if client.arrivals else None,
        counts=client.counts,
        unsubscribe_code=client.unsubscribe(),
    )
    found = client.counts.get(CONCURRENT_KERNEL, 0)
    expect(found == 1000, f"{found} kernel records arrived, 1000 kernels ran")


def ids_by_call_kind(room: Room) -> None:
    """External ids of kind CUSTOM2: with the runtime's calls recorded, and with driver launches only."""
    from tests.gpu.raw_cupti import CONCURRENT_KERNEL, EXTERNAL_CORRELATION, RUNTIME

    kernels, client = started()
    found = {}
    for way in ("runtime", "driver launches"):
        client.counts.clear()
        codes = client.enable(
            CONCURRENT_KERNEL, EXTERNAL_CORRELATION, *([RUNTIME] if way == "runtime" else [])
        )
        filtered = client.enable_launch_calls(1) if way != "runtime" else []
        pushed = [client.push(100 + number) for number in range(3)]
        kernels.timed_empty(10)
        popped = [client.pop() for _ in range(3)]
        client.flush(forced=False)
        if filtered:
            client.enable_launch_calls(0)
        client.disable(CONCURRENT_KERNEL, EXTERNAL_CORRELATION, RUNTIME)
        client.flush(forced=True)
        time.sleep(0.3)
        found[way] = dict(client.counts)
        room.note(**{way: f"{found[way]}, codes {codes} {filtered} push {pushed} pop {popped}"})
    client.unsubscribe()
    with_runtime = found["runtime"].get(EXTERNAL_CORRELATION, 0)
    expect(with_runtime >= 10, f"{with_runtime} external ids arrived for 10 launches")


def under_ncu(room: Room) -> None:
    """Under Nsight Compute: its variables, CUPTI's answer, and that perfprobe steps aside and says so."""
    ncu = shutil.which("ncu") or next(map(str, Path("/opt/nvidia").glob("nsight-compute/*/ncu")), None)
    if ncu is None:
        raise Skip("no ncu here")
    # So many launches are skipped that none is measured: measuring would replay kernels and take minutes.
    words = [ncu, "--target-processes", "all", "--clock-control", "none", "--launch-skip", "1000000"]
    probe = [sys.executable, "-c", "from tests.gpu.clients import tell_tool; tell_tool()"]
    ended = process.run([*words, *probe], 50, room.folder)
    print(ended.output, flush=True)
    room.note(seen=[line for line in ended.output.splitlines() if line.startswith("tool:")], ncu=ended.how())
    expect(ended.status is not None, f"ncu {ended.how()}")
    path, truth = room.folder / "ncu.perfprobe", room.folder / "ncu.json"
    ours = [sys.executable, "-m", "perfprobe", "-o", path, recorded.PROGRAMS, "lines", truth]
    ended = process.run([*words, *ours], 60, room.folder)
    print(ended.output, flush=True)
    room.note(perfprobe=ended.how())
    expect(path.exists() and truth.exists(), f"perfprobe under ncu {ended.how()}: {ended.last_line()}")
    seen = recorded.read(room, path, {})
    expect(len(seen.recording[Kernels]) or seen.losses(), "no kernels, and no word of why")


def tell_tool() -> None:
    """Runs under a tool: returns the variables it sets and CUPTI's answer to another client."""
    import torch

    from tests.gpu.raw_cupti import Client

    for name, value in sorted(os.environ.items()):
        if any(word in name for word in _TOOL_WORDS):
            print(f"tool: {name}={value[:200]}")
    torch.zeros(1, device="cuda")
    print(f"tool: cuptiSubscribe answers {Client().subscribe()}", flush=True)


def nvtx_ranges(room: Room) -> None:
    """torch.cuda.nvtx and emit_nvtx in a CUDA build, with perfprobe as the injected tool."""
    seen = recorded.record(room, "nvtx_ranges")
    strings = seen.recording[Strings]
    names = [strings[name] for name in seen.recording[Ranges].name.tolist()]
    found = {expected: sum(name.startswith(expected) for name in names) for expected in seen.truth}
    room.note(ranges=len(names), found=found, expected=seen.truth, first=names[:5])
    expect(found == seen.truth, f"ranges {found}, set {seen.truth}")
