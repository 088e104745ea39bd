"""Compares the account with what programs timed themselves, quiet and beside processes that only compute.

    python -m benchmarks.account [--repeats 20] [--busy 0 1 4 16] [--only NAME]

A part is right if its share is within 5 points of that run's own truth. SLOW is right if it is the part that
should come first by that truth: the largest wait from 20 %, or else the largest line. Where two are within
5 points of each other, or of 20 %, either is right.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.account.programs import PROGRAMS, Timed
from benchmarks.harness import busy
from benchmarks.overhead.tables import markdown

_NEAR = 0.05
_STANDS_OUT = 0.2
_WAITS = ("data", "collection")
Shares = dict[str, float]


def measured(program: Timed, folder: Path) -> tuple[Shares, dict[str, Any], dict[str, int]]:
    """The shares that the program timed, the tables of the report, and the line of each part."""
    (folder / "program.py").write_text(program.text(), encoding="utf-8")
    root = str(Path(__file__).resolve().parents[2])
    ran = subprocess.run(
        [sys.executable, "-m", "perfprobe", "-o", "run.perfprobe", "--json", "run.json", "program.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": root, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        check=True,
        text=True,
    )
    (line,) = (line for line in ran.stdout.splitlines() if line.startswith("TRUTH "))
    truth = json.loads(line.removeprefix("TRUTH "))
    whole_ns = sum(truth["spent"].values())
    shares = {name: time_ns / whole_ns for name, time_ns in truth["spent"].items()}
    return shares, json.loads((folder / "run.json").read_bytes())["tables"], truth["at"]


def said(tables: Mapping[str, Any], at: Mapping[str, int]) -> Shares:
    """The share of each part by the account."""
    names = {line: name for name, line in at.items() if name not in _WAITS}
    sums_ns: Counter[str] = Counter()
    for row in tables["account"]:
        if row["kind"] == "processor":
            continue
        name = row["kind"] if row["kind"] in _WAITS else names.get(row["line"] or 0, "else")
        sums_ns[name] += row["time_ns"]
    whole_ns = max(sum(sums_ns.values()), 1)
    return {name: sums_ns[name] / whole_ns for name in at}


def may_be_slow(truth: Shares) -> set[str]:
    """The parts of which each is right as SLOW; "" is that nothing stands out."""
    waits, lines = ({n: s for n, s in truth.items() if (n in _WAITS) is wait} for wait in (True, False))
    found = {n for n, s in waits.items() if s >= max(_STANDS_OUT, *waits.values()) - _NEAR}
    if max(waits.values(), default=0) < _STANDS_OUT + _NEAR:
        largest = max(lines.values(), default=0)
        found |= {n for n, s in lines.items() if s >= max(_STANDS_OUT, largest) - _NEAR}
        found |= {""} if largest < _STANDS_OUT + _NEAR else set()
    return found


def slow(tables: Mapping[str, Any], at: Mapping[str, int]) -> str:
    """The part that SLOW names, "" for none."""
    of_steps = (row for row in tables["diagnoses"] if row["stands_out"] and row["base"] == "steps")
    first = next(of_steps, None)
    if first is None:
        return ""
    if first["cause"] in ("data", "garbage-collection"):
        return "data" if first["cause"] == "data" else "collection"
    return next((name for name, line in at.items() if line == first["line"]), str(first["cause"]))


def tried(program: Timed) -> tuple[dict[str, float], bool, str]:
    """How far each share is off, whether SLOW is right, and what it names."""
    with tempfile.TemporaryDirectory() as folder:
        truth, tables, at = measured(program, Path(folder))
    found = said(tables, at)
    named = slow(tables, at)
    return {n: found[n] - truth.get(n, 0) for n in at}, named in may_be_slow(truth), named


def main() -> None:
    """Prints a table with a row for each program and number of busy processes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.account")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--busy", type=int, nargs="+", default=[0, 1, 4, 16], help="busy processes")
    parser.add_argument("--only", choices=PROGRAMS, help="only this program")
    args = parser.parse_args()
    rows, right, parts, slows, runs = [], 0, 0, 0, 0
    for processes in args.busy:
        for name in [args.only] if args.only else PROGRAMS:
            with busy(processes):
                results = [tried(PROGRAMS[name]) for _ in range(args.repeats)]
            off = [abs(each) for far, _, _ in results for each in far.values()]
            far = max((each for far, _, _ in results for each in far.items()), key=lambda e: abs(e[1]))
            is_right = [is_right for _, is_right, _ in results]
            named = Counter(named or "nothing" for _, _, named in results)
            right, parts = right + sum(each <= _NEAR for each in off), parts + len(off)
            slows, runs = slows + sum(is_right), runs + len(is_right)
            within = f"{sum(each <= _NEAR for each in off)} of {len(off)}"
            worst = f"{far[0]} {far[1] * 100:+.0f}"
            shown = ", ".join(f"{what} {count}" for what, count in named.most_common())
            rows.append([str(processes), name, within, worst, f"{sum(is_right)} of {len(is_right)}", shown])
            print(*rows[-1], sep="  ", file=sys.stderr, flush=True)
    heads = ["busy", "program", "within 5 points", "farthest", "SLOW right", "SLOW names"]
    print(markdown(heads, rows))
    print(f"parts {right} of {parts}, SLOW {slows} of {runs}")


if __name__ == "__main__":
    main()
