"""Records a function in this process and returns its operators as plain rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import perfprobe
from perfprobe.merge import link, nest
from perfprobe.tables import storage
from perfprobe.tables.events import LinkedOperators, Signatures
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Phase, Trace


@dataclass(frozen=True)
class Row:
    """One operator. parent: index of its row, -1 none. line: `file.py:12 in function`."""

    name: str
    overload: str
    signature: str
    example: str
    grad_mask: int
    scope: int
    depth: int
    parent: int
    thread: int
    duration_ns: int
    cpu_ns: int
    cpu_self_ns: int
    recording_ns: int
    faults: int
    self_ns: int
    line: str
    forward_line: str
    module: str
    phase: str

    @property
    def sizes(self) -> list[list[int]]:
        """Sizes of all tensors with at least one dimension, lists flattened."""
        tensors = re.findall(r"(?:[a-z]+\d+\w*|bool)\[([\d,]+)\]", self.signature)
        return [[int(size) for size in sizes.split(",")] for sizes in tensors]


def record(path: Path, run: Callable[[], Any], **options: Any) -> list[Row]:
    """The operators of `run()`, in the order in which they started on each thread."""
    with perfprobe.profile(path, **options):
        run()
    return rows(path)


def rows(path: Path) -> list[Row]:
    """All operators of a recording by thread, in the order in which they started."""
    trace = link(storage.read(path))
    made: list[Row] = []
    for batch in trace.operators():
        parents = nest.parents(batch.thread, batch.depth)
        order = np.lexsort((batch.depth, batch.start_ns, batch.thread)).tolist()
        place = {row: at + len(made) for at, row in enumerate(order)}
        made += [_row(trace, batch, row, place.get(int(parents[row]), -1)) for row in order]
    return made


def _row(trace: Trace, batch: LinkedOperators, row: int, parent: int) -> Row:
    recorded = trace.recording
    signature = int(batch.signature[row])
    example = int(recorded[Signatures].example[signature]) if signature >= 0 else -1
    text = trace.signature(signature) or ""
    return Row(
        name=recorded[Strings][batch.name[row]],
        overload=recorded[Strings][batch.overload[row]],
        signature=text,
        example=recorded[Strings][example] if example >= 0 else text,
        grad_mask=int(recorded[Signatures].grad_mask[signature]) if signature >= 0 else 0,
        scope=int(batch.scope[row]),
        depth=int(batch.depth[row]),
        parent=parent,
        thread=int(batch.thread[row]),
        duration_ns=int(batch.end_ns[row] - batch.start_ns[row]),
        cpu_ns=int(batch.cpu_ns[row]),
        cpu_self_ns=int(batch.cpu_self_ns[row]),
        recording_ns=int(batch.recording_ns[row]),
        faults=int(batch.faults[row]),
        self_ns=int(batch.self_ns[row]),
        line=_line(trace, int(batch.frame[row])),
        forward_line=_line(trace, int(batch.forward_frame[row])),
        module=trace.module(int(batch.module[row])) or "",
        phase=Phase(int(batch.phase[row])).name.lower(),
    )


def _line(trace: Trace, frame: int) -> str:
    found = trace.line(frame)
    return (
        ""
        if found is None
        else f"{Path(found.file).name}:{found.line} in {found.function.rsplit('.', 1)[-1]}"
    )


def one_thread() -> None:
    """Without threads inside operators: tests compare counts, not speed."""
    torch.set_num_threads(1)
