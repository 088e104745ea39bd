"""Reads a trace of torch.profiler (Chrome JSON by Kineto), and what the trace itself says.

`recorded` reads it as perfprobe does. `converted` is separate, simple code that makes a program of it.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfprobe.read import kineto
from perfprobe.tables.gpu import CopyKind, MemoryKind, WaitKind
from perfprobe.tables.recording import Recording
from tests.build import Op, Program

_OPERATORS = ("cpu_op", "operator", "user_annotation")
_CALLS = ("cuda_runtime", "cuda_driver", "runtime")
_RANGES = ("ProfilerStep#", "Optimizer.", "enumerate(DataLoader)")  # operators in older traces
_BACKWARD = "autograd::engine::evaluate_function"
_DIRECTIONS = {
    "HtoD": CopyKind.HOST_TO_DEVICE,
    "DtoH": CopyKind.DEVICE_TO_HOST,
    "DtoD": CopyKind.DEVICE_TO_DEVICE,
    "PtoP": CopyKind.PEER_TO_PEER,
}
_WAITS = {
    "Event Sync": WaitKind.EVENT,
    "Stream Wait Event": WaitKind.STREAM_WAIT_EVENT,
    "Stream Sync": WaitKind.STREAM,
    "Context Sync": WaitKind.CONTEXT,
}


@dataclass
class Told:
    """Kernels and copies in the trace's order: external id (None: none), correlation id."""

    kernels: list[tuple[int | None, int]] = field(default_factory=list)
    copies: list[tuple[int | None, int]] = field(default_factory=list)
    operators: dict[int, tuple[str, int]] = field(default_factory=dict)  # by external id: name, start

    @property
    def names_operators(self) -> bool:
        """Traces of 2023 have the correlation id in place of the operator's, so they name none."""
        return any(named not in (None, correlation) for named, correlation in self.kernels)


def recorded(path: Path) -> tuple[Recording, Told]:
    """The trace as read by perfprobe, and what it says itself."""
    program, reported = converted(path)
    texts = [text for (text,) in program._tables["strings"]]
    ids = [texts[row[0]] for row in program._tables["signatures"]]
    for row in program.operators:
        external = ids[row["signature"]]
        if external.isdigit():
            reported.operators[int(external)] = texts[row["name"]], row["start_ns"]
    return kineto.read(path), reported


def converted(path: Path) -> tuple[Program, Told]:
    """The trace as a program. The signature of each operator is its external id."""
    with gzip.open(path) as file:
        events = [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]
    program, reported = Program(), Told()
    threads: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        event["args"] = {key.lower(): value for key, value in event.get("args", {}).items()}
        category = event.get("cat", "").lower()
        if category in _OPERATORS:
            threads.setdefault(str(event["tid"]), []).append(event)
        elif category in _CALLS:
            thread = _thread(program, event["tid"])
            program.api_call(event["name"], *_times(event), event["args"]["correlation"], thread=thread)
        elif category == "cuda_sync":
            kind = _WAITS[event["args"]["cuda_sync_kind"]]
            program.gpu_wait(kind, *_times(event), event["args"]["correlation"])
        else:
            _add_work(program, reported, event, category.removeprefix("gpu_"))
    for name, own in threads.items():
        program.run(*_nested(program, own), thread=_thread(program, name))
    return program, reported


def _add_work(program: Program, reported: Told, event: dict[str, Any], category: str) -> None:
    if category not in ("kernel", "memcpy", "memset"):
        return
    facts = event["args"]
    fields = {"device": facts["device"], "stream": facts["stream"]}
    correlation = facts["correlation"]
    if category == "kernel":
        program.kernel(event["name"], *_times(event), correlation, **fields)
        reported.kernels.append((facts.get("external id"), correlation))
    else:
        kind = CopyKind.FILL if category == "memset" else _DIRECTIONS[event["name"].split()[1]]
        source, destination = _ends(event["name"])
        fields |= {"source": source, "destination": destination}
        program.copy(kind, *_times(event), correlation, size_bytes=facts["bytes"], **fields)
        reported.copies.append((facts.get("external id"), correlation))


def _ends(name: str) -> tuple[int, int]:
    """The kinds of memory of source and destination, as in `Memcpy HtoD (Pageable -> Device)`."""
    found = re.search(r"\((\w+) -> (\w+)\)", name)
    words = found.groups() if found else ("Unknown", "Unknown")
    source, destination = (MemoryKind[word.upper()] for word in words)
    return source, destination


def _nested(program: Program, events: list[dict[str, Any]]) -> list[Op]:
    """The operators of one thread, each with the operators inside it."""
    outermost: list[Op] = []
    around: list[tuple[Op, list[Op]]] = []
    events.sort(key=lambda event: (event["ts"], -event["dur"], event["args"].get("external id", 0)))
    for event in events:
        start_ns, end_ns = _times(event)
        while around and (end_ns > around[-1][0].end_ns or around[-1][0].end_ns <= start_ns < end_ns):
            around.pop()
        inside: list[Op] = []
        name = f"inductor::{event['name']}" if "kernel_file" in event["args"] else event["name"]
        item = Op(name, start_ns, end_ns, inside, _fields(program, event))
        (around[-1][1] if around else outermost).append(item)
        around.append((item, inside))
    return outermost


def _fields(program: Program, event: dict[str, Any]) -> dict[str, int]:
    is_range = event["cat"] == "user_annotation" or event["name"].startswith(_RANGES)
    scope = 7 if is_range else int(event["name"].startswith(_BACKWARD))
    return {"scope": scope, "signature": program.signature(str(event["args"].get("external id")))}


def _times(event: dict[str, Any]) -> tuple[int, int]:
    start_ns = round(event["ts"] * 1000)
    return start_ns, start_ns + round(event["dur"] * 1000)


def _thread(program: Program, thread: int | str) -> int:
    return program.row("threads", int(thread), -1, program.string(""))
