"""Whether the gain that a sweep of the transformer states comes true in a second sweep.

Before it, one run with two threads is reported as a user would see it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness import busy
from benchmarks.overhead.tables import markdown

_PERFPROBE = (sys.executable, "-m", "perfprobe")
_PROGRAM = str(Path(__file__).parents[1] / "workloads" / "transformer.py")
# A step of some 12 ms with one thread: beside busy loops a step of a team takes many times that.
_SMALL = ("--no-compile", "--epochs", "1", "--steps", "10", "--batch", "2", "--length", "64", "--layers", "1")


def options(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    parser.add_argument("--busy", type=int, default=0, help="processes that only compute beside it (0)")
    parser.add_argument("--rounds", type=int, default=10, help="pairs of each sweep (10)")
    parser.add_argument("--arguments", help="of the transformer, instead of a small one")


def run(given: argparse.Namespace) -> str:
    """What the report says, and both sweeps."""
    program = [_PROGRAM, *(given.arguments.split() if given.arguments else _SMALL)]
    with busy(given.busy), tempfile.TemporaryDirectory() as folder:
        said = _said(program, folder)
        sweeps = [_swept(program, given.rounds, folder) for _ in range(2)]
    first, second = (found["tables"]["settings"][1] for found in sweeps)
    holds = second["low"] <= first["gain"] <= second["high"]
    rows = [[name, *_cells(found)] for name, found in zip(("first", "again"), sweeps, strict=True)]
    head = ["sweep", "as it is", "1 thread", "of", "gain", "interval", "pairs", "recommended"]
    table = markdown(head, rows)
    return f"{said}\n{table}\n\nthe second interval holds the first gain: {'yes' if holds else 'no'}"


def _said(program: list[str], folder: str) -> str:
    command = [*_PERFPROBE, "run", "-q", "-o", "made.perfprobe", *program]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    shown = [*_PERFPROBE, "threads", "made.perfprobe"]
    return subprocess.run(shown, cwd=folder, check=True, capture_output=True, text=True).stdout


def _swept(program: list[str], rounds: int, folder: str) -> dict[str, Any]:
    asked = ["--sweep", "1", "--rounds", str(rounds), "--time", "0", "--json", "--", *program]
    done = subprocess.run([*_PERFPROBE, "threads", *asked], cwd=folder, check=True, capture_output=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _cells(found: dict[str, Any]) -> list[str]:
    as_it_is, one = found["tables"]["settings"]
    interval = f"{one['low']:.2f}-{one['high']:.2f}"
    times = [f"{row['time_ns'] / 1e6:.1f} ms" for row in (as_it_is, one)]
    times.append("step" if found["meta"]["by_steps"] else "run")
    return [*times, f"{one['gain']:.2f}x", interval, str(one["pairs"]), found["recommended"] or "as it is"]
