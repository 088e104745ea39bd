"""SYNTHETIC buffers of CUPTI records, made by hand after cupti_activity.h, and a twin of its iterator.

They test decoding and stepping, never what a GPU delivers.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfprobe import _core
from perfprobe.tables.recording import Recording
from perfprobe.tables.storage import read

MEMCPY, MEMSET, KERNEL, DRIVER, RUNTIME, CONCURRENT_KERNEL, OVERHEAD, MEMCPY2 = 1, 2, 3, 4, 5, 10, 17, 22
SYNCHRONIZATION, EXTERNAL = 38, 39

SUCCESS, END, INVALID_KIND = 0, 12, 21

# Bytes of each kind of record in CUPTI 13.0.
STRIDES_13_0 = {
    MEMCPY: 96,
    MEMSET: 88,
    KERNEL: 216,
    DRIVER: 40,
    RUNTIME: 40,
    CONCURRENT_KERNEL: 216,
    OVERHEAD: 56,
    MEMCPY2: 96,
    SYNCHRONIZATION: 56,
    EXTERNAL: 24,
}

NextRecord = ctypes.CFUNCTYPE(
    ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p)
)
CallbackName = ctypes.CFUNCTYPE(
    ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32, ctypes.POINTER(ctypes.c_char_p)
)

API_NAMES = {
    (2, 211): b"cudaLaunchKernel_v7000",
    (2, 505): b"__cudaLaunchKernel_v13000",
    (1, 307): b"cuLaunchKernel",
    (1, 277): b"cuMemcpyHtoD_v2",
}


def iterator(strides: Mapping[int, int]) -> Any:
    """A function like cuptiActivityGetNextRecord in a library with these record lengths."""

    def step(buffer: int, valid: int, record: Any) -> int:
        at = buffer
        if record[0]:
            at = record[0] + strides[ctypes.c_uint32.from_address(record[0]).value]
        if at + 4 > buffer + valid:
            return END
        stride = strides.get(ctypes.c_uint32.from_address(at).value)
        if stride is None:
            return INVALID_KIND
        if at + stride > buffer + valid:
            return END
        record[0] = at
        return SUCCESS

    return NextRecord(step)


def namer(names: Mapping[tuple[int, int], bytes]) -> Any:
    """A function like cuptiGetCallbackName in a library with these names, by domain and callback."""

    def name_of(domain: int, callback: int, name: Any) -> int:
        name[0] = names.get((domain, callback))
        return int(name[0] is None)

    return CallbackName(name_of)


@dataclass
class Buffer:
    """A sequence of records. Unset bytes are 0xee, so that no field is right by accident."""

    strides: Mapping[int, int] = field(default_factory=lambda: STRIDES_13_0)
    data: bytearray = field(default_factory=bytearray)

    def add(self, kind: int, *fields: tuple[int, str, tuple[Any, ...]]) -> None:
        """fields: offset, format as in `struct`, values."""
        record = bytearray(b"\xee" * self.strides[kind])
        struct.pack_into("<I", record, 0, kind)
        for offset, layout, values in fields:
            struct.pack_into(f"<{layout}", record, offset, *values)
        self.data += record

    def kernel(
        self,
        name: int,
        times: tuple[int, int] = (5000, 5250),
        *,
        kind: int = CONCURRENT_KERNEL,
        grid: tuple[int, int, int] = (4096, 2, 3),
        correlation: int = 46,
        graph: tuple[int, int] = (0, 0),
    ) -> None:
        self.add(
            kind,
            (6, "H", (96,)),
            (16, "QQ", times),
            (40, "3I", (2, 3, 17)),
            (52, "8i", (*grid, 128, 4, 5, 49_152, 16_384)),
            (84, "I", (64,)),
            (92, "I", (correlation,)),
            (104, "Q", (name,)),
            (144, "Q", (graph[1],)),
            (156, "I", (graph[0],)),
        )

    def copy(self, direction: int, times: tuple[int, int], size_bytes: int) -> None:
        self.add(
            MEMCPY,
            (4, "4B", (direction, 2, 3, 1)),
            (8, "QQQ", (size_bytes, *times)),
            (32, "4I", (1, 2, 21, 43)),
            (64, "QI", (0, 0)),
        )

    def peer_copy(self) -> None:
        self.add(
            MEMCPY2,
            (4, "4B", (10, 3, 3, 0)),
            (8, "QQQ", (640, 100, 130)),
            (32, "8I", (1, 2, 21, 1, 5, 7, 6, 44)),
            (72, "QI", (88, 12)),
        )

    def fill(self) -> None:
        self.add(
            MEMSET,
            (8, "QQQ", (4096, 200, 207)),
            (32, "4I", (1, 2, 21, 45)),
            (48, "HH", (0, 3)),
            (64, "QI", (0, 0)),
        )

    def call(self, kind: int, callback: int, thread: int, result: int = 0) -> None:
        self.add(
            kind,
            (4, "I", (callback,)),
            (8, "QQ", (1000, 1050)),
            (24, "4I", (1234, thread, 46, result)),
        )

    def wait(self, kind: int, times: tuple[int, int] = (1100, 1180)) -> None:
        self.add(SYNCHRONIZATION, (4, "I", (kind,)), (8, "QQ", times), (24, "3I", (47, 2, 0xFFFF_FFFF)))

    def overhead(self) -> None:
        self.add(OVERHEAD, (4, "I", (6 << 16,)), (24, "QQ", (1200, 1260)))

    def external_id(self, kind: int) -> None:
        self.add(EXTERNAL, (4, "I", (kind,)), (8, "QI", (987, 46)))


def address_of(function: Any) -> int:
    """The address of a ctypes function."""
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


def decode(
    path: Path,
    buffers: list[bytearray],
    next_record: Any = None,
    callback_name: Any = None,
    fixture: Path | None = None,
) -> tuple[Recording, dict[str, Any]]:
    """Returns the recording of these buffers and the decoder's figures. fixture: file that saves them too."""
    recorder = _core.Recorder(str(path))
    step = (
        iterator(STRIDES_13_0) if next_record is None else next_record
    )  # a function must live as long as its address is used
    name = namer(API_NAMES) if callback_name is None else callback_name
    figures = _core.decode_cupti(
        recorder.capsule(),
        address_of(step),
        address_of(name),
        buffers,
        None if fixture is None else str(fixture),
    )
    recorder.close()
    return read(path), figures
