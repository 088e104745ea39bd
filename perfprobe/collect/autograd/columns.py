"""Rows gathered column by column, as the recorder takes them: arrays of int64, without numpy."""

from __future__ import annotations

from array import array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfprobe.native import Recorder

BLOCK_ROWS = 65_536  # in one block of the recording

OPERATORS = (
    *("start_ns", "end_ns", "thread", "depth", "name", "overload", "signature", "stack", "sequence"),
    *("forward_thread", "scope", "node_sequence", "node_thread", "allocated_bytes", "freed_bytes"),
)
WINDOWS = ("start_ns", "end_ns", "thread", "rows")


class Rows:
    """Rows of one table."""

    def __init__(self, names: Sequence[str]) -> None:
        self._columns = {name: array("q") for name in names}

    def add(self, values: Sequence[int]) -> None:
        """One row, its values in the order of the columns."""
        for column, value in zip(self._columns.values(), values, strict=True):
            column.append(value)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def write(self, recorder: Recorder, table: str) -> None:
        """Write all rows; blocks of this table hold these columns."""
        for first in range(0, len(self), BLOCK_ROWS):
            part = {name: column[first : first + BLOCK_ROWS] for name, column in self._columns.items()}
            recorder.add_rows(table, part)
