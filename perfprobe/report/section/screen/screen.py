"""The first screen: labelled lines in a fixed order, then at most ten rows."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.models.left_out import is_untriggered
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.device import device_rows
from perfprobe.report.rows.diagnosed import account_rows, diagnosis_rows
from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.report.section.block import Blank, Block, Said
from perfprobe.report.section.screen.advice import has_command, try_lines
from perfprobe.report.section.screen.compiled import recompiled_line
from perfprobe.report.section.screen.evaluations import evaluation_lines
from perfprobe.report.section.screen.machine import cpu_line, gpu_line, incomplete_lines, trust_line
from perfprobe.report.section.screen.memory import memory_line
from perfprobe.report.section.screen.modes import mode_lines
from perfprobe.report.section.screen.next_command import (
    recording_children,
    script_command,
    steps_command,
)
from perfprobe.report.section.screen.nothing import checked_lines
from perfprobe.report.section.screen.ranks import ranks_lines, to_straggler
from perfprobe.report.section.screen.script import script_lines
from perfprobe.report.section.screen.shares import operators_line
from perfprobe.report.section.screen.shown_rows import rows_table
from perfprobe.report.section.screen.slow import short_lines, slow_lines
from perfprobe.report.section.screen.start_up import also_start
from perfprobe.report.section.screen.steps import step_word, steps_lines
from perfprobe.report.section.screen.tail import (
    dtype_lines,
    forward_lines,
    graph_lines,
    growing_lines,
    recomputed_lines,
    tail_lines,
)
from perfprobe.report.section.screen.trends import growth_line, workers_growth_line
from perfprobe.report.section.screen.untriggered import untriggered_lines
from perfprobe.support.text import printable
from perfprobe.tables.account import Account
from perfprobe.tables.children import Children
from perfprobe.tables.compilations import Compilations
from perfprobe.tables.device_account import DeviceAccount
from perfprobe.tables.device_memory import DeviceMemory
from perfprobe.tables.diagnoses import Cause, Diagnoses
from perfprobe.tables.findings import Findings, Hotspots
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.gpu_states import DeviceStates
from perfprobe.tables.idle import IdleTimes
from perfprobe.tables.live_steps import Baseline
from perfprobe.tables.measurements import Measurements
from perfprobe.tables.memory import MemoryUse
from perfprobe.tables.modes import Modes
from perfprobe.tables.processors import Processors
from perfprobe.tables.python import CallStructure
from perfprobe.tables.ranks import Ranks
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.teams import Teams, WorkerTeams
from perfprobe.tables.tests import Tests
from perfprobe.tables.trends import Trends
from perfprobe.tables.unused_forward import UnusedForward
from perfprobe.tables.workers import WorkerFindings

LINES = 12
ALL = 24
ROWS = 10
_OF_MACHINE = (DeviceAccount, GpuFindings, DeviceStates, IdleTimes, Processors, Teams)
_OF_STEPS = (StepTimes, Baseline, Hotspots, CallStructure, Compilations, Modes, Tests)
_BESIDE = (Measurements, Children, WorkerFindings, WorkerTeams, Ranks)
KINDS = (*_OF_STEPS, *_BESIDE, MemoryUse, DeviceMemory, *_OF_MACHINE)
# Computed only if there are steps, because all operators are read once more.
STEP_KINDS = (StepHotspots, Account, Trends, UnusedForward, Diagnoses)
_ABOVE_ROWS = 2  # a blank line, and the titles of the columns
# If there are too many lines, those with these labels are dropped in this order; of `_DETAILED`
# only the details.
_NEXT, _MEMORY, _TRY = "NEXT", "MEMORY", "TRY"
_DETAILED = (_MEMORY, _TRY)
_LEAST_IMPORTANT = ("OPS", "LIMIT", "TAIL", "ALSO", "MORE", _MEMORY, "CHECKED", _NEXT, "THEN", _TRY, "GAIN")


def has_steps(findings: Findings) -> bool:
    """Whether any step was found."""
    times = findings.get(StepTimes)
    return times is not None and len(times.loops) > 0


def screen_rows(findings: Findings) -> list[ScreenRow]:
    """All lines, also those that do not fit on a screen."""
    return list(_rows(findings))


def _rows(findings: Findings) -> Iterator[ScreenRow]:
    if is_untriggered(findings.trace.recording):
        yield from untriggered_lines(findings)
        return
    whole = None
    if has_steps(findings):
        yield from _steps_rows(findings)
        command = steps_command(findings)
    else:
        yield from script_lines(findings)
        yield from try_lines(findings)
        yield from mode_lines(findings, "step")
        command, whole = script_command(findings), recording_children(findings)
    yield from recompiled_line(findings)
    yield from ranks_lines(findings)
    yield from cpu_line(findings)
    yield from gpu_line(findings)
    yield from memory_line(findings)
    yield from growth_line(findings)
    yield from workers_growth_line(findings)
    yield from incomplete_lines(findings)
    yield trust_line(findings)
    elsewhere = to_straggler(findings)
    if elsewhere or not has_command(findings):
        yield said(_NEXT, whole or f"perfprobe {elsewhere or f'{command}{_path(findings)}'}", whole=True)


def _steps_rows(findings: Findings) -> Iterator[ScreenRow]:
    """The lines about steps."""
    judged = findings[Diagnoses]
    yield from steps_lines(findings)
    yield from mode_lines(findings, step_word(findings))
    yield from slow_lines(findings)
    yield from try_lines(findings)
    yield from operators_line(findings)
    yield from tail_lines(findings)
    for each in judged.of(Cause.EVALUATION):
        if each is not judged.slow:
            yield from evaluation_lines(findings, each, "ALSO")
    yield from dtype_lines(findings)
    yield from growing_lines(findings)
    yield from forward_lines(findings)
    yield from recomputed_lines(findings)
    yield from short_lines(findings)
    yield from also_start(findings)
    yield from graph_lines(findings)
    if judged.slow is None:
        yield from checked_lines(findings)


def _path(findings: Findings) -> str:
    """The path for the next command: needed for a trace, as by default commands take the newest recording."""
    recording = findings.trace.recording
    return f" {shlex.quote(printable(recording.path))}" if recording.is_trace else ""


def fitting(rows: Sequence[ScreenRow], most: int = LINES) -> list[ScreenRow]:
    """The lines that fit. If a line is dropped, so are its continuations.

    Of several lines with one label the last ones are dropped before any label is.
    """
    kept = list(rows)
    for label in _LEAST_IMPORTANT:
        kept = _fewer_of(kept, label, most)
    for label in _LEAST_IMPORTANT:
        if len(kept) <= most:
            break
        if label in _DETAILED:
            kept = _fewer_details(kept, label, most)
        else:
            kept = [row for row in kept if row.label != label]
    details = [row for row in kept if row.label == "" and not row.whole]
    while len(kept) > most and details:
        kept.remove(details.pop())
    return kept


def _fewer_of(rows: list[ScreenRow], label: str, most: int) -> list[ScreenRow]:
    """Returns the lines without the last of one label, as many as are too many, but with its first one."""
    places = [at for at, row in enumerate(rows) if row.label == label][1:]
    dropped = places[-(len(rows) - most) :] if len(rows) > most else []
    return [row for at, row in enumerate(rows) if at not in dropped]


def _fewer_details(rows: list[ScreenRow], label: str, most: int) -> list[ScreenRow]:
    """Returns the lines without the last continuations of one label, as many as are too many."""
    first = next((at for at, row in enumerate(rows) if row.label == label), len(rows))
    end = first + 1
    while end < len(rows) and not rows[end].label and not rows[end].whole:
        end += 1
    dropped = min(end - first - 1, len(rows) - most)
    return [*rows[: end - dropped], *rows[end:]]


def screen(findings: Findings) -> Iterator[Block]:
    """The beginning of a report."""
    rows = fitting(screen_rows(findings))
    for row in rows:
        yield Said(row.label, row.pieces, row.style, whole=row.whole)
    table = rows_table(findings, min(ALL - len(rows) - _ABOVE_ROWS, ROWS))
    if table is not None:
        yield Blank()
        yield table


def screen_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`first_screen`, `diagnoses`, for steps `account`, and where a GPU is judged `gpu_account`."""
    found: dict[str, Sequence[Any]] = {"first_screen": screen_rows(findings)}
    found["diagnoses"] = diagnosis_rows(findings)
    of_gpu = device_rows(findings)
    found |= {"gpu_account": of_gpu} if of_gpu else {}
    return found | ({"account": account_rows(findings)} if has_steps(findings) else {})
