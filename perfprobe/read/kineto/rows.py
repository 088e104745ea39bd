"""Columns that grow, and the rows of tables whose rows are looked up again."""

from __future__ import annotations

from array import array
from collections.abc import Hashable

import numpy as np

from perfprobe.tables.columns import SomeTable, Table

_LARGEST = {8: 2**63 - 1, 4: 2**31 - 1, 1: 127}


class Rows:
    """Rows of a table, as numbers. kind: the table; its columns are given in their order."""

    def __init__(self, kind: type[Table]) -> None:
        self.kind = kind
        self._columns = [array("q") for _ in kind.dtypes]
        limits = [_LARGEST[dtype.itemsize] for dtype in kind.dtypes.values()]
        self._limits = limits

    def __len__(self) -> int:
        return len(self._columns[0])

    def add(self, *values: int) -> None:
        """One more row. What no column can hold is -1."""
        for column, limit, value in zip(self._columns, self._limits, values, strict=True):
            column.append(value if -limit <= value <= limit else -1)

    def values(self, row: int) -> tuple[int, ...]:
        """What is in a row."""
        return tuple(column[row] for column in self._columns)

    def table(self) -> Table:
        """All rows."""
        return made(self.kind, [np.array(column, np.int64) for column in self._columns])


class Interned(Rows):
    """Rows of which each is there once."""

    def __init__(self, kind: type[Table], most: int = 1 << 31) -> None:
        super().__init__(kind)
        self._known: dict[Hashable, int] = {}
        self._most = most
        self.left_out = 0

    def row(self, *values: int) -> int:
        """The row with these values; -1 beyond the limit."""
        found = self._known.get(values)
        if found is None:
            if len(self) >= self._most:
                self.left_out += 1
                return -1
            found = self._known[values] = len(self)
            self.add(*values)
        return found


def made(kind: type[SomeTable], columns: list[np.ndarray[tuple[int], np.dtype[np.int64]]]) -> SomeTable:
    """The table of these columns, of int64 all."""
    pairs = zip(kind.dtypes.items(), columns, strict=True)
    return kind(**{name: column.astype(dtype) for (name, dtype), column in pairs})
