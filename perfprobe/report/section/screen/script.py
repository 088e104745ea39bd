"""The first screen of a program without steps: a script, a test, or a program without torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from perfprobe.report.rows.gpu.within import longest_cuda_call
from perfprobe.report.rows.imports import import_rows
from perfprobe.report.rows.screen import ScreenRow, listed, said
from perfprobe.report.section.block import Paragraph
from perfprobe.report.section.hot_operators import why_none
from perfprobe.report.section.hottest import HottestOperator, hottest_operator, hottest_python
from perfprobe.report.section.imports import imports_text
from perfprobe.report.section.program import program
from perfprobe.report.section.screen.gpu_bound import gpu_bound_lines, is_gpu_bound
from perfprobe.report.section.screen.loader import slow_loader, worker_lines
from perfprobe.report.section.screen.places import has_lines, inputs, operator, place_in, whole_percent
from perfprobe.report.shorten import cut
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings, Hotspots
from perfprobe.tables.python import Calling

_LONGEST = 60
_WORTH_SAYING = 0.1  # imports are named from this share of the wall time on


def script_lines(findings: Findings) -> Iterator[ScreenRow]:
    """Yields what ran, how long, and what was hottest."""
    wall_ns = findings.wall_ns
    yield said(
        cut(program(findings.trace), _LONGEST),
        f"wall {units.duration(wall_ns)}",
        *([] if findings.trace.cpu_ns is None else [f", CPU {units.duration(findings.trace.cpu_ns)}"]),
        style="bold",
        time_ns=wall_ns,
    )
    yield said("STEPS", "none found: no optimizer step, no repeated call of a module")
    yield from _operators(findings)
    yield from _imports(findings)
    yield from _slow(findings)
    yield from _unknown(findings)


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


def _long_calls(findings: Findings, found: HottestOperator, label: str) -> Iterator[ScreenRow]:
    """The operator of which long calls took most time, and the call of CUDA in it that took most of that."""
    ran, row = found.row.ran, found.row
    how_much = f"{units.duration(ran.self_ns)} = {units.percent(row.share)} of operator time"
    calls = f", in {ran.long_calls:,} of {ran.calls:,} calls"
    pieces = (f"{operator(row)}, {how_much}", calls, *place_in(ran.origin), inputs(row, ", "))
    facts: dict[str, Any] = {"time_ns": ran.self_ns, "share": row.share, "line": ran.origin}
    yield said(label, *pieces, style="bold" if label else "", **facts)
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
    first = list(_loader(findings)) or list(_python(findings))
    yield from first
    if not first or _is_noteworthy(findings):
        yield from _operator(findings, "" if first else "SLOW")


def _python(findings: Findings) -> Iterator[ScreenRow]:
    """The hottest Python without imports, which have a line of their own."""
    label = "SLOW"
    for block in hottest_python(findings):
        if isinstance(block, Paragraph) and "imports," not in block.text:
            text = block.text.rstrip(".").replace("Hottest Python: ", "Python: ")
            yield said(label, text, style="bold" if label else "")
            label = ""


def _operator(findings: Findings, label: str) -> Iterator[ScreenRow]:
    found = hottest_operator(findings)
    if found is not None and found.by_sum:
        yield from _long_calls(findings, found, label)
    elif found is not None:
        line = found.row.ran.origin
        share, *more = found.share.split("; ")
        also = (*(f"; {text}" for text in more), inputs(found.row, ", "))
        pieces = (f"{operator(found.row)}, {share}", *place_in(line), *also)
        yield said(label, *pieces, style="bold" if label else "", line=line)
        if found.larger:
            yield said("", found.larger.rstrip("."))
