"""What `--emit nvtx` adds to recording operators, with a tool that listens and does nothing.

If no tool listens, nothing is emitted and the cost is that of recording alone, which is measured too. The
figures include the tool's own cost: two calls per range that return at once.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any

import torch

from benchmarks.overhead.observers import Observer, recording
from benchmarks.overhead.region import Case, beyond, count_events, make_cases, measure, table
from tests.native.listener import VARIABLES, build

ALONE = "perfprobe, operators only"
EMITTING = "perfprobe, operators only, --emit nvtx"
DEAF = "perfprobe, operators only, --emit itt, nothing listens"
OPTIONS: dict[str, Any] = {"python": "off", "ranges": False}


@contextmanager
def recording_unheard(folder: Path) -> Iterator[None]:
    """Records with `--emit` although no tool listens, and hides the message about it."""
    with redirect_stderr(io.StringIO()), recording(folder, emit="itt", **OPTIONS):
        yield


def training_case(scale: float) -> Case:
    """Forward and backward of four small operators. Those in backward must find their forward line."""
    x, weight = torch.rand(8, 8), torch.rand(8, 8, requires_grad=True)

    def step() -> None:
        torch.tanh((x @ weight) * weight + x).sum().backward()

    return Case("small operators with backward", step, round(1000 * scale), count_events(step), True)


def report(pairs: int, scale: float, folder: Path) -> list[dict[str, object]]:
    """Measure and print every case; returns the results."""
    try:
        tool = build("nvtx", folder)
    except RuntimeError as missing:
        print(f"\n### ranges: not measured, {missing}")
        return []
    os.environ[VARIABLES["nvtx"]] = str(tool)  # NVTX reads it at its first call, which comes later
    os.environ.pop(VARIABLES["itt"], None)
    torch.set_num_threads(1)
    observers: dict[str, Observer] = {
        ALONE: lambda folder: recording(folder, **OPTIONS),
        EMITTING: lambda folder: recording(folder, emit="nvtx", **OPTIONS),
        DEAF: recording_unheard,
    }
    measured: list[dict[str, object]] = []
    for case in [make_cases(scale)[0], training_case(scale)]:
        with torch.set_grad_enabled(case.needs_grad):
            costs = measure(case, pairs, folder, observers)
        print(f"\n### ranges, {case.name}: {case.events} events a block, {pairs} pairs\n")
        print(table(case, costs))
        for name in (EMITTING, DEAF):
            added = beyond(case, costs[ALONE], costs[name])
            print(f"\n{name}, beyond recording alone: {added.text(0)} ns an event", flush=True)
        named = {name: vars(cost) for name, cost in costs.items()}
        measured.append({"workload": case.name, "events": case.events, "observers": named})
    return measured
