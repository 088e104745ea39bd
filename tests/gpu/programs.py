"""Programs with known GPU work: python programs.py NAME TRUTH.json [ARGS]. They run alone or recorded."""

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import torch

from tests.gpu.device import Kernels, started, wait

SPINS_NS = (50_000, 200_000, 1_000_000, 5_000_000)
LAUNCHES = 20
EMPTIES = 1000
MIB = 1 << 20


def spins() -> dict[str, Any]:
    """Kernels of known length and number, each with its time by the device's clock."""
    kernels = started()
    rounds = []
    for duration_ns in SPINS_NS:
        before_ns = time.perf_counter_ns()
        elapsed_ns, stamps = kernels.spin(duration_ns, LAUNCHES)
        after_ns = time.perf_counter_ns()
        rounds.append(
            {
                "asked_ns": duration_ns,
                "before_ns": before_ns,
                "after_ns": after_ns,
                "events_ns": elapsed_ns,
                "stamps": stamps,
            }
        )
    return {"rounds": rounds, "empty": EMPTIES, "empty_events_ns": kernels.timed_empty(EMPTIES)}


def copies() -> dict[str, Any]:
    """Copies of known number, size, direction and kind of memory, and fills."""
    started()
    pageable, pinned = torch.ones(MIB, dtype=torch.uint8), torch.ones(2 * MIB, dtype=torch.uint8).pin_memory()
    small, large = pageable.cuda(), pinned.cuda()
    torch.cuda.synchronize()
    for _ in range(3):
        small.copy_(pageable)
    for _ in range(4):
        large.copy_(pinned, non_blocking=True)
    for _ in range(5):
        small.cpu()
    for _ in range(6):
        pinned.copy_(large, non_blocking=True)
    for _ in range(7):
        large[:MIB].copy_(small)
    torch.cuda.synchronize()
    runtime = ctypes.CDLL(f"libcudart.so.{str(torch.version.cuda).split('.', maxsplit=1)[0]}")
    for _ in range(8):
        code = runtime.cudaMemset(ctypes.c_void_p(small.data_ptr()), 0, ctypes.c_size_t(MIB // 2))
        assert code == 0, code
    torch.cuda.synchronize()
    # How many of each size. One more of each kind made the two tensors on the device.
    return {
        "to device, pageable": [1 + 3, MIB],
        "to device, pinned": [1 + 4, 2 * MIB],
        "to host, pageable": [5, MIB],
        "to host, pinned": [6, 2 * MIB],
        "on device": [7, MIB],
        "fill": [8, MIB // 2],
    }


def lines() -> dict[str, Any]:
    """Operators on marked lines, forward and backward, a copy and a wait."""
    left = torch.randn(512, 512, device="cuda", requires_grad=True)
    right = torch.randn(512, 512, device="cuda")
    for _ in range(3):
        product = left @ right  # MATMUL
        share = torch.softmax(product, -1)  # SOFTMAX
        share.square().sum().backward()  # BACKWARD
    host = share.detach().cpu()  # COPY
    torch.cuda.synchronize()  # WAIT
    return {"marks": marks(), "rounds": 3, "sum": float(host.sum())}


def marks() -> dict[str, int]:
    """The lines of this file that end with a comment of one word in capitals."""
    with open(__file__, encoding="utf-8") as file:
        ends = [(at, line.rpartition("  # ")[2].strip()) for at, line in enumerate(file, 1)]
    return {word: at for at, word in ends if word.isalpha() and word.isupper()}


def training() -> dict[str, Any]:
    """Five steps of a small network, with the same kernels in every run."""
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = False
    net = torch.nn.Sequential(
        torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.LayerNorm(512), torch.nn.Linear(512, 10)
    ).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    data, target = torch.randn(64, 256), torch.randint(0, 10, (64,))
    for _ in range(5):
        loss = torch.nn.functional.cross_entropy(net(data.cuda()), target.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    return {"loss": float(loss)}


def kineto() -> dict[str, Any]:
    """`training` under torch.profiler: the GPU work that it saw, by name."""
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiler:
        training()
    found: dict[str, list[int]] = {}
    for event in profiler.profiler.kineto_results.events():
        if event.device_type() == torch.autograd.DeviceType.CUDA:
            entry = found.setdefault(event.name(), [0, 0])
            entry[0] += 1
            entry[1] += event.duration_ns()
    return {"by_name": found}


def profiler_inside() -> dict[str, Any]:
    """A program that uses torch.profiler itself while a known number of kernels runs."""
    kernels = started()
    kernels.empty(100)
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiler:
        kernels.empty(100)
        torch.cuda.synchronize()
    kernels.empty(100)
    torch.cuda.synchronize()
    events = profiler.profiler.kineto_results.events()
    seen = sum(event.device_type() == torch.autograd.DeviceType.CUDA for event in events)
    return {"empty": 300, "seen_by_torch": seen}


def threads() -> dict[str, Any]:
    """Two threads that launch different numbers of kernels."""
    kernels = started()
    launches: dict[int, int] = {}

    def launch(count: int) -> None:
        kernels.empty(count)
        launches[threading.get_native_id()] = count

    running = [threading.Thread(target=launch, args=(count,)) for count in (100, 150)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    wait(kernels)
    return {"launches": launches, "main": threading.get_native_id(), "pid": os.getpid()}


def streams() -> dict[str, Any]:
    """Spins on two streams at the same time."""
    kernels = started()
    both = [torch.cuda.Stream(), torch.cuda.Stream()]
    for stream in both:
        kernels.empty(1, stream.cuda_stream)
    torch.cuda.synchronize()
    launched = []
    for stream, duration_ns in zip(both, (4_000_000, 3_000_000), strict=True):
        launched.append(threading.Thread(target=kernels.spin, args=(duration_ns, 5, stream.cuda_stream)))
    for thread in launched:
        thread.start()
    for thread in launched:
        thread.join()
    return {"launches": 5, "durations_ns": [4_000_000, 3_000_000]}


def graph() -> dict[str, Any]:
    """A CUDA graph of three empty kernels and one of torch, replayed ten times."""
    kernels = started()
    data = torch.zeros(1024, device="cuda")
    torch.relu_(data)
    kernels.empty(1)  # a kernel is loaded at its first launch, which a capture may not allow
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        kernels.empty(3, torch.cuda.current_stream().cuda_stream)
        torch.relu_(data)
    for _ in range(10):
        captured.replay()  # REPLAY
    torch.cuda.synchronize()
    return {"replays": 10, "nodes": 4, "marks": marks()}


def counting() -> dict[str, Any]:
    """A known number of kernels, and the live counters within three seconds."""
    import perfprobe

    kernels = started()
    kernels.spin(100_000, 10)
    kernels.timed_empty(50)
    live: list[Any] = []
    for _ in range(30):
        time.sleep(0.1)
        live.append(perfprobe.gpu_counters())
        if live[-1] is None or live[-1]["kernels"]["calls"] >= 61:
            break
    return {"kernels": 61, "live": live[-1], "looks": len(live)}


def moves() -> dict[str, Any]:
    """Copies, then a graph."""
    return {"copies": copies(), "graph": graph()}


def captured(kernels: Kernels) -> torch.cuda.CUDAGraph:
    """A graph of three empty kernels."""
    made = torch.cuda.CUDAGraph()
    with torch.cuda.graph(made):
        kernels.empty(3, torch.cuda.current_stream().cuda_stream)
    return made


def sessions(first: str, second: str, when: str) -> dict[str, Any]:
    """Two recordings in one process, each with a replayed graph. Records itself.

    when: "before" captures the graph before both recordings, otherwise in the first.
    """
    import perfprobe

    kernels = started()
    kernels.empty(1)
    torch.cuda.synchronize()
    graph = captured(kernels) if when == "before" else None
    for path in (first, second):
        with perfprobe.profile(path, gpu="cupti"):
            kernels.spin(100_000, 10)
            graph = graph or captured(kernels)
            for _ in range(5):
                graph.replay()
            torch.cuda.synchronize()
    return {"spins": 10, "replays": 5, "nodes": 3}


def triton() -> dict[str, Any]:
    """A Triton kernel, launched through the driver's API."""
    from tests.gpu.triton_kernel import add_one

    data = torch.zeros(4096, device="cuda")
    for _ in range(7):
        add_one[(4,)](data, 4096, BLOCK=1024)  # TRITON
    torch.cuda.synchronize()
    assert float(data.sum()) == 7 * 4096
    return {"launches": 7, "marks": marks()}


def nvtx_ranges() -> dict[str, Any]:
    """Ranges by torch.cuda.nvtx, and every operator as a range by emit_nvtx."""
    data = torch.zeros(1024, device="cuda")
    with torch.cuda.nvtx.range("by hand"):
        data.add_(1)
    with torch.autograd.profiler.emit_nvtx(record_shapes=True):
        for _ in range(5):
            data.mul_(2)
    torch.cuda.synchronize()
    return {"by hand": 1, "aten::mul_": 5}


PROGRAMS: dict[str, Callable[..., dict[str, Any]]] = {
    program.__name__: program
    for program in (
        spins,
        copies,
        lines,
        training,
        kineto,
        profiler_inside,
        threads,
        counting,
        moves,
        streams,
        graph,
        sessions,
        triton,
        nvtx_ranges,
    )
}


def main(name: str, truth: str, *arguments: str) -> None:
    """Runs the program, then writes what is known about it."""
    found = PROGRAMS[name](*arguments)
    with open(truth, "w", encoding="utf-8") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
