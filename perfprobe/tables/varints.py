"""Decodes LEB128 integers to numpy columns, a whole column at a time. Sums wrap around at 64 bits.

`perfprobe._core` (csrc/read/varints.h) decodes; where it cannot be used, numpy does, in ten times the time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from perfprobe import native
from perfprobe.support.errors import EnvironmentLack
from perfprobe.tables.columns import Int64

Bytes: TypeAlias = npt.NDArray[np.uint8]
Unsigned: TypeAlias = npt.NDArray[np.uint64]

LONGEST_BYTES = 10  # 64 bits, 7 in each byte


class DamagedError(ValueError):
    """The data could not have been written in this format."""


def unsigned(data: Bytes) -> Unsigned:
    """Decodes all integers in `data`. Raises DamagedError if the last is incomplete or one is too long."""
    decode = decoder()
    return _by_numpy(data) if decode is None else np.frombuffer(_decoded(decode, data, False), np.uint64)


def signed(data: Bytes) -> Int64:
    """Decodes all zigzag integers in `data`. Raises DamagedError like `unsigned`."""
    decode = decoder()
    if decode is not None:
        return np.frombuffer(_decoded(decode, data, True), np.int64)
    return _unzigzag(_by_numpy(data))


def runs(data: Bytes, rows: int) -> Int64:
    """Decodes pairs of (zigzag value, unsigned count) to `rows` values. Raises DamagedError if damaged."""
    numbers = unsigned(data)
    counts = numbers[1::2]
    if len(numbers) % 2 or (len(counts) and int(counts.max()) > rows) or int(counts.sum()) != rows:
        raise DamagedError("runs do not add up to the number of rows")
    return np.repeat(_unzigzag(numbers[::2]), counts.astype(np.int64))


@cache
def decoder() -> Callable[[Bytes, bool], bytes] | None:
    """Returns what decodes fast; None where perfprobe's native module cannot be used."""
    try:
        return native.core().varints  # type: ignore[no-any-return]
    except EnvironmentLack:
        return None


def _decoded(decode: Callable[[Bytes, bool], bytes], data: Bytes, zigzag: bool) -> bytes:
    try:
        return decode(data, zigzag)
    except ValueError as error:
        raise DamagedError(str(error)) from error


def _by_numpy(data: Bytes) -> Unsigned:
    if len(data) and data[-1] >= 0x80:
        raise DamagedError("an integer is cut off")
    ends = np.flatnonzero(data < 0x80)
    if len(ends) == len(data):
        return data.astype(np.uint64)
    starts = np.empty_like(ends)
    starts[:1] = 0
    np.add(ends[:-1], 1, out=starts[1:])
    values = (data[starts] & 0x7F).astype(np.uint64)
    _add_further_bytes(data, starts, ends, values)
    return values


def _add_further_bytes(
    data: Bytes, starts: npt.NDArray[np.intp], ends: npt.NDArray[np.intp], values: Unsigned
) -> None:
    rows = np.flatnonzero(ends > starts)
    at = starts[rows] + 1
    shift = 7
    while len(rows):
        if shift >= 7 * LONGEST_BYTES:
            raise DamagedError("an integer has more than 64 bits")
        byte = data[at]
        values[rows] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
        longer = byte >= 0x80
        rows = rows[longer]
        at = at[longer] + 1
        shift += 7


def _unzigzag(values: Unsigned) -> Int64:
    half = (values >> np.uint64(1)).view(np.int64)
    return half ^ -(values & np.uint64(1)).view(np.int64)
