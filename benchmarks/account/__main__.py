"""Compares the account with what programs timed themselves, quiet and beside processes that only compute.

    python -m benchmarks.account [--repeats 20] [--busy 0 1 4 16] [--only NAME] [--runs FOLDER] [--at-once 5]

With --runs, recordings are kept in this folder, and those that are there already are judged, not made.
With --at-once, so many programs run at a time beside busy processes: each is a busy process to the others.

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
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.account.programs import PROGRAMS, Timed
from benchmarks.harness import busy
from benchmarks.overhead.tables import markdown
from perfprobe.results import Results
from perfprobe.support.view import View

_NEAR = 0.05
_STANDS_OUT = 0.2
_WAITS = ("data", "collection")
Shares = dict[str, float]


def run(program: Timed, folder: Path) -> None:
    """Records the program, and writes what it timed itself into `truth.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "program.py").write_text(program.text(), encoding="utf-8")
    root = str(Path(__file__).resolve().parents[2])
    ran = subprocess.run(
        [sys.executable, "-m", "perfprobe", "-q", "-o", "run.perfprobe", "program.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": root, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        check=True,
        text=True,
        start_new_session=True,  # see `busy`
    )
    (line,) = (line for line in ran.stdout.splitlines() if line.startswith("TRUTH "))
    (folder / "truth.json").write_text(line.removeprefix("TRUTH "), encoding="utf-8")


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


def tried(folder: Path) -> tuple[dict[str, float], bool, str]:
    """How far each share is off, whether SLOW is right, and what it names."""
    truth = json.loads((folder / "truth.json").read_bytes())
    whole_ns, at = sum(truth["spent"].values()), truth["at"]
    shares = {name: time_ns / whole_ns for name, time_ns in truth["spent"].items()}
    tables = Results(str(folder / "run.perfprobe")).document(View())["tables"]
    found, named = said(tables, at), slow(tables, at)
    return {n: found[n] - shares.get(n, 0) for n in at}, named in may_be_slow(shares), named


def make(names: Sequence[str], args: argparse.Namespace, processes: int, runs: Path) -> None:
    """Makes the recordings that are not there, each beside so many busy processes."""
    missing = [
        (PROGRAMS[name], folder)
        for name in names
        for folder in folders(runs, name, processes, args.repeats)
        if not (folder / "truth.json").exists()
    ]
    at_once = min(args.at_once, processes + 1)
    with busy(processes + 1 - at_once), ThreadPoolExecutor(at_once) as pool:
        list(pool.map(lambda each: run(*each), missing))


def folders(runs: Path, name: str, processes: int, repeats: int) -> list[Path]:
    """The folders of the recordings of a program."""
    return [runs / f"{name}-{processes}-{repeat}" for repeat in range(repeats)]


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.account")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--busy", type=int, nargs="+", default=[0, 1, 4, 16], help="busy processes")
    parser.add_argument("--only", choices=PROGRAMS, help="only this program")
    parser.add_argument("--at-once", type=int, default=1, help="programs that run at a time, if not alone")
    parser.add_argument("--runs", type=Path, help="folder that keeps the recordings")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        judge(args, args.runs or Path(folder))


def judge(args: argparse.Namespace, folder: Path) -> None:
    """Prints the table, and each row as soon as it is known."""
    rows, right, parts, slows, runs = [], 0, 0, 0, 0
    names = [args.only] if args.only else list(PROGRAMS)
    for processes in args.busy:
        make(names, args, processes, folder)
        for name in names:
            results = [tried(each) for each in folders(folder, name, processes, args.repeats)]
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
