"""SLOW for a line that calls a whole model: its hottest module, and the parts of that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from perfprobe.models.module_tree import HotModule
from perfprobe.report.rows.named import is_named
from perfprobe.report.rows.screen import ScreenRow, listed, said
from perfprobe.report.section.screen.places import at_line, whole_percent
from perfprobe.report.section.screen.steps import is_inference
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.diagnoses import Diagnosis
from perfprobe.tables.findings import Findings
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.steps import StepTimes

_PARTS = 2


def module_lines(
    findings: Findings, first: Diagnosis, module: HotModule, facts: dict[str, Any]
) -> Iterator[ScreenRow]:
    """`model.layers.*.mlp (16), forward + backward 810 ms = 35 %`, and its largest parts."""
    number = f" ({module.node.number})" if module.node.number > 1 else ""
    phases = "" if is_inference(findings[StepTimes]) else f" {module.phases}"
    how_much = f"{units.duration(first.time_ns)} = {whole_percent(first.share)}"
    yield said("SLOW", f"{printable(module.name)}{number},{phases} {how_much}", style="bold", **facts)
    if module.is_own and facts["line"] is not None:
        most = f"{units.duration(first.line_ns)} at {at_line(facts['line'])}"
        without = "; without the modules in it" if module.node.parts else ""
        yield said("", most, without)
    elif facts["line"] is not None:
        parts = listed(_parts(findings, module), first="; in it ")
        yield said("", f"called at {at_line(facts['line'])}", *parts)


def _parts(findings: Findings, module: HotModule) -> Iterator[str]:
    found = findings[StepHotspots]
    for part in sorted(module.node.parts, key=lambda part: -part.total_ns)[:_PARTS]:
        share = found.share(part.total_ns)
        if is_named(share):
            kind = f" ({printable(part.type)})" if part.type else ""
            yield f"{printable(part.name)}{kind} {whole_percent(share)}"
