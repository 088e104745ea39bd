"""Rows of waits: where the program was blocked until a GPU was done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfprobe.report.rows.gpu.chosen import Chosen, chosen
from perfprobe.report.rows.gpu.site import Site, site
from perfprobe.report.rows.row import inline, mean_ns, measured, named, unwritten, word
from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu import WaitKind
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.strings import Strings


@frozen(kw_only=True)
class WaitRow:
    """Waits of one kind from one line; figures as in `WaitRows`.

    kind: a `WaitKind`, None for others; call: of CUDA's API. share: of the wall time.
    """

    kind: str | None
    call: str | None
    operator: str | None
    at: Site = inline()
    waits: int
    total_ns: int | None
    longest_ns: int | None
    share: float | None = unwritten()

    @property
    def mean_ns(self) -> int | None:
        """The mean of all waits."""
        return mean_ns(self.total_ns, self.waits)


def wait_rows(findings: Findings, top: int, sort: str = "self") -> Chosen[WaitRow]:
    """The `top` first rows in focus, 0 for all."""
    trace, strings, wall_ns = findings.trace, findings.trace.recording[Strings], findings.wall_ns

    def row(value: Mapping[str, Any]) -> WaitRow:
        total_ns = measured(value["total_ns"])
        return WaitRow(
            kind=word(WaitKind, value["kind"]),
            call=named(strings[value["call"]]),
            operator=named(strings[value["operator"]]),
            at=site(trace, value),
            waits=value["waits"],
            total_ns=total_ns,
            longest_ns=measured(value["longest_ns"]),
            share=total_ns / wall_ns if total_ns is not None and wall_ns else None,
        )

    return chosen(findings, findings[GpuFindings].waits, "waits", top, sort, row)
