"""Rows of launches: by operator and line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfprobe.report.rows.gpu.chosen import Chosen, chosen
from perfprobe.report.rows.gpu.site import Site, site
from perfprobe.report.rows.row import inline, mean_ns, named
from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings
from perfprobe.tables.launch_times import LaunchTimes
from perfprobe.tables.strings import Strings


@frozen(kw_only=True)
class LaunchedRow:
    """Launches from one operator and line; figures as in `LaunchedRows`."""

    operator: str | None
    at: Site = inline()
    launches: int
    short: int
    total_ns: int
    gpu_ns: int
    delay_ns: int
    longest_delay_ns: int

    @property
    def mean_delay_ns(self) -> int | None:
        """The mean delay of all launches."""
        return mean_ns(self.delay_ns, self.launches)


def launched_rows(findings: Findings, top: int, sort: str = "self") -> Chosen[LaunchedRow]:
    """The `top` first rows in focus, 0 for all."""
    trace, strings = findings.trace, findings.trace.recording[Strings]
    figures = ("launches", "short", "total_ns", "gpu_ns", "delay_ns", "longest_delay_ns")

    def row(value: Mapping[str, Any]) -> LaunchedRow:
        return LaunchedRow(
            **{name: value[name] for name in figures},
            operator=named(strings[value["operator"]]),
            at=site(trace, value),
        )

    return chosen(findings, findings[LaunchTimes].rows, "launches", top, sort, row)
