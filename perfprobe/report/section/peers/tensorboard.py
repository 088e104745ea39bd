"""The tables of the TensorBoard plugin: their columns and definitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from perfprobe.report import shorten
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.peers.tensorboard import (
    ModuleRow,
    OperatorRow,
    RoleRow,
    SummaryRow,
    operator_rows,
    role_rows,
    summary_rows,
    tb_module_rows,
)
from perfprobe.report.section.block import Blank, Block, Column, Heading, Paragraph, Table
from perfprobe.report.section.figures import figures
from perfprobe.report.section.peers.summary import name_column
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.peers import PeerTimes

TOP = 20
_LONGEST_NAME = 24  # characters of a GPU's name
_STEPS = 5  # steps that are shown one by one
# Categories of single steps; the last are dropped first where there is little room.
_GIVES_WAY = ("CPU Exec", "Kernel", "DataLoader", "Other", "Runtime", "Communication", "Memcpy", "Memset")
_OVERVIEW_NOTE = (
    "Each moment counts for the first category, in the plugin's order, that is active on any thread. Python "
    "outside of operators and ranges is Other, and so is waiting for data without a DataLoader: see `--view "
    "phases`. Unlike in the plugin, calls of CUDA and ranges count also in traces of torch 1.12 and newer."
)
_OPERATOR_NOTE = "Self: without the operators in it; on the host also without its calls of CUDA."
_MODULE_NOTE = (
    "Times are times of operators, without Python between them. Occurences with + are the least number of "
    "calls: calls without another operator between them look like one. X.backward: the backward pass of what "
    "X called."
)


def overview_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`tb_overview`, and `tb_gpu_summary` if a GPU was recorded."""
    summary = summary_rows(findings)
    return {"tb_overview": role_rows(findings), **({"tb_gpu_summary": summary} if summary else {})}


def overview(findings: Findings, choice: Choice) -> Iterator[Block]:
    """The average step, then the first steps."""
    rows = role_rows(findings)
    average = [row for row in rows if row.step is None]
    whole_ns = sum(row.time_ns for row in average)
    steps = findings[PeerTimes].plugin_steps
    yield Heading("Step Time Breakdown", _steps_text(steps.number.tolist()))
    yield Table(
        [
            Column("Category", ["Average Step Time", *(row.category for row in average)], style="bold"),
            figures("Time Duration", map(units.duration, [whole_ns, *(row.time_ns for row in average)])),
            figures("Percentage", map(units.percent, [1.0, *(row.percentage for row in average)])),
        ]
    )
    numbers = list(dict.fromkeys(row.step for row in rows if row.step is not None))
    shown = numbers[: choice.most(_STEPS) or None]
    if len(numbers) > 1:
        yield Blank()
        yield Table(_by_step([row for row in rows if row.step in shown]))
    yield Paragraph(_OVERVIEW_NOTE, "dim")
    summary = summary_rows(findings)
    if summary:
        yield Heading("GPU Summary", "estimates, not measured")
        yield Table(_summary_columns(summary))


def _steps_text(numbers: Sequence[int]) -> str:
    """A text that says which steps these are."""
    if numbers == [-1]:
        return "no steps found: all operators as one step"
    return f"{len(numbers):,} {'step' if len(numbers) == 1 else 'steps'}, those of warm-up too"


def _summary_columns(rows: Sequence[SummaryRow]) -> list[Column]:
    """The plugin's list with a column for each GPU. The last GPUs may be dropped."""
    cells = [_summary_cells(row) for row in rows]
    return [
        Column("", list(cells[0]), style="bold"),
        *(
            figures(f"GPU {row.gpu}", own.values(), at)
            for at, (row, own) in enumerate(zip(rows, cells, strict=True))
        ),
    ]


def _summary_cells(row: SummaryRow) -> dict[str, str]:
    return {
        "Name": printable(shorten.cut(row.name or units.ABSENT, _LONGEST_NAME)),
        "Memory": units.size(row.memory_bytes),
        "Compute Capability": row.compute_capability or units.ABSENT,
        "GPU Utilization": _percent(row.gpu_utilization),
        "Est. SM Efficiency": _percent(row.est_sm_efficiency),
        "Est. Achieved Occupancy": _percent(row.est_achieved_occupancy),
        "Kernel Time using Tensor Cores": _percent(row.kernel_time_using_tensor_cores),
    }


def _percent(share: float | None) -> str:
    """A percentage with as many digits as in the plugin."""
    return units.ABSENT if share is None else f"{100 * share:.2f} %"


def _by_step(rows: Sequence[RoleRow]) -> list[Column]:
    """A row for each step, a column for each category."""
    steps = sorted({row.step for row in rows if row.step is not None})
    cells: dict[str, list[str]] = {}
    for row in rows:
        cells.setdefault(row.category, []).append(units.duration(row.time_ns))
    return [
        figures("Step", map(str, steps), style="bold"),
        *(figures(title, own, _GIVES_WAY.index(title) + 1) for title, own in cells.items()),
    ]


def operator_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`tb_operator`."""
    return {"tb_operator": operator_rows(findings, choice.top or 0, choice.peer_sort)}


def operators(findings: Findings, choice: Choice) -> Iterator[Block]:
    """Operators by name, or with --group signature by name and input shape."""
    rows = operator_rows(findings, choice.most(TOP), choice.peer_sort)
    if rows:
        yield Heading("Operator View", "the whole recording")
        yield Table(_operator_columns(rows))
        yield Paragraph(_OPERATOR_NOTE, "dim")


def _operator_columns(rows: Sequence[OperatorRow]) -> list[Column]:
    shapes = [row.input_shape for row in rows]
    has_gpu = any(row.device_total_ns is not None for row in rows)
    return [
        name_column("Name", [row.name for row in rows]),
        *([_shapes(shapes)] if any(shape is not None for shape in shapes) else []),
        figures("Calls", (units.count(row.calls) for row in rows)),
        *(_times(rows, (("Device Self Duration", "device_self_ns"),)) if has_gpu else []),
        *(_times(rows, (("Device Total Duration", "device_total_ns"),)) if has_gpu else []),
        *_times(rows, (("Host Self Duration", "host_self_ns"), ("Host Total Duration", "host_total_ns"))),
    ]


def _shapes(shapes: Sequence[str | None]) -> Column:
    texts = [units.ABSENT if shape is None else shorten.signature(shape) for shape in shapes]
    return Column("Input Shape", texts, least=16, wish=30)


def _times(rows: Sequence[Any], titles: Sequence[tuple[str, str]]) -> list[Column]:
    """Columns of durations. In a small width their titles lose the last word."""
    return [
        replace(
            figures(title, [units.duration(getattr(row, name)) for row in rows]),
            brief_title=title.removesuffix(" Duration"),
        )
        for title, name in titles
    ]


def module_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`tb_module`."""
    return {"tb_module": tb_module_rows(findings, choice.top or 0)}


def modules(findings: Findings, choice: Choice) -> Iterator[Block]:
    """Modules and their backward; nothing for a program without modules."""
    rows = tb_module_rows(findings, choice.most(TOP))
    if rows:
        yield Heading("Module View", "the whole recording")
        yield Table(_module_columns(rows))
        yield Paragraph(_MODULE_NOTE, "dim")


def _module_columns(rows: Sequence[ModuleRow]) -> list[Column]:
    has_gpu = any(row.device_total_ns is not None for row in rows)
    of_host = (("Host Total Duration", "host_total_ns"), ("Host Self Duration", "host_self_ns"))
    of_device = (("Device Total Duration", "device_total_ns"), ("Device Self Duration", "device_self_ns"))
    return [
        Column("Module Name", [printable(row.name) for row in rows], least=24, style="bold"),
        figures("Occurences", map(_occurrences, rows), 3),
        figures("Operators", [units.count(row.operators) for row in rows]),
        *_times(rows, of_host),
        *(_times(rows, of_device) if has_gpu else []),
    ]


def _occurrences(row: ModuleRow) -> str:
    if row.occurrences is None and row.least_occurrences is not None:
        return f"{units.count(row.least_occurrences)}+"
    return units.count(row.occurrences)
