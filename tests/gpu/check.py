"""Checks on a machine with a GPU what cannot be checked without: `make gpu-check OUT=folder`.

Needs no network. Builds this tree, runs every check in a process of its own and with a limit of its own, and
ends within the deadline whatever they do. Into OUT go results.jsonl, summary.txt, output.txt and what the
checks record. The exit status is 1 where a check failed.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.gpu import machine, process, tree
from tests.gpu.listed import CHECKS, Check
from tests.gpu.result import FAIL, SKIP, Report, Result

ROOT = Path(__file__).resolve().parents[2]
_RESERVE_S = 10.0  # for writing the summary, and for processes that are slow to go


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the checks; the process's exit status."""
    args = parse(arguments)
    # So that what runs is killed, and the summary written.
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    end_s = end_in(args.deadline - _RESERVE_S)
    checks = [check for check in CHECKS if not args.only or check.name in args.only]
    report = Report(args.out)
    with tempfile.TemporaryDirectory(prefix="perfprobe-gpu-check-") as folder:
        try:
            run_all(checks, report, Path(folder), end_s, args)
        finally:
            status = report.close()
            signal.signal(signal.SIGTERM, before)
    return status


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.gpu.check", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this check (repeatable)")
    parser.add_argument("--deadline", type=float, default=540.0, metavar="SECONDS", help="for everything")
    parser.add_argument("--no-build", action="store_true", help="check the perfprobe that is installed")
    args = parser.parse_args(arguments)
    args.out = args.out.resolve()
    return args


def run_all(
    checks: Sequence[Check], report: Report, folder: Path, end_s: float, args: argparse.Namespace
) -> None:
    """One check after the other: two programs at a time would share the GPU, and its times would show it."""
    lack = machine.driver_lack()
    if lack is None and not args.no_build:
        built, output = tree.build(ROOT, ROOT / "build" / "gpu", end_s)
        report.add(built, output)
    installed = environment(None if args.no_build else tree.site(ROOT / "build" / "gpu"))
    for check in checks:
        if lack is not None and not (check.with_standin and machine.has_standin()):
            report.add(Result(check.name, SKIP, lack))
        else:
            run_one(check, report, folder, end_s, installed)


def end_in(seconds: float) -> float:
    """That time from now, of time.monotonic()."""
    return time.monotonic() + seconds


def environment(site: Path | None) -> dict[str, str]:
    """For the checks' processes: the perfprobe in that folder, or the one that is installed."""
    paths = [str(ROOT)] if site is None else [str(site), str(ROOT)]
    return {"PYTHONPATH": os.pathsep.join(paths), "PYTHONFAULTHANDLER": "1"}


def run_one(check: Check, report: Report, folder: Path, end_s: float, environment: Mapping[str, str]) -> None:
    """Run a check in a folder of its own, for its limit or what is left of the time."""
    left_s = end_s - time.monotonic()
    if left_s < 2:
        report.add(Result(check.name, FAIL, "not run: the time was used up"))
        return
    own = folder / check.name
    own.mkdir()
    child = [sys.executable, "-u", "-m", "tests.gpu.child"]
    words = [*child, check.function, report.folder, own / "result.json"]
    ended = process.run(words, min(check.limit_s, left_s), own, environment)
    report.add(read(check.name, own / "result.json", ended), ended.output)


def read(name: str, path: Path, ended: process.Ended) -> Result:
    """What the check wrote down of itself; where it could not, how its process ended."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = {"status": "", "reason": "", "said": {}}
    if not found["status"]:
        found["status"], found["reason"] = FAIL, f"{ended.how()}: {ended.last_line()}"
    return Result(name, found["status"], found["reason"], round(ended.seconds, 1), found["said"])


if __name__ == "__main__":
    sys.exit(main())
