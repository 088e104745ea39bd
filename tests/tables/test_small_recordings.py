"""Small recordings that claim many rows, many modules or many devices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from perfprobe.read.children import _descendants
from perfprobe.tables import storage
from perfprobe.tables.events import Losses
from perfprobe.tables.gpu import Kernels
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import DEEPEST_MODULES, Modules, depths
from perfprobe.tables.workers import Workers
from tests import encoding
from tests.build import Program


def written(path: Path, *payloads: bytes) -> Recording:
    path.write_bytes(encoding.head() + b"".join(map(encoding.block, payloads)))
    return storage.read(path)


def constant(rows: int, value: int) -> bytes:
    """A block of kernels with one value in all columns, filled up by a column that nobody knows."""
    columns = [
        encoding.column(name, 0, encoding.integers([value], encoding.PLAIN)) for name in Kernels.dtypes
    ]
    return encoding.payload(
        "kernels", rows, [encoding.column("unknown", encoding.PLAIN, bytes(rows)), *columns]
    )


def test_a_value_that_all_rows_share_is_in_memory_once(tmp_path: Path) -> None:
    kernels = written(tmp_path / "same.perfprobe", constant(1000, 1), constant(500, 1))[Kernels]
    assert len(kernels) == 1500
    for name in ("start_ns", "end_ns", "stream"):
        column = kernels.columns()[name]
        assert column.strides == (0,)
        assert column.tolist() == [1] * 1500
    differing = written(tmp_path / "two.perfprobe", constant(1000, 1), constant(500, 2))[Kernels]
    assert differing.start_ns.tolist() == [1] * 1000 + [2] * 500


def test_modules_are_cut_at_a_depth(tmp_path: Path) -> None:
    program = Program()
    module = -1
    for at in range(600):
        module = program.module(f"m{at}", "Net", module)
    path = tmp_path / "deep.perfprobe"
    path.write_bytes(program.encode(2))
    recording = storage.read(path)
    assert len(recording[Modules]) == 600
    assert int(depths(recording[Modules].parent).max()) == DEEPEST_MODULES - 1
    found = dict(zip(recording[Losses].reason, recording[Losses].count, strict=True))
    assert found["modules: rows with invalid references"] == 2


def test_numbers_of_devices_are_limited(tmp_path: Path) -> None:
    kernels = written(tmp_path / "far.perfprobe", constant(3, 255), constant(3, 256))[Kernels]
    assert kernels.device.tolist() == [255] * 3 + [-1] * 3


def test_descendants_of_a_process(tmp_path: Path) -> None:
    """Compared with following each process to its parents."""
    rng = np.random.default_rng(4)
    process = rng.permutation(400) + 2
    parent = rng.integers(1, 450, 400)
    columns = {name: np.full(400, -1, kind) for name, kind in Workers.dtypes.items()}
    names = {
        "name": np.full(400, "", np.object_),
        "process": process.astype(np.int32),
        "parent": parent.astype(np.int32),
    }
    given: dict[str, Any] = {name: names.get(name, column) for name, column in columns.items()}
    workers = Workers(**given)
    path = tmp_path / "run.perfprobe"
    path.write_bytes(Program(program={"pid": 1}).encode(2))
    parent_of = dict(zip(process.tolist(), parent.tolist(), strict=True))

    def is_below(each: int) -> bool:
        seen: set[int] = set()
        while each in parent_of and each not in seen:
            seen.add(each)
            each = parent_of[each]
        return each == 1

    wanted = [each for each in process.tolist() if is_below(each)]
    assert _descendants(workers, storage.read(path)).process.tolist() == wanted
    path.write_bytes(Program(program={"pid": [1]}).encode(2))  # a damaged number
    assert len(_descendants(workers, storage.read(path))) == 0
