"""Small recordings for tests, built row by row."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfprobe.tables.counters import Counters
from perfprobe.tables.gpu import (
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
from perfprobe.tables.live_steps import LiveSteps
from perfprobe.tables.memory import MemoryEvent, MemoryRows
from perfprobe.tables.module_calls import ModuleCalls
from perfprobe.tables.native_code import NativeFunctions, NativeSamples
from perfprobe.tables.processors import ProcessorTimes, ThreadTimes, WaitReadings
from perfprobe.tables.python import Samples
from perfprobe.tables.ranges import Ranges
from perfprobe.tables.recording import Recording
from perfprobe.tables.storage import read
from perfprobe.tables.teams import ThreadActivity
from tests.encoding import (
    Column,
    head,
    table_block,
)

NEXT = "next "

GPU = (
    *(Launches, KinetoLaunches, Kernels, Copies, ApiCalls, GpuWaits, GpuOverheads, ExternalIds, Ranges),
    GpuStates,
)

_NO_TIMES = dict.fromkeys(ThreadTimes.dtypes, -1)

OPERATOR_DEFAULTS: dict[str, int] = {
    "start_ns": 0,
    "end_ns": 0,
    "cpu_ns": -1,
    "thread": 0,
    "depth": 0,
    "name": 0,
    "overload": -1,
    "signature": -1,
    "stack": -1,
    "sequence": -1,
    "forward_thread": -1,
    "scope": 0,
    "node_sequence": -1,
    "node_thread": -1,
    "allocated_bytes": -1,
    "freed_bytes": -1,
    "faults": -1,
}


@dataclass
class Op:
    """An operator and the operators inside it. `fields` are columns of the operators table."""

    name: str
    start_ns: int
    end_ns: int
    inside: Sequence[Op] = ()
    fields: dict[str, int] = field(default_factory=dict)


def op(name: str, start_ns: int, end_ns: int, *inside: Op, **fields: int) -> Op:
    return Op(name, start_ns, end_ns, inside, fields)


class Program:
    """What a recorded program did. It encodes itself as a recording.

    Stacks are written outermost frame first, as "train.py:10 main". If the function's first line is not 1, it
    comes after a slash: "train.py:10/8 main". A frame may be a pair with the module whose call it is. A frame
    that begins with "next " asks the iterator of a `for` loop for the next item.
    """

    def __init__(self, **meta: Any) -> None:
        self.meta: dict[str, Any] = meta
        self.losses: list[tuple[str, str, int, str]] = []
        self.progress: list[tuple[int, int]] = []
        self.end_ns: int | None = 0
        self.operators: list[dict[str, int]] = []
        self.hashes: dict[str, int] = {}  # of lines' texts, by place as given to `frame`
        self._tables: dict[str, list[tuple[Any, ...]]] = {}
        self._ids: dict[tuple[Any, ...], int] = {}

    def row(self, table: str, *values: Any, anew: bool = False) -> int:
        """Returns the row of a definition table with these values. anew: adds a row even if there is one."""
        assert table in TABLES, f"{table} would not be written"
        rows = self._tables.setdefault(table, [])
        if anew or (table, *values) not in self._ids:
            self._ids[(table, *values)] = len(rows)
            rows.append(values)
        return self._ids[(table, *values)]

    def string(self, value: str) -> int:
        return self.row("strings", value)

    def frame(self, place: str) -> int:
        match = re.match(r"(.*?):(\d+)(?:/(\d+))?(?: (.*))?$", place, re.DOTALL)
        assert match is not None, place
        file, line, first_line, function = match.groups()
        names = self.string(file), self.string(function or "<module>")
        known = (self.hashes[place],) if place in self.hashes else ()
        return self.row("frames", *names, int(first_line or 1), int(line), *known)

    def module(self, name: str, kind: str = "Module", parent: int = -1) -> int:
        return self.row("modules", parent, self.string(name), self.string(kind))

    def stack(self, *frames: str | tuple[str, int]) -> int:
        stack, module = -1, -1
        for entry in frames:
            place, module = entry if isinstance(entry, tuple) else (entry, module)
            asks = (1,) if place.startswith(NEXT) else ()
            stack = self.row("stacks", stack, self.frame(place.removeprefix(NEXT)), module, *asks)
        return stack

    def signature(self, value: str, grad_mask: int = 0, operator: str = "", **fields: str) -> int:
        """operator: the operator with these inputs; without it the recording does not say."""
        texts = {"name": operator, "overload": "", "example": "", "values": "", **fields}
        ids = {name: self.string(text) if text else -1 for name, text in texts.items()}
        row = ids["example"], grad_mask, ids["values"], ids["name"], ids["overload"]
        return self.row("signatures", self.string(value), *row)

    def thread(self, forward_id: int, name: str = "") -> int:
        return self.row("threads", 1000 + forward_id, forward_id, self.string(name))

    def run(self, *operators: Op, thread: int = 0, depth: int = 0) -> None:
        """Runs the operators of a thread, one after another."""
        for item in operators:
            self.run(*item.inside, thread=thread, depth=depth + 1)
            row = {**OPERATOR_DEFAULTS, "start_ns": item.start_ns, "end_ns": item.end_ns, "depth": depth}
            self.operators.append({**row, "thread": thread, "name": self.string(item.name), **item.fields})

    def counted(self, place: str, calls: int, own_ns: int, total_ns: int, **fields: int) -> int:
        """A function as counted by cProfile: "train.py:8 main"; a C function: "<built-in method len>"."""
        where, _, function = place.partition(" ")
        file, _, line = where.rpartition(":")
        is_c = place.startswith("<")
        row = {
            "snapshot": 0,
            "thread": 0,
            "file": -1 if is_c else self.string(file),
            "function": self.string(place if is_c else function),
            "first_line": 0 if is_c else int(line),
            "calls": calls,
            "primitive_calls": calls,
            "own_ns": own_ns,
            "total_ns": total_ns,
        }
        return self.row("functions", *{**row, **fields}.values(), anew=True)

    def call(self, caller: int, callee: int, calls: int, own_ns: int, total_ns: int) -> None:
        """Adds that one function called another; both are rows of `functions`."""
        self.row("calls", 0, caller, callee, calls, calls, own_ns, total_ns, anew=True)

    def sample(self, start_ns: int, end_ns: int, *frames: str, thread: int = 0, **fields: int) -> None:
        """A look at a thread: the frames it ran. If there are none, `look` says why."""
        row = {
            "stack": self.stack(*frames),
            "look": 0,
            "looks": 1,
            "cpu_ns": -1,
            "lock_looks": -1,
            "wait_ns": -1,
            "clock_ns": -1,
            "waits_for": -1,
        }
        self.row("samples", start_ns, end_ns, thread, *{**row, **fields}.values(), anew=True)

    def api_call(self, name: str, start_ns: int, end_ns: int, correlation: int, **fields: int) -> int:
        """A call of the CUDA API, by default on thread 0."""
        given = {"thread": 0, "name": self.string(name), "correlation": correlation, "result": 0, "stack": -1}
        return self.row("api_calls", start_ns, end_ns, *{**given, **fields}.values(), anew=True)

    def kernel(self, name: str, start_ns: int, end_ns: int, correlation: int, **fields: int) -> int:
        """A kernel on stream 7 of device 0; `launch` is a row of `launches`."""
        given = {"device": 0, "context": 1, "stream": 7, "name": self.string(name)}
        given |= {"launch": -1, "correlation": correlation, "graph": -1, "graph_node": -1}
        return self.row("kernels", start_ns, end_ns, *{**given, **fields}.values(), anew=True)

    def copy(self, kind: int, start_ns: int, end_ns: int, correlation: int, **fields: int) -> int:
        """A copy, by default of 1024 bytes from pageable memory to the device."""
        given = {"device": 0, "context": 1, "stream": 7, "kind": kind, "source": 1, "destination": 3}
        given |= {"is_async": 0, "size_bytes": 1024, "peer_device": -1, "correlation": correlation}
        given |= {"graph": -1, "graph_node": -1}
        return self.row("copies", start_ns, end_ns, *{**given, **fields}.values(), anew=True)

    def gpu_wait(self, kind: int, start_ns: int, end_ns: int, correlation: int, **fields: int) -> int:
        """A wait for stream 7."""
        given = {"kind": kind, "context": 1, "stream": 7, "correlation": correlation}
        return self.row("gpu_waits", start_ns, end_ns, *{**given, **fields}.values(), anew=True)

    def named_range(self, name: str, start_ns: int, end_ns: int, domain: str = "", **fields: int) -> int:
        """A nested NVTX range of thread 0."""
        given = {"thread": 0, "name": self.string(name), "domain": self.string(domain) if domain else -1}
        given |= {"source": 0, "kind": 0, **fields}
        return self.row("ranges", start_ns, end_ns, *given.values(), anew=True)

    def reading(self, time_ns: int, threads: Mapping[int, tuple[int, int]], **fields: int) -> None:
        """A reading: sums by thread row (run and wait) and of the machine until then; two processors."""
        given = dict.fromkeys(ProcessorTimes.dtypes, -1)
        given |= {"process_cpu_ns": sum(run_ns for run_ns, _ in threads.values()), "processors": 2}
        self.row("processor_times", *{**given, **fields, "time_ns": time_ns}.values(), anew=True)
        for thread, times_ns in threads.items():
            times = {"time_ns": time_ns, "thread": thread, "run_ns": times_ns[0], "wait_ns": times_ns[1]}
            self.row("thread_times", *{**_NO_TIMES, **times}.values(), anew=True)

    def activity(self, start_ns: int, end_ns: int, callers_ns: int, helpers_ns: int, **fields: int) -> None:
        """How much threads ran between two ticks of the sampler; one helper by default."""
        given = {"most_ns": helpers_ns, "helpers": 1 if helpers_ns else 0, **fields}
        self.row("thread_activity", start_ns, end_ns, callers_ns, helpers_ns, *given.values(), anew=True)

    def memory(self, event: MemoryEvent, time_ns: int, storage: int, size_bytes: int = -1) -> None:
        """An allocation, a free, or a storage of a module, on thread 0 and without a stack."""
        self.row("memory", time_ns, 0, int(event), storage, size_bytes, -1, anew=True)

    def native(self, time_ns: int, library: str, function: str, thread: int = 0, **fields: int) -> None:
        """A sample of the instruction address. It stands for 1 ms of CPU time in the program's own code."""
        names = self.string(library), self.string(function) if function else -1
        row = self.row("native_functions", *names, 1)
        given = {"time_ns": time_ns, "cpu_ns": 1_000_000, "thread": thread, "function": row, "mode": 0}
        self.row("native_samples", *{**given, **fields}.values(), anew=True)

    def counts(self, start_ns: int, end_ns: int, thread: int = 0, **fields: int) -> None:
        """Counts of a thread between two readings. A count that is not given was not counted."""
        given = dict.fromkeys(Counters.dtypes, -1) | {"cpu_ns": end_ns - start_ns, "thread": thread}
        given |= {"enabled_ns": 0, "core_ns": 0, "cache_ns": 0, "stalls_ns": 0, **fields}
        self.row("counters", *{**given, "start_ns": start_ns, "end_ns": end_ns}.values(), anew=True)

    def blocks(self, block_rows: int = 3600) -> list[bytes]:
        """The blocks of the recording in order. Each operators block has rows of one thread."""
        defined = [name for name in TABLES if self._tables.get(name) and name != MemoryRows.table_name]
        out = [table_block(name, self._columns(name)) for name in defined]
        if self.meta:
            values = [json.dumps(value) for value in self.meta.values()]
            out.append(table_block("meta", {"key": list(self.meta), "value": values}))
        part: list[dict[str, int]] = []
        for row in [*self.operators, None]:
            if part and (row is None or len(part) == block_rows or row["thread"] != part[0]["thread"]):
                out.append(table_block("operators", {name: [r[name] for r in part] for name in part[0]}))
                part = []
            part += [row] if row is not None else []
        out += self._memory_blocks(block_rows)
        out += self._closing_blocks()
        return out

    def _memory_blocks(self, block_rows: int) -> list[bytes]:
        """Each has rows of one thread."""
        names, out = TABLES["memory"], []
        rows = [dict(zip(names, row, strict=True)) for row in self._tables.get("memory", [])]
        for thread in sorted({row["thread"] for row in rows}):
            own = [row for row in rows if row["thread"] == thread]
            for first in range(0, len(own), block_rows):
                part = own[first : first + block_rows]
                out.append(table_block("memory", {name: [row[name] for row in part] for name in names}))
        return out

    def encode(self, block_rows: int = 3600) -> bytes:
        return head() + b"".join(self.blocks(block_rows))

    def recording(self, folder: Path, block_rows: int = 3600) -> Recording:
        path = folder / "made.perfprobe"
        path.write_bytes(self.encode(block_rows))
        return read(path)

    def _closing_blocks(self) -> list[bytes]:
        out = []
        for name, rows, columns in (
            ("losses", self.losses, ("source", "reason", "count", "remedy")),
            ("progress", self.progress, ("time_ns", "cpu_ns")),
        ):
            if rows:
                out.append(table_block(name, dict(zip(columns, zip(*rows, strict=True), strict=True))))
        if self.end_ns is not None:
            out.append(table_block("end", {"time_ns": [self.end_ns]}))
        return out

    def _columns(self, table: str) -> dict[str, Column]:
        names, rows = TABLES[table], self._tables[table]
        whole = [(*row, *[-1] * (len(names) - len(row))) for row in rows]  # the last ones were not recorded
        return dict(zip(names, zip(*whole, strict=True), strict=True))


RECORDED = (
    *(ThreadTimes, ProcessorTimes, WaitReadings, ThreadActivity, NativeFunctions, NativeSamples, Counters),
    *(MemoryRows, ModuleCalls, LiveSteps),
)
TABLES = {
    "strings": ("text",),
    "frames": ("file", "function", "first_line", "line", "text_hash"),
    "modules": ("parent", "name", "type"),
    "stacks": ("parent", "frame", "module", "asks_next"),
    "signatures": ("text", "example", "grad_mask", "values", "name", "overload"),
    "threads": ("os_thread", "forward_id", "name"),
    "functions": (
        *("snapshot", "thread", "file", "function", "first_line"),
        *("calls", "primitive_calls", "own_ns", "total_ns"),
    ),
    "calls": ("snapshot", "caller", "callee", "calls", "primitive_calls", "own_ns", "total_ns"),
    "samples": tuple(Samples.dtypes),
    "operator_windows": ("start_ns", "end_ns"),
    **{kind.table_name: tuple(kind.dtypes) for kind in (*GPU, *RECORDED)},
}
