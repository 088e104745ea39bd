"""What stands below the table of Python functions: where its figures come from and what they add up to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from perfprobe.report.columns import Placed
from perfprobe.report.function_columns import PART, only_counted
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.python import Calling, FunctionRows, Look
from perfprobe.tables.trace import Trace

_MOST_THREADS = 4
_LONGEST_NAME = 40


def sample_ns(calling: Calling) -> int:
    """How much time one look of the sampler stands for, 0 without a sampler."""
    samples = calling.python.samples
    if not calling.by_samples or len(samples) == 0:
        return 0
    return int((samples.end_ns - samples.start_ns).sum()) // max(int(samples.looks.sum()), 1)


def notes(
    findings: Findings, calling: Calling, shown: FunctionRows, placed: Sequence[Placed]
) -> Iterator[str]:
    """Sentences on the figures that are shown."""
    titles = {column.title for column, _ in placed}
    if calling.by_samples:
        yield _sampled(calling, shown)
    else:
        yield _timed(findings, calling)
    if "ncalls" in titles:
        yield from _counted(findings, calling)
    if bool(only_counted(calling, shown).any()):
        yield "(C functions) are seen by cProfile only: their time is in their callers' tottime too."
    if "all ops" in titles:
        own = "own ops, all ops: operators" if "own ops" in titles else "all ops: operators"
        yield f"{own} called from there, and below; backward counts at the forward call."
    if "non-ops" in titles:
        yield "non-ops: tottime in no operator."


def _sampled(calling: Calling, shown: FunctionRows) -> str:
    looks = int(calling.python.samples.looks.sum())
    text = f"tottime, cumtime: {units.count(looks)} samples, one every {units.duration(sample_ns(calling))}"
    of_first = looks_of(calling, shown)
    if of_first > 0:
        # A count of n has a standard deviation of sqrt(n) at most, were the samples at random times.
        text += f"; the first row's {units.count(of_first)} are ±{units.percent(1 / math.sqrt(of_first))}"
    return f"{text}."


def looks_of(calling: Calling, shown: FunctionRows) -> int:
    """How many samples found the first of the rows running."""
    sampled = calling.sampled
    code = calling.python.of_stack[sampled.stack]
    return int(sampled.looks[(code == shown.code[0]) & (sampled.look == Look.READ)].sum())


def _timed(findings: Findings, calling: Calling) -> str:
    calls = calling.python.counted.calls
    number = int(calls[calls >= 0].sum())
    text = "tottime, cumtime: cProfile's"
    call_ns = findings.trace.recording.number("cprofile", "call_ns")
    if call_ns is not None and call_ns > 0 and findings.wall_ns:
        share = units.percent(number * call_ns / findings.wall_ns)
        text += f"; {units.count(number)} calls x {units.duration(call_ns)} are {share} of wall"
    return f"{text}, which makes much called functions seem slower than they are."


def _counted(findings: Findings, calling: Calling) -> Iterator[str]:
    if calling.counts_end_ns is None:
        if calling.by_samples:
            yield "ncalls: cProfile's."
        return
    start_ns, wall_ns = findings.trace.start_ns, findings.wall_ns
    when = ""
    if start_ns is not None and wall_ns:
        when = f" {units.duration(max(calling.counts_end_ns - start_ns, 0))} of {units.duration(wall_ns)}"
    reason = findings.trace.recording.text("cprofile", "reason")
    why = f": {printable(reason)}" if reason else ""
    yield f"ncalls{PART}: counted only until cProfile was switched off at{when}{why}."


def thread_sums(trace: Trace, calling: Calling) -> Iterator[str]:
    """`MainThread: wall 5.02 s = functions 99.1 % + no Python 0.5 % + the rest 0.4 %`, the longest first."""
    threads = calling.threads
    order = np.argsort(-threads.wall_ns, kind="stable")
    for at in order[:_MOST_THREADS].tolist():
        yield f"{_name(trace, int(threads.thread[at]))}: {_sum(calling, at)}"
    if len(order) > _MOST_THREADS:
        yield f"and {len(order) - _MOST_THREADS:,} more threads (in the JSON)."


def _name(trace: Trace, thread: int) -> str:
    threads = trace.recording.threads
    if not 0 <= thread < len(threads):
        return "a thread"
    name = int(threads.name[thread])
    text = trace.recording.strings[name] if name >= 0 else ""
    return printable(text)[:_LONGEST_NAME] or f"thread {int(threads.os_thread[thread])}"


def _sum(calling: Calling, at: int) -> str:
    threads = calling.threads
    wall_ns = int(threads.wall_ns[at])
    parts = {
        "functions": int(threads.own_ns[at]),
        "perfprobe": int(threads.perfprobe_ns[at]),
        "no Python": int(threads.no_python_ns[at]),
        "not readable": int(threads.failed_ns[at]),
    }
    known = {name: time_ns for name, time_ns in parts.items() if time_ns >= 0}
    if wall_ns <= 0:
        return ", ".join(f"{name} {units.duration(time_ns)}" for name, time_ns in known.items())
    known["not looked at" if calling.by_samples else "outside of them"] = wall_ns - sum(known.values())
    shares = [f"{name} {units.percent(time_ns / wall_ns)}" for name, time_ns in known.items() if time_ns]
    return f"wall {units.duration(wall_ns)} = {' + '.join(shares)}"
