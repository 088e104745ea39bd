"""How much repeated measurements of one call differ: torch.utils.benchmark beside perfprobe.

The same calls on operands made in the same way. Every repetition is a process; perfprobe uses as many as it
needs. Both report their own median of CPU or wall time: torch's Timer with its own clock.

    python -m benchmarks.spread [--repeats 5] [--load]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from contextlib import nullcontext
from statistics import median

from benchmarks import harness
from benchmarks.overhead.tables import markdown
from perfprobe.tables.measurements import Wanted

CALLS = (
    ("mm 512³", "aten::mm", "f32[512,512] f32[512,512]"),
    ("bmm 64x128x64x128", "aten::bmm", "f32[64,128,64] f32[64,64,128]"),
    ("div", "aten::div.Tensor", "f32[1024,1024] f32[1024,1024]"),
    ("div by a transposed matrix", "aten::div.Tensor", "f32[1024,1024] f32[1024,1024]{1,1024}"),
    ("copy_", "aten::copy_", "f32[2048,2048] f32[2048,2048] non_blocking=False"),
    ("_softmax", "aten::_softmax", "f32[64,256,256] dim=-1 half_to_float=False"),
    (
        "native_layer_norm",
        "aten::native_layer_norm",
        "f32[4096,1024] normalized_shape=(1024) f32[1024] f32[1024] eps=1e-05",
    ),
    ("add [16]", "aten::add.Tensor", "f32[16] f32[16] alpha=1"),
)
OURS, BLOCKED, ADAPTIVE = "perfprobe", "blocked_autorange", "adaptive_autorange"
Times = dict[str, list[list[float]]]  # by method: for each call the times of all repetitions


def main() -> None:
    """Measure everything and print a table for each load."""
    args = _options()
    if args.child:
        print(json.dumps({method: _torch_times(method) for method in (BLOCKED, ADAPTIVE)}))
        return
    for loops in (0, 2 * len(os.sched_getaffinity(0)))[: 2 if args.load else 1]:
        with harness.busy(loops) if loops else nullcontext():
            times, seconds = _repeat(args)
        print(f"\nmax/min - 1 of {args.repeats} repetitions beside {loops} busy loops, 1 thread:\n")
        print(markdown(["call", *times], _rows(times)))
        for method, took_s in seconds.items():
            print(f"{method}: {took_s:.0f} s in all")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spread", description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--load", action="store_true", help="also beside two busy loops a core")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    harness.add_options(parser, seconds=0.3)
    return parser.parse_args()


def _repeat(args: argparse.Namespace) -> tuple[Times, dict[str, float]]:
    times: Times = {method: [[] for _ in CALLS] for method in (BLOCKED, ADAPTIVE, OURS)}
    seconds = dict.fromkeys(("torch.utils.benchmark", OURS), 0.0)
    for _ in range(args.repeats):
        began_s = time.monotonic()
        command = [sys.executable, "-m", "benchmarks.spread", "--child"]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        between_s = time.monotonic()
        found[OURS] = _our_times(args)
        seconds["torch.utils.benchmark"] += between_s - began_s
        seconds[OURS] += time.monotonic() - between_s
        for method, values in found.items():
            for kept, value in zip(times[method], values, strict=True):
                kept.append(value)
    return times, seconds


def _our_times(args: argparse.Namespace) -> list[float]:
    calls = [(_wanted(operator, inputs), None) for _, operator, inputs in CALLS]
    found = harness.all_measured(calls, harness.settings(args, counterfactuals=False))
    return [one.rotating.value if one.rotating else float("nan") for one in found]


def _wanted(operator: str, inputs: str) -> Wanted:
    return Wanted(operator, inputs, inputs)


def _torch_times(method: str) -> list[float]:
    """Medians in nanoseconds, by torch's clock and rules."""
    import torch
    from torch.utils import benchmark

    from perfprobe.bench.rebuild.rebuilt import Rebuilt
    from perfprobe.bench.rebuild.recipes import recipe
    from perfprobe.bench.rebuild.schema import schemas

    times = []
    for _, operator, inputs in CALLS:
        call = Rebuilt(recipe(_wanted(operator, inputs), schemas(operator, torch)), torch)
        operands = call.operands(0)
        known = {"call": call.function, "args": operands.args, "kwargs": operands.kwargs}
        timer = benchmark.Timer("call(*args, **kwargs)", globals=known)
        times.append(getattr(timer, method)().median * 1e9)
    return times


def _rows(times: Times) -> list[list[str]]:
    spreads = {method: [max(values) / min(values) - 1 for values in kept] for method, kept in times.items()}
    rows = [
        [name, *(f"{each[at]:.1%}" for each in spreads.values())] for at, (name, _, _) in enumerate(CALLS)
    ]
    for name, choose in (("median", median), ("worst", max)):
        rows.append([name, *(f"{choose(each):.1%}" for each in spreads.values())])
    return rows


if __name__ == "__main__":
    main()
