"""Rows of idle time: what kept each GPU waiting, and what ran at the same time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfprobe.report.rows.gpu.chosen import Chosen, chosen
from perfprobe.report.rows.gpu.site import Site, site
from perfprobe.report.rows.row import inline, named, word
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int64
from perfprobe.tables.findings import Findings
from perfprobe.tables.idle import IdleCause, IdleRows, IdleTimes
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Line


@frozen(kw_only=True)
class IdleRow:
    """Idle time of one cause at one place; figures as in `IdleRows`.

    step_ns: in a steady step, on average. share: of the device's idle time.
    """

    device: int
    cause: str | None
    call: str | None
    operator: str | None
    at: Site = inline()
    gaps: int
    total_ns: int
    longest_ns: int
    step_ns: int | None
    host_wait_ns: int
    kernel_wait_ns: int
    other_ns: int
    share: float | None


@frozen(kw_only=True)
class IdleLine:
    """Idle time of one line; if no line is known, all idle time. cause: the cause with most of it.

    time_ns: the mean in a step; without steps, in total. share: its share of the device's idle time.
    """

    line: Line | None
    cause: str
    time_ns: int
    is_of_step: bool
    share: float


def idle_rows(findings: Findings, top: int, sort: str = "self") -> Chosen[IdleRow]:
    """The `top` first rows in focus, 0 for all."""
    trace, strings, found = findings.trace, findings.trace.recording[Strings], findings[IdleTimes]
    idle_ns = {device: _of_device(found.rows, device) for device in set(found.rows.device.tolist())}

    def row(value: Mapping[str, Any]) -> IdleRow:
        same = ("device", "gaps", "total_ns", "longest_ns", "host_wait_ns", "kernel_wait_ns", "other_ns")
        return IdleRow(
            **{name: value[name] for name in same},
            cause=word(IdleCause, value["cause"]),
            call=named(strings[value["call"]]),
            operator=named(strings[value["operator"]]),
            at=site(trace, value),
            step_ns=value["steps_ns"] // found.steady if found.steady else None,
            share=value["total_ns"] / idle_ns[value["device"]] if idle_ns[value["device"]] else None,
        )

    return chosen(findings, found.rows, "gaps", top, sort, row)


def most_idle_line(findings: Findings, device: int) -> IdleLine | None:
    """The line with most of a device's idle time, in steady steps if there are any; None without gaps."""
    found = findings[IdleTimes]
    own = found.rows.take(found.rows.device == device)
    is_of_step = found.steady > 0 and int(own.steps_ns.sum()) > 0
    time_ns = own.steps_ns if is_of_step else own.total_ns
    whole_ns = int(time_ns.sum())
    by_line = _by_line(findings, own, time_ns)
    if not whole_ns or not by_line:
        return None
    line = max(by_line, key=lambda each: (each is not None, sum(by_line[each].values())))
    causes, line_ns = by_line[line], sum(by_line[line].values())
    return IdleLine(
        line=line,
        cause=IdleCause(max(causes, key=causes.__getitem__)).name.lower(),
        time_ns=line_ns // found.steady if is_of_step else line_ns,
        is_of_step=is_of_step,
        share=line_ns / whole_ns,
    )


def _by_line(findings: Findings, rows: IdleRows, time_ns: Int64) -> dict[Line | None, dict[int, int]]:
    """The time of each cause at each line."""
    found: dict[Line | None, dict[int, int]] = {}
    for frame, cause, each_ns in zip(rows.frame.tolist(), rows.cause.tolist(), time_ns.tolist(), strict=True):
        causes = found.setdefault(findings.trace.line(frame), {})
        causes[cause] = causes.get(cause, 0) + each_ns
    return found


def _of_device(rows: IdleRows, device: int) -> int:
    return int(rows.total_ns[rows.device == device].sum())
