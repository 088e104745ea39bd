"""Two versions of a program: all rows, phases, figures and counts as tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from perfprobe.models.compared import Change, Comparison, Count, Part, PartChange
from perfprobe.report import shorten
from perfprobe.report.section.block import Block, Column, Heading, Table
from perfprobe.report.section.compared import FIGURE_TEXTS, operator_text, signed, whole
from perfprobe.report.section.figures import figures
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.steps import PHASE_TEXTS

MEANINGS = {
    "A": "The first version: the mean over its runs, of a step where nothing else is said.",
    "B": "The second version.",
    "change": "B minus A. All rows, waiting for a processor and what is *unattributed* are the difference of "
    "the step.",
    "interval": "Where the change lies: 95 %, over the pairs. `?`: with all rows counted it may be none.",
    "by calls": "The part of the change that more calls make: each as long as in A.",
    "by their time": "The rest: the calls of B, each longer or shorter than in A.",
    "calls": "Calls in a step.",
    "what": "**same**: the line has the same text in the same function. **edited**: its text changed, not "
    "function, module and operator. **moved**: probably; the same operator of the same module elsewhere. "
    "**new**, **gone**: only one version has it.",
    "certain": "Whether the count differs for certain: it is the same in nearly all steps and in all runs.",
    "Parts of a step": "Operators at a line, Python at a line, and what has no line.",
    "Phases of a step": "The same time by phase.",
    "Other figures": "Start-up, memory, evaluations, compilation, and the GPU's work.",
    "Counts, which have no noise": "They differ for certain, with one run of each.",
}
_FORMS: Mapping[str, Callable[[float], str]] = {"peak_memory": units.size, "gpu_idle": units.percent}


def full_pages(found: Comparison) -> list[list[Block]]:
    """All rows, phases, figures and counts as tables, which have a blank line between them."""
    phases = {PHASE_TEXTS[phase]: each for phase, each in found.phases.items()}
    pages: list[list[Block]] = [
        [Heading("Parts of a step", _sums(found)), Table(_row_columns(found.rows))],
        [Heading("Phases of a step"), Table(_change_columns(phases, units.duration))],
        [Heading("Other figures"), Table(_figure_columns(found.figures))],
        [Heading("Counts, which have no noise"), Table(_count_columns(found.counts))],
    ]
    sizes = (found.rows, found.phases, found.figures, found.counts)
    return [page for page, rows in zip(pages, sizes, strict=True) if rows]


def _sums(found: Comparison) -> str:
    """How the parts add up to the difference of the step."""
    if found.step_ns is None or found.unattributed_ns is None:
        return ""
    known_ns = sum(row.time_ns.by for row in found.rows)
    waited = "" if found.waited_ns is None else f", waiting for a processor {signed(found.waited_ns.by)}"
    rest = f", unattributed {signed(found.unattributed_ns)}"
    return f"rows {signed(known_ns)}{waited}{rest}: {signed(found.step_ns.by)}"


def _row_columns(rows: Sequence[PartChange]) -> list[Column]:
    changes = [row.time_ns for row in rows]
    return [
        figures("A", [units.duration(each.before) for each in changes], 3),
        figures("B", [units.duration(each.after) for each in changes], 3),
        figures("change", [signed(each.by) for each in changes], style="bold"),
        figures("interval", [_interval(row.time_ns, units.duration, row.is_certain) for row in rows], 4),
        figures("by calls", ["" if row.calls_ns is None else signed(row.calls_ns) for row in rows], 5),
        figures("by their time", ["" if row.each_ns is None else signed(row.each_ns) for row in rows], 5),
        figures("calls", [_calls(row) for row in rows], 2),
        Column("what", [row.match.value for row in rows], 1),
        Column("operator", [operator_text(row.part) for row in rows], least=8, wish=16),
        Column("phase", [PHASE_TEXTS[row.part.phase] for row in rows], 6),
        Column("line", [_place_text(row.part) for row in rows], least=12),
    ]


def _place_text(part: Part) -> str:
    return units.ABSENT if part.place is None else shorten.place(part.place)


def _calls(row: PartChange) -> str:
    if not row.part.operator:
        return ""
    before, after = (units.significant(each, 3) for each in row.calls[:2])
    return after if before == after else f"{before} -> {after}"


def _interval(change: Change, shown: Callable[[float], str], is_certain: bool | None = None) -> str:
    if change.low is None or change.high is None:
        return ""
    mark = "" if (change.is_certain if is_certain is None else is_certain) else "?"
    return f"{shown(change.low)} to {shown(change.high)}{mark}"


def _change_columns(changes: Mapping[str, Change], shown: Callable[[float], str]) -> list[Column]:
    return [
        Column("what", list(changes)),
        figures("A", [shown(each.before) for each in changes.values()]),
        figures("B", [shown(each.after) for each in changes.values()]),
        figures("change", [signed(each.by) for each in changes.values()], style="bold"),
        figures("interval", [_interval(each, shown) for each in changes.values()], 2),
    ]


def _figure_columns(changes: Mapping[str, Change]) -> list[Column]:
    forms = [_FORMS.get(name, units.duration) for name in changes]
    rows = list(zip(changes.values(), forms, strict=True))
    return [
        Column("what", [FIGURE_TEXTS[name] for name in changes]),
        figures("A", [shown(each.before) for each, shown in rows]),
        figures("B", [shown(each.after) for each, shown in rows]),
        figures("interval", [_interval(each, shown) for each, shown in rows], 2),
    ]


def _count_columns(counts: Sequence[Count]) -> list[Column]:
    return [
        Column("what", [each.name for each in counts]),
        figures("A", [_count_text(each.before) for each in counts]),
        figures("B", [_count_text(each.after) for each in counts]),
        Column("certain", ["yes" if each.is_certain else "no" for each in counts]),
    ]


def _count_text(value: float | str | None) -> str:
    if isinstance(value, str):
        return printable(shorten.signature(value))
    return units.amount(whole(value))
