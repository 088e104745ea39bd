"""The columns of the table of operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from perfprobe.report import shorten
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.operators import OperatorRow
from perfprobe.report.section.block import Column
from perfprobe.report.section.figures import cpu_column, duration_columns, figures, marked, unless_zero
from perfprobe.report.section.lines import line_column
from perfprobe.report.section.modules import module_column
from perfprobe.report.section.phases import phase_column
from perfprobe.support import units
from perfprobe.support.frozen import frozen
from perfprobe.support.text import printable
from perfprobe.tables.findings import Hotspots
from perfprobe.tables.trace import shown_name

# The columns of each grouping beside its sums.
_SHOWN = {
    "row": ("operator", "signature", "line", "module", "phase"),
    "op": ("operator", "signatures", "lines"),
    "signature": ("operator", "signature", "lines"),
    "line": ("line", "phases", "operators", "module"),
    "module": ("module", "phases", "operators", "lines"),
}
_OF_ALL = ("FLOPs", "GFLOP/s", "allocated", "freed")


@frozen
class Operators:
    """The rows of a table of operators. least_ns: the measurement floor. memory_of: a device."""

    hotspots: Hotspots
    rows: Sequence[OperatorRow]
    choice: Choice
    least_ns: int
    memory_of: str = "CPU"

    @property
    def group(self) -> str:
        """One of `support.view.GROUPS`."""
        return self.hotspots.group

    @property
    def from_autograd(self) -> bool:
        """Whether the autograd profiler recorded as well as the observer."""
        return self.hotspots.autograd_self_ns >= 0

    def column(self, title: str, recorded: str, rank: int) -> Column:
        """A column of times that not every recording has."""
        return figures(title, (units.duration(row.ran.recorded[recorded]) for row in self.rows), rank)

    def is_recorded(self, name: str) -> bool:
        """Whether any row has this column."""
        return any(row.ran.recorded[name] is not None for row in self.rows)


def operator_columns(table: Operators) -> list[Column]:
    """The columns that have data, with perfprobe's titles."""
    ran = [row.ran for row in table.rows]
    found = [
        *_sums(table),
        *(duration_columns(ran, table.least_ns) if "operator" in _SHOWN[table.group] else []),
        cpu_column(ran),
        *(_work(table) + _memory(table) if table.choice.columns == "all" else []),
        *name_columns(table),
    ]
    measured = bool((table.hotspots.rows.cpu_ns >= 0).any())
    return [_ranked(column, table.choice) for column in found if column.title != "cpu" or measured]


def operator_text(row: OperatorRow, *, brief: bool) -> str:
    """The name of a row's operator with its overload."""
    text = "(unknown)" if row.operator is None else printable(shown_name(row.operator, narrow=brief))
    return text if row.overload is None else f"{text}.{printable(row.overload)}"


def signature_text(row: OperatorRow) -> str:
    """The full signature of a row."""
    return units.ABSENT if row.signature is None else printable(row.signature)


def _ranked(column: Column, choice: Choice) -> Column:
    """The column with the rank of the user's choice: requested columns stay, or are dropped last."""
    if choice.sort in (column.title, column.role):
        return replace(column, rank=0)
    if choice.columns == "all" and column.title in _OF_ALL:
        return replace(column, rank=1)
    return column


def _with_origin(row: OperatorRow, *, brief: bool) -> str:
    """A second line for a kernel of torch.compile: `made from add, relu`."""
    text = operator_text(row, brief=brief)
    return f"{text}\nmade from {', '.join(map(printable, row.made_from))}" if row.made_from else text


def _sums(table: Operators) -> list[Column]:
    rows, hotspots = table.rows, table.hotspots
    shares: list[float | None] = [row.share for row in rows]
    if table.choice.sort == "gpu":
        whole_ns = max(hotspots.gpu_self_ns, 1)
        shares = [part_of(row.ran.recorded["gpu_self_ns"], whole_ns) for row in rows]
    autograd = [table.column("autograd self", "autograd_self_ns", 5)]
    if table.choice.columns == "all":
        autograd.append(table.column("autograd total", "autograd_ns", 9))
    totals = (units.duration(row.ran.total_ns, table.least_ns * row.ran.calls) for row in rows)
    title = "of gpu" if table.choice.sort == "gpu" else "share"
    return [
        figures(title, map(units.percent, shares), style="bold"),
        figures("self", _self_times(table)),
        *(autograd if table.from_autograd else []),
        *(_gpu(table) if hotspots.gpu_self_ns >= 0 else []),
        figures("total", totals, 8),
        figures("calls", (units.count(row.ran.calls) for row in rows), 2),
    ]


def part_of(part: int | None, whole: int) -> float | None:
    """A fraction, None if it was not measured."""
    return None if part is None else part / whole


def _self_times(table: Operators) -> list[str]:
    cells = [units.duration(row.ran.self_ns, table.least_ns * row.ran.calls) for row in table.rows]
    return marked(cells, [row.ran.misleads for row in table.rows])


def _gpu(table: Operators) -> list[Column]:
    """Time on GPUs of work that a row's calls launched themselves, and with what they called."""
    own = (unless_zero(row.ran.recorded["gpu_self_ns"]) for row in table.rows)
    total = (unless_zero(row.ran.recorded["gpu_ns"]) for row in table.rows)
    return [figures("gpu self", own, 1, role="gpu"), figures("gpu total", total, 7)]


def _work(table: Operators) -> list[Column]:
    if not table.is_recorded("flops"):
        return []
    flops = [row.ran.recorded["flops"] for row in table.rows]
    rates = (part_of(of_row, max(row.ran.total_ns, 1)) for of_row, row in zip(flops, table.rows, strict=True))
    return [
        figures("FLOPs", map(units.amount, flops), 9),
        figures("GFLOP/s", map(units.amount, rates), 9),
    ]


def _memory(table: Operators) -> list[Column]:
    return [
        figures(title, (units.size(row.ran.recorded[name]) for row in table.rows), 9)
        for title, name in (("allocated", "allocated_bytes"), ("freed", "freed_bytes"))
        if table.is_recorded(name)
    ]


def name_columns(table: Operators) -> list[Column]:
    """The columns that identify rows, and those that say what rows contain."""
    rows = table.rows
    ran = [row.ran for row in rows]
    makers: dict[str, Callable[[], Sequence[Column]]] = {
        "operator": lambda: [_operator_column(rows)],
        "signature": lambda: [_signature_column(rows)],
        "line": lambda: [line_column(ran)],
        "module": lambda: [_module(table)],
        "phase": lambda: [phase_column([row.phase for row in ran])],
        "phases": lambda: _phases(rows),
        "operators": lambda: [figures("operators", (units.count(row.operators) for row in rows), 4)],
        "signatures": lambda: [figures("signatures", (units.count(row.signatures) for row in rows), 4)],
        "lines": lambda: [figures("lines", (units.count(row.lines) for row in rows), 4)],
    }
    return [column for name in _SHOWN[table.group] for column in makers[name]()]


def _operator_column(rows: Sequence[OperatorRow]) -> Column:
    cells, brief = ([_with_origin(row, brief=brief) for row in rows] for brief in (False, True))
    return Column("operator", cells, least=12, wish=18, style="bold", brief=brief)


def _signature_column(rows: Sequence[OperatorRow]) -> Column:
    texts = [shorten.signature(signature_text(row)) for row in rows]
    return Column("signature", texts, 2, least=12, wish=26)


def _module(table: Operators) -> Column:
    column = module_column([row.ran for row in table.rows])
    return replace(column, rank=0, wish=32) if table.group == "module" else column


def _phases(rows: Sequence[OperatorRow]) -> list[Column]:
    """The share of a row's self time in each phase that occurs."""
    phases = {
        "fwd": [row.forward_ns for row in rows],
        "bwd": [row.backward_ns for row in rows],
        "recompute": [row.recompute_ns for row in rows],
    }
    whole_ns = [max(row.ran.self_ns, 1) for row in rows]
    return [
        figures(title, map(units.percent, map(part_of, times_ns, whole_ns)), 3, "dim")
        for title, times_ns in phases.items()
        if any(times_ns)
    ]


MEANINGS: dict[str, str] = {
    "share": "The row's share of all operators' self time.",
    "of step": "The row's share of the time of a steady step (first screen).",
    "of GPU": "The row's share of GPU time: that of steps, or from first to last work (first screen).",
    "of call": "The row's share of the time of a steady call of the model (first screen).",
    "of gpu": "The row's share of all operators' time on GPUs. It replaces *share* with `--sort gpu`.",
    "self": "CPU-side time in the operator itself, on its own thread, without the operators that it called.",
    "autograd self": "Self time as the autograd profiler measured it.",
    "autograd total": "Total time as the autograd profiler measured it.",
    "gpu self": "Time on GPUs of the kernels, copies and fills that the operator launched itself.",
    "gpu total": "Time on GPUs of everything launched by the operator and the operators that it called.",
    "total": "Time in the operator including the operators that it called. A call inside another call of "
    "the same row is not counted twice.",
    "calls": "Number of calls.",
    "mean": "Mean duration of a call: total divided by calls.",
    "median": "Median duration of a call (nearest rank: the 20th shortest of 40 calls). It comes from a "
    "histogram and is within 1.6 % of the exact value.",
    "p95": "95th percentile of the durations of calls (nearest rank: the 38th shortest of 40 calls).",
    "cpu": "CPU time of the operator's own thread, without other threads of torch's pool. `--cpu-time` "
    "alone means outermost operators only.",
    "FLOPs": "Floating-point operations of the row's calls, if there is a work model. A multiply-add is two.",
    "GFLOP/s": "FLOPs divided by total time, in 10^9 a second.",
    "allocated": "Memory that the calls allocated, with `--memory`.",
    "freed": "Memory that the calls freed, with `--memory`.",
    "operator": "Torch's name for the operator, with its overload: `aten::div.Tensor` is `/` on two tensors.",
    "signature": "The operator's inputs: dtypes, shapes, strides that are not contiguous, and plain values. "
    "See the term *signature*.",
    "line": "The user line: the innermost line of the program outside of torch, installed packages and the "
    "standard library. In backward it is the line of the forward call.",
    "module": "Path of the `nn.Module` that called the operator, as in the model's own `named_modules()`. "
    "Wrappers (`torch.compile`, DataParallel, sharding, checkpoints) are left out. A row for several layers "
    "says how many: `layers.*.attention (4)`. If there are two models of one class, the second is `Net#2`.",
    "phase": "The phase in which it ran: forward, backward, recompute, optimizer, compile, data or other.",
    "fwd": "Share of the row's self time that passed in forward.",
    "bwd": "Share of the row's self time that passed in backward.",
    "recompute": "Share of the row's self time in which backward ran forward code again (checkpoint).",
    "operators": "Number of different operators in the row.",
    "signatures": "Number of different signatures in the row.",
    "lines": "Number of different lines in the row.",
    "of limit": "The call's speed as a share of the fastest that a limit of this machine allows. From "
    "`perfprobe bench`.",
    "verdict": "How close the call comes to a limit of this machine. From `perfprobe bench`.",
}
