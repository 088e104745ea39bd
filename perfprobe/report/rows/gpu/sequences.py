"""Rows of sequences of short kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perfprobe.report.rows.gpu.chosen import Chosen, chosen
from perfprobe.report.rows.gpu.site import Site, site
from perfprobe.report.rows.row import inline
from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings
from perfprobe.tables.sequences import Sequences
from perfprobe.tables.strings import Strings

_LONGEST_PERIOD = 16


@frozen(kw_only=True)
class SequenceRow:
    """A sequence of kernels; figures as in `SequenceRows`.

    names, operators: of its first `period` kernels. After these it repeats; if it does not, period is its
    length.
    """

    names: Sequence[str]
    operators: Sequence[str]
    module: str | None
    at: Site = inline()
    kernels: int
    period: int
    times: int
    total_ns: int
    gpu_ns: int
    call_ns: int


def sequence_rows(findings: Findings, top: int, sort: str = "self") -> Chosen[SequenceRow]:
    """The `top` first rows in focus, 0 for all."""
    trace, found = findings.trace, findings[Sequences]
    strings = trace.recording[Strings]

    def row(value: Mapping[str, Any]) -> SequenceRow:
        part = slice(value["first"], value["first"] + value["kernels"])
        names, operators = found.kernels.name[part].tolist(), found.kernels.operator[part].tolist()
        period = _period(list(zip(names, operators, strict=True)))
        return SequenceRow(
            names=[strings[name] or "" for name in names[:period]],
            operators=[strings[name] or "" for name in operators[:period]],
            module=trace.module(value["module"]),
            at=site(trace, value),
            period=period,
            **{name: value[name] for name in ("kernels", "times", "total_ns", "gpu_ns", "call_ns")},
        )

    return chosen(findings, found.rows, "times", top, sort, row)


def _period(items: Sequence[object]) -> int:
    """After how many items the sequence repeats (the last repetition may be cut); otherwise its length."""
    for period in range(1, min(_LONGEST_PERIOD, len(items) // 2) + 1):
        if all(left == right for left, right in zip(items[period:], items, strict=False)):
            return period
    return len(items)
