"""Clocks, power and temperature, compared with those that nvidia-smi prints at the same time."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence

import numpy as np

from perfprobe.tables.gpu_states import GpuStates
from tests.gpu import recorded
from tests.gpu.child import Room, expect
from tests.gpu.recorded import Seen
from tests.gpu.result import Skip

_LEAST_READINGS = 5
_BUSY_PERCENT = 50
# By column: the name for nvidia-smi, its unit in ours, and by how much the medians may differ, as a share of
# the larger one. The two read at different moments.
_QUERIES: Mapping[str, tuple[str, float, float]] = {
    "utilization_percent": ("utilization.gpu", 1, 0.2),
    "sm_clock_mhz": ("clocks.sm", 1, 0.05),
    "memory_clock_mhz": ("clocks.mem", 1, 0.01),
    "power_mw": ("power.draw", 1000, 0.2),
    "temperature_c": ("temperature.gpu", 1, 0.1),
    "used_bytes": ("memory.used", 1 << 20, 0.1),
}


def states(room: Room) -> None:
    """Seconds of spins, with nvidia-smi beside them."""
    smi = shutil.which("nvidia-smi")
    if smi is None:
        raise Skip("no nvidia-smi here")
    asked = ",".join(["pci.bus_id", *(name for name, _, _ in _QUERIES.values())])
    path = room.folder / "smi.csv"
    words = [smi, f"--query-gpu={asked}", "--format=csv,noheader,nounits", "-lms", "500"]
    with path.open("w", encoding="utf-8") as file, subprocess.Popen(words, stdout=file) as beside:
        try:
            seen = recorded.record(room, "steady")
        finally:
            beside.terminate()
    judge_states(seen, path.read_text(encoding="utf-8").splitlines(), room)


def judge_states(seen: Seen, lines: Sequence[str], room: Room) -> None:
    """As many readings as seconds, and medians while the GPU was busy that agree with nvidia-smi's."""
    rows = seen.recording[GpuStates]
    figures = {name: seen.recording.fact("gpu", name) for name in ("longest_states_ns", "slow_states")}
    room.note(readings=len(rows), **figures, throttle=sorted(set(rows.throttle.tolist())))
    room.note(ours={name: getattr(rows, name).tolist() for name in _QUERIES}, smi=list(lines))
    expect(len(rows) >= _LEAST_READINGS, f"{len(rows)} readings: {seen.losses()}")
    gaps_ns = np.diff(rows.time_ns[rows.device == rows.device[0]])
    room.note(gaps=recorded.spread_ns(gaps_ns))
    theirs = _busiest(lines)
    expect(theirs, "nvidia-smi saw no busy GPU")
    busy = rows.take(rows.utilization_percent >= _BUSY_PERCENT)
    expect(len(busy), "no reading of a busy GPU")
    wrong = []
    for place, (name, (_, unit, most)) in enumerate(_QUERIES.items()):
        own, their = (
            float(np.median(getattr(busy, name))),
            unit * float(np.median([row[place] for row in theirs])),
        )
        room.note(**{name: f"{own:.0f}, nvidia-smi {their:.0f}"})
        wrong += (
            [f"{name} {own:.0f}, nvidia-smi {their:.0f}"] if abs(own - their) > most * max(own, their) else []
        )
    expect(not wrong, "; ".join(wrong))


def _busiest(lines: Sequence[str]) -> list[list[float]]:
    """The figures of the GPU that was busy most often, when it was."""
    found: dict[str, list[list[float]]] = {}
    for line in lines:
        bus, *figures = line.split(", ")
        try:
            row = [float(figure) for figure in figures]
        except ValueError:  # [N/A], or a line that was cut at the end
            continue
        if len(row) == len(_QUERIES) and row[0] >= _BUSY_PERCENT:
            found.setdefault(bus, []).append(row)
    return max(found.values(), key=len, default=[])
