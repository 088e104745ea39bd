"""Measures one observer on launch-bound loops: python -m benchmarks.overhead.gpu_child OBSERVER SCALE FOLDER.

Prints one line of JSON: wall ns per launch of each block, by loop.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch

import perfprobe
from benchmarks.overhead.gpu import KINDS, LOOPS
from perfprobe import native

BLOCKS = 7
LAUNCHES = 20_000
ROUNDS = 3
RUNTIME = 5  # CUPTI_ACTIVITY_KIND_RUNTIME


def observer(name: str, path: Path) -> AbstractContextManager[object]:
    """The observer, not yet started."""
    activity = torch.profiler.ProfilerActivity
    if name.startswith("torch.profiler"):
        wanted = [activity.CUDA] if name.endswith(" CUDA") else [activity.CPU, activity.CUDA]
        full = name.endswith("stack")
        profiler: AbstractContextManager[object] = torch.profiler.profile(
            activities=wanted, record_shapes=full, with_stack=full
        )
        return profiler
    options: dict[str, dict[str, Any]] = {
        "perfprobe, GPU only": {"operators": "off", "python": "off", "ranges": False},
        "perfprobe, GPU and operators": {"python": "off", "ranges": False},
        "perfprobe, default": {},
        "perfprobe, exact links": {"python": "off", "ranges": False, "gpu_links": "exact"},
        "perfprobe, no GPU": {"python": "off", "ranges": False, "gpu": "off"},
    }
    return perfprobe.profile(path, **{"gpu": "cupti", **options[name]})


def make_block(loop: str, launches: int) -> Callable[[], float]:
    """A function that runs a block and returns wall ns per launch."""
    data = torch.zeros(16, device="cuda")
    kernels = native.cuda_kernels()

    def add() -> None:
        for _ in range(launches):
            data.add_(1)

    run = add if loop == "operators" else lambda: kernels.empty(launches)

    def block() -> float:
        torch.cuda.synchronize()
        begin = time.perf_counter_ns()
        run()
        torch.cuda.synchronize()
        return (time.perf_counter_ns() - begin) / launches

    return block


Saved = dict[str, dict[str, list[float]]]


def kinds_ns(cupti: Any, blocks: dict[str, Callable[[], float]]) -> Saved:
    """How many ns per launch the records of one kind take, by loop.

    CUPTI's switches are for the whole process. Runtime calls come last and stay off: enabling that kind again
    would also record the calls that perfprobe has excluded.
    """
    saved: Saved = {loop: {} for loop in blocks}
    for name, kind in KINDS.items():
        if kind == RUNTIME:
            continue
        for _ in range(ROUNDS):
            with_it = {loop: block() for loop, block in blocks.items()}
            if cupti.cuptiActivityDisable(kind) != 0:
                break
            _add(saved, name, with_it, blocks)
            cupti.cuptiActivityEnable(kind)
    with_calls = [{loop: block() for loop, block in blocks.items()} for _ in range(ROUNDS)]
    if cupti.cuptiActivityDisable(RUNTIME) == 0:
        (name,) = (name for name, kind in KINDS.items() if kind == RUNTIME)
        for with_it in with_calls:
            _add(saved, name, with_it, blocks)
    return saved


def _add(saved: Saved, name: str, with_it: dict[str, float], blocks: dict[str, Callable[[], float]]) -> None:
    for loop, block in blocks.items():
        saved[loop].setdefault(name, []).append(with_it[loop] - block())


def library() -> Any:
    """The CUPTI that torch has mapped."""
    return ctypes.CDLL(f"libcupti.so.{str(torch.version.cuda).split('.', maxsplit=1)[0]}")


def main(name: str, scale: str, folder: str) -> None:
    """Measure and print."""
    launches = max(100, round(LAUNCHES * float(scale)))
    blocks = {loop: make_block(loop, launches) for loop in LOOPS}
    path = Path(folder) / "gpu.perfprobe"
    plain_ns = measure(blocks)
    with observer(name, path):
        watched_ns = measure(blocks)
        by_kind: Saved = {loop: {} for loop in LOOPS}
        if name == "perfprobe, GPU only":
            by_kind = kinds_ns(library(), blocks)
    after_ns = measure(blocks)
    path.unlink(missing_ok=True)
    found = {
        loop: {
            "plain_ns": plain_ns[loop],
            "watched_ns": watched_ns[loop],
            "after_ns": after_ns[loop],
            "kinds_ns": by_kind[loop],
        }
        for loop in LOOPS
    }
    print(json.dumps(found), flush=True)


def measure(blocks: dict[str, Callable[[], float]]) -> dict[str, list[float]]:
    """Measures the loops in turn. The first block of each is not counted."""
    for block in blocks.values():
        block()
    turns = [{loop: block() for loop, block in blocks.items()} for _ in range(BLOCKS)]
    return {loop: [turn[loop] for turn in turns] for loop in blocks}


if __name__ == "__main__":
    main(*sys.argv[1:])
