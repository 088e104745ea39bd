"""Gathers the tables of a recording that are kept in memory, and checks what they refer to."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.tables.blocks import Block
from perfprobe.tables.columns import TEXT, SomeTable, Table
from perfprobe.tables.events import (
    AutogradWindows,
    Losses,
    OperandReuse,
    Progress,
    Signatures,
    SignatureValues,
    Threads,
)
from perfprobe.tables.gpu import (
    ApiCalls,
    Copies,
    ExternalIds,
    GpuActivity,
    GpuOverheads,
    GpuWaits,
    Kernels,
    Launches,
)
from perfprobe.tables.python import Calls, Functions, Samples
from perfprobe.tables.ranges import Ranges
from perfprobe.tables.recording import OperatorSource, Recording, in_range
from perfprobe.tables.stacks import Frames, Modules, Stacks
from perfprobe.tables.strings import Strings
from perfprobe.tables.varints import DamagedError

# Names, stacks and signatures are interned and capped where they are recorded: real ones stay far below.
MOST_ROWS = 2_097_152
DEEPEST_META = 16

_TABLES: dict[str, type[Table]] = {
    "strings": Strings,
    "frames": Frames,
    "stacks": Stacks,
    "modules": Modules,
    "signatures": Signatures,
    "signature_values": SignatureValues,
    "operand_reuse": OperandReuse,
    "threads": Threads,
    "losses": Losses,
    "progress": Progress,
    "autograd_windows": AutogradWindows,
    "functions": Functions,
    "calls": Calls,
    "samples": Samples,
    "launches": Launches,
    "kernels": Kernels,
    "copies": Copies,
    "api_calls": ApiCalls,
    "gpu_waits": GpuWaits,
    "gpu_overheads": GpuOverheads,
    "external_ids": ExternalIds,
    "ranges": Ranges,
}
_EVENTS = ("kernels", "copies", "api_calls", "gpu_waits", "gpu_overheads", "external_ids", "ranges")
MOST_OF: dict[str, int] = {
    "operand_reuse": 4_194_304,  # 8 rows of 17 operands of each of 16,384 signatures, twice over
    "samples": 4_194_304,  # the sampler looks more rarely in a long run, to stay below
    **dict.fromkeys(_EVENTS, 67_108_864),  # hours of a busy device, some gigabytes in memory
}
_REFERENCES = {
    "frames": {"file": "strings", "function": "strings"},
    "modules": {"parent": "modules", "name": "strings", "type": "strings"},
    "stacks": {"parent": "stacks", "frame": "frames", "module": "modules"},
    "signatures": {"text": "strings", "example": "strings", "values": "strings"},
    "signature_values": {"signature": "signatures", "values": "strings"},
    "operand_reuse": {"signature": "signatures"},
    "threads": {"name": "strings"},
    "autograd_windows": {"thread": "threads"},
    "functions": {"thread": "threads", "file": "strings", "function": "strings"},
    "calls": {"caller": "functions", "callee": "functions"},
    "samples": {"thread": "threads", "stack": "stacks"},
    "kernels": {"name": "strings", "launch": "launches"},
    "api_calls": {"thread": "threads", "name": "strings", "stack": "stacks"},
    "ranges": {"thread": "threads", "name": "strings", "domain": "strings"},
}


class Definitions:
    """What has been read so far."""

    def __init__(self) -> None:
        self._tables: dict[str, list[Table]] = {name: [] for name in _TABLES}
        self._rows = dict.fromkeys(MOST_OF, 0)  # of each of these tables,
        self._small_rows = 0  # and of all others together
        self._meta: dict[str, Any] = {}
        self._unreadable: list[str] = []
        self._end_ns: int | None = None
        self._snapshot = -1

    @property
    def meta(self) -> dict[str, Any]:
        """The meta values so far."""
        return self._meta

    def add(self, block: Block) -> None:
        """Takes in a block; one of an unknown table is skipped. Raises DamagedError."""
        if block.table in self._tables:
            self._count(block)
            table = _decode(_TABLES[block.table], block)
            if isinstance(table, (Functions, Calls)) and len(table):
                self._drop_older(int(table.snapshot[-1]))
            self._tables[block.table].append(table)
        elif block.table == "meta":
            self._add_meta(block)
        elif block.table == "end" and block.rows:
            times_ns = np.empty(block.rows, np.int64)
            block.read_into("time_ns", times_ns)
            self._end_ns = int(times_ns[-1])

    def recording(
        self, path: str, stopped_at: str | None, rows: int, sources: Mapping[str, OperatorSource]
    ) -> Recording:
        """All that was read, with these sources of rows: `operators` and `autograd_operators`."""
        tables = {name: _joined(kind, self._tables[name]) for name, kind in _TABLES.items()}
        strays = {name: _repair(name, tables) for name in _REFERENCES}
        progress = Progress(**tables["progress"])
        last_ns = progress.time_ns[-1] if len(progress) else -1
        return Recording(
            path=path,
            strings=Strings(**tables["strings"]),
            frames=Frames(**tables["frames"]),
            stacks=Stacks(**tables["stacks"]),
            modules=Modules(**tables["modules"]),
            signatures=Signatures(**tables["signatures"]),
            looks=SignatureValues(**tables["signature_values"]),
            operand_reuse=OperandReuse(**tables["operand_reuse"]),
            threads=Threads(**tables["threads"]),
            meta=self._meta,
            losses=self._losses(Losses(**tables["losses"]), strays),
            progress=progress,
            complete=self._end_ns is not None and stopped_at is None,
            last_ns=int(last_ns) if self._end_ns is None else self._end_ns,
            stopped_at=stopped_at,
            operator_rows=rows,
            source=sources["operators"],
            autograd_windows=AutogradWindows(**tables["autograd_windows"]),
            autograd_source=sources["autograd_operators"],
            functions=Functions(**tables["functions"]),
            calls=Calls(**tables["calls"]),
            samples=Samples(**tables["samples"]),
            gpu=_activity(tables),
            ranges=Ranges(**tables["ranges"]),
        )

    def _count(self, block: Block) -> None:
        if block.table in MOST_OF:
            self._rows[block.table] += block.rows
            rows, most = self._rows[block.table], MOST_OF[block.table]
        else:
            self._small_rows += block.rows
            rows, most = self._small_rows, MOST_ROWS
        if rows > most:
            raise DamagedError(f"there are more {block.table} than any writer makes")

    def _drop_older(self, snapshot: int) -> None:
        """Forgets what cProfile had counted before its last snapshot, which is whole in itself."""
        if snapshot == self._snapshot:
            return
        self._snapshot = snapshot
        for name in ("functions", "calls"):
            self._small_rows -= sum(map(len, self._tables[name]))
            self._tables[name] = []

    def _add_meta(self, block: Block) -> None:
        for key, value in zip(block.texts("key"), block.texts("value"), strict=True):
            try:
                fact = json.loads(value, parse_constant=_nothing, parse_float=_finite)
            except (ValueError, RecursionError):
                fact = None
            if fact is not None and _is_shallow(fact, DEEPEST_META):
                self._meta[key] = fact
            else:
                self._unreadable.append(key)

    def _losses(self, recorded: Losses, strays: Mapping[str, int]) -> Losses:
        rows = [(f"{table}: rows that refer to nothing", count) for table, count in strays.items() if count]
        rows += [(f"meta {key}: not readable", 1) for key in self._unreadable[:8]]
        return Losses.concat([recorded, *(Losses.one("recording", reason, count) for reason, count in rows)])


def _activity(tables: Mapping[str, dict[str, npt.NDArray[Any]]]) -> GpuActivity:
    return GpuActivity(
        launches=Launches(**tables["launches"]),
        kernels=Kernels(**tables["kernels"]),
        copies=Copies(**tables["copies"]),
        api_calls=ApiCalls(**tables["api_calls"]),
        waits=GpuWaits(**tables["gpu_waits"]),
        overheads=GpuOverheads(**tables["gpu_overheads"]),
        external_ids=ExternalIds(**tables["external_ids"]),
    )


def _decode(kind: type[SomeTable], block: Block) -> SomeTable:
    columns: dict[str, npt.NDArray[Any]] = {}
    for name, dtype in kind.dtypes.items():
        if dtype == TEXT:
            columns[name] = block.texts(name)
        else:
            columns[name] = np.empty(block.rows, dtype)
            block.read_into(name, columns[name])
    return kind(**columns)


def _joined(kind: type[Table], parts: list[Table]) -> dict[str, npt.NDArray[Any]]:
    return kind.concat(parts).columns()


def _repair(name: str, tables: dict[str, dict[str, npt.NDArray[Any]]]) -> int:
    """Sets ids that refer to nothing, or a parent behind its child, to -1. Returns how many."""
    total = 0
    columns = tables[name]
    for column, target in _REFERENCES[name].items():
        rows = len(next(iter(tables[target].values())))
        limit = np.arange(rows, dtype=np.int32) if target == name else rows
        columns[column], strays = in_range(columns[column], limit)
        total += strays
    return total


def _is_shallow(value: Any, levels: int) -> bool:
    """Whether a JSON value nests at most so deep: what prints it later goes down by recursion."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return True
    return levels > 0 and all(_is_shallow(item, levels - 1) for item in value)


def _nothing(_: str) -> None:
    return None


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None
