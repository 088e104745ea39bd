"""Notes below the table of Python functions: the sources of its figures."""

from __future__ import annotations

import math
from collections.abc import Iterator

from perfprobe.report.rows.hot_functions import HotFunctions
from perfprobe.report.rows.named import OF_NOTE, is_named
from perfprobe.report.section.block import Shown
from perfprobe.report.section.function_columns import OF_ALL, PART, names
from perfprobe.report.shorten import cut
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings

_LONGEST_NAME = 40
_REASONS = {
    "too costly": "it took more than 5 % of the time",
    "other profiler": "another profiler was started",
    "tracer": "the program set a trace function",
}


def notes(findings: Findings, found: HotFunctions, seen: Shown) -> Iterator[str]:
    """Sentences about the shown figures."""
    python, titles = found.python, seen.titles
    yield _sampled(found) if python.by_samples else _timed(findings)
    yield from _idle(findings, python.idle_ns or 0)
    if OF_ALL in titles:
        yield f"{OF_ALL}: of the {units.duration(python.threads_ns)} that functions took on all threads."
    if "ncalls" in titles:
        yield from _counted(findings, found)
    elif findings.trace.recording.counts_lost:
        yield "ncalls: not written yet when the program was killed or left without ending."
    if any(row.only_counted for row in found.rows):
        also = "; torch's are among the operators" if python.has_operators else ""
        yield f"(C functions) are seen only by cProfile; their time is also in their callers' tottime{also}."
    if "all ops" in titles:
        own = "own ops: operators that it called; " if "own ops" in titles else ""
        yield f"{own}all ops: with those called below it; backward counts at the forward call."
    if "non-ops" in titles:
        yield "non-ops: tottime outside of operators."
    if found.included:
        yield "C functions that take nearly all of their caller's time are left out."


def _idle(findings: Findings, idle_ns: int) -> Iterator[str]:
    if idle_ns and is_named(idle_ns, findings.wall_ns or 0, OF_NOTE):
        yield f"tottime excludes {units.duration(idle_ns)} of waiting on threads other than the main one."


def _sampled(found: HotFunctions) -> str:
    looks, sample_ns = found.python.looks, found.python.sample_ns or 0
    text = f"tottime, cumtime: {units.count(looks)} samples, one every {units.duration(sample_ns)}"
    first = next((row for row in found.rows if not row.only_counted), None)
    if first is not None and first.looks > 0:
        # At random times a count of n samples has a standard deviation of at most sqrt(n).
        name = cut(names([first.function])[0].rpartition(" ")[2], _LONGEST_NAME)
        error = units.percent(1 / math.sqrt(first.looks))
        text += f"; {units.count(first.looks)} of them in {name}, ±{error}"
    return f"{text}."


def _timed(findings: Findings) -> str:
    recording = findings.trace.recording
    cost_ns, text = recording.number("cprofile", "estimated_ns"), "tottime, cumtime: from cProfile"
    if cost_ns is not None and cost_ns > 0 and findings.wall_ns:
        calls = (recording.number("cprofile", "calls") or 0) + (recording.number("cprofile", "c_calls") or 0)
        share = units.percent(cost_ns / findings.wall_ns)
        about = f"less than {share[1:]}" if share.startswith("<") else f"about {share}"
        text += f"; counting {units.count(int(calls))} calls took {about} of wall"
    return f"{text}: code with many small calls seems slower than it is."


def _counted(findings: Findings, found: HotFunctions) -> Iterator[str]:
    recording, python = findings.trace.recording, found.python
    but = ""
    if recording.text("cprofile", "library_imports") == "not counted":
        but = ", without imports of libraries"
    if python.counts_end_ns is None:
        if python.by_samples:
            yield f"ncalls: from cProfile{but}."
        elif but:
            yield "Imports of libraries are not broken down: their time is in the tottime of exec."
        return
    start_ns, wall_ns = findings.trace.start_ns, findings.wall_ns
    of_part = f"ncalls{PART}" if python.by_samples else f"Times and ncalls{PART}"
    if recording.counts_cut_ns is not None:
        yield f"{of_part}: from cProfile{but}, {_last_written(python.counts_end_ns, start_ns)}."
        return
    when = ""
    if start_ns is not None and wall_ns:
        until = units.duration(max(python.counts_end_ns - start_ns, 0))
        when = f" after {until} of {units.duration(wall_ns)}"
    reason = recording.text("cprofile", "reason")
    why = f": {printable(_REASONS.get(reason, reason))}" if reason else ""
    yield f"{of_part}: from cProfile{but}; it was switched off{when}{why}."


def _last_written(end_ns: int, start_ns: int | None) -> str:
    after = "" if start_ns is None else f" {units.duration(max(end_ns - start_ns, 0))} after the start"
    return f"last written{after} (the program was killed or left without ending)"
