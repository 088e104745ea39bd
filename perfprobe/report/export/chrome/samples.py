"""Samples of Python, twice: as moments with a stack, and as functions that were open between samples."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from perfprobe.report.export.chrome.scene import SAMPLES_OF, Scene, complete, fact, micros, text
from perfprobe.tables.python import Look, PythonCode, Samples
from perfprobe.tables.stacks import Stacks
from perfprobe.tables.threads import each_thread

DEEPEST = 128  # outermost functions of a stack that are written
_STACKS_KEPT = 1 << 13


class SampleEvents:
    """All samples of a recording, as JSON texts."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._samples = scene.recording[Samples]
        self._parent = scene.recording[Stacks].parent
        self._python = scene.trace.python
        self._functions = lru_cache(_STACKS_KEPT)(self._walked)

    def __iter__(self) -> Iterator[str]:
        samples = self._samples
        if len(samples) == 0 or self._python is None:
            return
        shown = self._scene.shown(samples.start_ns, samples.end_ns)
        yield from self._moments(shown)
        kept = np.flatnonzero(shown)
        for thread, rows in each_thread(samples.thread[kept]):
            number = SAMPLES_OF + max(thread, 0)
            yield fact("thread_name", self._scene.pid, number, f"Python of thread {self._scene.tids[thread]}")
            yield from self._open(self._python, kept[rows], number)

    def _moments(self, shown: np.ndarray) -> Iterator[str]:
        """A sample event (phase "P" of the format) for each sample."""
        samples, scene = self._samples, self._scene
        columns = (samples.start_ns, samples.thread, samples.stack)
        rows = zip(*(column[shown].tolist() for column in columns), strict=True)
        for (start_ns, thread, stack), own in zip(rows, scene.rows_of(samples, shown), strict=True):
            frame = f',"sf":{stack}' if stack >= 0 else ""
            where = f'"pid":{scene.pid},"tid":{scene.tids[thread]},"ts":{scene.time(start_ns)}'
            yield f'{{"ph":"P","cat":"sample","name":"sample",{where}{frame},"args":{{{own}}}}}'

    def _open(self, python: PythonCode, rows: np.ndarray, track: int) -> Iterator[str]:
        """Functions of one thread. Each is open for as long as consecutive samples show it at its depth."""
        samples = self._samples
        rows = rows[np.argsort(samples.end_ns[rows], kind="stable")]
        is_read = samples.look[rows] == Look.READ
        stacks = np.where(is_read, samples.stack[rows], -1).tolist()
        columns = (samples.start_ns[rows].tolist(), samples.end_ns[rows].tolist(), stacks)
        opened: list[tuple[int, int]] = []  # functions, and since when
        now_ns = 0
        for start_ns, end_ns, stack in zip(*columns, strict=True):
            functions = self._functions(stack)
            begin_ns = max(start_ns, now_ns)
            shared = 0
            if start_ns <= now_ns:
                shared = next(
                    (
                        at
                        for at, (one, new) in enumerate(zip(opened, functions, strict=False))
                        if one[0] != new
                    ),
                    min(len(opened), len(functions)),
                )
            yield from self._closed(python, opened[shared:], now_ns, track)
            opened = [*opened[:shared], *((function, begin_ns) for function in functions[shared:])]
            now_ns = max(end_ns, now_ns)
        yield from self._closed(python, opened, now_ns, track)

    def _closed(
        self, python: PythonCode, opened: list[tuple[int, int]], now_ns: int, track: int
    ) -> Iterator[str]:
        code, scene = python.code, self._scene
        for function, since_ns in reversed(opened):
            file = scene.strings[int(code.file[function])]
            name = text(f"{scene.strings[int(code.function[function])]} ({file}:{code.first_line[function]})")
            times = scene.time(since_ns), micros(now_ns - since_ns)
            yield complete("python_sample", name, (scene.pid, track), times)

    def _walked(self, stack: int) -> tuple[int, ...]:
        """The functions of a stack, outermost first, as rows of `code`."""
        found: list[int] = []
        while stack >= 0 and self._python is not None:
            function = int(self._python.of_stack[stack])
            if function >= 0:
                found.append(function)
            stack = int(self._parent[stack])
        return tuple(reversed(found))[:DEEPEST]


def stack_frames(scene: Scene) -> Iterator[str]:
    """The stacks of samples as members of the format's object `stackFrames`."""
    stacks = scene.recording[Stacks]
    python = scene.trace.python
    wanted = np.zeros(len(stacks) + 1, np.bool_)
    wanted[scene.recording[Samples].stack] = True
    for row in range(len(stacks) - 1, -1, -1):
        wanted[stacks.parent[row]] |= wanted[row]
    for row in np.flatnonzero(wanted[:-1]).tolist() if python is not None else ():
        function = int(python.of_stack[row]) if python is not None else -1
        code = python.code if python is not None else None
        name = "?" if code is None or function < 0 else scene.strings[int(code.function[function])]
        above = int(stacks.parent[row])
        fields = {"category": "python", "name": name} | ({"parent": str(above)} if above >= 0 else {})
        yield f'"{row}":{text(fields)}'
