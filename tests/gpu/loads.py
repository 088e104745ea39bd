"""Programs that strain the recording or end badly: python loads.py NAME TRUTH.json [ARGS]."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import torch

from perfprobe.bench.clocks import threads_cpu_ns
from tests.gpu.device import StandinKernels, started, wait

MS = 1_000_000
PARTS = 10
ENDINGS = ("exception", "terminated", "left", "asserted")


def three_blocks(*paths: str) -> dict[str, Any]:
    """Three recordings in one process after CUDA was used, with gaps between. Records itself."""
    import perfprobe

    kernels, rounds = started(), []
    for path in paths:
        time.sleep(0.4)
        kernels.empty(50)  # outside of any recording
        wait(kernels)
        with perfprobe.profile(path, gpu="cupti"):
            time.sleep(0.2)
            before_ns = time.perf_counter_ns()
            kernels.spin(200_000, 10)
            kernels.timed_empty(500)
            rounds.append({"before_ns": before_ns, "after_ns": time.perf_counter_ns()})
            time.sleep(0.2)
    return {"rounds": rounds, "spins": 10, "empty": 500}


def long_capture() -> dict[str, Any]:
    """A graph whose capture takes longer than a second, so that records are fetched during it."""
    kernels = started()
    kernels.empty(1)  # a kernel is loaded at its first launch, which a capture may not allow
    torch.cuda.synchronize()
    graph, began_ns = torch.cuda.CUDAGraph(), time.perf_counter_ns()
    with torch.cuda.graph(graph):
        for _ in range(6):
            kernels.empty(3, torch.cuda.current_stream().cuda_stream)
            time.sleep(0.25)
    capture_ns = time.perf_counter_ns() - began_ns
    for _ in range(10):
        graph.replay()
    torch.cuda.synchronize()
    return {"replays": 10, "nodes": 18, "capture_ns": capture_ns}


def storm(launches: str) -> dict[str, Any]:
    """Very many launches in ten parts; the CPU time of all other threads for each part."""
    kernels, each, parts = started(), int(launches) // PARTS, []
    for _ in range(PARTS):
        before_ns = _others_cpu_ns()
        kernels.timed_empty(each)
        time.sleep(0.6)  # the remaining records are fetched
        parts.append(_others_cpu_ns() - before_ns)
    return {"launches": each * PARTS, "others_cpu_ns": parts}


def _others_cpu_ns() -> int:
    own = threading.get_native_id()
    return sum(ns for thread, ns in threads_cpu_ns().items() if thread != own)


def crowd() -> dict[str, Any]:
    """Seventy threads that launch at the same time; thread n makes 100 + n launches."""
    kernels = started()
    launches: dict[int, int] = {}
    ready = threading.Barrier(70)

    def launch(count: int) -> None:
        ready.wait()
        kernels.empty(count)
        launches[threading.get_native_id()] = count
        ready.wait()  # none ends before all have launched, because the system would reuse its number

    running = [threading.Thread(target=launch, args=(100 + number,)) for number in range(70)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    wait(kernels)
    return {"launches": launches, "main": threading.get_native_id()}


def pageable() -> dict[str, Any]:
    """A copy to pageable memory that must wait for 30 ms of kernels."""
    kernels = started()
    if isinstance(kernels, StandinKernels):
        copy = kernels.copying_to_pageable()
        kernels.behind(30 * MS)
        before_ns = time.perf_counter_ns()
        copy()  # STANDIN
        return {"took_ns": time.perf_counter_ns() - before_ns, "marks": marks()}
    data = torch.ones(1024, device="cuda")
    data.cpu()
    torch.cuda.synchronize()
    torch.cuda._sleep(60 * MS)  # cycles: 30 ms at 2 GHz
    before_ns = time.perf_counter_ns()
    data.cpu()  # PAGEABLE
    return {"took_ns": time.perf_counter_ns() - before_ns, "marks": marks()}


def marks() -> dict[str, int]:
    """The lines of this file that end with a comment of one word in capitals."""
    with open(__file__, encoding="utf-8") as file:
        ends = [(at, line.rpartition("  # ")[2].strip()) for at, line in enumerate(file, 1)]
    return {word: at for at, word in ends if word.isalpha() and word.isupper()}


class _Examples(torch.utils.data.Dataset):  # type: ignore[misc, unused-ignore]
    """Each knows the process that made it."""

    def __len__(self) -> int:
        return 512

    def __getitem__(self, at: int) -> tuple[torch.Tensor, int, int]:
        return torch.full((256,), at / 512), at % 10, os.getpid()


def whole_step(compiled: str) -> dict[str, Any]:
    """Typical training: workers forked after CUDA's start, pinned memory, autograd, a compiled net."""
    torch.manual_seed(0)
    started()
    loader = torch.utils.data.DataLoader(
        _Examples(), batch_size=32, num_workers=2, pin_memory=True, multiprocessing_context="fork"
    )
    net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 10)).cuda()
    run = torch.compile(net, mode="reduce-overhead") if compiled == "compiled" else net
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    losses, makers = [], set()
    for data, target, maker in loader:
        on_device, wanted = data.cuda(non_blocking=True), target.cuda(non_blocking=True)
        loss = torch.nn.functional.cross_entropy(run(on_device), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
        makers.update(maker.tolist())
    torch.cuda.synchronize()
    own = os.getpid()
    return {"steps": len(losses), "losses": losses, "workers": len(makers - {own}), "compiled": compiled}


def ends(how: str) -> dict[str, Any]:
    """A thousand kernels, long enough before the end to be fetched; then one of `ENDINGS`."""
    kernels = started()
    kernels.timed_empty(1000)
    time.sleep(1.5)
    if how == "exception":
        raise ValueError("on purpose")
    if how == "terminated":
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(30)
    if how == "left":
        os._exit(7)
    data = torch.zeros(4, device="cuda")
    data[torch.tensor([1 << 20], device="cuda")] = 1.0
    torch.cuda.synchronize()
    return {}


def after_profiler(path: str) -> dict[str, Any]:
    """torch.profiler first, then a recording. Records itself."""
    import perfprobe
    from tests.gpu.raw_cupti import library

    kernels = started()
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiler:
        kernels.timed_empty(20)
    seen = profiler.profiler.kineto_results.events()
    can_name = hasattr(library(), "cuptiSubscribe_v2")
    with perfprobe.profile(path, gpu="cupti"):
        kernels.timed_empty(50)
    by_torch = sum(event.name() == "perfprobe_empty" for event in seen)
    return {"empty": 50, "seen_by_torch": by_torch, "can_name": can_name}


def steady(seconds: str = "9") -> dict[str, Any]:
    """A GPU that works without a pause."""
    kernels, until_s = started(), time.monotonic() + float(seconds)
    while time.monotonic() < until_s:
        kernels.spin(10 * MS, 10)
    return {}


def cpu_only() -> dict[str, Any]:
    """No GPU is used. Prints the driver's state: 3 if nobody has initialised it."""
    torch.ones(64, 64).mm(torch.ones(64, 64))
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return {"driver": str(error)}
    return {"driver": driver.cuDeviceGetCount(ctypes.byref(ctypes.c_int()))}


PROGRAMS: dict[str, Callable[..., dict[str, Any]]] = {
    program.__name__: program
    for program in (
        three_blocks,
        long_capture,
        storm,
        crowd,
        pageable,
        whole_step,
        ends,
        after_profiler,
        steady,
        cpu_only,
    )
}


def main(name: str, truth: str, *arguments: str) -> None:
    """Runs the program, then writes what is known about it."""
    found = PROGRAMS[name](*arguments)
    with open(truth, "w", encoding="utf-8") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
