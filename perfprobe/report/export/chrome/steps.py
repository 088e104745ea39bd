"""Steps as torch.profiler marks them, their phases on a track of their own, and the use of processors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfprobe.report.export.chrome.scene import BESIDE, Scene, Span, complete, fact, micros, text
from perfprobe.support.errors import InputError, UsageError
from perfprobe.tables.columns import Rows
from perfprobe.tables.processors import ProcessorWindows
from perfprobe.tables.steps import EventKind, StepKind, StepSource, StepTimes

_PHASES = {
    EventKind.NEXT: "data",
    EventKind.CALL: "forward",
    EventKind.BACKWARD: "backward",
    EventKind.OPTIMIZER: "optimizer",
}
_REMEDY = "leave --steps out, or call perfprobe.step() at the end of each step"


def steps_of(times: StepTimes | None) -> Rows:
    """The rows of `steps` that `--steps` counts: those of the leading loop, without evaluations."""
    if times is None or len(times.loops) == 0:
        return np.empty(0, np.intp)
    steps = times.steps
    rows = np.flatnonzero((steps.loop == 0) & (steps.kind != StepKind.EVALUATION))
    return rows[np.argsort(steps.start_ns[rows], kind="stable")]


def window(times: StepTimes | None, asked: str, path: str) -> Span:
    """The time from the begin of the first of these steps to the end of the last.

    Args:
        asked: `A:B`: steps A to B - 1, counted from 0. Either number may be left out.
        path: the recording, for messages.

    Raises:
        InputError: no steps were found.
        UsageError: there are no such steps.
    """
    rows = steps_of(times)
    if times is None or len(rows) == 0:
        raise InputError("no steps were found", path, _REMEDY)
    first, last = _asked(asked, len(rows))
    if not 0 <= first < last or first >= len(rows):
        raise UsageError("no such steps", f"--steps {asked}", f"there are {len(rows)} steps, counted from 0")
    chosen = rows[first:last]
    return Span(int(times.steps.start_ns[chosen].min()), int(times.steps.end_ns[chosen].max()))


def _asked(asked: str, count: int) -> tuple[int, int]:
    first, colon, last = asked.partition(":")
    parts = [part for part in (first, last) if part]
    if not colon or not all(part.isascii() and part.isdecimal() and len(part) < 10 for part in parts):
        raise UsageError("not a range of steps", f"--steps {asked}", "write A:B: 2:5 is steps 2, 3 and 4")
    return int(first or 0), int(last or count)


def step_events(scene: Scene, times: StepTimes | None) -> Iterator[str]:
    """Events for steps, unless torch.profiler's own ranges show them, and for what happened in each."""
    rows = steps_of(times)
    if times is None or len(rows) == 0:
        return
    steps, events = times.steps, times.events
    thread = scene.tids[int(steps.thread[rows[0]])]
    if times.loops.source[0] != StepSource.PROFILER:
        shown = scene.shown(steps.start_ns[rows], steps.end_ns[rows])
        for number, row in ((number, rows[number]) for number in np.flatnonzero(shown).tolist()):
            span = int(steps.start_ns[row]), int(steps.end_ns[row])
            yield _complete(scene, "user_annotation", f"ProfilerStep#{number}", thread, span)
    yield fact("thread_name", scene.pid, BESIDE, "phases of steps")
    shown = scene.shown(events.start_ns, events.end_ns)
    columns = (events.kind, events.start_ns, events.end_ns)
    for kind, start_ns, end_ns in zip(*(column[shown].tolist() for column in columns), strict=True):
        yield _complete(scene, "phase", _PHASES[EventKind(kind)], BESIDE, (start_ns, end_ns))


def _complete(scene: Scene, category: str, name: str, tid: int, span: tuple[int, int]) -> str:
    times = scene.time(span[0]), micros(span[1] - span[0])
    return complete(category, text(name), (scene.pid, tid), times)


def counter_events(scene: Scene, windows: ProcessorWindows) -> Iterator[str]:
    """Between two readings: how many processors program and others used, and how many it waited for."""
    shown = scene.shown(windows.start_ns, windows.end_ns)
    columns = (windows.start_ns, windows.end_ns, windows.process_cpu_ns, windows.waited_ns)
    others_ns = windows.others_cpu_ns
    for start_ns, end_ns, *used in zip(*(c[shown].tolist() for c in (*columns, others_ns)), strict=True):
        names = ("program", "program waits", "others")
        wall_ns = max(end_ns - start_ns, 1)
        fields = {name: round(ns / wall_ns, 4) for name, ns in zip(names, used, strict=True) if ns >= 0}
        if fields:
            where = f'"pid":{scene.pid},"tid":0,"ts":{scene.time(start_ns)}'
            yield f'{{"ph":"C","cat":"counter","name":"processors",{where},"args":{text(fields)}}}'
