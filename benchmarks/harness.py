"""Measures calls as `perfprobe bench` does. Shared by these scripts: options, progress, words of verdicts."""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from perfprobe.bench.measure import BenchSettings, measure
from perfprobe.support import units
from perfprobe.tables.measurements import Bound, Measurement, Measurements, Seen, Wanted

Calls = Sequence[tuple[Wanted, Seen | None]]


def add_options(parser: argparse.ArgumentParser, *, processes: int = 3, seconds: float = 0.5) -> None:
    """Adds options for how thoroughly to measure."""
    parser.add_argument("--processes", type=int, default=processes, help=f"that measure ({processes})")
    parser.add_argument(
        "--case-seconds", type=float, default=seconds, help=f"CPU time for each case and process ({seconds})"
    )
    parser.add_argument("--quick", action="store_true", help="one process, and no counterfactuals")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all that was measured")


def settings(args: argparse.Namespace, *, counterfactuals: bool = True) -> BenchSettings:
    """Settings from the options. A case may take two more processes if the processes disagree."""
    processes = 1 if args.quick else args.processes
    return BenchSettings(
        processes=processes,
        most_processes=processes + (0 if args.quick else 2),
        seconds=args.case_seconds,
        counterfactuals=counterfactuals and not args.quick,
    )


def measured(calls: Calls, chosen: BenchSettings) -> Measurements:
    """Measures the calls, with progress on standard error."""
    try:
        return measure(calls, chosen, _progress)
    finally:
        print("\r\x1b[K" if sys.stderr.isatty() else "", end="", file=sys.stderr, flush=True)


def all_measured(calls: Calls, chosen: BenchSettings) -> tuple[Measurement, ...]:
    """A measurement for each call. Raises SystemExit if it was interrupted."""
    found = measured(calls, chosen)
    if found.stopped is not None:
        raise SystemExit(found.stopped)
    return found.rows


def _progress(done: int, count: int, seconds_left: float | None, what: str) -> None:
    if sys.stderr.isatty():
        left = "" if seconds_left is None else f", {seconds_left:.0f} s left"
        print(f"\r\x1b[K{done}/{count}{left}  {what[:80]}", end="", file=sys.stderr, flush=True)


def write(found: Sequence[object], path: Path | None) -> None:
    """Writes dataclasses as JSON if a file was named."""
    if path is not None:
        text = json.dumps([asdict(one) for one in found], indent=1)  # type: ignore[call-overload]
        path.write_text(text + "\n", encoding="utf-8")


def kind(found: Measurement) -> str:
    """The verdict's first words."""
    return "no verdict" if found.verdict is None else found.verdict.kind


def verdict(found: Measurement) -> str:
    """The whole verdict, with modifiers."""
    if found.verdict is None:
        return found.not_rebuilt or "no verdict"
    return " · ".join([found.verdict.text, *found.verdict.modifiers])


def nearest(found: Measurement) -> Bound | None:
    """The limit that is nearest: the one with the largest part of the time."""
    limits = [bound for bound in found.bounds if bound.kind != "overhead"]
    return max(limits, key=lambda bound: bound.fraction.value, default=None)


def time(found: Measurement) -> str:
    """The time of a call, as text."""
    return "-" if found.rotating is None else units.duration(found.rotating.value)


@contextlib.contextmanager
def busy(loops: int) -> Iterator[None]:
    """Runs this many processes that only compute.

    Each has its own session: Linux shares processors among sessions first, so busy processes of one session
    would only compete with each other.
    """
    command = [sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(command, start_new_session=True) for _ in range(loops)]
    try:
        yield
    finally:
        for process in running:
            process.send_signal(signal.SIGKILL)
            process.wait()
