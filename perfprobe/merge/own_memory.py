"""Memory that each operator itself allocated and freed: on its thread, within its time, not in a child."""

from __future__ import annotations

import numpy as np

from perfprobe.models.memory_events import Feed, Waiting, deepest, over_ns
from perfprobe.tables.columns import Int64
from perfprobe.tables.events import Operators
from perfprobe.tables.memory import TensorMemory
from perfprobe.tables.threads import each_thread


class OwnMemory:
    """Takes the operators batch by batch, as they were recorded."""

    def __init__(self, memory: TensorMemory) -> None:
        self._feed = Feed(memory)
        self._waiting = Waiting()

    def columns(self, rows: Operators) -> dict[str, Int64]:
        """Returns `allocated_bytes` and `freed_bytes` of the rows, which are grouped by thread."""
        self._read(int(rows.end_ns.max()))
        found = {name: np.zeros(len(rows), np.int64) for name in ("allocated_bytes", "freed_bytes")}
        for thread, own in each_thread(rows.thread):
            waiting = self._waiting.of(thread)
            if waiting is None:
                continue
            time_ns, end_ns, depth = waiting["time_ns"], rows.end_ns[own], rows.depth[own]
            row = deepest(time_ns, rows.start_ns[own], end_ns, depth)
            is_known = (row >= 0) | (time_ns <= over_ns(end_ns, depth))
            within, change = row[is_known], self._waiting.take(thread, is_known)["change_bytes"]
            for column, chosen in (
                (found["allocated_bytes"], (within >= 0) & (change > 0)),
                (found["freed_bytes"], (within >= 0) & (change < 0)),
            ):
                np.add.at(column, own[within[chosen]], np.abs(change[chosen]))
        return found

    def _read(self, until_ns: int) -> None:
        for changes in self._feed.until(until_ns):
            freed = changes.ended.take(changes.ended.freed_thread >= 0)
            columns = {
                "time_ns": np.append(changes.begun.start_ns, freed.end_ns),
                "change_bytes": np.append(changes.begun.size_bytes, -freed.size_bytes),
            }
            self._waiting.add(np.append(changes.begun.thread, freed.freed_thread), columns)
