"""Files of every kind that perfprobe reads, small enough to be damaged thousands of times, and damage."""

from __future__ import annotations

import copy
import cProfile
import gzip
import json
import os
import random
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from perfprobe import native
from perfprobe.bench.ceilings import cache
from perfprobe.models.chrome import ENTRY
from perfprobe.results import Results
from perfprobe.tables import measured_file
from perfprobe.tables.blocks import Block
from perfprobe.tables.varints import DamagedError
from tests import encoding
from tests.bench.machines import machine
from tests.report.measured import measured
from tests.report.test_text import training
from tests.report.test_untrusted import gpu_payloads, payloads

_HEAD = struct.Struct("<III")
_FILE_HEAD_BYTES = 12
_SMALL = (2**31 - 1, -(2**31), 32_768, 255, 2, 1, 0, -1, -2)
_VALUES: tuple[Any, ...] = (
    *(None, -1, 0, 1, 0.5, True, "", "x", "12", [], [1, 2, 3], [1e9, -1, "a"], {}, [[]], [{}] * 1000),
    *(
        1 << 31,
        1 << 62,
        -(1 << 63),
        1 << 70,
        1e300,
        "ProfilerStep#99999999999999",
        "nn.Module: Net_0",
        "kernel",
    ),
)
_HEAD_BYTES_OF_SHEET, _ROW_BYTES_OF_SHEET = 4096, 32 * 8
_EXTREMES = (2**63 - 1, -(2**63), 2**62, -(2**62), 2**53, 2**32, *_SMALL)


def recordings(folder: Path) -> dict[str, bytes]:
    """A recording of each kind by name. folder: for temporary files."""
    recorded = {path.stem: path.read_bytes() for path in folder.glob("*.perfprobe")}
    made = {"operators": training().encode(2), "python": _joined(payloads()), "gpu": _joined(gpu_payloads())}
    return {**recorded, **made}


def _joined(payloads: list[bytes]) -> bytes:
    return encoding.head() + b"".join(encoding.block(item) for item in payloads)


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


def ceilings(path: Path) -> bytes:
    """The cached ceilings of a machine."""
    cache.write(machine(), str(path))
    return path.read_bytes()


def sums(path: Path, parent: int) -> bytes:
    """The sheet of the children of a process, and of their children."""
    sheet = native.core().ChildSheet(os.fsencode(path), True)
    for number in range(4):
        row = sheet.take()
        sheet.add(row, "processes", 1)
        facts = {"process": 100 + number, "parent": parent if number < 2 else 99 + number, "detail": 1}
        for cell, value in {
            **facts,
            "kind": number % 4,
            "worker": number,
            "workers": 4,
            "batches": 9,
        }.items():
            sheet.set(row, cell, value)
        sheet.set_name(row, "Images")
    return path.read_bytes()


def exported(recording: Path) -> bytes:
    """A recording as a trace that perfprobe exported."""
    return b"".join(Results(str(recording)).export("chrome", None).parts)


def foreign(exported: bytes) -> bytes:
    """Such a trace as torch.profiler would write it."""
    whole = json.loads(exported)
    for event in whole["traceEvents"]:
        event.get("args", {}).pop(ENTRY, None)
    return json.dumps({key: value for key, value in whole.items() if not key.startswith(ENTRY)}).encode()


def harmed_json(rng: random.Random, data: bytes) -> bytes:
    """A damaged copy, mostly with other values in a valid document."""
    if rng.random() < 0.2:
        return harmed_bytes(rng, data)
    whole = json.loads(data)
    for _ in range(rng.choice((1, 1, 2, 5, 40))):
        place, key = _chosen(rng, whole)
        if rng.random() < 0.15:
            del place[key]
        else:
            place[key] = copy.deepcopy(rng.choice((*_VALUES, place[key], [place[key]] * 3)))
    return json.dumps(whole).encode()


def _chosen(rng: random.Random, whole: dict[str, Any]) -> tuple[Any, Any]:
    """A value in a document: what contains it, and its key there."""
    place: Any = whole or {"all": 0}
    while True:
        key = rng.choice(list(place)) if isinstance(place, dict) else rng.randrange(len(place))
        if not isinstance(place[key], dict | list) or not place[key] or rng.random() < 0.1:
            return place, key
        place = place[key]


def harmed_gzip(rng: random.Random, data: bytes) -> bytes:
    """A compressed copy of a JSON document; the document or the compressed bytes are damaged."""
    if rng.random() < 0.3:
        return harmed_bytes(rng, gzip.compress(data, 1))
    return gzip.compress(harmed_json(rng, data), 1)


def harmed_sums(rng: random.Random, data: bytes) -> bytes:
    """A damaged sheet, mostly with extreme values in its head and in rows that are used."""
    if rng.random() < 0.2:
        return harmed_bytes(rng, data)
    made = bytearray(data)
    for _ in range(rng.choice((1, 2, 5, 40))):
        cell = _HEAD_BYTES_OF_SHEET + 8 * rng.randrange(5 * _ROW_BYTES_OF_SHEET // 8)
        at = rng.choice((16 + 8 * rng.randrange(4), 48 + rng.randrange(400), cell, cell))
        struct.pack_into("<q", made, at, rng.choice((*_EXTREMES, 100, 101, 102, 103, 1023, 65_535)))
    return bytes(made)


def harmed_recording(rng: random.Random, data: bytes) -> bytes:
    """A damaged copy, mostly with correct checksums, as a wrong one ends the reading at once."""
    if rng.random() < 0.2:
        return harmed_bytes(rng, data)
    found = list(_payloads(data))
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(found))
        change: Callable[[random.Random, bytes], bytes] = rng.choice((harmed_bytes, _extreme, _extreme))
        found[at] = change(rng, found[at])
    return _joined(found)


def _payloads(data: bytes) -> Iterator[bytes]:
    at = _FILE_HEAD_BYTES
    while at < len(data):
        _, size_bytes, _ = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        yield data[at : at + size_bytes]
        at += size_bytes


def harmed_bytes(rng: random.Random, data: bytes) -> bytes:
    """A copy with bytes overwritten, removed, doubled or inserted."""
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
        name = rng.choice([name for name in columns if columns[name][1] != encoding.TEXT])
        values = np.empty(block.rows, np.int64)
        block.read_into(name, values)
    except (DamagedError, IndexError, OverflowError, MemoryError):  # it was damaged already
        return payload
    chosen = rng.sample(range(block.rows), k=rng.randint(1, block.rows))
    extremes = _EXTREMES if name.endswith(("_ns", "_bytes")) else _SMALL
    values[chosen] = [rng.choice(extremes) for _ in chosen]
    made = encoding.column(name, encoding.PLAIN, encoding.integers(values.tolist(), encoding.PLAIN))
    parts = [made if other == name else whole for other, (whole, _) in columns.items()]
    return encoding.payload(block.table, block.rows, parts)


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
