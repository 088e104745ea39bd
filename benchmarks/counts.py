"""Compares functions, counts and times of `--python cprofile` with plain `python -m cProfile`.

Of four programs, the functions of the own file and all calls that they make are compared. What libraries do
once may differ: a module that perfprobe has imported already is not imported again, and generated code
depends on caches. Of several generated functions with one name (`<string>`) cProfile's file keeps only one,
so they are left out.

    python -m benchmarks.counts
"""

from __future__ import annotations

import argparse
import os
import pstats
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.overhead.tables import Spread, markdown

WORKLOADS = Path(__file__).resolve().parent / "workloads"
PROGRAMS = {
    "preprocessing": ("preprocessing.py", "--batches", "40"),
    "transformer": ("transformer.py", "--threads", "1", "--epochs", "1", "--steps", "3"),
    "language model": ("language_model.py", "--threads", "1", "--epochs", "1"),
    "small operators": ("small_operators.py", "--steps", "4000"),
}
WORTH = 0.01  # of the program's time: shorter functions are not compared

Stats = dict[Any, Any]


def run(words: Sequence[str], folder: Path) -> None:
    """Run a command and discard its output."""
    subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def plain(script: Sequence[str], folder: Path) -> Stats:
    """The statistics of cProfile alone."""
    path = folder / "plain.pstats"
    run([sys.executable, "-m", "cProfile", "-o", str(path), *script], folder)
    return pstats.Stats(str(path)).stats  # type: ignore[attr-defined]


def ours(script: Sequence[str], folder: Path) -> Stats:
    """The statistics of perfprobe, exported in cProfile's format."""
    path, output = folder / "ours.perfprobe", folder / "ours.pstats"
    path.unlink(missing_ok=True)
    perfprobe = [sys.executable, "-m", "perfprobe"]
    run([*perfprobe, "-q", "--python", "cprofile", "--operators", "off", "-o", str(path), *script], folder)
    run([*perfprobe, "export", str(path), "--format", "pstats", "-o", str(output)], folder)
    return pstats.Stats(str(output)).stats  # type: ignore[attr-defined]


def calls(stats: Stats, script: str) -> dict[Any, tuple[int, int]]:
    """The numbers of calls (primitive, all) by caller (None for all) and function.

    Only of functions in this file and functions that they call.
    """
    own = {key: row for key, row in stats.items() if _is_own(key, script)}
    found: dict[Any, tuple[int, int]] = {(None, key): (row[0], row[1]) for key, row in own.items()}
    for callee, row in stats.items():
        for caller, counts in row[4].items():
            if caller in own and callee[0] != "<string>":
                found[caller, callee] = (counts[1], counts[0])
    return found


def _is_own(key: Any, script: str) -> bool:
    return os.path.basename(key[0]) == script and key[2] != "<module>"


def compared(script: Sequence[str], rounds: int, folder: Path) -> list[str]:
    """A row of the table: functions and calls, those with different counts, and the ratio of times."""
    name = os.path.basename(script[0])
    runs = [(plain(script, folder), ours(script, folder)) for _ in range(rounds)]
    left, right = (calls(stats, name) for stats in runs[0])
    apart = [key for key in {**left, **right} if left.get(key) != right.get(key)]
    for key in sorted(apart, key=str):
        print(f"{name}: {key}: {left.get(key)} and {right.get(key)}", file=sys.stderr)
    whole = [_whole_s(theirs, name) / _whole_s(mine, name) for mine, theirs in runs]
    least_s = WORTH * _whole_s(runs[0][0], name)
    own = [key for caller, key in left if caller is None]
    worth = [key for key in own if runs[0][0][key][2] > least_s]
    ratios = [Spread.of(theirs[key][2] / mine[key][2] for mine, theirs in runs).median for key in worth]
    return [
        f"{len(own):,}",
        f"{sum(count for _, count in left.values()):,}",
        f"{len(apart)} of {len(left):,}",
        Spread.of(whole).text(2),
        f"{Spread.of(ratios).text(2)} of {len(worth)}" if ratios else "-",
    ]


def _whole_s(stats: Stats, script: str) -> float:
    """The longest cumulative time of the file's functions: `main`."""
    return float(max(row[3] for key, row in stats.items() if _is_own(key, script)))


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description="--python cprofile beside python -m cProfile")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (script, *words) in PROGRAMS.items():
            path = str(WORKLOADS / script)
            rows.append([name, *compared([path, *words], args.rounds, Path(folder))])
    head = ["program", "functions", "calls", "other counts", "time of main, ours / plain", "tottime each"]
    print(markdown(head, rows))


if __name__ == "__main__":
    main()
