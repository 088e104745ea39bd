"""Rows of hot operators, and of ranges recorded with operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from perfprobe.models.waiting import misleads
from perfprobe.report.rows.measured import limit, measurements_of
from perfprobe.report.rows.ranking import range_sort, ranked
from perfprobe.report.rows.row import inline, measured, named, place, unwritten, values
from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings, HotspotRows, Hotspots
from perfprobe.tables.measurements import Measurement
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import NO_LINE_TEXTS, Line, NoLine, Phase, Trace

RECORDED = tuple(name for name, column in HotspotRows.described.items() if column.optional)
_OF_CALLS = ("median_ns", "usual_ns", "p95_ns", "long_calls")
_PHASES = ("forward_ns", "backward_ns", "recompute_ns")


@frozen
class ModuleShare:
    """What a module adds to a row. module: its path, None outside of modules. at: its place in the model."""

    module: str | None
    calls: int
    self_ns: int
    at: int = unwritten()


@frozen(kw_only=True)
class Calls:
    """A group of calls of operators or of a range. Fields in which the calls differ are None.

    line: that of their own Python. forward: that of the forward call. reason: why there is no line. module:
    that of all calls, or a pattern for several. long_calls: how many outliers there are. typical_ns: self
    time with the usual duration in place of outliers. recorded: sums of columns that not every recording has.
    """

    line: Line | None = place()
    forward: Line | None = place("forward_")
    module: str | None
    modules: Sequence[ModuleShare]
    phase: str | None
    calls: int
    self_ns: int
    typical_ns: int
    total_ns: int
    mean_ns: float
    median_ns: int | None
    usual_ns: int | None
    p95_ns: int | None
    long_calls: int | None
    quantile_error: float | None
    recorded: Mapping[str, int | None] = inline()
    reason: str | None

    @property
    def origin(self) -> Line | None:
        """The user's line: of their own Python, else of the forward call."""
        return self.line or self.forward

    @property
    def whole_mean_ns(self) -> int:
        """The mean duration of a call in ns, rounded."""
        return self.total_ns // max(self.calls, 1)

    @property
    def misleads(self) -> bool:
        """Whether outliers, or waiting in all calls, are a large part of the sums."""
        waits_are_known = self.recorded.get("cpu_self_ns") is not None
        return (waits_are_known or self.long_calls != 0) and misleads(self.self_ns, self.typical_ns)


@frozen(kw_only=True)
class RangeRow:
    """A range that the program or torch set with record_function."""

    name: str | None
    ran: Calls = inline()


@frozen(kw_only=True)
class OperatorRow:
    """A row of hot operators, in any grouping.

    share: of operator time. made_from, made_from_lines: the operators and lines of a kernel that
    torch.compile generated. operators, signatures, lines: how many different ones there are. of_limit, limit,
    verdict: what `perfprobe bench` measured.
    """

    operator: str | None
    overload: str | None
    signature: str | None
    ran: Calls = inline()
    share: float
    made_from: Sequence[str] | None
    made_from_lines: Sequence[Line] | None
    operators: int
    signatures: int
    lines: int
    forward_ns: int
    backward_ns: int
    recompute_ns: int
    of_limit: float | None
    limit: str | None
    verdict: str | None
    measurement: Measurement | None = unwritten()


def operator_rows(findings: Findings, top: int, sort: str) -> list[OperatorRow]:
    """The `top` first rows, 0 for all."""
    return rows_of(findings, ranked(findings[Hotspots].rows, top, sort))


def rows_of(
    findings: Findings, rows: HotspotRows, shares: Sequence[float] | None = None
) -> list[OperatorRow]:
    """A row for each of these hot operators, in the same order. shares: None for those of operator time."""
    hotspots = findings[Hotspots]
    whole_ns = max(hotspots.totals.self_ns, 1)
    shares = [self_ns / whole_ns for self_ns in rows.self_ns.tolist()] if shares is None else shares
    ran, known = _ran(findings.trace, hotspots, rows), measurements_of(findings, rows)
    return [
        _operator_row(findings.trace, *each) for each in zip(values(rows), ran, shares, known, strict=True)
    ]


def range_rows(findings: Findings, top: int, sort: str) -> list[RangeRow]:
    """The `top` first ranges, 0 for all."""
    hotspots, strings = findings[Hotspots], findings.trace.recording[Strings]
    rows = ranked(hotspots.ranges, top, range_sort(sort))
    return [
        RangeRow(name=named(strings[name]), ran=ran)
        for name, ran in zip(rows.name.tolist(), _ran(findings.trace, hotspots, rows), strict=True)
    ]


def _operator_row(
    trace: Trace, value: Mapping[str, Any], ran: Calls, share: float, found: Measurement | None
) -> OperatorRow:
    strings, name = trace.recording[Strings], value["name"]
    made_from, made_from_lines = trace.made_from(name)
    bound = None if found is None else limit(found)
    verdict = None if found is None else found.verdict
    return OperatorRow(
        operator=named(strings[name]),
        overload=named(strings[value["overload"]]),
        signature=trace.signature(value["signature"]),
        ran=ran,
        share=share,
        made_from=made_from or None,
        made_from_lines=made_from_lines or None,
        **{each: value[each] for each in ("operators", "signatures", "lines", *_PHASES)},
        of_limit=None if bound is None else bound.fraction.value,
        limit=None if bound is None else bound.kind,
        verdict=None if verdict is None else verdict.kind,
        measurement=found,
    )


def _ran(trace: Trace, hotspots: Hotspots, rows: HotspotRows) -> Iterator[Calls]:
    for at, value in enumerate(values(rows)):
        comparable = value["name"] >= 0  # not if a row has all operators of a line or module
        parts = hotspots.parts_of(rows, at)
        yield Calls(
            line=trace.line(value["frame"]),
            forward=trace.line(value["forward_frame"]),
            module=hotspots.module(value["module"]),
            modules=[ModuleShare(part.module, part.calls, part.self_ns, part.id) for part in parts],
            phase=Phase(value["phase"]).name.lower() if value["phase"] >= 0 else None,
            calls=value["calls"],
            self_ns=value["self_ns"],
            typical_ns=value["typical_ns"],
            total_ns=value["total_ns"],
            mean_ns=value["total_ns"] / value["calls"],
            **{each: value[each] if comparable else None for each in _OF_CALLS},
            quantile_error=value["quantile_error_ppm"] / 1e6 if comparable else None,
            recorded={each: measured(value[each]) for each in RECORDED},
            reason=named(NO_LINE_TEXTS[NoLine(value["no_line"])]),
        )
