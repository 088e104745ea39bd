"""Judges the operators of benchmarks/expected repeatedly and counts verdicts that are not as expected.

With --load, does it again beside busy loops, two for each core: verdicts must stay, only the contention may
rise.

    python -m benchmarks.judgements [--lists good,bad] [--runs 5] [--load]
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from statistics import median

from benchmarks import harness
from benchmarks.expected import LISTS
from benchmarks.expected.expectation import BELOW, SLOW, Expected
from benchmarks.overhead.tables import markdown
from perfprobe.tables.measurements import Measurement, Wanted

_SLOW_BELOW = 0.6


@dataclass
class Judged:
    """One expectation and the result of each run. loaded: results beside busy loops."""

    of: str
    expected: Expected
    quiet: list[Measurement] = field(default_factory=list)
    loaded: list[Measurement] = field(default_factory=list)


def wrong(expected: Expected, found: Measurement) -> str | None:
    """What differs from the expectation; None if nothing does."""
    if found.verdict is None:
        return found.not_rebuilt or "no verdict"
    is_right = not expected.kinds or found.verdict.kind in expected.kinds or _is_between(expected, found)
    said = found.verdict.modifiers
    counted = {one.kind for one in found.counterfactuals}
    complaints = [
        "" if is_right else found.verdict.text,
        "" if not expected.modifiers or _any(expected.modifiers, said) else f"not {expected.modifiers[0]}",
        *(modifier for modifier in said if _any(expected.never, (modifier,))),
        *(f"{kind} was not measured" for kind in expected.measured if kind not in counted),
    ]
    return "; ".join(filter(None, complaints)) or None


def _is_between(expected: Expected, found: Measurement) -> bool:
    """Whether the verdict is ambiguous between two verdicts that are both expected."""
    assert found.verdict is not None
    nearest = harness.nearest(found)
    is_slow = set(SLOW) <= set(expected.kinds) and nearest is not None and nearest.fraction.high < _SLOW_BELOW
    return found.verdict.kind == "ambiguous" and is_slow


def _any(words: Sequence[str], modifiers: Sequence[str]) -> bool:
    return any(modifier.startswith(word) for modifier in modifiers for word in words)


def main() -> None:
    """Judge, print each expectation, then print the error rates."""
    args = _options()
    names = args.lists.split(",") if args.lists else list(LISTS)
    judged = [Judged(name, expected) for name in names for expected in LISTS[name]]
    for run in range(args.runs):
        _judge(judged, args, 0, run)
    for run in range(args.runs if args.load else 0):
        _judge(judged, args, 2 * len(os.sched_getaffinity(0)), run)
    print(markdown(["expected", "verdicts", "under load", "contention", "wrong"], map(_row, judged)))
    print()
    head = ["list", "calls", "wrong", "wrong under load", "another class under load"]
    print(markdown(head, [_summary(name, [one for one in judged if one.of == name]) for name in names]))
    harness.write([found for one in judged for found in (*one.quiet, *one.loaded)], args.json)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.judgements", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--lists", metavar="NAMES", help=f"separated by commas, of {', '.join(LISTS)}")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--load", action="store_true", help="also beside busy loops")
    harness.add_options(parser, seconds=0.3)
    return parser.parse_args()


def _judge(judged: Sequence[Judged], args: argparse.Namespace, loops: int, run: int) -> None:
    calls = [
        (Wanted(one.operator, one.inputs, one.inputs, one.values, one.threads), None)
        for one in (each.expected for each in judged)
    ]
    began_s = time.monotonic()
    with harness.busy(loops) if loops else nullcontext():
        found = harness.all_measured(calls, harness.settings(args))
    for one, measurement in zip(judged, found, strict=True):
        (one.loaded if loops else one.quiet).append(measurement)
    beside = f" beside {loops} busy loops" if loops else ""
    print(f"run {run + 1} of {args.runs}{beside}: {time.monotonic() - began_s:.0f} s", flush=True)


def _row(one: Judged) -> list[str]:
    complaints = Counter(filter(None, (wrong(one.expected, found) for found in (*one.quiet, *one.loaded))))
    contention = " / ".join(filter(None, (_contention(one.quiet), _contention(one.loaded))))
    return [
        f"{one.of}: {one.expected.name}",
        _kinds(one.quiet),
        _kinds(one.loaded),
        contention,
        "; ".join(f"{count}x {complaint}" for complaint, count in complaints.items()),
    ]


def _kinds(found: Sequence[Measurement]) -> str:
    counted = Counter(map(harness.kind, found))
    return ", ".join(f"{count}x {kind}" for kind, count in counted.most_common())


def _contention(found: Sequence[Measurement]) -> str:
    seen = [one.contention for one in found if one.contention is not None]
    return f"{median(seen):.2f}" if seen else ""


def _summary(name: str, judged: Sequence[Judged]) -> list[str]:
    changed = [one for one in judged if one.loaded and _class(one.quiet) != _class(one.loaded)]
    return [
        name,
        str(len(judged)),
        _errors(judged, "quiet"),
        _errors(judged, "loaded"),
        f"{len(changed)} of {len(judged)}",
    ]


def _errors(judged: Sequence[Judged], which: str) -> str:
    found = [wrong(one.expected, measurement) for one in judged for measurement in getattr(one, which)]
    bad = sum(complaint is not None for complaint in found)
    return f"{bad} of {len(found)} ({bad / len(found):.1%})" if found else "-"


def _class(found: Sequence[Measurement]) -> str:
    """The verdict of most runs. The two slow verdicts count as one."""
    kinds = Counter(BELOW if harness.kind(one) in SLOW else harness.kind(one) for one in found)
    return kinds.most_common(1)[0][0]


if __name__ == "__main__":
    main()
