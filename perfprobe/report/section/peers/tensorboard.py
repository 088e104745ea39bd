"""The TensorBoard plugin's tables of operators and of modules: their columns and definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from perfprobe.report import shorten
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.peers.tensorboard import ModuleRow, OperatorRow, operator_rows, tb_module_rows
from perfprobe.report.section.block import Block, Head, Heading, Paragraph, Section, Table
from perfprobe.report.section.figures import figures
from perfprobe.report.section.heads import columns, figure, text
from perfprobe.report.section.peers.summary import name_head
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings, HotModules, Hotspots
from perfprobe.tables.peers import PeerTimes

TOP = 20
_OPERATOR_NOTE = "Self: without the operators in it; on the host also without its calls of CUDA."
_MODULE_NOTE = (
    "Times are times of operators, without Python between them. Occurences with + are the least number of "
    "calls: calls without another operator between them look like one. X.backward: the backward pass of what "
    "X called."
)


def operator_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`tb_operator`."""
    return {"tb_operator": operator_rows(findings, choice.top or 0, choice.peer_sort)}


def operators(findings: Findings, choice: Choice) -> Iterator[Block]:
    """Operators by name, or with --group signature by name and input shape."""
    rows = operator_rows(findings, choice.most(TOP), choice.peer_sort)
    if rows:
        yield Heading("Operator View", "the whole recording")
        yield Table(columns(_OPERATORS, rows))
        yield Paragraph(_OPERATOR_NOTE, "dim")


def module_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`tb_module`."""
    return {"tb_module": tb_module_rows(findings, choice.top or 0)}


def modules(findings: Findings, choice: Choice) -> Iterator[Block]:
    """Modules and their backward; nothing for a program without modules."""
    rows = tb_module_rows(findings, choice.most(TOP))
    if rows:
        yield Heading("Module View", "the whole recording")
        yield Table(columns(_MODULES, rows))
        yield Paragraph(_MODULE_NOTE, "dim")


def _occurrences(row: ModuleRow) -> str:
    if row.occurrences is None and row.least_occurrences is not None:
        return f"{units.count(row.least_occurrences)}+"
    return units.count(row.occurrences)


def _duration(
    title: str,
    means: str,
    time_ns: Callable[[OperatorRow | ModuleRow], int | None],
    shown: Callable[[Sequence[OperatorRow | ModuleRow]], bool] | None = None,
) -> Head[Sequence[Any]]:
    """A column of durations. In a small width its title loses the last word."""
    brief = title.removesuffix(" Duration")
    return Head(
        title,
        means,
        lambda rows: replace(
            figures(title, (units.duration(time_ns(row)) for row in rows)), brief_title=brief
        ),
        shown,
    )


def _has_gpu(rows: Sequence[OperatorRow | ModuleRow]) -> bool:
    return any(row.device_total_ns is not None for row in rows)


_DEVICE_SELF = _duration(
    "Device Self Duration",
    "Time on GPUs of what it launched itself.",
    lambda row: row.device_self_ns,
    _has_gpu,
)
_DEVICE_TOTAL = _duration(
    "Device Total Duration",
    "Time on GPUs of everything launched by it and by what it called.",
    lambda row: row.device_total_ns,
    _has_gpu,
)
_HOST_SELF = _duration(
    "Host Self Duration",
    "Time on the host, without the operators and the calls of CUDA inside it.",
    lambda row: row.host_self_ns,
)
_HOST_TOTAL = _duration(
    "Host Total Duration",
    "Time on the host, including everything inside it.",
    lambda row: row.host_total_ns,
)
_OPERATORS: tuple[Head[Sequence[OperatorRow]], ...] = (
    name_head("Name", "Name of the operator.", lambda row: row.name),
    text(
        "Input Shape",
        "Its inputs, with `--group signature`.",
        lambda row: units.ABSENT if row.input_shape is None else shorten.signature(row.input_shape),
        shown=lambda row: row.input_shape is not None,
        least=16,
        wish=30,
    ),
    figure("Calls", "Number of calls.", lambda row: units.count(row.calls)),
    *(_DEVICE_SELF, _DEVICE_TOTAL, _HOST_SELF, _HOST_TOTAL),
)
_MODULES: tuple[Head[Sequence[ModuleRow]], ...] = (
    text(
        "Module Name",
        "Path of the module. `X.backward` is the backward pass of what X called.",
        lambda row: printable(row.name),
        least=24,
        style="bold",
    ),
    figure(
        "Occurences",
        "Number of calls of the module. With `+` the least number: calls without an operator outside of the "
        "module between them look like one.",
        _occurrences,
        3,
    ),
    figure("Operators", "Number of operators that it called.", lambda row: units.count(row.operators)),
    *(_HOST_TOTAL, _HOST_SELF, _DEVICE_TOTAL, _DEVICE_SELF),
)

TB_OPERATOR = Section(
    "tb.operator",
    (Hotspots,),
    operators,
    operator_tables,
    shows=(PeerTimes,),
    titles=("Operator View",),
    guide="peers",
    means="Operators of the whole recording, by name.",
    heads=_OPERATORS,
    json={"tb_operator": "The view *tb.operator*."},
)
TB_MODULE = Section(
    "tb.module",
    (Hotspots, HotModules),
    modules,
    module_tables,
    shows=(PeerTimes,),
    titles=("Module View",),
    guide="peers",
    means="Modules of the whole recording, and their backward passes.",
    heads=_MODULES,
    json={"tb_module": "The view *tb.module*."},
)
