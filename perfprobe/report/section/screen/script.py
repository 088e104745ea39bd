"""The first screen of a program without steps: a script, a test, or a program without torch."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.report.rows.imports import import_rows
from perfprobe.report.rows.screen import ScreenRow, listed, said
from perfprobe.report.section.block import Paragraph
from perfprobe.report.section.hot_operators import why_none
from perfprobe.report.section.hottest import hottest_operator, hottest_python
from perfprobe.report.section.imports import imports_text
from perfprobe.report.section.program import program
from perfprobe.report.section.screen.gpu_bound import gpu_bound_lines, is_gpu_bound
from perfprobe.report.section.screen.places import inputs, operator, place_in, whole_percent
from perfprobe.report.shorten import cut
from perfprobe.support import units
from perfprobe.tables.findings import Findings, Hotspots
from perfprobe.tables.python import Calling

_LONGEST = 60
_WORTH_SAYING = 0.1  # imports are named from this share of the wall time on


def script_lines(findings: Findings) -> Iterator[ScreenRow]:
    """What ran, how long, and what was hottest."""
    wall_ns = findings.wall_ns
    yield said(
        cut(program(findings.trace), _LONGEST),
        f"wall {units.duration(wall_ns)}",
        f", CPU {units.duration(findings.trace.cpu_ns)}",
        style="bold",
        time_ns=wall_ns,
    )
    yield said("STEPS", "none found: no optimizer step, no repeated call of a module")
    yield from _operators(findings)
    yield from _imports(findings)
    yield from _slow(findings)


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
    """The hottest Python, if it takes the time, and the hottest operator."""
    if is_gpu_bound(findings):
        yield from gpu_bound_lines(findings)
        return
    label = "SLOW"
    for block in hottest_python(findings):
        if isinstance(block, Paragraph) and "imports," not in block.text:
            text = block.text.rstrip(".").replace("Hottest Python: ", "Python: ")
            yield said(label, text, style="bold" if label else "")
            label = ""
    found = hottest_operator(findings)
    if found is not None:
        line = found.row.ran.origin
        pieces = (f"{operator(found.row)}, {found.share}", *place_in(line), inputs(found.row, ", "))
        yield said(label, *pieces, style="bold" if label else "", line=line)
        if found.larger:
            yield said("", found.larger.rstrip("."))
