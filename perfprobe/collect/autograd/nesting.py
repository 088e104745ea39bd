"""Finds which operator ran inside which, from their times.

The profiler's own tree ends a range of the program when the Python call that opened it returns.
"""

from __future__ import annotations

from perfprobe.collect.autograd.columns import Rows
from perfprobe.models.nodes import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from perfprobe.collect.autograd.kineto import Raw


class Seen(Call):
    """An operator of a session. start_ns, end_ns: Unix time; name, overload, signature, stack: row ids."""

    __slots__ = ("allocated", "end_ns", "freed", "name", "overload", "signature", "stack", "start_ns")

    def __init__(self, start_ns: int, end_ns: int, call: tuple[str, int, int, int]) -> None:
        """call: the arguments of `Call`."""
        super().__init__(*call)
        self.start_ns, self.end_ns = start_ns, end_ns
        self.name = self.overload = self.signature = self.stack = -1
        self.allocated = self.freed = 0

    def add_to(self, rows: Rows, raw: Raw, thread: int, with_memory: bool) -> None:
        """Adds its row. thread: row of the thread."""
        is_known = self.is_node and self.forward_thread != 0
        rows.add(
            start_ns=raw.to_monotonic(self.start_ns),
            end_ns=raw.to_monotonic(self.end_ns),
            thread=thread,
            depth=self.depth,
            name=self.name,
            overload=self.overload,
            signature=self.signature,
            stack=self.stack,
            sequence=self.sequence,
            forward_thread=self.forward_thread if is_known else -1,
            scope=self.scope,
            node_sequence=self.node.sequence,
            node_thread=self.node.thread,
            allocated_bytes=self.allocated if with_memory else -1,
            freed_bytes=self.freed if with_memory else -1,
        )


class Thread:
    """What was seen on one thread. allocations: Unix time and bytes, which are negative if freed."""

    def __init__(self, forward_id: int, os_thread: int) -> None:
        self.forward_id = forward_id  # torch's number
        self.os_thread = os_thread  # -1 if not known
        self.operators: list[Seen] = []
        self.allocations: list[tuple[int, int]] = []

    def add_to(self, rows: Rows, raw: Raw, thread: int, with_memory: bool) -> None:
        """Adds its rows in the order of the operators' ends. thread: row of the thread."""
        self._nest()
        self.operators.sort(key=lambda seen: (seen.end_ns, -seen.depth))
        for seen in self.operators:
            seen.add_to(rows, raw, thread, with_memory)

    def _nest(self) -> None:
        self.operators.sort(key=lambda seen: (seen.start_ns, -seen.end_ns))
        self.allocations.sort()
        place = 0
        opened: list[Seen] = []
        for seen in [*self.operators, None]:
            until_ns = 1 << 63 if seen is None else seen.start_ns
            while place < len(self.allocations) and self.allocations[place][0] < until_ns:
                time_ns, size = self.allocations[place]
                place += 1
                while opened and opened[-1].end_ns < time_ns:
                    opened.pop()
                if opened:
                    opened[-1].allocated += max(size, 0)
                    opened[-1].freed += max(-size, 0)
            if seen is None:
                return
            while opened and opened[-1].end_ns <= seen.start_ns:
                opened.pop()
            seen.enter(opened[-1] if opened else None, self.forward_id)
            opened.append(seen)
