"""NEXT: the one command that is most useful now."""

from __future__ import annotations

from perfprobe.models.seen import has_shapes
from perfprobe.report.section.screen.loader import awaited_loader
from perfprobe.report.section.screen.worded import main_of
from perfprobe.support.text import printable
from perfprobe.support.views import command
from perfprobe.tables.children import Children
from perfprobe.tables.diagnoses import Cause, Diagnoses, Diagnosis
from perfprobe.tables.findings import Findings, Hotspots
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.idle import IdleTimes
from perfprobe.tables.measurements import Measurements
from perfprobe.tables.python import CallStructure
from perfprobe.tables.steps import StartUpPart, StepPhase, StepTimes

_COMPUTING = (StepPhase.FORWARD, StepPhase.BACKWARD)
_OUTSIDE = (Cause.PYTHON, Cause.WAITING, Cause.COMPILE, Cause.IMPORTS)
_VIEWS = {Cause.THREADS: "threads", Cause.MODULE: "modules", Cause.UNEXPLAINED: "phases"}
_VIEWS |= {Cause.LOCK: "threads", Cause.RANKS: "ranks", Cause.GPU: "gpus"}
_VIEWS |= {
    Cause.EVALUATION: "phases",
    Cause.IMPORT: "phases",
    Cause.START_UP: "start-up",
    Cause.AFTER: "functions",
}
# By a GPU's time; what it waits for is in `idle`.
_GPU_VIEWS = {Cause.GPU_OPERATOR: "kernels", Cause.LINE: "kernels", Cause.BETWEEN_KERNELS: "sequences"}
_GPU_VIEWS |= {Cause.COPIES: "copies", Cause.RANKS: "overlap"}


def script_command(findings: Findings) -> str:
    """The command for a program without steps."""
    is_trace = findings.trace.recording.is_trace
    hotspots, children = findings.get(Hotspots), findings.get(Children)
    slow = findings[Diagnoses].slow
    if slow is not None and slow.group is not None:
        return command(_view(findings, slow))
    if slow is not None and slow.cause is Cause.DATA:
        return command("workers")
    if children is not None and children.did_most(findings.trace.cpu_ns):
        return command("children" if children.recordings else "missing")
    of_operators = is_trace or (slow is not None and slow.cause not in _OUTSIDE)
    if hotspots is not None and hotspots.whole_rows > 0 and of_operators:
        return command("operators") if Measurements in findings else _bench(findings)
    if GpuFindings in findings and CallStructure not in findings:
        return command("kernels")
    return command("functions" if children is None or not children.recordings else "children")


def recording_children(findings: Findings) -> str | None:
    """The whole command that would record the processes that did the work, if none of them was recorded."""
    children = findings.get(Children)
    if children is None or children.recordings or not children.did_most(findings.trace.cpu_ns):
        return None
    most = max((lost for lost in children.lost if lost.recipe), key=lambda lost: lost.processes, default=None)
    return None if most is None else printable(most.recipe)


def _bench(findings: Findings) -> str:
    """To measure operators; of a trace without their shapes, to see what the GPU waits for, or operators."""
    if has_shapes(findings.trace.recording):
        return "bench"
    return command("idle" if IdleTimes in findings else "operators")


def steps_command(findings: Findings) -> str:
    """The command that shows the evidence for the bottleneck of a program with steps."""
    first = findings[Diagnoses].slow
    if first is None or _is_of_operators(findings, first):
        return command("efficiency") if Measurements in findings else _bench(findings)
    return command(_view(findings, first))


def _is_of_operators(findings: Findings, first: Diagnosis) -> bool:
    """Whether it is one operator, or many short ones."""
    if first.group is not None:
        return False
    return first.cause is Cause.SHORT_OPERATORS or main_of(findings, first) is not None


def _view(findings: Findings, first: Diagnosis) -> str:
    """The command for a judgement that is not about an operator."""
    if first.cause is Cause.DATA and awaited_loader(findings) is not None:
        return "workers"
    if first.cause is Cause.START_UP and first.part is StartUpPart.CHILDREN:
        return "children"
    views = _VIEWS if first.group is None else _GPU_VIEWS
    if first.cause in views or first.group is not None:
        return views.get(first.cause, "idle")
    if first.phase not in _COMPUTING:
        return "functions"
    if GpuFindings in findings:
        return "gpus"
    is_library = int(findings[StepTimes].loops.library_frame[0]) >= 0
    return "modules" if is_library else "lines"
