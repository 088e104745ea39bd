"""What stands below the table of Python functions: where its figures come from and what they add up to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from perfprobe.report.render.columns import Placed
from perfprobe.report.section.function_columns import (
    OF_ALL,
    PART,
    has_operators,
    names,
    only_counted,
    threads_ns,
)
from perfprobe.report.shorten import cut
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.events import Threads
from perfprobe.tables.findings import Findings
from perfprobe.tables.python import Calling, FunctionRows, Look, SampledStacks
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

_FEW = 5  # samples, of which no share can be told
_MOST_THREADS = 4
_LONGEST_NAME = 40
_NOTEWORTHY = 0.005  # of wall time
_REASONS = {
    "too costly": "it took more than 10 % of a second",
    "other profiler": "another profiler was started",
    "tracer": "the program set a trace function",
}


def sample_ns(calling: Calling) -> int:
    """How much time one look of the sampler stands for, 0 without a sampler."""
    samples = calling.python.samples
    if not calling.by_samples or len(samples) == 0:
        return 0
    return int((samples.end_ns - samples.start_ns).sum()) // max(int(samples.looks.sum()), 1)


def has_few_samples(calling: Calling) -> bool:
    """Whether there are samples, but too few to tell anything."""
    return calling.by_samples and int(calling.python.samples.looks.sum()) < _FEW


def by_cprofile(calling: Calling) -> Calling:
    """The same with cProfile's times in place of the samples'; none where it did not count to the end."""
    rows = calling.functions
    is_whole = calling.counts_end_ns is None
    own_ns, total_ns = rows.counted_own_ns, rows.counted_total_ns
    rows = replace(
        rows,
        own_ns=own_ns,
        total_ns=total_ns,
        neither_ns=np.full(len(rows), -1, np.int64),
    )
    rows = rows.take((own_ns >= 0) & is_whole)
    return replace(calling, functions=rows, sampled=SampledStacks.empty(), by_samples=False)


def notes(
    findings: Findings, calling: Calling, shown: FunctionRows, placed: Sequence[Placed]
) -> Iterator[str]:
    """Sentences on the figures that are shown."""
    titles = {column.title for column, _ in placed}
    yield _sampled(findings.trace, calling, shown) if calling.by_samples else _timed(findings)
    if OF_ALL in titles:
        yield f"{OF_ALL}: of the {units.duration(threads_ns(calling))} that functions took on all threads."
    if "ncalls" in titles:
        yield from _counted(findings, calling)
    elif findings.trace.recording.counts_lost:
        yield "ncalls: not written yet when the program was killed or left without ending."
    if bool(only_counted(calling, shown).any()):
        also = "; torch's are among the operators" if has_operators(calling) else ""
        yield f"(C functions) are seen by cProfile only, their time is in their callers' tottime too{also}."
    if "all ops" in titles:
        own = "own ops, all ops: operators" if "own ops" in titles else "all ops: operators"
        yield f"{own} called from there, and below; backward counts at the forward call."
    if "non-ops" in titles:
        yield "non-ops: tottime in no operator."


def _sampled(trace: Trace, calling: Calling, shown: FunctionRows) -> str:
    looks = int(calling.python.samples.looks.sum())
    text = f"tottime, cumtime: {units.count(looks)} samples, one every {units.duration(sample_ns(calling))}"
    first = shown.take(~only_counted(calling, shown)).take(slice(1))
    found = looks_of(calling, first)
    if found > 0:
        # A count of n has a standard deviation of sqrt(n) at most, were the samples at random times.
        name = cut(names(trace, calling.python.code, first)[0].rpartition(" ")[2], _LONGEST_NAME)
        text += f"; the {units.count(found)} in {name} are ±{units.percent(1 / math.sqrt(found))}"
    return f"{text}."


def looks_of(calling: Calling, row: FunctionRows) -> int:
    """How many samples found the function running."""
    sampled = calling.sampled
    found = np.isin(calling.python.of_stack[sampled.stack], row.code) & (sampled.look == Look.READ)
    return int(sampled.looks[found].sum())


def _timed(findings: Findings) -> str:
    recording = findings.trace.recording
    cost_ns, text = recording.number("cprofile", "estimated_ns"), "tottime, cumtime: cProfile's"
    if cost_ns is not None and cost_ns > 0 and findings.wall_ns:
        calls = (recording.number("cprofile", "calls") or 0) + (recording.number("cprofile", "c_calls") or 0)
        share = units.percent(cost_ns / findings.wall_ns)
        about = f"less than {share[1:]}" if share.startswith("<") else f"about {share}"
        text += f"; counting {units.count(int(calls))} calls took {about} of wall"
    return f"{text}: code of many small calls seems slower than it is."


def _counted(findings: Findings, calling: Calling) -> Iterator[str]:
    recording = findings.trace.recording
    but = ""
    if recording.text("cprofile", "library_imports") == "not counted":
        but = ", without the imports of libraries"
    if calling.counts_end_ns is None:
        if calling.by_samples:
            yield f"ncalls: cProfile's{but}."
        elif but:
            yield "The imports of libraries are not looked into: their time is in the tottime of exec."
        return
    start_ns, wall_ns = findings.trace.start_ns, findings.wall_ns
    of_part = f"ncalls{PART}" if calling.by_samples else f"Times and ncalls{PART}"
    if recording.counts_cut_ns is not None:
        yield f"{of_part}: cProfile's{but}, {_last_written(calling.counts_end_ns, start_ns)}."
        return
    when = ""
    if start_ns is not None and wall_ns:
        until = units.duration(max(calling.counts_end_ns - start_ns, 0))
        when = f" after {until} of {units.duration(wall_ns)}"
    reason = recording.text("cprofile", "reason")
    why = f": {printable(_REASONS.get(reason, reason))}" if reason else ""
    yield f"{of_part}: cProfile's{but}, which was switched off{when}{why}."


def _last_written(end_ns: int, start_ns: int | None) -> str:
    after = "" if start_ns is None else f" {units.duration(max(end_ns - start_ns, 0))} after the start"
    return f"last written{after} (the program was killed or left without ending)"


def thread_sums(trace: Trace, calling: Calling) -> Iterator[str]:
    """`MainThread: wall 5.02 s = functions 99.1 % + no Python 0.5 % + the rest 0.4 %`, the longest first."""
    threads = calling.threads
    order = np.argsort(-threads.wall_ns, kind="stable")
    for at in order[:_MOST_THREADS].tolist():
        yield f"{_name(trace, int(threads.thread[at]))}: {_sum(calling, at)}"
    if len(order) > _MOST_THREADS:
        yield f"and {len(order) - _MOST_THREADS:,} more threads (in the JSON)."


def _name(trace: Trace, thread: int) -> str:
    recording = trace.recording
    if not 0 <= thread < len(recording[Threads]):
        return "a thread"
    number, name = int(recording[Threads].os_thread[thread]), int(recording[Threads].name[thread])
    is_main = recording.main_thread()[:-1]
    if bool(is_main[thread]):
        return "main thread"
    text = recording.text("python_threads", str(number)) or recording[Strings][name]
    if text in (recording[Strings][at] for at in recording[Threads].name[is_main].tolist()):
        text = ""  # the kernel's name for a thread that was given none is that of the program
    return cut(printable(text), _LONGEST_NAME) or f"thread {number}"


def _sum(calling: Calling, at: int) -> str:
    threads = calling.threads
    wall_ns = int(threads.wall_ns[at])
    parts = {
        "functions": int(threads.own_ns[at]),
        "perfprobe": int(threads.perfprobe_ns[at]),
        "no Python": int(threads.no_python_ns[at]),
        "not readable": int(threads.failed_ns[at]),
    }
    known = {name: time_ns for name, time_ns in parts.items() if time_ns > 0}
    if wall_ns <= 0:
        return ", ".join(f"{name} {units.duration(time_ns)}" for name, time_ns in known.items())
    rest_ns = wall_ns - sum(known.values())
    if rest_ns > 0:
        known["not looked at" if calling.by_samples else "outside of them"] = rest_ns
    shares = [f"{name} {units.percent(time_ns / wall_ns)}" for name, time_ns in known.items()]
    more = f" ({units.percent(-rest_ns / wall_ns)} too much)" if -rest_ns > _NOTEWORTHY * wall_ns else ""
    return f"wall {units.duration(wall_ns)} = {' + '.join(shares)}{more}"
