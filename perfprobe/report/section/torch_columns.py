"""The table of operators with the columns of torch.profiler's key_averages().table()."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from perfprobe.report.section.block import Column
from perfprobe.report.section.figures import duration_columns, figures
from perfprobe.report.section.operator_columns import Operators, name_columns, part_of
from perfprobe.support import units

_SORTS = {"total": "CPU total", "mean": "CPU time avg", "calls": "# of Calls", "gpu": "Self CUDA"}
_TITLES = {
    "operator": "Name",
    "signature": "Input Shapes",
    "line": "Source Location",
    "module": "Module",
}


def torch_columns(table: Operators) -> list[Column]:
    """The columns of torch's own table with its titles and order, and the one by which rows are sorted."""
    names = name_columns(table)
    first = [column for column in names if column.title == "operator"] or list(names[:1])
    others = [column for column in names if column not in first]
    stays = _SORTS.get(table.choice.sort)
    return [
        *map(_renamed, first),
        *(
            figures(title, cells, 0 if title == stays else rank)
            for title, (cells, rank) in _numbers(table).items()
        ),
        *map(_renamed, others),
    ]


def _numbers(table: Operators) -> Mapping[str, tuple[Sequence[str], int]]:
    """The cells and the rank of each column, by title."""
    rows, hotspots, least = table.rows, table.hotspots, table.least_ns
    self_ns, total_ns = _times(table)
    whole_ns = max(hotspots.autograd_self_ns if table.from_autograd else hotspots.totals.self_ns, 1)
    calls = [row.ran.calls for row in rows]
    leasts = [least * count for count in calls]
    means = [
        None if time_ns is None else time_ns // max(count, 1)
        for time_ns, count in zip(total_ns, calls, strict=True)
    ]
    sorted_by = [
        column
        for column in duration_columns([row.ran for row in rows], least)[1:]
        if column.title == table.choice.sort
    ]
    return {
        "Self CPU %": ([units.percent(part_of(time_ns, whole_ns)) for time_ns in self_ns], 0),
        "Self CPU": (list(map(units.duration, self_ns, leasts)), 0),
        "CPU total %": ([units.percent(part_of(time_ns, whole_ns)) for time_ns in total_ns], 2),
        "CPU total": (list(map(units.duration, total_ns, leasts)), 1),
        "CPU time avg": ([units.duration(time_ns, least) for time_ns in means], 2),
        **{column.title: (column.cells, 0) for column in sorted_by},
        **(_gpu(table) if hotspots.gpu_self_ns >= 0 else {}),
        **_self_memory(table),
        "# of Calls": (list(map(units.count, calls)), 1),
        **(_flops(table) if table.is_recorded("flops") else {}),
    }


def _times(table: Operators) -> tuple[list[int | None], list[int | None]]:
    """Self time and total time; those of the autograd profiler if it recorded."""
    if table.from_autograd:
        recorded = [row.ran.recorded for row in table.rows]
        return [each["autograd_self_ns"] for each in recorded], [each["autograd_ns"] for each in recorded]
    return [row.ran.self_ns for row in table.rows], [row.ran.total_ns for row in table.rows]


def _renamed(column: Column) -> Column:
    return replace(column, title=_TITLES.get(column.title, column.title), role=column.title)


def _gpu(table: Operators) -> dict[str, tuple[list[str], int]]:
    self_ns = [row.ran.recorded["gpu_self_ns"] for row in table.rows]
    total_ns = [row.ran.recorded["gpu_ns"] for row in table.rows]
    whole_ns = max(table.hotspots.gpu_self_ns, 1)
    means = [
        None if time_ns is None else time_ns // max(row.ran.calls, 1)
        for time_ns, row in zip(total_ns, table.rows, strict=True)
    ]
    return {
        "Self CUDA": (list(map(units.duration, self_ns)), 1),
        "Self CUDA %": ([units.percent(part_of(time_ns, whole_ns)) for time_ns in self_ns], 1),
        "CUDA total %": ([units.percent(part_of(time_ns, whole_ns)) for time_ns in total_ns], 3),
        "CUDA total": (list(map(units.duration, total_ns)), 2),
        "CUDA time avg": (list(map(units.duration, means)), 3),
    }


def _self_memory(table: Operators) -> dict[str, tuple[list[str], int]]:
    recorded = [row.ran.recorded for row in table.rows]
    pairs = [(each["allocated_bytes"], each["freed_bytes"]) for each in recorded]
    if all(pair == (None, None) for pair in pairs):
        return {}
    cells = [units.size(None if pair == (None, None) else (pair[0] or 0) - (pair[1] or 0)) for pair in pairs]
    return {"Self CPU Mem" if table.memory_of == "CPU" else "Self CUDA Mem": (cells, 1)}


def _flops(table: Operators) -> dict[str, tuple[list[str], int]]:
    flops = [row.ran.recorded["flops"] for row in table.rows]
    whole = max(int(np.maximum(table.hotspots.rows.flops, 0).sum()), 1)
    return {
        "Total FLOPs": (list(map(units.amount, flops)), 1),
        "Flops %": ([units.percent(part_of(each, whole)) for each in flops], 3),
    }


MEANINGS: dict[str, str] = {
    "Name": "Name of the operator.",
    "Self CPU %": "Share of all self time on the CPU.",
    "Self CPU": "Time in the operator without the operators that it called.",
    "CPU total %": "CPU total divided by all self time.",
    "CPU total": "Time in the operator including the operators that it called.",
    "CPU time avg": "CPU total divided by the number of calls.",
    "Self CUDA": "Time on GPUs of what the operator launched itself.",
    "Self CUDA %": "Share of all operators' time on GPUs.",
    "CUDA total": "Time on GPUs of everything launched by the operator and the operators that it called.",
    "CUDA time avg": "CUDA total divided by the number of calls.",
    "Self CPU Mem": "Memory allocated minus memory freed by the calls, with `--memory`.",
    "Self CUDA Mem": "The same on the GPU, in traces of GPUs.",
    "# of Calls": "Number of calls.",
    "Total FLOPs": "Floating-point operations of the calls, if there is a work model.",
    "Input Shapes": "The signature.",
    "Source Location": "The user line.",
    "Module": "Path of the `nn.Module`.",
}
