"""Splits a program of known parts by perfprobe and by perf, and measures what `--native` costs.

    python -m benchmarks.native [--seconds 1] [--pairs 8]

The first table has the share of each part: by the program's own clocks, by `perfprobe run --native`, and by
`perf record` if that is installed. The second one has the CPU time of a fixed piece of work with `--native`,
divided by that without. The runs alternate; neither records anything else.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.overhead.tables import markdown
from perfprobe.analyse.native_split import parts
from perfprobe.models.native_parts import part_of
from perfprobe.tables import storage
from perfprobe.tables.native_code import PART_TEXTS, NativeMode, NativePart, NativeSamples

_HERE = Path(__file__).parent
_EXPECTED = {
    "loop": NativePart.OTHER,
    "multiply": NativePart.MATH,
    "copy": NativePart.COPY,
    "allocate": NativePart.MEMORY,
    "wait": NativePart.WAIT,
}
_LINE = re.compile(r"^\s*(\d+)\s+([\d.]+):\s+[0-9a-f]+ (.*) \((.*)\)$")
_QUIET = ["--python", "off", "--operators", "off", "--gpu", "off", "--ranges", "off"]


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="CPU time of each part")
    parser.add_argument("--pairs", type=int, default=8, help="runs with and without --native, 0 for none")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "known_parts.so"
        compiler = ["cc", "-O2", "-fopenmp", "-shared", "-fPIC", "-o", str(library)]
        subprocess.run([*compiler, str(_HERE / "known_parts.c")], check=True)
        program = [str(_HERE / "known_parts.py"), str(library), str(given.seconds)]
        sys.stdout.write(_shares(program, Path(folder)) + "\n")
        if given.pairs > 1:
            sys.stdout.write("\n" + _cost(Path(folder), given.pairs) + "\n")


def _shares(program: list[str], folder: Path) -> str:
    ours, printed = _by_perfprobe(program, folder)
    whole_ns = sum(part["cpu_ns"] for part in printed.values())
    known = {part: printed[name]["cpu_ns"] / whole_ns for name, part in _EXPECTED.items()}
    by_perf = _by_perf(program, folder)
    rows = [
        [PART_TEXTS[part], _text(known.get(part, 0.0)), _text(ours.get(part, 0.0)), _text(_of(by_perf, part))]
        for part in NativePart
    ]
    return markdown(["part", "known", "perfprobe", "perf"], rows)


def _text(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _of(shares: dict[int, float], part: int) -> float | None:
    return shares.get(part, 0.0) if shares else None


def _run(command: list[str]) -> dict[str, Any]:
    """Runs the program and returns what it printed."""
    environment = {**os.environ, "GOMP_SPINCOUNT": "infinite"}
    run = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def _by_perfprobe(program: list[str], folder: Path) -> tuple[dict[int, float], dict[str, Any]]:
    path = folder / "known.perfprobe"
    printed = _run([sys.executable, "-m", "perfprobe", "-q", "--native", "-o", str(path), *program])
    recording = storage.read(str(path))
    samples = recording[NativeSamples]
    is_main = recording.main_thread()[samples.thread]
    times = zip(samples.time_ns.tolist(), is_main.tolist(), parts(recording, samples).tolist(), strict=True)
    return _summed(times, printed), printed


def _by_perf(program: list[str], folder: Path) -> dict[int, float]:
    """Shares by `perf record`; empty if perf is not installed."""
    perf = shutil.which("perf")
    if perf is None:
        return {}
    data = str(folder / "perf.data")
    record = [perf, "record", "-q", "-k", "CLOCK_MONOTONIC", "-e", "cpu-clock:u", "-F", "1003", "-o", data]
    process = subprocess.Popen(
        [*record, sys.executable, *program],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "GOMP_SPINCOUNT": "infinite"},
    )
    printed = json.loads(process.communicate()[0])
    script = [perf, "script", "-i", data, "-F", "tid,time,ip,sym,dso"]
    text = subprocess.run(script, check=True, capture_output=True, text=True).stdout
    lines = [match for line in text.splitlines() if (match := _LINE.match(line))]
    main_thread = lines[0][1]
    times = (
        (
            int(float(line[2]) * 1e9),
            line[1] == main_thread,
            int(part_of(line[4], line[3].partition("+")[0], NativeMode.PROGRAM)),
        )
        for line in lines
    )
    return _summed(times, printed)


def _summed(times: Iterator[tuple[int, bool, int]], printed: dict[str, Any]) -> dict[int, float]:
    """Shares of the samples in each part: those of the main thread; in `wait`, those of the other thread."""
    found: Counter[int] = Counter()
    for time_ns, is_main, part in times:
        for name, window in printed.items():
            if window["start_ns"] <= time_ns <= window["end_ns"] and is_main == (name != "wait"):
                found[part] += 1
    whole = max(found.total(), 1)
    return {part: number / whole for part, number in found.items()}


def _cost(folder: Path, pairs: int) -> str:
    """CPU time of a fixed piece of work with `--native` divided by that without."""
    ratios = []
    for at in range(pairs):
        both = {}
        for is_native in (True, False) if at % 2 else (False, True):
            path = folder / f"cost{at}{is_native}.perfprobe"
            asked = ["--native"] if is_native else []
            command = [sys.executable, "-m", "perfprobe", "-q", *_QUIET, *asked, "-o", str(path)]
            both[is_native] = _work_ns([*command, str(_HERE / "fixed_work.py")])
        ratios.append(both[True] / both[False])
    middle, spread = statistics.median(ratios), statistics.stdev(ratios) / len(ratios) ** 0.5
    row = [str(pairs), f"{middle:.4f}", f"{2 * spread:.4f}"]
    return markdown(["pairs", "CPU time with --native / without", "two standard errors"], [row])


def _work_ns(command: list[str]) -> int:
    found = _run(command)
    return int(found["cpu_ns"])


main()
