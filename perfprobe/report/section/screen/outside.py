"""Time outside of operators in a run without steps: Python at a line, waiting, torch.compile."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.report.rows.named import is_nearly_all
from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.report.section.hottest import of_run
from perfprobe.report.section.screen.places import at_line, facts_of, place_in, whole_percent
from perfprobe.report.section.screen.source import loop_line
from perfprobe.report.shorten import place
from perfprobe.support import units
from perfprobe.support.first_line import bare
from perfprobe.support.text import printable
from perfprobe.tables.diagnoses import Base, Cause, Diagnosis, Short
from perfprobe.tables.findings import Findings
from perfprobe.tables.strings import Strings


def outside_row(findings: Findings, each: Diagnosis) -> ScreenRow:
    """`base.py:33, 4.10 s = 55 % of its running time, Python in merge`; or a function over several lines."""
    line, strings = findings.trace.line(each.frame), findings.trace.recording[Strings]
    of = of_run(findings) if each.base is Base.RUN else "of all threads' Python time"
    much = f"{units.duration(each.time_ns)} = {whole_percent(each.share)} {of}"
    called = printable(strings[each.called]) if each.called >= 0 else ""
    facts = facts_of(findings, each)
    if each.cause is Cause.COMPILE:
        return said("", f"torch.compile's own work, {much}", *place_in(line), **facts)
    if line is not None and each.lines is not None and not _is_most(each):
        begin, end = each.lines
        lines = f"{place(line).rpartition(':')[0]}:{begin}-{end}"
        most = f", {whole_percent(each.line_ns / each.time_ns * each.share)} at line {line.line}"
        return said("", f"{printable(bare(line.function))}, {much}, Python: {lines}", most, **facts)
    at = "" if line is None else f"{at_line(line)}, "
    if each.cause is Cause.WAITING:
        return said("", f"{at}{much}: the main thread waits", f" ({called})" if called else "", **facts)
    function = "" if line is None else printable(bare(line.function))
    pieces = [f"{at}{much}, Python", f" in {function}" if function else ""]
    if line is not None and not is_nearly_all(each.line_ns, each.time_ns):
        pieces.append(f", {whole_percent(each.line_ns / each.time_ns * each.share)} at that line")
    return said("", *filter(None, [*pieces, f", most of it in {called}" if called else ""]), **facts)


def short_rows(findings: Findings, each: Diagnosis, short: Short) -> Iterator[ScreenRow]:
    """`31,400 short operators, one every 2.69 us; most at render.py:264`, and the loop around that line."""
    line = findings.trace.line(each.frame)
    every = units.duration(each.time_ns / short.calls)
    text = f"{short.calls:,} short operators, one every {every}"
    yield said("", text, *place_in(line, "; most at "), **facts_of(findings, each))
    if line is not None:
        yield from loop_line(findings, line)
    yield said("", f"calling them takes the time: at most {whole_percent(short.of_data)} is work on data")


def _is_most(each: Diagnosis) -> bool:
    """Whether its line has most of the function's time."""
    return 2 * each.line_ns >= each.time_ns
