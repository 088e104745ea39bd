"""Which share of a program's CPU time is perfprobe's own code, counted by `perf record`.

    python -m benchmarks.overhead.own_code [--python OTHER/bin/python] -- -m benchmarks.workloads.transformer

Beside neighbours, two runs differ by far more than recording costs. A share does not: neighbours slow down
a program and perfprobe alike. `perf` samples the CPU time of all threads 4,000 times a second, so 1 % of a
minute is 2,400 samples. torch's own code for observers is not counted (`--part region`: the null callback),
and neither is Python code of perfprobe. Several interpreters, each with its own perfprobe, take turns.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.overhead.tables import markdown

_MODULES = ("_core", "_observer", "libperfprobe")
_THREADS = "perfprobe"
_FREQUENCY = "4000"


def recorded(python: str, words: list[str], folder: Path) -> Counter[str]:
    """CPU samples by part of perfprobe, and of all parts of the program ("all")."""
    data = folder / "perf.data"
    program = [python, "-m", "perfprobe", "run", "-q", "-o", str(folder / "run.perfprobe"), *words]
    command = ["perf", "record", "-q", "-e", "cpu-clock", "-F", _FREQUENCY, "-o", str(data), "--", *program]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (folder / "run.perfprobe").unlink()
    fields = ["-F", "sample,comm,pid,dso", "-t", ";"]
    listed = subprocess.run(
        ["perf", "report", "-i", str(data), "--stdio", *fields],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ).stdout
    rows = [[field.strip() for field in line.split(";")] for line in listed.splitlines()]
    return counted([row for row in rows if len(row) == 4 and row[0].isdigit()])


def counted(rows: list[list[str]]) -> Counter[str]:
    """Adds up rows of samples, name of the thread, its id, and file."""
    found: Counter[str] = Counter()
    own = sorted({tid for _, name, tid, _ in rows if name.startswith(_THREADS)})
    for samples, _, tid, file in rows:
        module, count = Path(file).name.partition(".")[0], int(samples)
        found["all"] += count
        if tid in own:
            found[f"perfprobe's thread {1 + own.index(tid)}"] += count
        elif module.startswith(_MODULES):
            found[f"{module} in the program's threads"] += count
    return found


def main() -> None:
    """Prints a row for each part and interpreter."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead.own_code")
    parser.add_argument(
        "--python", action="append", help="interpreter of an installation to compare (repeatable)"
    )
    parser.add_argument("--rounds", type=int, default=1, help="runs of each")
    parser.add_argument("words", nargs="+", help="the program, as after `python`")
    given = parser.parse_args()
    if shutil.which("perf") is None:
        sys.exit("perf is missing: apt install linux-perf")
    pythons = given.python or [sys.executable]
    sums: dict[str, Counter[str]] = {python: Counter() for python in pythons}
    for _ in range(given.rounds):
        for python in pythons:
            with tempfile.TemporaryDirectory() as folder:
                sums[python] += recorded(python, given.words, Path(folder))
    for python, found in sums.items():
        whole = found.pop("all")
        rows = [[part, f"{count:,}", f"{count / whole:.2%}"] for part, count in sorted(found.items())]
        rows.append(["together", f"{found.total():,}", f"{found.total() / whole:.2%}"])
        print(f"{python}: {whole:,} samples\n")
        print(markdown(["part", "samples", "share"], rows))


if __name__ == "__main__":
    main()
