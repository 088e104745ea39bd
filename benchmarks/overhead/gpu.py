"""What recording a GPU costs on a launch-bound loop, beside torch.profiler, each in its own processes.

CUPTI serves one client per process, and the first one keeps it, so two profilers cannot alternate in one
process. A process measures plain blocks, then profiled ones, then plain ones again (to see what tracing
leaves behind), and the processes alternate. Wall time, including waiting for the GPU: the result is how fast
kernels are launched, as the GPU itself is far from being the limit.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.overhead.tables import Spread, markdown

OBSERVERS = (
    "perfprobe, GPU only",
    "perfprobe, GPU and operators",
    "perfprobe, default",
    "perfprobe, exact links",
    "perfprobe, no GPU",
    "torch.profiler CUDA",
    "torch.profiler CPU+CUDA",
    "torch.profiler CPU+CUDA shapes+stack",
)
LOOPS = {"operators": "in-place additions of 16 floats", "launches": "empty kernels, without torch"}
KINDS = {"kernels": 10, "runtime calls": 5, "overheads": 17, "waits": 38}  # of CUPTI's records
_LIMIT_S = 60


@dataclass
class Cost:
    """Wall ns per launch of blocks: plain, profiled, and plain after profiling had ended."""

    plain_ns: list[float] = field(default_factory=list)
    watched_ns: list[float] = field(default_factory=list)
    after_ns: list[float] = field(default_factory=list)
    kinds_ns: dict[str, list[float]] = field(default_factory=dict)
    failed: str = ""

    def added_ns(self) -> Spread:
        """Profiled minus plain."""
        return Spread.of(w - p for p, w in zip(self.plain_ns, self.watched_ns, strict=True))

    def ratio(self) -> Spread:
        """Profiled divided by plain."""
        return Spread.of(w / p for p, w in zip(self.plain_ns, self.watched_ns, strict=True))

    def after(self) -> Spread:
        """Plain afterwards divided by plain."""
        return Spread.of(a / p for p, a in zip(self.plain_ns, self.after_ns, strict=True))


def refusal() -> str | None:
    """Why nothing can be measured here; None if there is a GPU."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return f"no driver: {error}"
    count = ctypes.c_int()
    code = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    return (
        f"the driver answers with error {code}" if code else None if count.value else "the driver sees none"
    )


def measure(rounds: int, scale: float, folder: Path) -> dict[str, dict[str, Cost]]:
    """Costs by loop and observer. An observer that fails says why, and the others go on."""
    costs = {loop: {name: Cost() for name in OBSERVERS} for loop in LOOPS}
    for _ in range(rounds):
        for name in OBSERVERS:
            found = run(name, scale, folder)
            for loop in LOOPS:
                add(costs[loop][name], found if isinstance(found, str) else found[loop])
    return costs


def run(name: str, scale: float, folder: Path) -> dict[str, Any] | str:
    """Runs one process: its measurements by loop, or why there are none."""
    words = [sys.executable, "-m", "benchmarks.overhead.gpu_child", name, str(scale), str(folder)]
    try:
        ended = subprocess.run(words, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
        found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return f"took more than {_LIMIT_S} s"
    except (IndexError, ValueError):
        return (ended.stderr.strip().splitlines() or [f"status {ended.returncode}"])[-1]
    return found


def add(cost: Cost, found: dict[str, Any] | str) -> None:
    """Adds what a process measured of one loop. The first failure is kept."""
    if isinstance(found, str):
        cost.failed = cost.failed or found
        return
    for column in ("plain_ns", "watched_ns", "after_ns"):
        getattr(cost, column).extend(found[column])
    for kind, values in found["kinds_ns"].items():
        cost.kinds_ns.setdefault(kind, []).extend(values)


def table(costs: dict[str, Cost]) -> str:
    """One row for each observer."""
    head = ["observer", "wall time, times plain", "ns per launch", "plain afterwards, times plain"]
    rows = [
        [name, cost.failed, "", ""]
        if cost.failed
        else [name, cost.ratio().text(2), cost.added_ns().text(0), cost.after().text(2)]
        for name, cost in costs.items()
    ]
    return markdown(head, rows)


def kind_table(costs: dict[str, Cost]) -> str:
    """How much cheaper a launch is without the records of one kind."""
    rows = [
        [f"{name}: without {kind}", Spread.of(saved).text(0)]
        for name, cost in costs.items()
        for kind, saved in cost.kinds_ns.items()
        if saved
    ]
    return markdown(["kind", "ns a launch less"], rows) if rows else ""


def report(rounds: int, scale: float, folder: Path) -> dict[str, object]:
    """Measure and print; returns the results, or why there are none."""
    missing = refusal()
    if missing is not None:
        print(f"\nno GPU here ({missing}): the cost of recording one is not measured", flush=True)
        return {"not_measured": missing}
    costs = measure(rounds, scale, folder)
    for loop, what in LOOPS.items():
        print(
            f"\n### GPU: {what}, {rounds} rounds\n\n{table(costs[loop])}\n\n{kind_table(costs[loop])}",
            flush=True,
        )
    return {loop: {name: vars(cost) for name, cost in of.items()} for loop, of in costs.items()}
