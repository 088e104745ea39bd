"""The columns of the table of operators: what its rows have to show, in perfprobe's or in torch's words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from perfprobe.report import shorten
from perfprobe.report.base import Layout
from perfprobe.report.cells import (
    counts,
    cpu_column,
    duration_columns,
    durations,
    least_ns,
    line_column,
    marked,
    module_column,
    percents,
    unless_zero,
)
from perfprobe.report.columns import Column
from perfprobe.report.made_from import made_from
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.columns import Int64
from perfprobe.tables.findings import HotspotRows, Hotspots
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import SHORT_PHASES, Phase, Trace, shown_name

NARROW = 140  # below this many cells, words are abbreviated

PHASES = {phase: phase.name.lower() for phase in Phase}

# The columns of each group beside its sums.
_SHOWN = {
    "row": ("operator", "signature", "line", "module", "phase"),
    "op": ("operator", "signatures", "lines"),
    "signature": ("operator", "signature", "lines"),
    "line": ("line", "phases", "operators", "module"),
    "module": ("module", "phases", "operators", "lines"),
}
_OF_ALL = ("FLOPs", "GFLOP/s", "allocated", "freed")
_TORCH_SORTS = {"total": "CPU total", "mean": "CPU time avg", "calls": "# of Calls", "gpu": "Self CUDA"}
_TORCH_TITLES = {  # as torch.profiler's key_averages().table() has them, in its order
    "operator": "Name",
    "signature": "Input Shapes",
    "line": "Source Location",
    "module": "Module",
}


def operator_columns(trace: Trace, hotspots: Hotspots, shown: HotspotRows, layout: Layout) -> list[Column]:
    """The columns that the layout asks for, as far as anything was recorded for them."""
    names = _names(trace, hotspots, shown, layout)
    if layout.columns == "autograd":
        return _as_torch(trace, hotspots, shown, names, layout.sort)
    found = [
        *_sums(trace, hotspots, shown, layout),
        *(duration_columns(trace, shown) if "operator" in _SHOWN[hotspots.group] else []),
        cpu_column(shown),
        *(_work(shown) + _memory(shown) if layout.columns == "all" else []),
        *names,
    ]
    measured = bool((hotspots.rows.cpu_ns >= 0).any())
    return [_ranked(column, layout) for column in found if column.title != "cpu" or measured]


def _ranked(column: Column, layout: Layout) -> Column:
    """What was asked for by name stays, what was asked for with its set gives way last."""
    if layout.sort in (column.title, column.role):
        return replace(column, rank=0)
    if layout.columns == "all" and column.title in _OF_ALL:
        return replace(column, rank=1)
    return column


def operators(trace: Trace, shown: HotspotRows, narrow: bool) -> list[str]:
    """The name of each row's operator with its overload."""
    strings = trace.recording[Strings]
    texts = []
    for name, overload in zip(shown.name.tolist(), shown.overload.tolist(), strict=True):
        text = printable(shown_name(strings[name], narrow=narrow)) if name >= 0 else "(unknown)"
        text = f"{text}.{printable(strings[overload])}" if overload >= 0 and strings[overload] else text
        texts.append(text)
    return texts


def _with_origins(trace: Trace, shown: HotspotRows, narrow: bool) -> list[str]:
    names = zip(operators(trace, shown, narrow), shown.name.tolist(), strict=True)
    return [text + made_from(trace, name) for text, name in names]


def signatures(trace: Trace, shown: HotspotRows) -> list[str]:
    """The signature of each row, whole."""
    texts = [trace.signature(signature) for signature in shown.signature.tolist()]
    return [units.ABSENT if text is None else printable(text) for text in texts]


def autograd_recorded(hotspots: Hotspots) -> bool:
    """Whether the autograd profiler recorded beside the observer."""
    return hotspots.autograd_self_ns >= 0


def _sums(trace: Trace, hotspots: Hotspots, shown: HotspotRows, layout: Layout) -> list[Column]:
    title, part, whole_ns = "share", shown.self_ns, hotspots.totals.self_ns
    if layout.sort == "gpu":
        title, part, whole_ns = "of gpu", shown.gpu_self_ns, hotspots.gpu_self_ns
    least = least_ns(trace) * shown.calls
    autograd = [Column("autograd self", durations(shown.autograd_self_ns), 5, align="right")]
    autograd += (
        [Column("autograd total", durations(shown.autograd_ns), 9, align="right")]
        if layout.columns == "all"
        else []
    )
    return [
        Column(title, percents(part, whole_ns), align="right", style="bold"),
        Column("self", marked(durations(shown.self_ns, least), hotspots, shown), align="right"),
        *(autograd if autograd_recorded(hotspots) else []),
        *(_gpu(shown) if hotspots.gpu_self_ns >= 0 else []),
        Column("total", durations(shown.total_ns, least), 8, align="right"),
        Column("calls", counts(shown.calls), 2, align="right"),
    ]


def _gpu(shown: HotspotRows) -> list[Column]:
    """Time on GPUs of what a row's calls launched themselves, and with what they called."""
    return [
        Column("gpu self", unless_zero(durations(shown.gpu_self_ns)), 1, align="right", role="gpu"),
        Column("gpu total", unless_zero(durations(shown.gpu_ns)), 7, align="right"),
    ]


def _work(shown: HotspotRows) -> list[Column]:
    if not _flops_known(shown):
        return []
    rate = np.where(shown.flops >= 0, shown.flops / np.maximum(shown.total_ns, 1), -1).tolist()
    rates = [units.amount(value) if value >= 0 else units.ABSENT for value in rate]
    return [
        Column("FLOPs", _amounts(shown.flops), 9, align="right"),
        Column("GFLOP/s", rates, 9, align="right"),
    ]


def _memory(shown: HotspotRows) -> list[Column]:
    return [
        Column(
            title,
            [units.size(value) if value >= 0 else units.ABSENT for value in column.tolist()],
            9,
            align="right",
        )
        for title, column in (("allocated", shown.allocated_bytes), ("freed", shown.freed_bytes))
        if bool((column >= 0).any())
    ]


def _names(trace: Trace, hotspots: Hotspots, shown: HotspotRows, layout: Layout) -> list[Column]:
    """What the rows are, and what they are made of."""
    narrow = layout.width < NARROW
    makers: dict[str, Callable[[], Sequence[Column]]] = {
        "operator": lambda: [
            Column("operator", _with_origins(trace, shown, narrow), least=12, wish=18, style="bold")
        ],
        "signature": lambda: [_signature(trace, shown)],
        "line": lambda: [line_column(trace, shown)],
        "module": lambda: [_module(hotspots, shown)],
        "phase": lambda: [_phase(shown, narrow)],
        "phases": lambda: _phases(shown),
        "operators": lambda: [Column("operators", counts(shown.operators), 4, align="right")],
        "signatures": lambda: [Column("signatures", counts(shown.signatures), 4, align="right")],
        "lines": lambda: [Column("lines", counts(shown.lines), 4, align="right")],
    }
    return [column for name in _SHOWN[hotspots.group] for column in makers[name]()]


def _signature(trace: Trace, shown: HotspotRows) -> Column:
    texts = [shorten.signature(text) for text in signatures(trace, shown)]
    return Column("signature", texts, 2, least=12, wish=26)


def _phase(shown: HotspotRows, narrow: bool) -> Column:
    words = SHORT_PHASES if narrow else PHASES
    return Column("phase", [words[Phase(phase)] for phase in shown.phase.tolist()], 3, style="dim")


def _module(hotspots: Hotspots, shown: HotspotRows) -> Column:
    column = module_column(hotspots, shown)
    return replace(column, rank=0, wish=32) if hotspots.group == "module" else column


def _phases(shown: HotspotRows) -> list[Column]:
    """The share of a row's self time in each phase that there is any of."""
    phases = (("fwd", shown.forward_ns), ("bwd", shown.backward_ns), ("recompute", shown.recompute_ns))
    return [
        Column(title, percents(column, shown.self_ns), 3, align="right", style="dim")
        for title, column in phases
        if bool(column.any())
    ]


def _as_torch(
    trace: Trace, hotspots: Hotspots, shown: HotspotRows, names: Sequence[Column], sort: str
) -> list[Column]:
    """The columns of torch's own table, in its words and its order, and the one that rows are sorted by."""
    first = [column for column in names if column.title == "operator"] or list(names[:1])
    others = [column for column in names if column not in first]
    recorded = autograd_recorded(hotspots)
    self_ns, total_ns = (
        (shown.autograd_self_ns, shown.autograd_ns) if recorded else (shown.self_ns, shown.total_ns)
    )
    whole_ns = hotspots.autograd_self_ns if recorded else hotspots.totals.self_ns
    least = least_ns(trace)
    mean_ns = np.where(total_ns >= 0, total_ns // np.maximum(shown.calls, 1), -1)
    numbers = {  # by title: the cells, and the rank
        "Self CPU %": (percents(self_ns, whole_ns), 0),
        "Self CPU": (durations(self_ns, least * shown.calls), 0),
        "CPU total %": (percents(total_ns, whole_ns), 2),
        "CPU total": (durations(total_ns, least * shown.calls), 1),
        "CPU time avg": (durations(mean_ns, least), 2),
        **{
            column.title: (column.cells, 0)
            for column in duration_columns(trace, shown)[1:]
            if column.title == sort
        },
        **(_torch_gpu(hotspots, shown) if hotspots.gpu_self_ns >= 0 else {}),
        **{title: (cells, 1) for title, cells in _self_memory(shown).items()},
        "# of Calls": (counts(shown.calls), 1),
        **({"Total FLOPs": (_amounts(shown.flops), 1)} if _flops_known(shown) else {}),
    }
    stays = _TORCH_SORTS.get(sort)
    return [
        *map(_renamed, first),
        *(
            Column(title, cells, 0 if title == stays else rank, align="right")
            for title, (cells, rank) in numbers.items()
        ),
        *map(_renamed, others),
    ]


def _renamed(column: Column) -> Column:
    return replace(column, title=_TORCH_TITLES.get(column.title, column.title), role=column.title)


def _torch_gpu(hotspots: Hotspots, shown: HotspotRows) -> dict[str, tuple[list[str], int]]:
    self_ns, total_ns = shown.gpu_self_ns, shown.gpu_ns
    mean_ns = np.where(total_ns >= 0, total_ns // np.maximum(shown.calls, 1), -1)
    return {
        "Self CUDA": (durations(self_ns), 1),
        "Self CUDA %": (percents(self_ns, hotspots.gpu_self_ns), 1),
        "CUDA total": (durations(total_ns), 2),
        "CUDA time avg": (durations(mean_ns), 3),
    }


def _self_memory(shown: HotspotRows) -> dict[str, list[str]]:
    known = (shown.allocated_bytes >= 0) | (shown.freed_bytes >= 0)
    if not bool(known.any()):
        return {}
    net = np.maximum(shown.allocated_bytes, 0) - np.maximum(shown.freed_bytes, 0)
    cells = [
        units.size(value) if is_known else units.ABSENT
        for value, is_known in zip(net.tolist(), known, strict=True)
    ]
    return {"Self CPU Mem": cells}


def _flops_known(shown: HotspotRows) -> bool:
    return bool((shown.flops >= 0).any())


def _amounts(values: Int64) -> list[str]:
    return [units.amount(value) if value >= 0 else units.ABSENT for value in values.tolist()]
