"""The table of copies to, from and on GPUs, and of fills."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rich.console import RenderableType

from perfprobe.report.render import columns
from perfprobe.report.render.paragraph import heading, paragraph
from perfprobe.report.section.base import Layout
from perfprobe.report.section.block import Column
from perfprobe.report.section.cells import counts, durations
from perfprobe.report.section.gpu.cells import (
    chosen,
    in_focus,
    mean_ns,
    operator_texts,
    site_columns,
    timed,
)
from perfprobe.support import units
from perfprobe.tables.columns import Mask
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu import CopyKind, MemoryKind
from perfprobe.tables.gpu_findings import CopyRows, GpuFindings
from perfprobe.tables.trace import Trace

TOP = 8
_LEAST_RATE = 0.01  # GB/s
_TO_DEVICE = (CopyKind.HOST_TO_DEVICE, CopyKind.HOST_TO_ARRAY)
_TO_HOST = (CopyKind.DEVICE_TO_HOST, CopyKind.ARRAY_TO_HOST)
_ON_GPU = (
    *(CopyKind.DEVICE_TO_DEVICE, CopyKind.ARRAY_TO_ARRAY),
    *(CopyKind.ARRAY_TO_DEVICE, CopyKind.DEVICE_TO_ARRAY),
)
_DIRECTIONS: dict[int, str] = {
    **dict.fromkeys(_TO_DEVICE, "to GPU"),
    **dict.fromkeys(_TO_HOST, "from GPU"),
    **dict.fromkeys(_ON_GPU, "on GPU"),
    CopyKind.PEER_TO_PEER: "GPU to GPU",
    CopyKind.HOST_TO_HOST: "on host",
    CopyKind.FILL: "fill",
}
_WAYS = {1: "async", 0: "sync"}


def copies(findings: Findings, layout: Layout) -> Iterator[RenderableType]:
    """The table; nothing where nothing was copied."""
    gpu, trace = findings[GpuFindings], findings.trace
    rows = gpu.copies
    found = chosen(findings, rows, copies_in_focus(findings, rows), "copies", layout, TOP)
    if found is None:
        return
    shown, said = found
    yield heading("GPU copies", f"{said}; in all {_by_direction(rows)}", layout.width)
    yield columns.table(columns.fit(_columns(trace, shown, layout), layout.width))
    if bool(_is_pageable(shown).any()):
        yield paragraph(
            "Pageable: the driver copies it through pinned memory of its own, and the calling thread waits; "
            "pinned memory (pin_memory, non_blocking=True) avoids both.",
            layout.width,
            "dim",
        )


def copies_in_focus(findings: Findings, rows: CopyRows) -> Mask:
    """Which rows match the focus, by direction too."""
    return in_focus(findings, rows, (rows.kind.astype(np.int32), direction))


def direction(kind: int) -> str:
    """From where to where, in words."""
    return _DIRECTIONS.get(kind, "unknown")


def memory(kind: int, source: int, destination: int) -> str:
    """Which memory of the host took part, in words; "" where none did, or it is not known."""
    host = source if kind in _TO_DEVICE else destination if kind in _TO_HOST else MemoryKind.DEVICE
    known = host in set(MemoryKind) and host not in (MemoryKind.UNKNOWN, MemoryKind.DEVICE)
    return MemoryKind(host).name.lower().replace("_", " ") if known else ""


def _is_pageable(rows: CopyRows) -> Mask:
    to_device = np.isin(rows.kind, _TO_DEVICE) & (rows.source == MemoryKind.PAGEABLE)
    return np.asarray(to_device | np.isin(rows.kind, _TO_HOST) & (rows.destination == MemoryKind.PAGEABLE))


def _by_direction(rows: CopyRows) -> str:
    """Bytes of each direction, most first."""
    kinds, place = np.unique(rows.kind, return_inverse=True)
    sizes = np.zeros(len(kinds), np.int64)
    np.add.at(sizes, place.reshape(-1), np.maximum(rows.size_bytes, 0))
    order = np.argsort(-sizes, kind="stable").tolist()
    return ", ".join(f"{units.size(int(sizes[at]))} {direction(int(kinds[at]))}" for at in order)


def rates(rows: CopyRows) -> list[float | None]:
    """Bytes a nanosecond, which is GB/s; None where some were not timed."""
    known = (rows.total_ns > 0) & (rows.untimed == 0)
    rate = rows.size_bytes / np.maximum(rows.total_ns, 1)
    return [value if is_known else None for value, is_known in zip(rate.tolist(), known, strict=True)]


def _rate(rate: float | None) -> str:
    return f"<{_LEAST_RATE}" if rate is not None and 0 <= rate < _LEAST_RATE else units.amount(rate)


def _columns(trace: Trace, shown: CopyRows, layout: Layout) -> list[Column]:
    sides = zip(shown.kind.tolist(), shown.source.tolist(), shown.destination.tolist(), strict=True)
    mean = durations(mean_ns(shown.total_ns, shown.copies - shown.untimed))
    ways = [
        " ".join(filter(None, (memory(*side), _WAYS.get(way, "")))) or units.ABSENT
        for side, way in zip(sides, shown.is_async.tolist(), strict=True)
    ]
    return [
        Column("total", timed(shown.total_ns, shown.untimed), align="right"),
        Column("copies", counts(shown.copies), 2, align="right"),
        Column("mean", mean, 7, align="right"),
        Column("bytes", [units.size(value) for value in shown.size_bytes.tolist()], 1, align="right"),
        Column("GB/s", [_rate(rate) for rate in rates(shown)], 1, align="right"),
        Column("direction", [direction(kind) for kind in shown.kind.tolist()], style="bold"),
        Column("how", ways, 1),
        *site_columns(trace, shown, operator_texts(trace, shown, None, layout), layout),
    ]
