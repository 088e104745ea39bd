"""Memory that each operator itself allocated and freed: all within its span, without that of its children."""

from __future__ import annotations

from perfprobe.merge.nest import Nesting
from perfprobe.models.allocated import AllocatedWithin
from perfprobe.tables.columns import Int64
from perfprobe.tables.events import Operators
from perfprobe.tables.memory import Storages


class OwnMemory:
    """Takes operators batch by batch, in the order in which they were recorded."""

    def __init__(self, storages: Storages) -> None:
        self._within = AllocatedWithin(storages)
        self._allocated, self._freed = Nesting(), Nesting()

    def columns(self, rows: Operators) -> dict[str, Int64]:
        """Returns `allocated_bytes` and `freed_bytes` of rows, which must be grouped by thread."""
        sums = self._within.of(rows.thread, rows.start_ns, rows.end_ns)
        keys = (rows.thread, rows.depth, rows.start_ns)
        return {
            "allocated_bytes": self._allocated.self_times(*keys, sums.allocated_bytes),
            "freed_bytes": self._freed.self_times(*keys, sums.freed_bytes),
        }
