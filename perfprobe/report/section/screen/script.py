"""The first screen of a program without steps: a script, a test, or a program without torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from perfprobe.report.rows.gpu.within import longest_cuda_call
from perfprobe.report.rows.imports import import_rows
from perfprobe.report.rows.operators import rows_of
from perfprobe.report.rows.screen import ScreenRow, listed, said
from perfprobe.report.section.hot_operators import why_none
from perfprobe.report.section.hottest import HottestOperator, LongPython, hottest_operator, longest_python
from perfprobe.report.section.imports import imports_text
from perfprobe.report.section.program import program
from perfprobe.report.section.screen.gpu_bound import gpu_bound_lines, is_gpu_bound
from perfprobe.report.section.screen.loader import slow_loader, worker_lines
from perfprobe.report.section.screen.named import by_name
from perfprobe.report.section.screen.places import has_lines, inputs, operator, place_in, whole_percent
from perfprobe.report.shorten import cut, place
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings, Hotspots
from perfprobe.tables.python import Calling
from perfprobe.tables.trace import Line

_PARTS = 3
_NAMED = 0.05  # an operator is named from this share of its line on
_NEGLIGIBLE = 0.05  # with a smaller share of the wall time, operators are not what is slow
_MOST = 0.5
_LONGEST = 60
_WORTH_SAYING = 0.1  # imports are named from this share of the wall time on


def script_lines(findings: Findings) -> Iterator[ScreenRow]:
    """Yields what ran, how long, and what was hottest."""
    yield head(findings)
    yield said("STEPS", "none found: no optimizer step, no repeated call of a module")
    yield from _operators(findings)
    yield from _imports(findings)
    yield from _slow(findings)
    yield from _unknown(findings)


def head(findings: Findings) -> ScreenRow:
    """What ran, and how long."""
    wall_ns, cpu_ns = findings.wall_ns, findings.trace.cpu_ns
    cpu = () if cpu_ns is None else (f", CPU {units.duration(cpu_ns)}",)
    label = cut(program(findings.trace), _LONGEST)
    return said(label, f"wall {units.duration(wall_ns)}", *cpu, style="bold", time_ns=wall_ns)


def _operators(findings: Findings) -> Iterator[ScreenRow]:
    hotspots, wall_ns = findings.get(Hotspots), findings.operators_wall_ns
    if hotspots is None or not wall_ns:
        return
    if hotspots.whole_rows == 0:
        yield said("PARTS", f"no operators{why_none(findings, hotspots)}")
        return
    share = hotspots.totals.busiest_ns / wall_ns
    where = " on the busiest thread" if hotspots.totals.threads > 1 else ""
    kept = "" if findings.whole else " (of what was kept)"
    yield said("PARTS", f"operators {units.percent(share)} of wall{where}{kept}", share=share)


def _long_calls(findings: Findings, found: HottestOperator) -> Iterator[ScreenRow]:
    """The operator of which long calls took most time, and the call of CUDA in it that took most of that."""
    ran, row = found.row.ran, found.row
    how_much = f"{units.duration(ran.self_ns)} = {units.percent(row.share)} of operator time"
    calls = f", in {ran.long_calls:,} of {ran.calls:,} calls"
    pieces = (f"{operator(row)}, {how_much}", calls, *place_in(ran.origin), inputs(row, ", "))
    facts: dict[str, Any] = {"time_ns": ran.self_ns, "share": row.share, "line": ran.origin}
    yield said("", *pieces, **facts)
    within = longest_cuda_call(findings, row)
    if within is not None:
        yield said("", f"{units.duration(within.time_ns)} of it in one call of {printable(within.name)}")


def _loader(findings: Findings) -> Iterator[ScreenRow]:
    """The workers of a DataLoader, if the program waited for them."""
    loader, wall_ns = slow_loader(findings), findings.wall_ns
    if loader is None or loader.waited_ns is None or not wall_ns:
        return
    share = loader.waited_ns / wall_ns
    text = f"data loading, {units.duration(loader.waited_ns)} = {whole_percent(share)} of wall"
    facts: dict[str, Any] = {"time_ns": loader.waited_ns, "share": share, "line": loader.line}
    yield said("SLOW", text, *place_in(loader.line), style="bold", **facts)
    yield from worker_lines(loader)


def _is_noteworthy(findings: Findings) -> bool:
    """Whether operators took so much of the time that the hottest of them may be the problem."""
    hotspots, wall_ns = findings.get(Hotspots), findings.operators_wall_ns
    return hotspots is not None and hotspots.totals.busiest_ns >= _WORTH_SAYING * (wall_ns or 0)


def _unknown(findings: Findings) -> Iterator[ScreenRow]:
    """Whether a trace has no lines, and how to record them."""
    if findings.trace.recording.is_trace and not has_lines(findings):
        yield said("UNKNOWN", "lines of the program", ": record with with_stack=True")


def _imports(findings: Findings) -> Iterator[ScreenRow]:
    calling, wall_ns = findings.get(Calling), findings.wall_ns
    rows = [] if calling is None else import_rows(findings.trace, calling)
    time_ns = sum(row.time_ns for row in rows)
    if wall_ns and time_ns >= _WORTH_SAYING * wall_ns:
        text = imports_text(rows).split(", ")
        share = time_ns / wall_ns
        yield said(
            "IMPORTS", f"{whole_percent(share)} of wall: ", *listed(text), time_ns=time_ns, share=share
        )


def _slow(findings: Findings) -> Iterator[ScreenRow]:
    """What takes the time: waiting for data or the hottest Python, and the hottest operator."""
    if is_gpu_bound(findings):
        yield from gpu_bound_lines(findings)
        return
    loader = list(_loader(findings))
    yield from loader
    if not loader:
        yield from _computing(findings)
    elif _is_noteworthy(findings):
        yield from _operator_lines(findings)


def _computing(findings: Findings) -> Iterator[ScreenRow]:
    """The longer of the hottest Python and the hottest operators. Imports have a line of their own."""
    python = [each for each in longest_python(findings) if not each.text.startswith("imports,")]
    lines = list(_operator_lines(findings)) if not python or _is_noteworthy(findings) else []
    of_python = [said("", f"Python: {each.text}") for each in python]
    if not python and _has_few_operators(findings):
        lines = [_not_operators(findings), *lines]
    elif python and not (lines and _is_longer(findings, lines[0], python)):
        lines, of_python = [*of_python, *lines], []
    for at, line in enumerate([*lines[:1], *of_python, *lines[1:]]):
        yield line if at else replace(line, label="SLOW", style="bold")


def _is_longer(findings: Findings, line: ScreenRow, python: Sequence[LongPython]) -> bool:
    """Whether these operators took longer than Python at any place, and than what happens only once."""
    busiest_ns = findings[Hotspots].totals.busiest_ns
    return not any(each.once for each in python) and (line.share or 0) * busiest_ns > python[0].time_ns


def _operator_lines(findings: Findings) -> Iterator[ScreenRow]:
    """The line or the operator with most operator time, and a note on it."""
    found = hottest_operator(findings)
    if found is not None and found.by_sum:
        yield from _long_calls(findings, found)
    elif found is not None:
        yield _line_of(findings) or _operator_of(found)
        if found.larger:
            yield said("", found.larger.rstrip("."))


def _has_few_operators(findings: Findings) -> bool:
    """Whether operators took so little of a recorded program's wall time that they are not what is slow."""
    hotspots, wall_ns = findings.get(Hotspots), findings.operators_wall_ns
    if hotspots is None or not wall_ns or findings.trace.recording.is_trace or not findings.whole:
        return False
    return hotspots.totals.busiest_ns < _NEGLIGIBLE * wall_ns


def _not_operators(findings: Findings) -> ScreenRow:
    """SLOW for a program that computed nearly nothing."""
    wall_ns, time_ns = findings.wall_ns, _imports_ns(findings)
    if wall_ns and time_ns >= _MOST * wall_ns:
        text = f"imports, {whole_percent(time_ns / wall_ns)} of wall; a longer run would not have more"
        return said("", text, time_ns=time_ns)
    return said("", "nothing stands out")


def _imports_ns(findings: Findings) -> int:
    calling = findings.get(Calling)
    return 0 if calling is None else sum(row.time_ns for row in import_rows(findings.trace, calling))


def _operator_of(found: HottestOperator) -> ScreenRow:
    share, _, more = found.share.partition("; ")
    line = found.row.ran.origin
    pieces = (f"{operator(found.row)}, {share}", *place_in(line), inputs(found.row, ", "))
    return said("", *pieces, f"; {more}" if more else "", share=found.row.share, line=line)


def _line_of(findings: Findings) -> ScreenRow | None:
    """The line with most operator time, if it has most of all and none of its rows has most of that."""
    rows, trace = findings[Hotspots].rows, findings.trace
    sums_ns: Counter[Line] = Counter()
    whole_ns, origins = (
        int(rows.typical_ns.sum()),
        list(zip(rows.frame.tolist(), rows.forward_frame.tolist(), strict=True)),
    )
    line_of = {frames: trace.line(frames[0]) or trace.line(frames[1]) for frames in set(origins)}
    for frames, typical_ns in zip(origins, rows.typical_ns.tolist(), strict=True):
        origin = line_of[frames]
        if origin is not None:
            sums_ns[origin] += typical_ns
    line = max(sums_ns, key=sums_ns.__getitem__, default=None)
    if line is None:
        return None
    of_line = rows.take(np.array([line_of[frames] == line for frames in origins], np.bool_))
    time_ns = sums_ns[line]
    if 2 * time_ns <= whole_ns or 2 * int(of_line.typical_ns.max()) >= time_ns:
        return None
    at = rows_of(findings, of_line)
    share = time_ns / whole_ns
    what = f"{place(line)}, {whole_percent(share)} of operator time"
    named = by_name((row, row.ran.typical_ns) for row in at)[:_PARTS]
    named = [each for each in named if each.time_ns >= _NAMED * time_ns]
    parts = (f"{each.name} {whole_percent(each.time_ns / whole_ns)}" for each in named)
    pieces = (*listed(parts, first=": "), f" in {printable(line.function)}")
    return said("", what, *pieces, share=share, line=line)
