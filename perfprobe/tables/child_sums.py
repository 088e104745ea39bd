"""Reads the sheet of sums that child processes share. Its layout is in csrc/core/child_sheet.h."""

from __future__ import annotations

from typing import Any

import numpy as np

from perfprobe.support.errors import InputError
from perfprobe.tables.columns import TEXT, Int64
from perfprobe.tables.opened import regular_file
from perfprobe.tables.workers import ChildKind, Workers

FILE = "sums"  # in the folder of children
_MAGIC = b"PERFPROBE SUMS\n\0"
_HEAD_BYTES = 4096
_NAMES_AT = len(_MAGIC) + 4 * 8
_NAMES_BYTES = 1024
_MOST_BYTES = 16 << 20
_NAME_CELLS = tuple(f"name_{number}" for number in range(6))
# Written at most once; 0 means not yet.
_MOMENTS = ("forked_ns", "started_ns", "ready_ns", "last_ns")
_MEMORY = ("private_first_bytes", "private_bytes")
_PARTS = ("batches", "waiting_ns", "collate_ns", "put_ns", "send_ns", "queued_most")
_ASKED = ("processes", "ended", "process", "parent", "kind", "method", "detail", "worker", "workers")


def read(path: str) -> Workers:
    """Reads a row for each child.

    Raises:
        InputError: there is no such file, or it is not a sheet.
    """
    try:
        with open(path, "rb", opener=regular_file) as file:
            data = file.read(_MOST_BYTES)
        return _workers(data)
    except OSError as error:
        raise InputError("the sums of child processes cannot be read", path, str(error.strerror)) from error
    except (ValueError, KeyError) as error:
        raise InputError("the sums of child processes are damaged", path, "record again") from error


def _workers(data: bytes) -> Workers:
    rows, cells, taken, _ = np.frombuffer(data, "<i8", 4, len(_MAGIC)).tolist()
    if data[: len(_MAGIC)] != _MAGIC or not (0 < cells < 1024 and 0 < rows < 65_536):
        raise ValueError("no sheet")
    names = data[_NAMES_AT : _NAMES_AT + _NAMES_BYTES].split(b"\0")[0].decode("ascii", "replace").split()
    sheet = np.frombuffer(data, "<i8", rows * cells, _HEAD_BYTES).reshape(rows, cells)
    used = sheet[: max(min(taken, rows), 0)]
    of = {name: np.array(used[:, place]) for place, name in enumerate(names[:cells])}
    used_rows = of["processes"] > 0  # otherwise it was killed between two instructions
    return _table({name: values[used_rows] for name, values in of.items()})


def _table(of: dict[str, Int64]) -> Workers:
    is_one = of["processes"] == 1
    is_loader = of["kind"] == ChildKind.LOADER
    is_timed = is_loader | ~is_one
    columns = {name: of[name] for name in _ASKED}
    for name in ("process", "parent"):
        columns[name] = np.where(is_one & (of[name] > 0), of[name], -1)
    for name in ("worker", "workers"):
        columns[name] = np.where(is_loader, of[name], -1)
    moments = {name: np.where(of[name] > 0, of[name], -1) for name in _MOMENTS}
    parts = {name: np.where(is_timed, of[name], -1) for name in _PARTS}
    own_ns = np.where(is_timed, np.maximum(of["fetch_ns"] - of["collate_ns"], 0), -1)
    made = {**columns, **moments, **parts, "dataset_ns": own_ns, "cpu_ns": _known(of["cpu_ns"])}
    made |= {name: of[name] for name in ("queued", "queued_looks")}
    unknown = np.zeros_like(of["processes"])  # of recordings that are older
    made |= {name: _known(np.where(is_one, of.get(name, unknown), 0)) for name in _MEMORY}
    dtypes = {name: dtype for name, dtype in Workers.dtypes.items() if name != "name"}
    sane: dict[str, Any] = {name: _clipped(made[name], dtype) for name, dtype in dtypes.items()}
    return Workers(**sane, name=_texts(of))


def _known(values: Int64) -> Int64:
    return np.where(values > 0, values, -1)


def _clipped(values: Int64, dtype: np.dtype[np.int64]) -> Int64:
    """Clips values, because a damaged file may hold anything."""
    return np.clip(values, -1, np.iinfo(dtype).max).astype(dtype)


def _texts(of: dict[str, Int64]) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    words = np.column_stack([of[name] for name in _NAME_CELLS]).astype("<i8")
    texts = [row.tobytes().split(b"\0")[0].decode("utf-8", "replace") for row in words]
    return np.array([*texts, None], TEXT)[:-1]
