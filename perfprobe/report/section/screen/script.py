"""The first screen of a program without steps: a script, a test, or a program without torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from perfprobe.report.rows.gpu.within import longest_cuda_call
from perfprobe.report.rows.named import is_named, is_nearly_all
from perfprobe.report.rows.operators import OperatorRow, rows_of
from perfprobe.report.rows.screen import ScreenRow, listed, said
from perfprobe.report.section.hot_operators import why_none
from perfprobe.report.section.hottest import HottestRow, hottest_row, imported_text, of_run
from perfprobe.report.section.program import program
from perfprobe.report.section.screen.device import device_lines, device_parts, judged_by_gpu
from perfprobe.report.section.screen.loader import awaited_loader, worker_lines
from perfprobe.report.section.screen.machine import starved_line
from perfprobe.report.section.screen.named import by_name
from perfprobe.report.section.screen.outside import outside_row, short_rows
from perfprobe.report.section.screen.places import has_lines, inputs, operator, place_in, whole_percent
from perfprobe.report.section.screen.shares import operators_line
from perfprobe.report.section.screen.source import source_line
from perfprobe.report.section.screen.tests import tests_line
from perfprobe.report.shorten import cut, place
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.diagnoses import Base, Cause, Diagnoses, Diagnosis, HottestOperator
from perfprobe.tables.findings import Findings, Hotspots
from perfprobe.tables.trace import Line

_PARTS = 3
_LONGEST = 60


def script_lines(findings: Findings) -> Iterator[ScreenRow]:
    """Yields what ran, how long, and what was hottest."""
    yield head(findings)
    yield from tests_line(findings)
    yield from starved_line(findings)
    yield said("STEPS", "none found: no optimizer step, no repeated call of a module")
    yield from [device_parts(findings)] if judged_by_gpu(findings) else _operators(findings)
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


def _long_calls(findings: Findings, row: OperatorRow) -> Iterator[ScreenRow]:
    """The operator of which long calls took most time, and the call of CUDA in it that took most of that."""
    ran = row.ran
    how_much = f"{units.duration(ran.self_ns)} = {units.percent(row.share)} of operator time"
    calls = f", in {ran.long_calls:,} of {ran.calls:,} calls"
    pieces = (f"{operator(row)}, {how_much}", calls, *place_in(ran.origin), inputs(row, ", "))
    facts: dict[str, Any] = {"time_ns": ran.self_ns, "share": row.share, "line": ran.origin}
    yield said("", *pieces, **facts)
    yield from _cuda_call(findings, row)


def _cuda_call(findings: Findings, row: OperatorRow) -> Iterator[ScreenRow]:
    """The call of CUDA that took most of an operator's time, if one did."""
    within = longest_cuda_call(findings, row)
    if within is not None:
        yield said("", f"{units.duration(within.time_ns)} of it in one call of {printable(within.name)}")


def _loader(findings: Findings, each: Diagnosis) -> Iterator[ScreenRow]:
    """Waiting for the workers of a DataLoader, and what they do."""
    loader = awaited_loader(findings)
    line = None if loader is None else loader.line
    text = f"data loading, {units.duration(each.time_ns)} = {whole_percent(each.share)} {of_run(findings)}"
    facts: dict[str, Any] = {"time_ns": each.time_ns, "share": each.share, "line": line}
    yield said("", text, *place_in(line), **facts)
    if loader is not None:
        yield from worker_lines(findings, loader)


def _unknown(findings: Findings) -> Iterator[ScreenRow]:
    """Whether a trace has no lines, and how to record them."""
    if findings.trace.recording.is_trace and not has_lines(findings):
        yield said("MORE", "lines of the program", ": record with with_stack=True")


def _imports(findings: Findings) -> Iterator[ScreenRow]:
    for each in findings[Diagnoses].of(Cause.IMPORTS):
        text = imported_text(findings).split(", ")
        facts: dict[str, Any] = {"time_ns": each.time_ns, "share": each.share}
        yield said("IMPORTS", f"{whole_percent(each.share)} {of_run(findings)}: ", *listed(text), **facts)


def _slow(findings: Findings) -> Iterator[ScreenRow]:
    """What takes the time: waiting for data, Python, operators. Imports have a line of their own."""
    judged = findings[Diagnoses]
    if judged_by_gpu(findings):
        for label, each in zip(("SLOW", "THEN"), judged.found, strict=False):
            yield from device_lines(findings, each, label)
        yield from operators_line(findings)
        return
    found = [each for each in judged.found if each.cause is not Cause.IMPORTS or each is judged.slow]
    parts = [_lines_of(findings, each) for each in found]
    if judged.slow is None and (found or _has_no_operators(findings)):
        parts = [([said("", "nothing stands out")], []), *parts]
    rows = [row for heads, _ in parts for row in heads] + [row for _, tail in parts for row in tail]
    for at, row in enumerate(rows):
        yield row if at else replace(row, label="SLOW", style="bold")
        if not at and row.line is not None and place(row.line) in row.text:
            yield from source_line(findings, row)


def _has_no_operators(findings: Findings) -> bool:
    """Whether a program was recorded to its end, in which no operator ran."""
    is_known = Hotspots in findings and bool(findings.operators_wall_ns)
    return is_known and findings.whole and not findings.trace.recording.is_trace


def _lines_of(findings: Findings, each: Diagnosis) -> tuple[list[ScreenRow], list[ScreenRow]]:
    """The lines about a judgement, and further ones that come last."""
    if each.cause is Cause.DATA:
        return list(_loader(findings, each)), []
    if each.cause is Cause.IMPORTS:
        text = f"imports, {whole_percent(each.share)} {of_run(findings)}; a longer run would not have more"
        return [said("", text, time_ns=each.time_ns)], []
    if each.short is not None:
        return list(short_rows(findings, each, each.short)), []
    if each.base is not Base.OPERATORS:
        return [outside_row(findings, each)], []
    head, *tail = _operator_lines(findings, each)
    return [head], tail


def _operator_lines(findings: Findings, each: Diagnosis) -> Iterator[ScreenRow]:
    """The line or the operator with most operator time, and a note on it."""
    found = hottest_row(findings)
    assert found is not None  # what was judged
    if findings[HottestOperator].by_sum:
        yield from _long_calls(findings, found.row)
        return
    if each.cause is Cause.LINE:
        yield _line_of(findings, each)
    else:
        yield _operator_of(findings, each, found)
        yield from _cuda_call(findings, found.row)
    if found.larger:
        yield said("", found.larger.rstrip("."))


def _operator_of(findings: Findings, each: Diagnosis, found: HottestRow) -> ScreenRow:
    share, _, more = found.share.partition("; ")
    line = found.row.ran.origin
    if is_nearly_all(found.row.share, each.share):
        return _one_of(found, share, more, line)
    rows = findings[Hotspots].rows
    number = int(np.count_nonzero((rows.name == each.name) & (rows.phase == rows.phase[each.row])))
    whole = f"{operator(found.row)} in {number:,} shapes, {whole_percent(each.share)} of operator time"
    most = inputs(found.row, f"; {whole_percent(found.row.share)} with ")
    return said("", whole, most, share=each.share, line=line)


def _one_of(found: HottestRow, share: str, more: str, line: Line | None) -> ScreenRow:
    pieces = (f"{operator(found.row)}, {share}", *place_in(line), inputs(found.row, ", "))
    return said("", *pieces, f"; {more}" if more else "", share=found.row.share, line=line)


def _line_of(findings: Findings, each: Diagnosis) -> ScreenRow:
    """A line with several operators, and the largest of them."""
    rows, trace = findings[Hotspots].rows, findings.trace
    line = trace.line(each.frame)
    assert line is not None  # what was judged
    origins = list(zip(rows.frame.tolist(), rows.forward_frame.tolist(), strict=True))
    is_there = {frames: (trace.line(frames[0]) or trace.line(frames[1])) == line for frames in set(origins)}
    at = rows_of(findings, rows.take(np.array([is_there[frames] for frames in origins], np.bool_)))
    what = f"{place(line)}, {whole_percent(each.share)} of operator time"
    named = by_name((row, row.ran.typical_ns, (row.signature,)) for row in at)[:_PARTS]
    named = [part for part in named if is_named(part.time_ns, each.time_ns)]
    parts = (f"{part.name} {whole_percent(part.time_ns / each.time_ns * each.share)}" for part in named)
    pieces = (*listed(parts, first=": "), f" in {printable(line.function)}")
    return said("", what, *pieces, share=each.share, line=line)
