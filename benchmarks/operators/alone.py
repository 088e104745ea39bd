"""Measures and judges one family of the suite, or calls one case repeatedly under another tool."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from benchmarks import harness
from benchmarks.operators.case import Case
from perfprobe.tables.measurements import Measurement, Wanted

_EPILOG = """\
with --once, --seconds, --warm or --wait one case is called repeatedly, for another tool to examine:
  vtune -collect hotspots -start-paused -- python -m benchmarks.operators.{name} --case "{case}" --seconds 10
  ncu --profile-from-start off python -m benchmarks.operators.{name} --case "{case}" --once
"""


def main(name: str, description: str | None, cases: Sequence[Case]) -> None:
    """Run `python -m benchmarks.operators.NAME`."""
    args = _options(name, description or "", cases)
    chosen = [case for case in cases if case.name in (args.case or [case.name])]
    if args.once or args.seconds or args.warm or args.wait:
        sys.exit(_under_a_tool(name, chosen[0], args))
    for case in chosen:
        print(f"{case.name}: {case.operator} {_short(case.inputs)}\n    {case.why}")
    print()
    measure_all({name: chosen}, args)


def _options(name: str, description: str, cases: Sequence[Case]) -> argparse.Namespace:
    epilog = _EPILOG.format(name=name, case=cases[0].name)
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        f"python -m benchmarks.operators.{name}", description=description, epilog=epilog, formatter_class=raw
    )
    names = [case.name for case in cases]
    parser.add_argument("--case", action="append", choices=names, metavar="NAME", help=f"of {names}")
    parser.add_argument("--once", action="store_true", help="call it once, warmed up")
    parser.add_argument("--seconds", type=float, help="call it for this long")
    parser.add_argument("--warm", action="store_true", help="use the same operands each time")
    parser.add_argument("--wait", action="store_true", help="wait before the hot calls, for a tool to attach")
    add_threads(parser)
    harness.add_options(parser)
    return parser.parse_args()


def add_threads(parser: argparse.ArgumentParser) -> None:
    """Adds the option for the number of torch's threads."""
    cores = len(os.sched_getaffinity(0))
    parser.add_argument("--threads", type=int, default=cores, help=f"of torch's pool ({cores})")


def measure_all(families: dict[str, Sequence[Case]], args: argparse.Namespace) -> None:
    """Measure the cases of all families together and print a line for each."""
    rows = [
        (family, case, wanted(case, args.threads)) for family, cases in families.items() for case in cases
    ]
    found = harness.measured([(call, None) for _, _, call in rows], harness.settings(args))
    for (family, case, _), one in zip(rows, found.rows, strict=False):  # fewer if it was interrupted
        print(_line(f"{family}: {case.name}", one))
    for note in (*found.notes, found.stopped or ""):
        print(note, end="\n" if note else "")
    harness.write(found.rows, args.json)


def wanted(case: Case, threads: int) -> Wanted:
    """The call in the form that the harness takes."""
    return Wanted(case.operator, case.inputs, case.inputs, case.values, threads)


def _line(name: str, found: Measurement) -> str:
    return f"{name:38.38} {harness.time(found):>10}  {harness.verdict(found)}"


def _under_a_tool(name: str, case: Case, args: argparse.Namespace) -> int:
    import torch

    from perfprobe.bench.emit import runner
    from perfprobe.bench.rebuild.recipes import recipe
    from perfprobe.bench.rebuild.schema import schemas

    call = recipe(wanted(case, args.threads), schemas(case.operator, torch)).plain()
    words = [f"--threads={args.threads}"]
    words += [f"--{word}" for word in ("once", "warm", "wait") if getattr(args, word)]
    words += [f"--seconds={args.seconds}"] if args.seconds else []
    return runner.run(call, f"{name}: {case.name}", args.threads, words=words)


def _short(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:117]}..."
