"""Decoded buffers of CUPTI records, compared with the values put into them by hand."""

from __future__ import annotations

import ctypes
import random
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfprobe.tables.columns import Table
from perfprobe.tables.events import Threads
from perfprobe.tables.gpu import (
    GPU_EVENTS,
    ApiCalls,
    Copies,
    CopyKind,
    ExternalIds,
    GpuOverheads,
    GpuWaits,
    Kernels,
    Launches,
)
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from tests.collect.cupti_buffers import (
    CONCURRENT_KERNEL,
    DRIVER,
    KERNEL,
    RUNTIME,
    STRIDES_13_0,
    Buffer,
    NextRecord,
    decode,
    iterator,
)

BLOCK_ROWS = 65_536  # of row_table.h
NAME = ctypes.create_string_buffer(b"_Z4axpyIfEvPKT_PS0_i")
DEMANGLED = "void axpy<float>(float const*, float*, int)"


def rows(table: Table) -> list[tuple[int, ...]]:
    columns = [getattr(table, name).tolist() for name in table.dtypes]
    return list(zip(*columns, strict=True))


def one_of_each() -> Buffer:
    buffer = Buffer()
    buffer.kernel(ctypes.addressof(NAME))
    buffer.kernel(ctypes.addressof(NAME), (6000, 6001), kind=KERNEL, correlation=0, graph=(9, 77_000_000_001))
    buffer.copy(1, (100, 400), 5_000_000_000)
    buffer.peer_copy()
    buffer.fill()
    buffer.call(RUNTIME, 211, 99)
    buffer.call(DRIVER, 307, 99, 700)
    buffer.call(DRIVER, 277, 100)
    buffer.call(DRIVER, 999, 100)
    buffer.wait(4)
    buffer.overhead()
    buffer.external_id(5)
    buffer.external_id(3)  # of another tool
    return buffer


def test_every_field_is_decoded(tmp_path: Path) -> None:
    recording, figures = decode(tmp_path / "a.perfprobe", [one_of_each().data])
    gpu, text = recording, recording[Strings]
    name = gpu[Kernels].name[0]
    assert text[name] == DEMANGLED
    assert rows(gpu[Launches]) == [(4096, 2, 3, 128, 4, 5, 96, 49_152, 16_384, 64)]
    assert rows(gpu[Kernels]) == [
        (5000, 5250, 2, 3, 17, name, 0, 46, -1, -1),
        (6000, 6001, 2, 3, 17, name, 0, -1, 9, 77_000_000_001),
    ]
    assert rows(gpu[Copies]) == [
        (100, 400, 1, 2, 21, 1, 2, 3, 1, 5_000_000_000, -1, 43, -1, -1),
        (100, 130, 1, 2, 21, 10, 3, 3, 0, 640, 7, 44, 12, 88),
        (200, 207, 1, 2, 21, 100, 0, 3, 0, 4096, -1, 45, -1, -1),
    ]
    called = ["cudaLaunchKernel", "cuLaunchKernel", "cuMemcpyHtoD_v2", "(driver call 999)"]
    assert [text[name] for name in gpu[ApiCalls].name] == called
    assert gpu[ApiCalls].result.tolist() == [0, 700, 0, 0]
    assert set(gpu[ApiCalls].stack.tolist()) == {-1}
    assert recording[Threads].os_thread.tolist() == [99, 100]
    assert gpu[ApiCalls].thread.tolist() == [0, 0, 1, 1]
    assert rows(gpu[GpuWaits]) == [(1100, 1180, 4, 2, -1, 47)]
    assert rows(gpu[GpuOverheads]) == [(1200, 1260, 6 << 16)]
    assert rows(gpu[ExternalIds]) == [(46, 987)]
    assert figures["records"] == 13
    assert [figures[key] for key in ("untimed", "unknown_kinds", "malformed", "unread_names")] == [0] * 4


def test_a_compiled_launch_has_the_api_functions_name(tmp_path: Path) -> None:
    buffer = Buffer()
    buffer.call(RUNTIME, 505, 99)
    recording, _ = decode(tmp_path / "a.perfprobe", [buffer.data])
    assert [recording[Strings][name] for name in recording[ApiCalls].name] == ["cudaLaunchKernel"]


def sums(gpu: Recording) -> dict[str, Any]:
    """The counters computed from the rows."""

    def total(table: Any, mask: Any, size: Any = 0) -> tuple[int, int, int]:
        return int(mask.sum()), int(np.sum(size * mask)), int((table.end_ns - table.start_ns)[mask].sum())

    copies = gpu[Copies]
    each = [total(copies, copies.kind == kind, copies.size_bytes) for kind in range(11)]
    return {
        "kernels": total(gpu[Kernels], gpu[Kernels].name >= -1),
        "copies": each,
        "fills": total(copies, copies.kind == CopyKind.FILL, copies.size_bytes),
        "waits": [total(gpu[GpuWaits], gpu[GpuWaits].kind == kind) for kind in range(5)],
    }


@pytest.mark.parametrize("seed", range(3))
def test_counters_equal_the_sums_of_the_rows(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    buffers = [Buffer() for _ in range(20)]
    for buffer in buffers:
        for _ in range(chance.randrange(60)):
            start = chance.choice((0, 1 << 40))
            times = (start, start and start + chance.randrange(1 << 30))
            add = chance.randrange(4)
            if add == 0:
                buffer.kernel(ctypes.addressof(NAME), times, grid=(chance.randrange(9), 1, 1))
            elif add == 1:
                buffer.copy(chance.randrange(14), times, chance.randrange(1 << 40))
            elif add == 2:
                buffer.wait(chance.randrange(7), times)
            else:
                buffer.fill()
    recording, figures = decode(tmp_path / "a.perfprobe", [buffer.data for buffer in buffers])
    expected = sums(recording)
    assert {key: figures[key] for key in expected} == expected
    gpu = recording
    untimed = sum(int((table.start_ns == -1).sum()) for table in (gpu[Kernels], gpu[Copies], gpu[GpuWaits]))
    assert figures["untimed"] == untimed > 0
    assert len(np.unique(np.array(rows(gpu[Launches])), axis=0)) == len(gpu[Launches]) <= 9


def test_a_name_is_read_again_from_its_address(tmp_path: Path) -> None:
    """A module was unloaded, and another module's names are at the same address."""
    lies = ctypes.create_string_buffer(16)
    buffer = Buffer()
    buffer.kernel(ctypes.addressof(lies))
    texts = [b"first", b"first", b"second", b"\xff\xfe", b""]
    left = list(texts)
    step = iterator(STRIDES_13_0)

    @NextRecord
    def change(at: int, valid: int, record: Any) -> int:
        if valid == len(buffer.data) and not record[0]:  # a new buffer
            lies.value = left.pop(0)
        return int(step(at, valid, record))

    buffers = [bytearray(buffer.data) for _ in texts]
    recording, _ = decode(tmp_path / "a.perfprobe", buffers, change)
    names = [recording[Strings][name] for name in recording[Kernels].name]
    assert names[:3] == ["first", "first", "second"]
    assert names[4] == ""
    assert recording[Kernels].name[0] == recording[Kernels].name[1]


def test_many_rows_are_written_in_several_blocks(tmp_path: Path) -> None:
    buffer = Buffer()
    buffer.kernel(ctypes.addressof(NAME), kind=CONCURRENT_KERNEL)
    many = BLOCK_ROWS + 1
    recording, figures = decode(tmp_path / "a.perfprobe", [bytearray(buffer.data * many)])
    assert len(recording[Kernels]) == figures["records"] == many
    assert len(recording[Launches]) == 1
    assert recording.complete
    assert recording.stopped_at is None


def test_a_full_disk_does_not_renumber_launches(tmp_path: Path) -> None:
    """Refused rows of other tables are lost, but kernels refer to launches by number."""
    first, second, third = Buffer(), Buffer(), Buffer()
    first.kernel(ctypes.addressof(NAME), grid=(1, 1, 1))
    first.data *= BLOCK_ROWS
    second.kernel(
        ctypes.addressof(NAME), grid=(1, 1, 1)
    )  # one more than fits in a block, so they are written
    third.kernel(ctypes.addressof(NAME), grid=(2, 1, 1))
    third.kernel(ctypes.addressof(NAME), grid=(1, 1, 1))
    step = iterator(STRIDES_13_0)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)

    @NextRecord
    def between(at: int, valid: int, record: Any) -> int:
        is_full = valid == len(second.data) and not record[0]
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, limit[1]) if is_full else limit)
        return int(step(at, valid, record))

    recording, _ = decode(tmp_path / "a.perfprobe", [first.data, second.data, third.data], between)
    assert recording[Launches].grid_x.tolist() == [1, 2]
    assert recording[Kernels].launch.tolist() == [0, 1, 0]


def test_an_empty_buffer_makes_no_rows(tmp_path: Path) -> None:
    recording, figures = decode(tmp_path / "a.perfprobe", [bytearray(), bytearray(b"\0" * 64)])
    assert recording.rows(*GPU_EVENTS) == 0
    assert figures["records"] == 0
    assert figures["unknown_kinds"] == 1
