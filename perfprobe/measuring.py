"""Runs bench: makes measurements, scripts and pictures for a recording or for a call that was typed."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, replace
from importlib.util import find_spec

from perfprobe.results import Results
from perfprobe.support.errors import EnvironmentLack, InputError, UsageError
from perfprobe.support.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from perfprobe.bench.measure import BenchSettings, Progress
    from perfprobe.tables.machine import Machine
    from perfprobe.tables.measurements import Measurement, Measurements, Seen, Wanted

_NO_MACHINE = (
    "This machine's own limits are not known: `perfprobe machine` measures them, once; then bench names the "
    "level of memory and the part of the processor's peak."
)
_OF_TRACE = (
    "A trace does not say on which device tensors were: measured on this machine's CPU. What was measured is "
    "not kept beside a trace: -o FILE keeps it."
)
_NAME = re.compile(r"[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*(?:\.\w+)?", re.ASCII)


@dataclass(frozen=True)
class Task:
    """Calls to be measured. recording: their file, None for a typed call. identity: the recording's.

    notes: remarks on the choice. known: measurements of an earlier run. is_kept: whether measurements are
    written beside the recording.
    """

    calls: tuple[tuple[Wanted, Seen | None], ...]
    recording: str | None = None
    identity: str | None = None
    notes: tuple[str, ...] = ()
    known: Measurements | None = None
    is_kept: bool = True


def of_recording(path: str, *, top: int, focus: str | None, threads: int | None) -> Task:
    """The calls of a recording with most self time.

    Args:
        top: how many, 0 for all.
        focus: a regular expression, as for reports.
        threads: torch's number of threads, None for that of the program.

    Raises:
        InputError: the file is not a recording, or has nothing that can be measured.
        UsageError: the focus is not a regular expression.
    """
    from perfprobe.bench.hot import NO_INPUTS, hot
    from perfprobe.tables import measured_file
    from perfprobe.tables.findings import Hotspots
    from perfprobe.tables.measurements import Measurements

    found = Results(path).findings(View(group="signature", focus=focus), (Hotspots, Measurements))
    if Hotspots not in found:
        raise InputError(
            "a profile of Python functions has no operators to measure", path, "record the program"
        )
    chosen = hot(found, top, threads)
    if not chosen.calls:
        why = "no operators" if focus is None else "no operator matches the focus"
        remedy = "see perfprobe report"
        if found.trace.recording.is_trace and any(NO_INPUTS in note for note in chosen.notes):
            why, remedy = "the trace has no input shapes", "record with profile(record_shapes=True)"
        raise InputError(f"there is nothing to measure: {why}", path, remedy)
    identity = measured_file.identity(found.trace.recording)
    is_trace = found.trace.recording.is_trace
    notes = (*chosen.notes, *([_OF_TRACE] if is_trace else []))
    known = found.get(Measurements)
    return Task(chosen.calls, path, identity, notes, known, is_kept=not is_trace)


def by_hand(operator: str, inputs: Sequence[str], threads: int | None) -> Task:
    """One call as it was typed: `aten::bmm` or `bmm`, and inputs as reports print them.

    Raises:
        UsageError: operator or inputs are not valid.
    """
    from perfprobe.models.signature import Scalar, parse
    from perfprobe.models.typed import is_cut_short, written_out
    from perfprobe.tables.measurements import Wanted

    if not _NAME.fullmatch(operator):
        raise UsageError("not a recording and not an operator", operator, "an operator is aten::bmm or bmm")
    name = operator if "::" in operator else f"aten::{operator}"
    text = " ".join(inputs)
    if is_cut_short(text):
        return Task(((_recorded_whole(name, text, threads), None),))
    text = written_out(text)
    items = parse(text)
    if items is None:
        raise UsageError("the brackets or quotes of the inputs do not match", text, _EXAMPLE)
    for item in items:
        if isinstance(item, Scalar) and set(item.value) & set("[]{}"):
            raise UsageError("not an input", item.value, _EXAMPLE)
    return Task(((Wanted(name, text, text, threads=threads or _own_threads()), None),))


def _recorded_whole(operator: str, inputs: str, threads: int | None) -> Wanted:
    """The call of the newest recording here that a report shortens to this text.

    Raises:
        UsageError: there is none, or more than one.
    """
    from perfprobe.models.typed import is_short_for
    from perfprobe.report.shorten import signature
    from perfprobe.tables import storage

    remedy = "`perfprobe report --json` has them whole"
    try:
        path = storage.newest(os.getcwd())
        calls = of_recording(path, top=sys.maxsize, focus=None, threads=threads).calls
    except InputError as error:
        raise UsageError(
            "the inputs are cut short, and there is no recording here", inputs, remedy
        ) from error
    found = [
        wanted
        for wanted, _ in calls
        if operator in (wanted.operator, wanted.operator.partition(".")[0])
        and any(is_short_for(inputs, text) for text in (signature(wanted.signature), wanted.signature))
    ]
    if len(found) != 1:
        many = f"{len(found)} calls" if found else "no call"
        where = f"{inputs} ({many} of {os.path.basename(path)} can be meant)"
        raise UsageError("the inputs are cut short", where, remedy)
    return found[0]


_REMEDIES = {
    "machine": "see `perfprobe doctor`, or take smaller inputs",
    "time": "give it more time with --time",
    "crash": "the operator crashes the process when called like this",
}
_EXAMPLE = 'a tensor is "f32[64,128]", a value dim=1, a list "(f32[2],f32[3])"'


def measured(task: Task, settings: BenchSettings, progress: Progress) -> Measurements:
    """Measure the calls in separate processes. This process does not import torch.

    Raises:
        EnvironmentLack: torch is missing, or does not start.
    """
    from perfprobe.bench.measure import measure

    require_torch()
    machine = kept_machine(task)
    found = measure(task.calls, replace(settings, machine=machine), progress, recording=task.recording)
    crowded = _crowded(max(row.wanted.threads for row in found.rows)) if found.rows else ()
    notes = (*task.notes, *found.notes, *crowded, *(() if machine else (_NO_MACHINE,)))
    left_out = None if task.recording is None else 1 - sum(row.seen.share for row in found.rows if row.seen)
    return replace(found, left_out_share=left_out, notes=notes)


def _crowded(threads: int) -> tuple[str, ...]:
    processors = len(os.sched_getaffinity(0))
    if threads <= processors:
        return ()
    said = f"{threads} threads took turns on {processors} processor{'s' if processors > 1 else ''}"
    return (f"{said}: wall times are longer than these CPU times of one thread.",)


def kept_machine(task: Task) -> Machine | None:
    """The cached ceilings for these calls, None if there are none. Measuring them takes a minute."""
    from perfprobe.bench import ceilings

    on_gpu = any("@cuda" in wanted.signature for wanted, _ in task.calls)
    return ceilings.cached("cuda:0" if on_gpu else "cpu")


def with_threads(task: Task, sweep: str) -> Task:
    """Returns the task with each call for each of these numbers of threads. sweep: numbers such as `1,2,4`.

    Raises:
        UsageError: these are not numbers of threads.
    """
    from perfprobe.bench.thread_sweep import numbers, with_each

    return replace(task, calls=with_each(task.calls, numbers(sweep)), is_kept=False)


def sweep_text(found: Measurements, *, width: int, color: bool) -> str:
    """Measurements with several numbers of threads as text: a column for each number."""
    from perfprobe.bench.thread_sweep import rows, totals_ns
    from perfprobe.report.render.text import page
    from perfprobe.report.section.sweep import operator_blocks

    measured = rows(found)
    return page(operator_blocks(found, measured, totals_ns(measured)), width=width, color=color)


def check_typed(task: Task, found: Measurements) -> None:
    """Check that a call that was typed by hand was measured.

    Raises:
        UsageError: it is not a call. The message names similar ones.
        EnvironmentLack: it could not be measured here.
    """
    from perfprobe.bench.lookup import hint, not_callable
    from perfprobe.tables.measurements import CALL

    if task.recording is not None or not found.rows or found.rows[0].not_rebuilt is None:
        return
    row, (wanted, _) = found.rows[0], task.calls[0]
    if row.cause == CALL:
        raise not_callable(wanted, row.not_rebuilt or "", hint(wanted))
    call = f"{wanted.operator} {wanted.signature}".rstrip()
    raise EnvironmentLack(f"not measured: {row.not_rebuilt}", call, _REMEDIES.get(row.cause, ""))


def require_torch() -> None:
    """Check that this Python has torch.

    Raises:
        EnvironmentLack: it has none.
    """
    if find_spec("torch") is None:
        remedy = "run perfprobe with the Python that runs the program"
        raise EnvironmentLack(
            "measuring needs torch, which is missing in this Python", sys.executable, remedy
        )


def emit(task: Task, folder: str) -> str:
    """Write a script for each call, with measurements of an earlier run. Returns lines for the user.

    Raises:
        UsageError, EnvironmentLack: the folder cannot be written.
    """
    from perfprobe.bench.lookup import scripts
    from perfprobe.tables.measurements import Measurement

    known = {} if task.known is None else {row.wanted: row for row in task.known.rows}
    bare = [Measurement(wanted, "cpu", "cpu", seen) for wanted, seen in task.calls]
    return scripts([replace(known.get(row.wanted, row), seen=row.seen) for row in bare], folder)


def save(task: Task, found: Measurements, output: str | None) -> str | None:
    """Write the measurements to `output`, or beside their recording. Returns the path, None if not written.

    Raises:
        EnvironmentLack: the file cannot be written.
    """
    from perfprobe.tables import measured_file

    if output is None and (task.recording is None or not task.is_kept):
        return None
    path = output or measured_file.beside(task.recording or "")
    measured_file.write(path, found if output else _with_known(found, task.known), task.identity)
    return path


def _with_known(found: Measurements, known: Measurements | None) -> Measurements:
    """Add calls that only an earlier run measured, so that a run with another --focus loses nothing."""
    if known is None or (known.machine, known.torch) != (found.machine, found.torch):
        return found
    new = {(row.wanted.operator, row.wanted.signature) for row in found.rows}
    old = [row for row in known.rows if (row.wanted.operator, row.wanted.signature) not in new]
    rows = sorted((*found.rows, *old), key=_share, reverse=True)
    return replace(found, rows=tuple(rows), left_out_share=max(1 - sum(map(_share, rows)), 0.0))


def _share(row: Measurement) -> float:
    return row.seen.share if row.seen is not None else 0.0


def text(found: Measurements, *, width: int, color: bool) -> str:
    """The results as text."""
    from perfprobe.report.render.text import page
    from perfprobe.report.section.efficiency import efficiency_of

    return page(efficiency_of(found), width=width, color=color)


def document(task: Task, found: Measurements) -> dict[str, Any]:
    """The results, ready for json.dumps."""
    from perfprobe.tables import measured_file

    return measured_file.document(found, task.identity)


def machine(
    device: str,
    threads: Sequence[int],
    *,
    again: bool,
    progress: Callable[[int, int, str], None],
    tell: Callable[[str], None],
) -> Machine:
    """The ceilings of this machine: from the cache, or measured now.

    Args:
        device: "cpu" or "cuda:0".
        threads: numbers of torch's threads; empty for one thread and for all.
        again: whether to measure even if there are cached ceilings.
        progress: is called with the number of measurements done and in total, and the last one.
        tell: is called with a line about cached ceilings.

    Raises:
        EnvironmentLack: the ceilings cannot be measured here.
    """
    from perfprobe.bench import ceilings

    wanted = tuple(threads) or ceilings.default_threads()
    needed = wanted if device == "cpu" else ()
    kept = None if again else ceilings.cached(device, needed, lambda said: tell(f"{said}: measured again"))
    return kept or ceilings.measured(progress, device, wanted, tell)


def machine_text(machine: Machine, *, width: int = 200, color: bool = False) -> str:
    """A machine's ceilings as text."""
    from perfprobe.report.render.text import page
    from perfprobe.report.section.machine import ceilings

    return page(ceilings(machine), width=width, color=color)


def machine_document(machine: Machine) -> dict[str, Any]:
    """A machine's ceilings, ready for json.dumps."""
    from perfprobe.report.section.machine import document

    return document(machine)


def draw_roofline(machine: Machine, output: str, measurements: Measurements | None = None) -> None:
    """Draw a machine's roofline, with measured operators.

    Args:
        output: the file to write; its ending is the format: .png, .svg, .pdf.

    Raises:
        EnvironmentLack: matplotlib is missing, or the file cannot be written.
    """
    from perfprobe.report.picture.roofline import draw

    draw(machine, measurements, output)


def require_matplotlib() -> None:
    """Check that pictures can be drawn, before minutes of measuring.

    Raises:
        EnvironmentLack: matplotlib is missing.
    """
    from perfprobe.report.picture.figure import matplotlib

    matplotlib()


def _own_threads() -> int:
    """The number of threads that torch would use here."""
    named = os.environ.get("OMP_NUM_THREADS", "")
    return int(named) if named.isdecimal() and int(named) > 0 else len(os.sched_getaffinity(0))
