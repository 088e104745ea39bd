"""Judges calls that no rule was developed with, as `perfprobe bench --time 0` does, beside busy loops.

Prints the verdicts of each call by run, then how many runs were wrong (a definite verdict that is not the
expected one, or a missing modifier), how many gave a definite verdict, and how many calls had the same class
in all runs.

    python -m benchmarks.unprepared [--runs 3] [--loops 4] [--json FILE]
    python -m benchmarks.unprepared --kept FILE ...    judges earlier measurements by today's rules
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks import harness, judgements
from benchmarks.expected.expectation import BELOW, SLOW, Expected
from benchmarks.overhead.tables import markdown
from benchmarks.unprepared.products import PRODUCTS
from benchmarks.unprepared.slow import SLOW_CALLS
from benchmarks.unprepared.small_and_fresh import FRESH, SMALL
from benchmarks.unprepared.streams import STREAMS
from perfprobe.bench.measure import BenchSettings
from perfprobe.models.verdicts import judge
from perfprobe.tables import measured_file
from perfprobe.tables.measurements import Measurement, Wanted

_SUMMARY = ("calls", "wrong", "definite", "same word in all runs", "same class as expected of it")
CALLS = (*PRODUCTS, *STREAMS, *SLOW_CALLS, *SMALL, *FRESH)
NO_ANSWER = (
    "unstable",
    "ambiguous",
    "unjudged",
    "model error",
    "not rebuilt",
    "not reproduced",
    "no verdict",
)


def main() -> None:
    """Measure all calls in each run; print and save the results after each run."""
    args = _options()
    runs: list[Sequence[Measurement]] = [run for path in args.kept for run in _kept(path)]
    for run in range(0 if args.kept else args.runs):
        began_s = time.monotonic()
        with harness.busy(args.loops):
            runs.append(harness.all_measured([(_wanted(one), None) for one in CALLS], BenchSettings()))
        print(f"run {run + 1} of {args.runs}: {time.monotonic() - began_s:.0f} s", flush=True)
        if args.json is not None:
            args.json.write_text(json.dumps([[asdict(one) for one in each] for each in runs], indent=1))
    print(markdown(["call", "expected", "found", "wrong"], _rows(runs)))
    print(markdown(_SUMMARY, [_summary(runs)]))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.unprepared", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--loops", type=int, default=4, help="busy loops beside it (4)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all that was measured")
    parser.add_argument(
        "--kept", type=Path, nargs="+", default=[], metavar="FILE", help="of --json: judge these"
    )
    return parser.parse_args()


def _kept(path: Path) -> list[list[Measurement]]:
    """The runs of a file, judged by today's rules."""
    found = [[measured_file.measurement(row) for row in run] for run in json.loads(path.read_text())]
    return [[replace(one, verdict=judge(one)) for one in run] for run in found]


def _wanted(expected: Expected) -> Wanted:
    return Wanted(expected.operator, expected.inputs, expected.inputs, expected.values, expected.threads)


def is_definite(found: Measurement) -> bool:
    """Whether the verdict is one that a user can act on."""
    return harness.kind(found) not in NO_ANSWER


def _wrong(expected: Expected, found: Measurement) -> str:
    return (judgements.wrong(expected, found) or "") if is_definite(found) else ""


def _rows(runs: Sequence[Sequence[Measurement]]) -> list[list[str]]:
    return [
        [
            expected.name,
            " or ".join(expected.kinds) or " or ".join(expected.modifiers),
            "; ".join(dict.fromkeys(map(harness.verdict, found))),
            "; ".join(dict.fromkeys(filter(None, (_wrong(expected, one) for one in found)))),
        ]
        for expected, *found in zip(CALLS, *runs, strict=True)
    ]


def _summary(runs: Sequence[Sequence[Measurement]]) -> list[str]:
    every = [(expected, found) for run in runs for expected, found in zip(CALLS, run, strict=True)]
    wrong = sum(bool(_wrong(expected, found)) for expected, found in every)
    definite = sum(is_definite(found) for _, found in every)
    together = list(zip(*runs, strict=True))
    same = sum(len(set(map(harness.kind, found))) == 1 for found in together)
    of_class = sum(len(set(map(_class, found))) == 1 for found in together)
    counted = ((wrong, len(every)), (definite, len(every)), (same, len(CALLS)), (of_class, len(CALLS)))
    return [str(len(CALLS)), *(_share(count, of) for count, of in counted)]


def _class(found: Measurement) -> str:
    """The class as in expectations: the two slow verdicts are one class."""
    kind = harness.kind(found)
    return BELOW if kind in SLOW else kind


def _share(count: int, of: int) -> str:
    return f"{count} of {of} ({count / of:.1%})"


if __name__ == "__main__":
    main()
