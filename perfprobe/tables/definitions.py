"""Collects the tables of a recording that are kept in memory, and checks their references."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.tables.blocks import Block
from perfprobe.tables.cells import with_cells
from perfprobe.tables.columns import TEXT, SomeTable, Table
from perfprobe.tables.counters import Counters, MemoryTraffic
from perfprobe.tables.device_memory import DeviceReadings
from perfprobe.tables.events import (
    AutogradOperators,
    AutogradWindows,
    Losses,
    OperandReuse,
    Operators,
    OperatorWindows,
    Progress,
    Signatures,
    SignatureValues,
    Threads,
)
from perfprobe.tables.gpu import (
    MOST_DEVICES,
    ApiCalls,
    Copies,
    ExternalIds,
    GpuOverheads,
    GpuWaits,
    Kernels,
    KinetoLaunches,
    Launches,
)
from perfprobe.tables.gpu_states import GpuStates
from perfprobe.tables.kept import OperatorSums, SampleSums, StepSums
from perfprobe.tables.live_steps import LiveSteps
from perfprobe.tables.memory import MemoryBlocks, MemoryRows
from perfprobe.tables.meta import End, Meta
from perfprobe.tables.module_calls import ModuleCalls
from perfprobe.tables.native_code import NativeFunctions, NativeSamples
from perfprobe.tables.processors import ProcessorTimes, ThreadTimes, WaitReadings
from perfprobe.tables.python import Calls, Functions, Samples
from perfprobe.tables.ranges import Ranges
from perfprobe.tables.recording import OperatorSource, Recording, in_range
from perfprobe.tables.stacks import DEEPEST_MODULES, Frames, Modules, Stacks, depths
from perfprobe.tables.strings import Strings
from perfprobe.tables.teams import ThreadActivity
from perfprobe.tables.varints import DamagedError

# Names, stacks and signatures are interned and limited when recorded, so valid files stay far below.
MOST_ROWS = 2_097_152
DEEPEST_META = 16

IN_MEMORY: tuple[type[Table], ...] = (
    *(Strings, Frames, Modules, Stacks, Signatures, SignatureValues, OperandReuse, Threads),
    *(Losses, Progress, AutogradWindows, OperatorWindows, Functions, Calls, Samples),
    *(Launches, KinetoLaunches, Kernels, Copies, ApiCalls, GpuWaits, GpuOverheads, ExternalIds, Ranges),
    GpuStates,
    *(ThreadTimes, ProcessorTimes, WaitReadings, ThreadActivity, LiveSteps),
    *(NativeFunctions, NativeSamples, Counters, MemoryTraffic),
    *(StepSums, OperatorSums, SampleSums, DeviceReadings, ModuleCalls),
)
STREAMED: tuple[type[Table], ...] = (Operators, AutogradOperators, MemoryRows)
OF_THE_WHOLE: tuple[type[Table], ...] = (Meta, End)
_BY_NAME = {kind.table_name: kind for kind in (*IN_MEMORY, *OF_THE_WHOLE)}
_IN_SNAPSHOTS = tuple(kind for kind in IN_MEMORY if "snapshot" in kind.dtypes)


class Definitions:
    """The tables and meta values that have been read so far."""

    def __init__(self) -> None:
        self._tables: dict[type[Table], list[Table]] = {kind: [] for kind in IN_MEMORY}
        self._rows: Counter[type[Table] | None] = Counter()  # None: all tables without their own limit
        self._meta: dict[str, Any] = {}
        self._unreadable: list[str] = []
        self._end_ns: int | None = None
        self._snapshot = -1

    @property
    def meta(self) -> dict[str, Any]:
        """The meta values that have been read so far."""
        return self._meta

    def add(self, block: Block) -> None:
        """Adds a block; skips it if its table is unknown. Raises DamagedError."""
        kind = _BY_NAME.get(block.table)
        if kind is None:
            return
        if kind in self._tables:
            self._count(kind, block.rows)
        self.keep(decoded(kind, block))

    def keep(self, table: Table) -> None:
        """Adds these rows, of a table of `IN_MEMORY` or `OF_THE_WHOLE`."""
        kind = type(table)
        if isinstance(table, Meta):
            self._add_meta(table)
        elif isinstance(table, End):
            self._end_ns = int(table.time_ns[-1]) if len(table) else self._end_ns
        else:
            if kind in _IN_SNAPSHOTS and len(table):
                self._drop_older(int(table.columns()["snapshot"][-1]))
            self._tables[kind].append(table)

    def recording(
        self,
        path: str,
        stopped_at: str | None,
        rows: int,
        sources: Mapping[str, OperatorSource],
        memory: MemoryBlocks | None = None,
    ) -> Recording:
        """Makes the recording from all that was read. sources: yield the rows of operators' tables."""
        joined = {kind: kind.concat(parts) for kind, parts in self._tables.items()}
        sizes = {kind: len(table) for kind, table in joined.items()}
        repaired = {kind: _repaired(table, sizes) for kind, table in joined.items()}
        strays = {kind.table_name: count for kind, (_, count) in repaired.items()}
        tables = {kind: table for kind, (table, _) in repaired.items()}
        tables[Strings] = with_cells(tables[Strings].columns()["text"], self._meta.get("cells"))
        lost = Losses.concat(self._losses(strays))
        tables[Losses] = tables[Losses].concat([tables[Losses], lost])
        return Recording(
            path=path,
            tables=tables,
            meta=self._meta,
            complete=self._end_ns is not None and stopped_at is None,
            last_ns=_last_ns(tables[Progress]) if self._end_ns is None else self._end_ns,
            stopped_at=stopped_at,
            operator_rows=rows,
            source=sources[Operators.table_name],
            autograd_source=sources[AutogradOperators.table_name],
            memory=memory,
        )

    def _count(self, kind: type[Table], rows: int) -> None:
        counted = None if kind.most_rows is None else kind
        self._rows[counted] += rows
        if self._rows[counted] > (MOST_ROWS if kind.most_rows is None else kind.most_rows):
            raise DamagedError(f"there are more {kind.table_name} than any writer makes")

    def _drop_older(self, snapshot: int) -> None:
        """Drops cProfile's earlier snapshots, because the last one is complete."""
        if snapshot == self._snapshot:
            return
        self._snapshot = snapshot
        for kind in _IN_SNAPSHOTS:
            self._rows[None] -= sum(map(len, self._tables[kind]))
            self._tables[kind] = []

    def _add_meta(self, rows: Meta) -> None:
        for key, value in zip(rows.key, rows.value, strict=True):
            try:
                fact = json.loads(value, parse_constant=_nothing, parse_float=_finite)
            except (ValueError, RecursionError):
                fact = None
            if fact is not None and _is_shallow(fact, DEEPEST_META):
                self._meta[key] = fact
            else:
                self._unreadable.append(key)

    def _losses(self, strays: Mapping[str, int]) -> list[Losses]:
        rows = [(f"{table}: rows with invalid references", count) for table, count in strays.items() if count]
        rows += [(f"meta {key}: not readable", 1) for key in self._unreadable[:8]]
        return [Losses.one("recording", reason, count) for reason, count in rows]


def _last_ns(progress: Table) -> int:
    times_ns = progress.columns()["time_ns"]
    return int(times_ns[-1]) if len(times_ns) else -1


def decoded(kind: type[SomeTable], block: Block) -> SomeTable:
    """Returns the rows of a block as this table. Raises DamagedError."""
    columns: dict[str, npt.NDArray[Any]] = {}
    for name, dtype in kind.dtypes.items():
        if dtype == TEXT:
            columns[name] = block.texts(name)
        else:
            columns[name] = block.column(name, dtype)
    return kind(**columns)


def _repaired(table: SomeTable, sizes: Mapping[type[Table], int]) -> tuple[SomeTable, int]:
    """Returns the table with -1 for invalid ids, and their number. Rows must refer to earlier rows of it."""
    columns, total = table.columns(), 0
    for name, target in table.references().items():
        own = target is type(table)
        limit = np.arange(len(table), dtype=np.int32) if own else sizes[target]
        columns[name], strays = in_range(columns[name], limit)
        total += strays
    if "device" in columns:
        columns["device"], strays = in_range(columns["device"], MOST_DEVICES)
        total += strays
    if isinstance(table, Modules):
        is_too_deep = depths(columns["parent"]) % DEEPEST_MODULES == DEEPEST_MODULES - 1
        columns["parent"] = np.where(is_too_deep, np.int32(-1), columns["parent"])
        total += int(np.count_nonzero(is_too_deep))
    return (type(table)(**columns) if total else table), total


def _is_shallow(value: Any, levels: int) -> bool:
    """Whether a JSON value is nested at most this deep, because printing it is recursive."""
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
