"""Steps of many short operators: the fixed cost of each, not what it computes, takes the time."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.models.work.slow_core import longest_ns
from perfprobe.report.rows.operators import OperatorRow
from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.report.rows.step_rows import step_operators
from perfprobe.report.section.screen.places import operator, whole_percent
from perfprobe.report.section.screen.steps import is_inference
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.steps import StepTimes

_SHORT_NS = 20_000  # between two operators. If they begin more seldom, something else takes the time.
# Of the step. Below, a step with four times the data takes about as long; at 0.4 already 1.4 times as long:
# python -m benchmarks.short_operators.
_OF_DATA = 0.25
_ENGINE = "autograd::engine"  # its rows are ranges around backward operators


def short_operator_lines(findings: Findings, label: str) -> Iterator[ScreenRow]:
    """How many operators a step has, and how often one begins; nothing unless their work is a small part."""
    found = findings.get(StepHotspots)
    if found is None:
        return
    rows = [row for row in step_operators(findings, 0) if "::" in (row.operator or "")]
    rows = [row for row in rows if not (row.operator or "").startswith(_ENGINE)]
    calls = sum(row.ran.calls for row in rows)
    if found.time_ns >= _SHORT_NS * calls:
        return
    data = found.share(round(sum(map(_data_ns, rows))))
    if data >= _OF_DATA:
        return
    word = "call" if is_inference(findings[StepTimes]) else "step"
    every = units.duration(found.time_ns / calls)
    text = f"{round(calls / found.steps):,} short operators a {word}, one every {every}"
    if label != "SLOW":
        yield said(label, text, ": fixed costs")
        return
    yield said(label, text, f"; largest {operator(rows[0])}, {whole_percent(rows[0].share)}", style="bold")
    costs = f"fixed costs: at most {whole_percent(data)} is work on data"
    yield said("", costs, "; larger batches, torch.compile")


def _data_ns(row: OperatorRow) -> float:
    """How long the work of these calls takes at most; without a model, as long as they took."""
    longest = longest_ns(row.operator or "", row.signature or "")
    return row.ran.typical_ns if longest is None else row.ran.calls * longest
