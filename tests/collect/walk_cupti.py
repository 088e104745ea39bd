"""Decodes synthetic records with the iterator of the given libcupti and prints the result.

Runs as a program of its own, because CUPTI 13.2 without a driver ends in endless recursion.
"""

from __future__ import annotations

import ctypes
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from perfprobe.tables.gpu import GPU_EVENTS, ApiCalls, ExternalIds, Kernels
from perfprobe.tables.strings import Strings
from tests.collect.cupti_buffers import RUNTIME, STRIDES_13_0, SUCCESS, Buffer, decode

NAME = ctypes.create_string_buffer(b"_Z4axpyIfEvPKT_PS0_i")


def step_by(library: ctypes.CDLL) -> Any:
    step = library.cuptiActivityGetNextRecord
    step.restype = ctypes.c_uint32
    step.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p)]
    return step


def stride(step: Any, kind: int) -> int:
    """How far the library steps after a record of this kind; 0 if it does not step."""
    words = (ctypes.c_uint32 * 1024)(*[kind] * 1024)
    record = ctypes.c_void_p()
    for _ in range(2):
        if step(words, ctypes.sizeof(words), ctypes.byref(record)) != SUCCESS:
            return 0
    return (record.value or 0) - ctypes.addressof(words)


def fill(buffer: Buffer) -> list[int]:
    """Makes one record of each kind; returns where each ends."""
    ends = []
    adds: list[Callable[[], None]] = [
        lambda: buffer.kernel(ctypes.addressof(NAME)),
        lambda: buffer.copy(1, (100, 400), 5_000_000_000),
        buffer.peer_copy,
        buffer.fill,
        lambda: buffer.call(RUNTIME, 211, 99),
        lambda: buffer.wait(4),
        buffer.overhead,
        lambda: buffer.external_id(5),
    ]
    for add in adds:
        add()
        ends.append(len(buffer.data))
    return ends


def main() -> None:
    library = ctypes.CDLL(sys.argv[1])
    version = ctypes.c_uint32()
    result = library.cuptiGetVersion(ctypes.byref(version))
    step = step_by(library)
    strides = {kind: stride(step, kind) for kind in STRIDES_13_0}
    seen: dict[str, Any] = {"result": result, "version": version.value, "strides": strides}
    if all(strides.values()):
        buffer = Buffer(strides)
        ends = fill(buffer)
        cuts = [bytearray(buffer.data[:size]) for size in range(len(buffer.data) + 1)]
        with tempfile.TemporaryDirectory() as folder:
            recording, figures = decode(Path(folder) / "a", [buffer.data], step, library.cuptiGetCallbackName)
            _, cut = decode(Path(folder) / "b", cuts, step, library.cuptiGetCallbackName)
        gpu, text = recording, recording[Strings]
        seen |= {
            "figures": figures,
            "kernel": [
                text[int(gpu[Kernels].name[0])],
                int(gpu[Kernels].start_ns[0]),
                int(gpu[Kernels].end_ns[0]),
            ],
            "call": [text[int(gpu[ApiCalls].name[0])], int(gpu[ApiCalls].correlation[0])],
            "rows": [gpu.rows(*GPU_EVENTS), len(gpu[ExternalIds])],
            "ends": ends,
            "cut": cut,
        }
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
