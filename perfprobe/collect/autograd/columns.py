"""Rows of a table as columns of int64, as the recorder takes them, without numpy."""

from __future__ import annotations

from array import array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from perfprobe.native import Recorder

BLOCK_ROWS = 65_536  # rows of one block of the recording


class Rows:
    """Rows of one table. The first row decides which columns there are."""

    def __init__(self) -> None:
        self._columns: dict[str, array[int]] = {}

    def add(self, **values: int) -> None:
        """Adds a row. Raises ValueError if its columns differ from those of the first row."""
        if not self._columns:
            self._columns = {name: array("q") for name in values}
        elif values.keys() != self._columns.keys():
            raise ValueError(f"a row of {', '.join(values)} among rows of {', '.join(self._columns)}")
        for name, value in values.items():
            self._columns[name].append(value)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def write(self, recorder: Recorder, table: str) -> None:
        """Writes all rows as blocks with these columns."""
        for first in range(0, len(self), BLOCK_ROWS):
            part = {name: column[first : first + BLOCK_ROWS] for name, column in self._columns.items()}
            recorder.add_rows(table, part)
