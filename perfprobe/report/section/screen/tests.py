"""TESTS on the first screen: how long the tests took that pytest or unittest ran, and the longest."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.report.rows.named import is_named
from perfprobe.report.rows.screen import ScreenRow, listed, said
from perfprobe.report.section.screen.places import whole_percent
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.tests import Tests

_MOST = 3


def tests_line(findings: Findings) -> Iterator[ScreenRow]:
    """`3 seen, 1.24 s = 27 % of the run: test_train 1.11 s, test_reference 115 ms`."""
    found, wall_ns = findings.get(Tests), findings.wall_ns
    if found is None or not wall_ns:
        return
    own = found.take(found.kind == "test")
    time_ns = int(own.time_ns.sum())
    text = f"{len(own):,} seen, {units.duration(time_ns)} = {whole_percent(time_ns / wall_ns)} of the run"
    yield said("TESTS", text, *listed(_longest(findings, own, time_ns), first=": "), time_ns=time_ns)


def _longest(findings: Findings, own: Tests, whole_ns: int) -> Iterator[str]:
    first = own.take(slice(_MOST))
    for frame, time_ns in zip(first.frame.tolist(), first.time_ns.tolist(), strict=True):
        line = findings.trace.line(frame)
        if line is not None and is_named(time_ns, whole_ns):
            yield f"{printable(line.function)} {units.duration(time_ns)}"
