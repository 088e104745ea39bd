"""OPS: the operators by name, as shares of what the screen's other shares are of."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfprobe.models.kernel_names import group_of_kernel
from perfprobe.report.rows.device import device_rows
from perfprobe.report.rows.named import is_named
from perfprobe.report.rows.operators import rows_of
from perfprobe.report.rows.screen import ScreenRow, listed, said
from perfprobe.report.section.screen.device import judged_by_gpu
from perfprobe.report.section.screen.named import by_name
from perfprobe.report.section.screen.places import whole_percent
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.step_rows import StepHotspots

_MOST = 6


def operators_line(findings: Findings) -> Iterator[ScreenRow]:
    """The operators with a noteworthy part of the steps' own time, or of a GPU's time in them."""
    shares = _of_gpu(findings) if judged_by_gpu(findings) else _of_steps(findings)
    named = [(name, share) for name, share in shares if is_named(share)][:_MOST]
    if named:
        yield said("OPS", *listed(f"{name} {whole_percent(share)}" for name, share in named))


def _of_steps(findings: Findings) -> list[tuple[str, float]]:
    """Names and shares, the largest first."""
    found = findings.get(StepHotspots)
    if found is None:
        return []
    rows = found.hotspots.rows
    _, first, number = np.unique(rows.name, return_index=True, return_inverse=True)
    time_ns = np.bincount(number.reshape(-1), rows.typical_ns, len(first)).astype(np.int64)
    one_of_each = rows_of(findings.plus(found.hotspots), rows.take(first))
    sums = by_name(zip(one_of_each, time_ns.tolist(), strict=True))
    return [(each.name, found.share(each.time_ns)) for each in sums]


def _of_gpu(findings: Findings) -> list[tuple[str, float]]:
    """Kinds of kernels and of copies, and shares; the largest first."""
    sums: dict[str, float] = {}
    for row in device_rows(findings):
        if row.kernel is not None or row.copy is not None:
            name = f"copies {row.copy}" if row.kernel is None else printable(group_of_kernel(row.kernel))
            sums[name] = sums.get(name, 0.0) + row.share
    return sorted(sums.items(), key=lambda each: -each[1])
