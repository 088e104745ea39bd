"""Rows of calls of CUDA's API."""

from __future__ import annotations

from perfprobe.report.rows.gpu.chosen import ranked
from perfprobe.report.rows.row import mean_ns, measured, named, values
from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.strings import Strings


@frozen(kw_only=True)
class ApiCallRow:
    """Calls of one function of CUDA's API; figures as in `LaunchRows`."""

    name: str | None
    calls: int
    failed: int
    total_ns: int | None
    longest_ns: int | None

    @property
    def mean_ns(self) -> int | None:
        """The mean of all calls."""
        return mean_ns(self.total_ns, self.calls)


def api_call_rows(findings: Findings, top: int, sort: str = "self") -> list[ApiCallRow]:
    """The first `top` rows, 0 for all; a focus does not change them."""
    strings = findings.trace.recording[Strings]
    return [
        ApiCallRow(
            name=named(strings[value["name"]]),
            calls=value["calls"],
            failed=value["failed"],
            total_ns=measured(value["total_ns"]),
            longest_ns=measured(value["longest_ns"]),
        )
        for value in values(ranked(findings[GpuFindings].calls, "calls", top, sort))
    ]
