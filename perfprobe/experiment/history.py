"""Keeps what versions of a program took, and reads it again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from statistics import fmean

from perfprobe.collect import own_folder
from perfprobe.experiment.pairs import Pairs
from perfprobe.runs import Run
from perfprobe.support import files
from perfprobe.support.errors import EnvironmentLack, InputError
from perfprobe.tables import storage
from perfprobe.tables.gpu_use import GpuUse
from perfprobe.tables.history import Against, HistoryLine, parse
from perfprobe.tables.processors import Processors
from perfprobe.tables.recording import Recording
from perfprobe.tables.run_value import Measure, RunValue

LINES = ".jsonl"
_SECOND_NS = 1e9


def lines_of(paths: Sequence[str]) -> list[HistoryLine]:
    """The versions in files of lines, in their order, and of recordings, by time. A folder: all files in it.

    Raises:
        InputError: a file cannot be read, or no run has steps.
    """
    kept, recordings = [], []
    for path in _expanded(paths):
        if path.endswith(LINES):
            kept += _read(path)
        else:
            recordings.append(path)
    runs = [line for path in recordings if (line := line_of(path, Measure.OWN)) is not None]
    if not kept and not runs:
        raise InputError("there is no run with steps", ", ".join(paths), "make one: perfprobe train.py")
    return [*kept, *sorted(runs, key=lambda line: line.when)]


def _expanded(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        if not os.path.isdir(path):
            yield path
            continue
        names = sorted(os.listdir(path))
        found = [name for name in names if name.endswith((LINES, storage.SUFFIX))]
        if not found:
            raise InputError("there is no history and no recording", path, "make one: perfprobe train.py")
        yield from (os.path.join(path, name) for name in found)


def _read(path: str) -> list[HistoryLine]:
    try:
        with open(path, encoding="utf-8") as file:
            return parse(file, path)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the history cannot be read ({error})", path) from error


def line_of(path: str, measure: Measure) -> HistoryLine | None:
    """A run; None if it has no steps."""
    run = Run(path)
    found = run.find((RunValue, Processors, GpuUse))
    value = found[RunValue]
    step_ns = value.step_ns(measure)
    if step_ns is None:
        return None
    recording = run.recording
    commit = recording.text("git", "commit") or ""
    peak_bytes = value.device_bytes if value.device_bytes > 0 else value.resident_bytes
    return HistoryLine(
        label=os.path.basename(path),
        commit=commit,
        when=_when(recording),
        machine=_machine(recording),
        measure=measure.value,
        step_ns=step_ns,
        samples_s=value.samples / step_ns * _SECOND_NS if value.samples > 0 else None,
        utilisation=_utilisation(found.get(Processors), found.get(GpuUse)),
        peak_bytes=peak_bytes if peak_bytes > 0 else None,
        start_up_ns=value.start_up_ns if value.start_up_ns >= 0 else None,
    )


def _when(recording: Recording) -> str:
    realtime_ns = recording.number("clock", "realtime_ns")
    if realtime_ns is None or realtime_ns <= 0:
        return ""
    return datetime.fromtimestamp(realtime_ns / 1e9, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _machine(recording: Recording) -> str:
    model, cores = recording.text("host", "cpu_model"), recording.number("host", "cores")
    return ", ".join(str(each) for each in (model, cores) if each is not None)


def _utilisation(processors: Processors | None, gpus: GpuUse | None) -> float | None:
    devices = [] if gpus is None else [use for use in gpus.devices if use.span_ns > 0]
    if devices:
        return fmean(use.busy_ns / use.span_ns for use in devices)
    if processors is None or not processors.allowed_cores:
        return None
    return processors.used_cores / processors.allowed_cores


def record(pairs: Pairs, path: str, label: str | None) -> None:
    """Appends both versions of a comparison; the first only if the last line is not of it already.

    Args:
        label: a name for the second version, None for that which it was called by.

    Raises:
        InputError: the file is no history.
        EnvironmentLack: it cannot be written.
    """
    if not pairs.measured:
        return
    before, after = (_line(pairs, at) for at in (0, 1))
    after = after if label is None else replace(after, label=label)
    lines = _read(path) if os.path.exists(path) else []
    is_known = bool(lines) and lines[-1].is_same_version(before.label, before.commit)
    lines += [after] if is_known else [before, after]
    try:
        if own_folder.is_in_own_folder(os.path.abspath(path)):
            own_folder.make_folder_of(os.path.abspath(path))
        files.write(path, "".join(f"{line.json()}\n" for line in lines).encode())
    except OSError as error:
        raise EnvironmentLack(f"the history cannot be written ({error.strerror})", path) from error


def _line(pairs: Pairs, at: int) -> HistoryLine:
    """A version: means over its runs, and the facts of its last one."""
    variant, values = pairs.variants[at], [pair[at].value for pair in pairs.measured]
    last = line_of(pairs.measured[-1][at].path, pairs.asked.measure)
    if last is None:
        raise InputError("the last run has no steps", variant.shown)
    step_ns = pairs.step_ns(at)
    samples = [value.samples for value in values if value.samples > 0]
    start_up_ns = [value.start_up_ns for value in values if value.start_up_ns >= 0]
    return replace(
        last,
        label=variant.label,
        commit=variant.commit,
        runs=len(values),
        step_ns=step_ns,
        samples_s=fmean(samples) / step_ns * _SECOND_NS if samples else None,
        start_up_ns=round(fmean(start_up_ns)) if start_up_ns else None,
        against=_against(pairs) if at == 1 else None,
    )


def _against(pairs: Pairs) -> Against | None:
    found, variant = pairs.difference, pairs.variants[0]
    if found is None:
        return None
    return Against(
        label=variant.label,
        commit=variant.commit,
        pairs=found.pairs,
        ratio=found.ratio,
        low=found.low,
        high=found.high,
        error=found.error,
    )
