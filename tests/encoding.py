"""How recordings are encoded: a simple Python twin of the C++ writer."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

CONSTANT, PLAIN, DELTA, RUNS, TEXT, RELATIVE = range(6)

Column = Sequence[Any]


def replace(path: Path, data: bytes) -> None:
    """Writes a new file: to overwrite one waits for the disk, 2 ms each time."""
    path.unlink(missing_ok=True)
    path.write_bytes(data)


def uvarint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def svarint(value: int) -> bytes:
    value = (value + 2**63) % 2**64 - 2**63  # C++ wraps around like this
    return uvarint(value << 1 if value >= 0 else (-value << 1) - 1)


def text(value: str) -> bytes:
    data = value.encode()
    return uvarint(len(data)) + data


def integers(values: Column, coding: int, base: Column = (), base_index: int = 0) -> bytes:
    """The bytes of an integer column in this coding."""
    if coding == CONSTANT:
        return svarint(values[0])
    if coding == PLAIN:
        return b"".join(svarint(value) for value in values)
    if coding == DELTA:
        before = [0, *values[:-1]]
        return b"".join(svarint(value - last) for value, last in zip(values, before, strict=True))
    if coding == RELATIVE:
        body = b"".join(svarint(value - other) for value, other in zip(values, base, strict=True))
        return uvarint(base_index) + body
    assert coding == RUNS
    runs: list[list[int]] = []
    for value in values:
        if runs and runs[-1][0] == value:
            runs[-1][1] += 1
        else:
            runs.append([value, 1])
    return b"".join(svarint(value) + uvarint(count) for value, count in runs)


def texts(values: Column) -> bytes:
    data = [value.encode() for value in values]
    return b"".join(uvarint(len(item)) for item in data) + b"".join(data)


def column(name: str, coding: int, data: bytes) -> bytes:
    return text(name) + bytes([coding]) + uvarint(len(data)) + data


def payload(table: str, rows: int, columns: Sequence[bytes]) -> bytes:
    return text(table) + uvarint(rows) + uvarint(len(columns)) + b"".join(columns)


def block(data: bytes) -> bytes:
    return struct.pack("<III", 0x4B4C4250, len(data), zlib.crc32(data)) + data


def head(version: int = 1) -> bytes:
    return b"PERFPROBE\n" + struct.pack("<H", version)


def coding_of(name: str, values: Column) -> int:
    if name.endswith("_ns"):
        return DELTA
    if len(set(values)) == 1:
        return CONSTANT
    changes = sum(left != right for left, right in pairwise(values))
    return RUNS if changes * 3 < len(values) else PLAIN


def table_block(table: str, columns: Mapping[str, Column]) -> bytes:
    """A block with a suitable coding for each column, similar to the choice of the C++ writer."""
    coded = []
    for name, values in columns.items():
        if isinstance(values[0], str):
            coded.append(column(name, TEXT, texts(values)))
        elif name == "end_ns":
            base, at = columns["start_ns"], list(columns).index("start_ns")
            coded.append(column(name, RELATIVE, integers(values, RELATIVE, base, at)))
        else:
            coding = coding_of(name, values)
            coded.append(column(name, coding, integers(values, coding)))
    return block(payload(table, len(next(iter(columns.values()))), coded))
