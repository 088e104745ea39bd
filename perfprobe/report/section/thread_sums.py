"""The sums of the times of a thread's Python functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perfprobe.report.rows.functions import PythonRow
from perfprobe.report.rows.named import OF_ROW, is_named
from perfprobe.report.rows.threads import ThreadRow
from perfprobe.report.shorten import cut
from perfprobe.support import units
from perfprobe.support.text import printable

_MOST_THREADS = 4
_LONGEST_NAME = 40


def thread_sums(threads: Sequence[ThreadRow], python: PythonRow) -> Iterator[str]:
    """`MainThread: wall 5.02 s = functions 99.1 % + no Python 0.5 % + the rest 0.4 %`, the longest first."""
    in_order = sorted(threads, key=lambda row: -1 if row.wall_ns is None else row.wall_ns, reverse=True)
    for row in in_order[:_MOST_THREADS]:
        yield f"{_name(row)}: {_sum(row, python)}"
    if len(threads) > _MOST_THREADS:
        yield f"and {len(threads) - _MOST_THREADS:,} more threads (in the JSON)."


def _name(row: ThreadRow) -> str:
    if row.os_thread is None:
        return "a thread"
    if row.is_main:
        return "main thread"
    return cut(printable(row.own_name or ""), _LONGEST_NAME) or f"thread {row.os_thread}"


def _sum(row: ThreadRow, python: PythonRow) -> str:
    parts = {
        "functions": row.own_ns,
        "perfprobe": row.perfprobe_ns,
        "no Python": row.no_python_ns,
        "not readable": row.failed_ns,
    }
    known = {name: time_ns for name, time_ns in parts.items() if time_ns}
    wall_ns = row.wall_ns
    if not wall_ns:
        return ", ".join(f"{name} {units.duration(time_ns)}" for name, time_ns in known.items())
    rest_ns = wall_ns - sum(known.values())
    if rest_ns > 0:
        known["not sampled" if python.by_samples else "outside of them"] = rest_ns
    shares = [f"{name} {units.percent(time_ns / wall_ns)}" for name, time_ns in known.items()]
    more = f" ({units.percent(-rest_ns / wall_ns)} too much)" if is_named(-rest_ns, wall_ns, OF_ROW) else ""
    return f"wall {units.duration(wall_ns)} = {' + '.join(shares)}{more}"
