"""The whole file: facts about the recording, then the events."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from perfprobe.models.chrome import DEVICE_FACTS, ENTRY, FORMAT, HELD, MOST_EXTERNAL
from perfprobe.report.export.chrome.annotations import annotated, annotation_events
from perfprobe.report.export.chrome.calls import CallIds
from perfprobe.report.export.chrome.device import DeviceEvents
from perfprobe.report.export.chrome.forward import MOST, ForwardStarts
from perfprobe.report.export.chrome.operators import OperatorEvents
from perfprobe.report.export.chrome.ranges import range_events
from perfprobe.report.export.chrome.samples import SampleEvents, stack_frames
from perfprobe.report.export.chrome.scene import Scene, Span, fact, micros, text
from perfprobe.report.export.chrome.steps import counter_events, step_events, window
from perfprobe.report.export.exported import Exported, pieces, separated
from perfprobe.support.errors import InputError
from perfprobe.tables.columns import TEXT, Table
from perfprobe.tables.events import Threads
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu import GPU_EVENTS, ExternalIds
from perfprobe.tables.processors import Processors
from perfprobe.tables.python import Samples
from perfprobe.tables.ranges import Ranges
from perfprobe.tables.steps import StepTimes

KINDS = (StepTimes, Processors)
_PROFILER = "PyTorch Profiler (0)"  # other tools find the span of the recording by this name


def exported(findings: Findings, steps: str | None = None) -> Exported:
    """The content of the file, and notes about it.

    Args:
        steps: which steps to write, `A:B`; None for the whole recording.

    Raises:
        InputError: nothing was recorded that has a time, or the recording cannot be read.
        UsageError: there are no such steps.
    """
    trace = findings.trace
    recording = trace.recording
    if not recording.operator_rows + recording.rows(Samples, Ranges, *GPU_EVENTS):
        raise InputError("it has no events with times", recording.path, "record operators or samples")
    times = findings.get(StepTimes)
    span = None if steps is None else window(times, steps, recording.path)
    scene = Scene(trace, span)
    forward = ForwardStarts(recording)
    notes = [f"no arrows beyond the first {MOST} nodes of backward"] if forward.is_cut else []
    return Exported(pieces(_document(findings, scene, forward, times)), notes)


def _document(
    findings: Findings, scene: Scene, forward: ForwardStarts, times: StepTimes | None
) -> Iterator[str]:
    beginning = text({"schemaVersion": 1, "displayTimeUnit": "ms", "baseTimeNanoseconds": 0, **_about(scene)})
    yield f'{beginning.removesuffix("}")},\n"{ENTRY}":'
    yield from _entry(scene)
    yield ',\n"stackFrames":{'
    yield from separated(stack_frames(scene), ",\n")
    yield '},\n"traceEvents":[\n'
    ranges = annotated(scene)
    calls = CallIds(scene, ranges)
    device = DeviceEvents(scene, calls)
    processors = findings.get(Processors)
    events = chain(
        _names(scene, times),
        device.names(),
        _whole(scene),
        OperatorEvents(scene, forward, calls),
        device,
        annotation_events(scene, ranges, calls.of_ranges),
        range_events(scene),
        step_events(scene, times),
        SampleEvents(scene),
        counter_events(scene, processors.windows) if processors is not None else (),
    )
    yield from separated(events, ",\n")
    yield f'\n],\n"{ENTRY}End":{{"left_out":{scene.left_out}}}}}\n'


def _about(scene: Scene) -> dict[str, Any]:
    """The facts about devices and ranks that Kineto writes."""
    known = scene.recording.fact("gpu", "devices")
    facts: dict[str, Any] = {}
    devices = [
        {"id": at, **{name: one[own] for own, name in DEVICE_FACTS.items() if own in one}}
        for at, one in enumerate(known if isinstance(known, list) else ())
        if isinstance(one, dict)
    ]
    if devices:
        facts["deviceProperties"] = devices
    sources = [scene.recording.fact(source) for source in ("rank", "trace")]
    ranks = [one for one in sources if isinstance(one, dict) and type(one.get("rank")) is int]
    if ranks:
        kept = ("backend", "rank", "world_size")
        facts["distributedInfo"] = {name: ranks[0][name] for name in kept if name in ranks[0]}
    return facts


def _entry(scene: Scene) -> Iterator[str]:
    """perfprobe's own entry: facts about the recording, and the tables that events refer to."""
    recording = scene.recording
    facts: dict[str, Any] = {
        "format": FORMAT,
        "base_ns": scene.base_ns,
        "complete": recording.complete,
        "last_ns": recording.last_ns,
        "window": scene.window,
        "meta": recording.meta,
    }
    yield f'{text(facts).removesuffix("}")},"tables":{{'
    yield from separated((_table(recording[kind]) for kind in HELD if _is_held(recording[kind])), ",\n")
    yield "}}"


def _is_held(table: Table) -> bool:
    return len(table) > 0 and not (isinstance(table, ExternalIds) and len(table) > MOST_EXTERNAL)


def _table(table: Table) -> str:
    dtypes = table.dtypes
    columns = {
        name: [str(value) for value in column] if dtypes[name] == TEXT else column.tolist()
        for name, column in table.columns().items()
    }
    return f'"{table.table_name}":{text(columns)}'


def _names(scene: Scene, times: StepTimes | None) -> Iterator[str]:
    argv = scene.recording.texts("program", "argv")
    yield fact("process_name", scene.pid, 0, " ".join(argv[:1]) or "program")
    yield fact("process_labels", scene.pid, 0, "CPU", "labels")
    threads = scene.recording[Threads]
    for tid, name in zip(scene.tids, threads.name.tolist(), strict=False):
        yield fact("thread_name", scene.pid, tid, f"thread {tid} ({scene.strings[name] or 'unnamed'})")


def _whole(scene: Scene) -> Iterator[str]:
    """The span of the whole recording as an event, which other tools require."""
    whole = scene.window or Span(scene.base_ns, scene.trace.end_ns or scene.base_ns)
    if whole.start_ns < scene.base_ns or whole.end_ns < whole.start_ns:
        return
    shared = {"ph": "X", "cat": "Trace", "name": _PROFILER, "pid": "Spans", "tid": "PyTorch Profiler"}
    times = f'"ts":{scene.time(whole.start_ns)},"dur":{micros(whole.end_ns - whole.start_ns)}'
    yield f"{text(shared).removesuffix('}')},{times}}}"
