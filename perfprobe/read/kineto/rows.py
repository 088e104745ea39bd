"""Tables that grow row by row, and tables in which equal rows are stored once."""

from __future__ import annotations

from array import array
from collections.abc import Hashable
from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.tables.columns import Int64, Table


class Rows:
    """Rows of the table `kind`, as integers in the order of its columns."""

    def __init__(self, kind: type[Table]) -> None:
        self.kind = kind
        self._width = len(kind.dtypes)
        self._values = array("q")  # row by row

    def __len__(self) -> int:
        return len(self._values) // self._width

    def add(self, *values: int) -> None:
        """Adds a row of integers of at most 64 bits."""
        self._values.extend(values)

    def extend(self, *columns: Int64) -> None:
        """Adds rows, given as columns."""
        self._values.frombytes(np.stack(columns, axis=1).astype(np.int64).tobytes())

    def values(self, row: int) -> tuple[int, ...]:
        """Returns the values of a row."""
        return tuple(self._values[row * self._width : (row + 1) * self._width])

    def forget(self) -> None:
        """Frees the rows."""
        self._values = array("q")

    def columns(self) -> dict[str, Int64]:
        """The columns, not copied: no row can be added while one is in use."""
        return dict(
            zip(
                self.kind.dtypes,
                np.frombuffer(self._values, np.int64).reshape(-1, self._width).T,
                strict=True,
            )
        )

    def table(self, **other: Int64) -> Table:
        """Returns the table, with other columns if given. A value too large for its column becomes -1."""
        columns = self.columns() | other
        return self.kind(**{name: narrowed(columns[name], dtype) for name, dtype in self.kind.dtypes.items()})


class Interned(Rows):
    """Rows without duplicates, at most `most`. left_out: how many were refused beyond that."""

    def __init__(self, kind: type[Table], most: int = 1 << 31) -> None:
        super().__init__(kind)
        self._known: dict[Hashable, int] = {}
        self._most = most
        self.left_out = 0

    def row(self, *values: int) -> int:
        """Returns the row with these values, adding it if it is new; -1 beyond the limit."""
        found = self._known.get(values)
        if found is None:
            if len(self) >= self._most:
                self.left_out += 1
                return -1
            found = self._known[values] = len(self)
            self.add(*values)
        return found


def narrowed(column: Int64, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """The column as this type of integer; what that cannot hold is -1."""
    largest = np.iinfo(dtype).max
    return np.where((column > largest) | (column < -largest), -1, column).astype(dtype)
