"""Rows of copies to, from and on GPUs, and of fills."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from perfprobe.report.rows.gpu.chosen import Chosen, chosen
from perfprobe.report.rows.gpu.site import Site, site
from perfprobe.report.rows.row import inline, mean_ns, measured, named, unwritten, word
from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu import CopyKind, MemoryKind, direction
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.strings import Strings


@frozen(kw_only=True)
class CopyRow:
    """Copies of one direction, kind of memory and line; figures as in `CopyRows`.

    kind: a `CopyKind`. source, destination: a `MemoryKind`, None for others. image_bytes: what was copied to
    GPUs by operators on images of floats. bytes_per_s, bytes_per_ns: None if some copies have no times.
    """

    kind: str | None
    direction: str
    source: str | None
    destination: str | None
    is_async: bool | None
    operator: str | None
    at: Site = inline()
    copies: int
    size_bytes: int
    image_bytes: int
    untimed: int
    total_ns: int | None
    bytes_per_s: float | None
    bytes_per_ns: float | None = unwritten()

    @property
    def host_memory(self) -> str | None:
        """The kind of host memory of the copy, None if it is not known or no host memory took part."""
        memory = {"to GPU": self.source, "from GPU": self.destination}.get(self.direction)
        return None if memory in ("unknown", "device") else memory

    @property
    def mean_ns(self) -> int | None:
        """The mean of the copies with times."""
        return mean_ns(self.total_ns, self.copies - self.untimed)


def copy_rows(findings: Findings, top: int, sort: str = "self") -> Chosen[CopyRow]:
    """The `top` first rows in focus, 0 for all."""
    trace = findings.trace

    def row(value: Mapping[str, Any]) -> CopyRow:
        total_ns, size_bytes, is_async = value["total_ns"], value["size_bytes"], value["is_async"]
        rate = size_bytes / total_ns if total_ns > 0 and value["untimed"] == 0 else None
        return CopyRow(
            kind=word(CopyKind, value["kind"]),
            direction=direction(value["kind"]),
            source=word(MemoryKind, value["source"]),
            destination=word(MemoryKind, value["destination"]),
            is_async=None if is_async < 0 else bool(is_async),
            operator=named(trace.recording[Strings][value["operator"]]),
            at=site(trace, value),
            copies=value["copies"],
            size_bytes=size_bytes,
            image_bytes=value["image_bytes"],
            untimed=value["untimed"],
            total_ns=measured(total_ns),
            bytes_per_s=None if rate is None else rate * 1e9,
            bytes_per_ns=rate,
        )

    return chosen(findings, findings[GpuFindings].copies, "copies", top, sort, row)


def copied(findings: Findings) -> list[tuple[str, int]]:
    """Direction and bytes of each kind, most bytes first. A focus does not change them."""
    rows = findings[GpuFindings].copies
    kinds, place = np.unique(rows.kind, return_inverse=True)
    sizes_bytes = np.zeros(len(kinds), np.int64)
    np.add.at(sizes_bytes, place.reshape(-1), np.maximum(rows.size_bytes, 0))
    order = np.argsort(-sizes_bytes, kind="stable")
    return [(direction(int(kinds[at])), int(sizes_bytes[at])) for at in order.tolist()]
