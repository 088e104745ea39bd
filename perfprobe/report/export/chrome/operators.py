"""Operators and ranges of `record_function` as events, with arrows from forward to backward."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import count

import numpy as np

from perfprobe.report.export.chrome.calls import CallIds
from perfprobe.report.export.chrome.forward import ForwardStarts, nodes
from perfprobe.report.export.chrome.inputs import inputs_text
from perfprobe.report.export.chrome.scene import Scene, arrow, text
from perfprobe.tables.columns import Mask, Rows
from perfprobe.tables.events import LinkedOperators, Operators
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.stacks import Frames, Stacks
from perfprobe.tables.threads import each_thread, thread_order
from perfprobe.tables.trace import Phase

DEEPEST = 256  # innermost frames of a stack that are written
_NEVER_NS = 1 << 62
_STACKS_KEPT, _TEXTS_KEPT = 1 << 12, 1 << 14


class OperatorEvents:
    """All operators of a recording, as JSON texts."""

    def __init__(self, scene: Scene, forward: ForwardStarts, calls: CallIds) -> None:
        self._scene, self._forward, self._calls = scene, forward, calls
        self._next_number, self._next_arrow = calls.first_free, count(1)
        self._head: Callable[[int, int], str] = lru_cache(_TEXTS_KEPT)(self._made_head)
        self._inputs: Callable[[int], str] = lru_cache(_TEXTS_KEPT)(self._made_inputs)
        self._stack: Callable[[int], str] = lru_cache(_STACKS_KEPT)(self._made_stack)
        self._place: Callable[[int, int, int], str] = lru_cache(_TEXTS_KEPT)(self._made_place)

    def __iter__(self) -> Iterator[str]:
        """The events in the order of the recording.

        Raises:
            InputError: the recording cannot be read.
        """
        trace = self._scene.trace
        for rows, linked in zip(trace.recording.operators(), trace.operators(), strict=True):
            order = thread_order(rows.thread)
            yield from self._batch(rows, linked if order is None else linked.take(np.argsort(order)))

    def _batch(self, rows: Operators, linked: LinkedOperators) -> Iterator[str]:
        shown = self._scene.shown(rows.start_ns, rows.end_ns)
        if not bool(shown.all()):
            rows, linked = rows.take(shown), linked.take(shown)
        has_stack = _outermost(rows)
        values = (
            *(rows.name, rows.scope, rows.thread),
            *np.divmod(rows.start_ns - self._scene.base_ns, 1000),
            *np.divmod(rows.end_ns - rows.start_ns, 1000),
            *(self._numbers(rows), rows.sequence, rows.forward_thread),
            rows.signature,
            np.where(has_stack, np.where(linked.forward_stack >= 0, linked.forward_stack, rows.stack), -1),
            *(linked.frame, linked.module, linked.phase),
        )
        events = map(self._event, zip(*(column.tolist() for column in values), strict=True))
        whole = self._scene.rows_of(rows, np.ones(len(rows), np.bool_))
        yield from (f"{event}{own}}}}}" for event, own in zip(events, whole, strict=True))
        yield from self._arrows(rows)

    def _numbers(self, rows: Operators) -> Rows:
        """The External id of each operator: that of its calls of CUDA, otherwise the next free one."""
        named = self._calls.of_operators(rows)
        own = np.flatnonzero(named < 0)
        named[own] = self._next_number + np.arange(len(own))
        self._next_number += len(own)
        return named

    def _event(self, row: tuple[int, ...]) -> str:
        """The beginning of an event; the caller adds more arguments. Times are pairs of whole us and ns."""
        name, scope, thread, start, start_rest, length, length_rest, number, sequence, forward = row[:10]
        signature, stack, frame, module, phase = row[10:]
        fields = "" if sequence < 0 else f',"Sequence number":{sequence},"Fwd thread id":{max(forward, 0)}'
        return (
            f"{self._head(name, scope)}{self._scene.tids[thread]}"
            f',"ts":{start}.{start_rest:03d},"dur":{length}.{length_rest:03d}'
            f',"args":{{"External id":{number}{fields}'
            f"{self._inputs(signature)}{self._stack(stack)}{self._place(frame, module, phase)},"
        )

    def _made_head(self, name: int, scope: int) -> str:
        category = "user_annotation" if scope == USER_SCOPE else "cpu_op"
        category = "Operator" if self._scene.old else category
        named = f'"name":{self._scene.name(name)},"pid":{self._scene.pid}'
        return f'{{"ph":"X","cat":"{category}",{named},"tid":'

    def _made_inputs(self, signature: int) -> str:
        return inputs_text(self._scene.trace.signature(signature) or "") if signature >= 0 else ""

    def _made_stack(self, stack: int) -> str:
        places = ";".join(frames_of(self._scene, stack))
        return f',"Call stack":{text(places)}' if places else ""

    def _made_place(self, frame: int, module: int, phase: int) -> str:
        line, path = self._scene.trace.line(frame), self._scene.trace.module(module)
        fields = f',"phase":"{Phase(phase).name.lower()}"'
        fields += "" if line is None else f',"line":{text(f"{line.file}:{line.line} {line.function}")}'
        return fields if path is None else f'{fields},"module":{text(path)}'

    def _arrows(self, rows: Operators) -> Iterator[str]:
        chosen = rows.take(nodes(rows))
        start_ns, threads = self._forward.of(chosen)
        drawn = self._scene.shown(start_ns) & (threads >= 0) if len(chosen) else np.empty(0, np.bool_)
        pid, tids, time = self._scene.pid, self._scene.tids, self._scene.time
        columns = (start_ns, threads, chosen.start_ns, chosen.thread)
        for from_ns, forward, to_ns, thread in zip(*(c[drawn].tolist() for c in columns), strict=True):
            begin, end = (pid, tids[forward], time(from_ns)), (pid, tids[thread], time(to_ns))
            yield arrow("fwdbwd", next(self._next_arrow), begin, end)


def frames_of(scene: Scene, stack: int) -> list[str]:
    """The frames of a stack, innermost first, as Kineto writes them: `train.py(12): step`."""
    stacks, frames = scene.recording[Stacks], scene.recording[Frames]
    found: list[str] = []
    while stack >= 0 and len(found) < DEEPEST:
        frame = int(stacks.frame[stack])
        if frame >= 0:
            place = f"{scene.strings[int(frames.file[frame])]}({frames.line[frame]})"
            found.append(f"{place}: {scene.strings[int(frames.function[frame])]}")
        stack = int(stacks.parent[stack])
    return found


def _outermost(rows: Operators) -> Mask:
    """Returns which rows are outermost in their batch. Inner operators mostly have the same stack."""
    found = np.zeros(len(rows), np.bool_)
    for _, group in each_thread(rows.thread):
        start_ns = rows.start_ns[group]
        of_operators = np.where(rows.scope[group] == USER_SCOPE, _NEVER_NS, start_ns)
        earliest_ns = np.minimum.accumulate(of_operators[::-1])[::-1]
        found[group] = start_ns < np.append(earliest_ns[1:], _NEVER_NS)
    return found
