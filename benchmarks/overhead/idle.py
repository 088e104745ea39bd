"""What perfprobe does while the program sleeps: how often its threads wake, and their CPU time.

Both are counted by the kernel and read from outside, for all threads of the process and a part of the sleep.

    python -m benchmarks.overhead --part idle
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.overhead.tables import Spread, markdown

PROGRAM = "import time\nprint('now', flush=True)\ntime.sleep(3600)\n"
WATCHED_S = 25.0
SETTLE_S = 2.0
OPTIONS = {"plain": None, "perfprobe": (), "perfprobe --python off": ("--python", "off")}


@dataclass(frozen=True)
class Idle:
    """Sums over all threads of a process since they began. wakes: how often one of them had gone to sleep."""

    wakes: int
    cpu_ns: int

    @classmethod
    def of(cls, process: int) -> Idle:
        """Reads the present values from the kernel."""
        wakes = cpu_ns = 0
        for task in Path(f"/proc/{process}/task").iterdir():
            counted = re.search(
                r"^voluntary_ctxt_switches:\s*(\d+)", (task / "status").read_text(), re.MULTILINE
            )
            wakes += int(counted[1]) if counted else 0
            cpu_ns += int((task / "schedstat").read_text().split()[0])
        return cls(wakes, cpu_ns)


def watch(options: tuple[str, ...] | None, seconds: float, folder: Path) -> Idle:
    """Measures a part of the sleep of the program, run plain or by perfprobe."""
    script = folder / "sleep.py"
    script.write_text(PROGRAM)
    ours = (
        [] if options is None else ["-m", "perfprobe", "-q", *options, "-o", str(folder / "idle.perfprobe")]
    )
    with subprocess.Popen([sys.executable, *ours, str(script)], stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()  # type: ignore[union-attr]
            time.sleep(SETTLE_S)
            before = Idle.of(process.pid)
            time.sleep(seconds)
            after = Idle.of(process.pid)
        finally:
            process.kill()
    (folder / "idle.perfprobe").unlink(missing_ok=True)
    return Idle(after.wakes - before.wakes, after.cpu_ns - before.cpu_ns)


def report(rounds: int, scale: float, folder: Path) -> dict[str, object]:
    """Measure and print the table; returns all runs."""
    seconds = WATCHED_S * scale
    measured: dict[str, list[Idle]] = {name: [] for name in OPTIONS}
    for _ in range(rounds):
        for name, options in OPTIONS.items():
            measured[name].append(watch(options, seconds, folder))
    rows = [
        [
            name,
            Spread.of(run.wakes / seconds for run in runs).text(1),
            Spread.of(run.cpu_ns / 1e7 / seconds for run in runs).text(3),
        ]
        for name, runs in measured.items()
    ]
    head = ["", "wake-ups a second", "CPU, % of one processor"]
    print(f"\n### Idle: {seconds:.0f} s of sleep, {rounds} rounds\n\n{markdown(head, rows)}", flush=True)
    return {name: [vars(run) for run in runs] for name, runs in measured.items()}
