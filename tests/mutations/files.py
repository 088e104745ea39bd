"""Files of every kind that perfprobe reads, small enough to be damaged thousands of times."""

from __future__ import annotations

import cProfile
import random
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from perfprobe.tables import measured_file
from perfprobe.tables.blocks import Block
from perfprobe.tables.varints import DamagedError
from tests import build
from tests.report.measured import measured
from tests.report.test_text import training
from tests.report.test_untrusted import gpu_payloads, payloads

_HEAD = struct.Struct("<III")
_FILE_HEAD_BYTES = 12
_SMALL = (2**31 - 1, -(2**31), 32_768, 255, 2, 1, 0, -1, -2)
_EXTREMES = (2**63 - 1, -(2**63), 2**62, -(2**62), 2**53, 2**32, *_SMALL)


def recordings(folder: Path) -> dict[str, bytes]:
    """A recording of each kind by name. folder: for temporary files."""
    recorded = {path.stem: path.read_bytes() for path in folder.glob("*.perfprobe")}
    made = {"operators": training().encode(2), "python": _joined(payloads()), "gpu": _joined(gpu_payloads())}
    return {**recorded, **made}


def _joined(payloads: list[bytes]) -> bytes:
    return build.head() + b"".join(build.block(item) for item in payloads)


def profile(path: Path) -> bytes:
    """A file of cProfile."""
    profiler = cProfile.Profile()
    profiler.runcall(lambda: sorted(range(100), key=lambda number: abs(number - 50)))
    profiler.dump_stats(path)
    return path.read_bytes()


def measurements(path: Path, belongs_to: str) -> bytes:
    """A file of `perfprobe bench`."""
    measured_file.write(str(path), measured(), belongs_to)
    return path.read_bytes()


def harmed(rng: random.Random, data: bytes, *, is_recording: bool) -> bytes:
    """A damaged copy. Recordings mostly keep correct checksums, as a wrong one ends the reading at once."""
    if not is_recording or rng.random() < 0.2:
        return _harmed_bytes(rng, data)
    found = list(_payloads(data))
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(found))
        change: Callable[[random.Random, bytes], bytes] = rng.choice((_harmed_bytes, _extreme, _extreme))
        found[at] = change(rng, found[at])
    return _joined(found)


def _payloads(data: bytes) -> Iterator[bytes]:
    at = _FILE_HEAD_BYTES
    while at < len(data):
        _, size_bytes, _ = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        yield data[at : at + size_bytes]
        at += size_bytes


def _harmed_bytes(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    length = rng.choice((1, 1, 4, 16, len(data) // 4))
    return rng.choice(
        (
            lambda: data[:at] + rng.randbytes(length) + data[at + length :],
            lambda: data[:at] + data[at + length :],
            lambda: data[:at] + data[at : at + length] * 2 + data[at + length :],
            lambda: data[:at] + b"\xff" * 9 + b"\x01" + data[at:],
        )
    )()


def _extreme(rng: random.Random, payload: bytes) -> bytes:
    """Replaces one column of the block, with some extreme values."""
    try:
        columns = dict(_columns(payload))
        block = Block(payload)
        name = rng.choice([name for name in columns if columns[name][1] != build.TEXT])
        values = np.empty(block.rows, np.int64)
        block.read_into(name, values)
    except (DamagedError, IndexError, OverflowError, MemoryError):  # it was damaged already
        return payload
    chosen = rng.sample(range(block.rows), k=rng.randint(1, block.rows))
    extremes = _EXTREMES if name.endswith(("_ns", "_bytes")) else _SMALL
    values[chosen] = [rng.choice(extremes) for _ in chosen]
    made = build.column(name, build.PLAIN, build.integers(values.tolist(), build.PLAIN))
    parts = [made if other == name else whole for other, (whole, _) in columns.items()]
    return build.payload(block.table, block.rows, parts)


def _columns(payload: bytes) -> Iterator[tuple[str, tuple[bytes, int]]]:
    """Name, bytes and coding of each column."""
    _, at = _uvarint(payload, 1 + payload[0])
    count, at = _uvarint(payload, at)
    for _ in range(count):
        start = at
        name_bytes, at = _uvarint(payload, at)
        name = payload[at : at + name_bytes].decode(errors="replace")
        coding = payload[at + name_bytes]
        size_bytes, at = _uvarint(payload, at + name_bytes + 1)
        at += size_bytes
        yield name, (payload[start:at], coding)


def _uvarint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
