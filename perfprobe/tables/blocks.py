"""Decodes one block of a recording: finds its columns, decodes the requested ones. Format: storage.py."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfprobe.tables import varints
from perfprobe.tables.columns import Int64, Text
from perfprobe.tables.varints import Bytes, DamagedError

CONSTANT, PLAIN, DELTA, RUNS, TEXT_CODING, RELATIVE = range(6)

MOST_COLUMNS = 256


class Column(NamedTuple):
    """The position of a column's bytes in the payload."""

    name: str
    coding: int
    start: int
    stop: int


class Block:
    """The rows of one table. Raises DamagedError if the payload is not a valid block."""

    def __init__(self, payload: bytes) -> None:
        reader = _Reader(payload)
        self.payload = payload
        self.table = reader.text()
        self.rows = reader.unsigned()
        count = reader.unsigned()
        if self.rows > len(payload) or count > MOST_COLUMNS:
            raise DamagedError("a block claims more rows or columns than it can hold")
        self._columns = [reader.column() for _ in range(count)]
        self._places = {column.name: column for column in self._columns}
        self._values: dict[Column, Int64] = {}  # of columns that are decoded: others are relative to them

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def read_into(self, name: str, out: npt.NDArray[Any]) -> None:
        """Decodes an integer column into `out`, one value a row; -1 everywhere if the column is missing."""
        column = self._places.get(name)
        if column is None or column.coding > RELATIVE:
            out.fill(-1)
        elif column.coding == CONSTANT:
            out.fill(_fitting(self._one_value(column), out.dtype))
        else:
            values = self._decoded(column)
            if out.dtype != np.int64 and len(values):
                _fitting(int(values.min()), out.dtype)
                _fitting(int(values.max()), out.dtype)
            out[:] = values

    def column(self, name: str, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """Decodes an integer column like `read_into`. One value in all rows is one value in memory."""
        column = self._places.get(name)
        rows = self.rows if column is not None and CONSTANT < column.coding <= RELATIVE else min(self.rows, 1)
        values = np.empty(rows, dtype)
        self.read_into(name, values)
        return values if rows == self.rows else np.broadcast_to(values, self.rows)

    def texts(self, name: str) -> Text:
        """Decodes a text column; "" in every row if the column is missing."""
        texts = np.full(self.rows, "", np.object_)
        column = self._places.get(name)
        if column is None or column.coding > RELATIVE:
            return texts
        if column.coding != TEXT_CODING:
            raise DamagedError(f"column {name} of {self.table} is not text")
        at = column.start
        for row in range(self.rows):
            length, at = _unsigned_at(self.payload, at, column.stop)
            texts[row] = length
        for row, length in enumerate(texts):
            texts[row] = self.payload[at : at + length].decode("utf-8", "backslashreplace")
            at += length
        if at != column.stop:
            raise DamagedError(f"the texts of column {name} of {self.table} do not fill it")
        return texts

    def _bytes(self, start: int, stop: int) -> Bytes:
        return np.frombuffer(self.payload, np.uint8, stop - start, start)

    def _one_value(self, column: Column) -> int:
        values = varints.signed(self._bytes(column.start, column.stop))
        if len(values) != 1:
            raise DamagedError(f"column {column.name} of {self.table} is not one value")
        return int(values[0])

    def _decoded(self, column: Column) -> Int64:
        if column not in self._values:
            self._values[column] = self._decode(column)
        return self._values[column]

    def _decode(self, column: Column) -> Int64:
        start = column.start
        base = 0
        if column.coding == RELATIVE:
            base, start = _unsigned_at(self.payload, start, column.stop)
        data = self._bytes(start, column.stop)
        values = varints.runs(data, self.rows) if column.coding == RUNS else varints.signed(data)
        if len(values) != self.rows or column.coding == TEXT_CODING:
            raise DamagedError(f"column {column.name} of {self.table} has not one integer a row")
        if column.coding == DELTA:
            return np.cumsum(values)
        if column.coding == RELATIVE:
            return values + self._base(column, base)
        return values

    def _base(self, column: Column, index: int) -> Int64:
        if index >= self._columns.index(column):
            raise DamagedError(f"column {column.name} of {self.table} is relative to no earlier column")
        base = self._columns[index]
        if base.coding > RELATIVE:
            raise DamagedError(f"column {column.name} of {self.table} is relative to one of unknown coding")
        if base.coding == CONSTANT:
            return np.full(self.rows, self._one_value(base))
        return self._decoded(base)


class _Reader:
    """Reads a payload from its beginning."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self._at = 0

    def unsigned(self) -> int:
        value, self._at = _unsigned_at(self._payload, self._at, len(self._payload))
        return value

    def text(self) -> str:
        start, stop = self._span()
        return self._payload[start:stop].decode("utf-8", "backslashreplace")

    def column(self) -> Column:
        name = self.text()
        coding = self.unsigned()  # codings are below 128, where a byte and a uvarint are the same
        start, stop = self._span()
        return Column(name, coding, start, stop)

    def _span(self) -> tuple[int, int]:
        length = self.unsigned()
        start = self._at
        self._at += length
        if self._at > len(self._payload):
            raise DamagedError("a block ends before its last column does")
        return start, self._at


def _unsigned_at(payload: bytes, at: int, stop: int) -> tuple[int, int]:
    value = 0
    shift = 0
    while at < stop and shift < 7 * varints.LONGEST_BYTES:
        byte = payload[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise DamagedError("an integer is cut off")


def _fitting(value: int, dtype: np.dtype[Any]) -> int:
    limits = np.iinfo(dtype)
    if not limits.min <= value <= limits.max:
        raise DamagedError(f"a value does not fit into {dtype}")
    return value
