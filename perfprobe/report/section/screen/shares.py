"""OPS: the operators by name, as shares of what the screen's other shares are of."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfprobe.models.kernel_names import group_of_kernel
from perfprobe.report.rows.device import device_rows
from perfprobe.report.rows.named import is_named
from perfprobe.report.rows.screen import ScreenRow, listed, said
from perfprobe.report.rows.step_rows import in_steps, step_operators
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
    rows = in_steps(findings)
    key = (rows.name.astype(np.int64) << 32) + rows.overload  # the same text for all rows with one key
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    sums_ns = np.zeros(len(first), np.int64)
    np.add.at(sums_ns, group.reshape(-1), rows.typical_ns)
    order = np.argsort(first, kind="stable")
    shown = zip(step_operators(findings, first[order]), sums_ns[order].tolist(), strict=True)
    sums = by_name((row, time_ns, ()) for row, time_ns in shown)
    return [(each.name, found.share(each.time_ns)) for each in sums]


def _of_gpu(findings: Findings) -> list[tuple[str, float]]:
    """Kinds of kernels and of copies, and shares; the largest first."""
    sums: dict[str, float] = {}
    for row in device_rows(findings):
        if row.kernel is not None or row.copy is not None:
            name = f"copies {row.copy}" if row.kernel is None else printable(group_of_kernel(row.kernel))
            sums[name] = sums.get(name, 0.0) + row.share
    return sorted(sums.items(), key=lambda each: -each[1])
