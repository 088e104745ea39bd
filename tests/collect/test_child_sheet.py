"""The sheet of sums: additions by several processes, timed calls, and damaged files."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import pytest

from perfprobe import native
from perfprobe.support.errors import InputError
from perfprobe.tables import child_sums
from perfprobe.tables.workers import ChildKind


def made(path: Path, *, is_new: bool = True) -> Any:
    return native.core().ChildSheet(os.fsencode(path), is_new)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sums"


def entered(sheet: Any, **cells: int) -> int:
    row: int = sheet.take()
    sheet.add(row, "processes", 1)
    for cell, value in cells.items():
        sheet.set(row, cell, value)
    return row


def test_several_processes_share_one_file(path: Path) -> None:
    sheet = made(path)
    row = entered(sheet, process=11, parent=1, kind=ChildKind.LOADER, worker=0, workers=2)
    sheet.set_name(row, "Images" * 10)
    other = made(path, is_new=False)
    second = entered(other, process=12, parent=1, kind=ChildKind.POOL)
    other.add(row, "batches", 3)
    sheet.add(row, "batches", 4)
    workers = child_sums.read(str(path))
    assert (row, second) == (0, 1)
    assert workers.process.tolist() == [11, 12]
    assert workers.batches.tolist() == [7, -1]
    assert workers.name.tolist() == [("Images" * 10)[:48], ""]
    assert workers.ready_ns.tolist() == [-1, -1]
    with pytest.raises(FileExistsError):
        made(path)


def test_further_children_share_a_row_and_sixteen_are_detailed(path: Path) -> None:
    sheet = made(path)
    size = path.stat().st_size
    rows = [entered(sheet, process=number + 1, kind=ChildKind.LOADER) for number in range(1200)]
    for row in rows:
        sheet.add(row, "batches", 2)
        sheet.add(row, "ended", 1)
    assert [sheet.take_detail() for _ in range(20)] == [True] * 16 + [False] * 4
    workers = child_sums.read(str(path))
    assert len(workers) == len(set(rows)) == 1024
    assert int(workers.processes.sum()) == int(workers.ended.sum()) == 1200
    assert (workers.processes[-1], workers.batches[-1]) == (177, 354)
    assert (workers.process[-1], workers.kind[-1]) == (-1, ChildKind.UNKNOWN)
    assert path.stat().st_size == size < 300_000
    assert path.stat().st_mode & 0o077 == 0


def test_a_timed_call_behaves_like_the_function_and_is_timed(path: Path) -> None:
    sheet = made(path)
    row = entered(sheet, kind=ChildKind.LOADER)

    class Fetcher:
        def fetch(self, first: int, *, second: int) -> tuple[object, int, int]:
            time.sleep(0.02)
            return self, first, second

    Fetcher.fetch = sheet.timed(Fetcher.fetch, row, "fetch_ns", "batches", "ready_ns")  # type: ignore[method-assign]
    fetcher, begun_ns = Fetcher(), time.monotonic_ns()
    assert fetcher.fetch(1, second=2) == (fetcher, 1, 2)
    took_ns = time.monotonic_ns() - begun_ns
    workers = child_sums.read(str(path))
    assert 20e6 <= workers.dataset_ns[0] <= took_ns
    assert workers.batches[0] == 1
    assert begun_ns <= workers.ready_ns[0] <= workers.last_ns[0] - 20_000_000
    assert workers.cpu_ns[0] > 0


def test_an_error_passes_a_timed_call_without_an_extra_frame(path: Path) -> None:
    sheet = made(path)
    row = entered(sheet, kind=ChildKind.LOADER)

    def fail() -> None:
        time.sleep(0.01)
        raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        sheet.timed(fail, row, "collate_ns")()
    assert [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][1:] == ["fail"]
    with pytest.raises(KeyError):
        sheet.timed(fail, row, "put_ns", "batches")()
    workers = child_sums.read(str(path))
    assert workers.collate_ns[0] >= 10e6
    assert workers.batches[0] == 0
    assert workers.last_ns[0] > 0


def test_the_queue_length_is_read_before_a_call(path: Path) -> None:
    sheet = made(path)
    row = entered(sheet, kind=ChildKind.LOADER)
    free = iter([5, 3, -1, 9])
    put = sheet.timed(int, row, "put_ns", free=lambda: next(free), most_free=5)
    for _ in range(4):  # impossible values are ignored
        put()
    workers = child_sums.read(str(path))
    assert (workers.queued[0], workers.queued_most[0], workers.queued_looks[0]) == (2, 2, 2)


# Writes 32 MiB in the third call, and prints after each call by how much its memory grew.
GROWS = """
import os, sys
from perfprobe import native
from perfprobe.tables import child_sums
sheet = native.core().ChildSheet(os.fsencode(sys.argv[1]), True)
row, kept, calls = sheet.take(), [], iter([0, 0, 32 << 20, 0, 0])
sheet.add(row, "processes", 1)
fetch = sheet.timed(lambda: kept.append(bytearray(b"x") * next(calls)), row, "fetch_ns", "batches")
for _ in range(5):
    fetch()
    workers = child_sums.read(sys.argv[1])
    print(workers.private_bytes[0] - workers.private_first_bytes[0], workers.private_bytes[0])
"""


def test_memory_is_read_after_some_batches(path: Path) -> None:
    """Seen after the fourth, not after the third. In its own process nothing else is freed meanwhile."""
    done = subprocess.run([sys.executable, "-c", GROWS, path], capture_output=True, text=True, check=True)
    grown, private = zip(*(map(int, line.split()) for line in done.stdout.splitlines()), strict=True)
    if private[-1] < 0:
        pytest.skip("this kernel has no smaps_rollup")
    assert [each >= 32 << 20 for each in grown] == [False, False, False, True, True]


def test_unknown_cells_are_refused(path: Path) -> None:
    with pytest.raises(ValueError, match="no cell nonsense"):
        made(path).set(0, "nonsense", 1)


@pytest.mark.parametrize("cut", [0, 10, 40, 4096, 5000])
def test_a_truncated_sheet_is_reported(path: Path, cut: int) -> None:
    entered(made(path), process=1)
    data = path.read_bytes()
    path.unlink()  # the mapping stays on the deleted file
    path.write_bytes(data[:cut])
    with pytest.raises(InputError, match="damaged"):
        child_sums.read(str(path))
    with pytest.raises(OSError, match="Invalid argument"):
        made(path, is_new=False)


def test_arbitrary_bytes_are_read_or_refused(path: Path) -> None:
    entered(made(path), process=1)
    data = bytearray(path.read_bytes())
    path.unlink()
    for at in (*range(0, 48, 3), *range(48, 300, 17), *range(4096, 4096 + 256, 7)):
        for byte in (0, 0x7F, 0xFF):
            path.write_bytes(data[:at] + bytes([byte]) + data[at + 1 :])
            try:
                assert len(child_sums.read(str(path))) <= 1024
            except InputError:
                continue


def test_a_missing_sheet_is_reported(path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        child_sums.read(str(path))


def test_a_pipe_is_not_waited_for(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(InputError, match=r"cannot be read.*not a file"):
        child_sums.read(str(path))
