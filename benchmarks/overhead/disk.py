"""Bytes per event on disk: perfprobe's recording beside the trace that torch.profiler exports."""

from __future__ import annotations

from pathlib import Path

import torch

import perfprobe
from benchmarks.overhead.observers import torch_profiler
from benchmarks.overhead.region import Case, make_cases
from benchmarks.overhead.tables import markdown
from perfprobe.tables import storage

EVENTS = 20_000  # for each program; an exported trace of more takes minutes

PROFILERS: dict[str, dict[str, bool]] = {
    "torch.profiler": {},
    "torch.profiler shapes": {"record_shapes": True},
    "torch.profiler shapes+stack": {"record_shapes": True, "with_stack": True},
}


def run(case: Case) -> None:
    """Runs steps until there are about `EVENTS` events."""
    for _ in range(max(1, EVENTS // case.events_a_step)):
        case.step()


def recorded(case: Case, folder: Path) -> float:
    """Bytes per event of a recording."""
    path = folder / "disk.perfprobe"
    with perfprobe.profile(path):
        run(case)
    events, size_bytes = storage.read(str(path)).operator_rows, path.stat().st_size
    path.unlink()
    return size_bytes / events


def exported(case: Case, folder: Path, options: dict[str, bool]) -> float:
    """Bytes per event of an exported trace, which is JSON."""
    path = folder / "trace.json"
    with torch_profiler(**options) as profiler:
        run(case)
    profiler.export_chrome_trace(str(path))  # type: ignore[attr-defined]
    size_bytes = path.stat().st_size
    path.unlink()
    return size_bytes / (case.events_a_step * max(1, EVENTS // case.events_a_step))


def report(_rounds: int, scale: float, folder: Path) -> list[dict[str, object]]:
    """Measure and print. Sizes do not vary between runs, so each is measured once."""
    torch.set_num_threads(1)
    measured: list[dict[str, object]] = []
    for case in make_cases(scale):
        with torch.set_grad_enabled(case.needs_grad):
            sizes = {"perfprobe": recorded(case, folder)}
            sizes |= {name: exported(case, folder, options) for name, options in PROFILERS.items()}
        measured.append({"program": case.name, "bytes_an_event": sizes})
    names = ["perfprobe", *PROFILERS]
    lines = [
        [str(entry["program"]), *(f"{entry['bytes_an_event'][name]:.1f}" for name in names)]  # type: ignore[index]
        for entry in measured
    ]
    print("\n### bytes per event on disk\n\n" + markdown(["program", *names], lines), flush=True)
    return measured
