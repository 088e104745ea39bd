"""Operators by number of threads: the same calls are measured with each number, in turns in one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perfprobe.support.errors import UsageError
from perfprobe.tables.measurements import Estimate, Measurement, Measurements, Seen, Wanted
from perfprobe.tables.sweep import OperatorSweepRow, TimeOfThreads

_MOST_THREADS = 4096
_WORTH_IT = 1.05  # more threads must be faster by this factor to be recommended


def numbers(text: str) -> tuple[int, ...]:
    """The numbers of threads in a text such as `1,2,4`, sorted, each once.

    Raises:
        UsageError: a word is not a number of threads.
    """
    words = text.split(",")
    if not all(word.isascii() and word.isdecimal() and 0 < int(word) <= _MOST_THREADS for word in words):
        raise UsageError("not numbers of threads", text, "write them as in --sweep 1,2,4")
    return tuple(sorted({int(word) for word in words}))


def with_each(
    calls: Sequence[tuple[Wanted, Seen | None]], threads: Sequence[int]
) -> tuple[tuple[Wanted, Seen | None], ...]:
    """Returns each call with each of these numbers of threads."""
    return tuple((replace(wanted, threads=number), seen) for wanted, seen in calls for number in threads)


def rows(found: Measurements) -> list[OperatorSweepRow]:
    """A row for each call that was measured with several numbers of threads, in the order of the calls."""
    by_call: dict[Wanted, list[Measurement]] = {}
    for row in found.rows:
        if row.rotating is not None:
            by_call.setdefault(replace(row.wanted, threads=1), []).append(row)
    return [_row(call, measured) for call, measured in by_call.items() if len(measured) > 1]


def _row(call: Wanted, measured: Sequence[Measurement]) -> OperatorSweepRow:
    times = sorted(
        (TimeOfThreads(row.wanted.threads, row.rotating) for row in measured if row.rotating is not None),
        key=lambda each: each.threads,
    )
    fewest, best = times[0], _best(times)
    seen = measured[0].seen
    return OperatorSweepRow(
        operator=call.operator,
        signature=call.signature,
        line=seen.lines[0] if seen is not None and seen.lines else None,
        calls=None if seen is None else seen.calls,
        times=tuple(times),
        best=best.threads,
        speedup=fewest.time.value / best.time.value,
    )


def _best(times: Sequence[TimeOfThreads]) -> TimeOfThreads:
    """The best number of threads: the fewest such that no larger one is certainly faster by a twentieth."""
    best = times[0]
    for each in times[1:]:
        if _WORTH_IT * each.time.high < best.time.low:
            best = each
    return best


def totals_ns(found: Sequence[OperatorSweepRow]) -> dict[int, float]:
    """Time in ns of all calls in the program by number of threads, of operators measured with each number."""
    whole = {each.threads for row in found for each in row.times}
    complete = [row for row in found if row.calls and {each.threads for each in row.times} == whole]
    return {
        number: sum((row.calls or 0) * _of(row, number).value for row in complete)
        for number in sorted(whole)
        if complete
    }


def _of(row: OperatorSweepRow, threads: int) -> Estimate:
    return next(each.time for each in row.times if each.threads == threads)
