"""NEXT: one command that exists and fits."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.report.rows.bottleneck import Candidate, candidates
from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.report.section.screen.loader import awaited_loader
from perfprobe.report.section.screen.start_up import slow_start
from perfprobe.support.views import command
from perfprobe.tables.children import Children
from perfprobe.tables.findings import Findings, Hotspots
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.measurements import Measurements
from perfprobe.tables.steps import StepPhase, StepTimes

_COMPUTING = (StepPhase.FORWARD, StepPhase.BACKWARD)


def next_line(findings: Findings) -> Iterator[ScreenRow]:
    """The command for what SLOW says."""
    yield said("NEXT", f"perfprobe {_command(findings)}")


def _command(findings: Findings) -> str:
    times, hotspots = findings.get(StepTimes), findings.get(Hotspots)
    children = findings.get(Children)
    if children is not None and children.recordings and not _has_operators(hotspots):
        return command("children")
    if times is not None and len(times.loops):
        return _for_steps(findings, times)
    if not _has_operators(hotspots):
        return command("functions")
    return command("operators") if Measurements in findings else "bench"


def _has_operators(hotspots: Hotspots | None) -> bool:
    return hotspots is not None and hotspots.whole_rows > 0


def _for_steps(findings: Findings, times: StepTimes) -> str:
    if slow_start(findings) is not None:
        return command("start-up")
    found = candidates(findings)
    first = found[0] if found and found[0].stands_out else None
    if first is None or first.row is not None:
        return command("efficiency") if Measurements in findings else "bench"
    return command(_view(findings, times, first))


def _view(findings: Findings, times: StepTimes, first: Candidate) -> str:
    """The one that shows more of a candidate which is no operator."""
    if first.phase is StepPhase.DATA and awaited_loader(findings) is not None:
        return "workers"
    if GpuFindings in findings and first.phase in _COMPUTING:
        return "gpus"
    if first.module is not None or int(times.loops.library_frame[0]) >= 0:
        return "modules"
    return "lines" if first.phase in _COMPUTING else "functions"
