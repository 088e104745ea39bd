"""The first screen of a program that is judged by a GPU's time: SLOW, THEN and PARTS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from perfprobe.models.kernel_names import group_of_kernel
from perfprobe.report import shorten
from perfprobe.report.rows.device import DevicePart, parts_of, work_rows
from perfprobe.report.rows.named import is_named, is_nearly_all
from perfprobe.report.rows.screen import ScreenRow, listed, said
from perfprobe.report.section.gpu.idle import cause_text
from perfprobe.report.section.gpu.names import cut_middle, shortened
from perfprobe.report.section.screen.parts import parts_text, whole_percents
from perfprobe.report.section.screen.places import at_line, facts_of, place_in, whole_percent
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.device_account import DeviceAccount
from perfprobe.tables.diagnoses import Cause, Diagnoses, Diagnosis
from perfprobe.tables.findings import Findings
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import shown_name

_WORK = (Cause.GPU_OPERATOR, Cause.LINE)
_TEXTS = {
    Cause.DATA: "the GPU waits for data loading",
    Cause.COLLECTION: "the GPU waits for Python's garbage collection",
    Cause.COMPILE: "the GPU waits for torch.compile",
    Cause.LAUNCHES: "the GPU waits for the CPU",
    Cause.SYNCHRONISED: "the GPU is idle after waits for it",
    Cause.BETWEEN_KERNELS: "gaps between short kernels",
    Cause.UNEXPLAINED: "the GPU is idle, not known why",
    Cause.RANKS: "communication between GPUs",
    Cause.COPIES: "copies",
}
# In the order of PARTS. What has no text is computing.
_PARTS = {
    Cause.RANKS: "communication",
    Cause.COPIES: "copies",
    Cause.DATA: "data",
    Cause.LAUNCHES: "launches",
    Cause.SYNCHRONISED: "synchronising",
    Cause.COLLECTION: "garbage collection",
    Cause.COMPILE: "torch.compile",
    Cause.BETWEEN_KERNELS: "gaps",
    Cause.UNEXPLAINED: "idle",
}
_COMPUTING, _OTHER = "computing", "other"
_MOST_PARTS = 3
_LONGEST = 40  # cells of a kernel's name


def judged_by_gpu(findings: Findings) -> bool:
    """Whether shares are of a GPU's time."""
    found = findings.get(Diagnoses)
    return found is not None and found.by_gpu


def device_parts(findings: Findings) -> ScreenRow:
    """PARTS: what the GPU did, and what its time is of."""
    judged, account = findings[Diagnoses], findings[DeviceAccount]
    sums = dict.fromkeys((_COMPUTING, *_PARTS.values()), 0)
    for each in judged.found:
        if each.base is judged.base and each.group is not None:
            sums[_PARTS.get(each.cause, _COMPUTING)] += each.group.time_ns
    order = sorted((name for name in sums if sums[name]), key=lambda name: -sums[name])
    percents = dict(zip(order, whole_percents([sums[name] for name in order]), strict=True))
    shown = [name for name in sums if percents.get(name)]
    text = parts_text(percents, shown, dict(zip(shown, shown, strict=True)), _OTHER, " of GPU time")
    return said("PARTS", text, time_ns=account.time_ns // account.steps)


def device_lines(findings: Findings, each: Diagnosis, label: str, also: str = "") -> Iterator[ScreenRow]:
    """The judgement, and for SLOW where it is and what it consists of."""
    line, parts = findings.trace.line(each.frame), parts_of(findings, each)
    facts = facts_of(findings, each)
    whose = "the GPU's" if each.cause in (*_WORK, Cause.RANKS, Cause.COPIES) else "its"
    much = f"{units.duration(each.time_ns)} = {whole_percent(each.share)} of {whose} time"
    style = "bold" if label == "SLOW" else ""
    pieces: tuple[str, ...]
    if each.cause is Cause.LINE and line is not None:
        pieces = (f"{also}{at_line(line)}, {much}", *_most_of_line(findings, each, label))
    elif each.cause is Cause.GPU_OPERATOR:
        name = f"{also}{_work_text(parts)}"
        pieces = (f"{name}, {much}", *place_in(line), *_inputs(findings, each))
    else:
        at = () if label == "SLOW" else place_in(line)  # a line of its own has more room
        pieces = (f"{also}{_TEXTS[each.cause]}, {much}", *at)
    yield said(label, *pieces, style=style, **facts)
    if label == "SLOW" and (each.cause is not Cause.GPU_OPERATOR or len(parts) > 1):
        yield from _made_of(findings, each, parts)


def _most_of_line(findings: Findings, each: Diagnosis, label: str) -> Iterator[str]:
    """The kind of kernels that a line has most of, where no line below says what it consists of."""
    leaves = None if each.group is None or label == "SLOW" else each.group.leaves
    if leaves is None or len(leaves) == 0:
        return
    strings, sums = findings.trace.recording[Strings], Counter[str]()
    for name, time_ns in zip(leaves.name.tolist(), leaves.time_ns.tolist(), strict=True):
        sums[group_of_kernel(strings[name])] += time_ns
    ((kind, time_ns),) = sums.most_common(1)
    account = findings[DeviceAccount]
    if is_named(account.share(time_ns)):
        yield f": {printable(kind)} {whole_percent(account.share(time_ns))}"


def part_text(part: DevicePart) -> str:
    """The name of an operator, a kernel, copies, or of what the host did."""
    if part.operator is not None:
        return printable(shown_name(part.operator, narrow=True))
    if part.kernel is not None:
        return cut_middle(shortened(part.kernel), _LONGEST)  # their ends differ
    return f"copies {part.copy}" if part.copy is not None else cause_text(part.cause)


def _work_text(parts: list[DevicePart]) -> str:
    """An operator, or all variants of a kernel together."""
    if len(parts) > 1 and parts[0].kernel is not None:
        return cut_middle(printable(group_of_kernel(parts[0].kernel)), _LONGEST)
    return f"{part_text(parts[0])}{f' in {parts[0].inputs:,} shapes' if parts[0].inputs > 1 else ''}"


def _inputs(findings: Findings, each: Diagnosis) -> Iterator[str]:
    """The inputs of the operator, if there is one kind."""
    signatures = set() if each.group is None else set(each.group.leaves.signature.tolist())
    text = findings.trace.signature(signatures.pop()) if len(signatures) == 1 else None
    if text:
        yield f", {shorten.signature(printable(text))}"


def _made_of(findings: Findings, each: Diagnosis, parts: list[DevicePart]) -> Iterator[ScreenRow]:
    number = findings[DeviceAccount].steps
    has_said = each.cause in (Cause.LINE, Cause.GPU_OPERATOR)
    texts = [] if has_said else list(_most_at(findings, each))
    shown = [part for part in parts[:_MOST_PARTS] if is_named(part.time_ns, each.time_ns * number)]
    shown = [] if len(parts) == 1 and parts[0].cause is not None else shown  # SLOW has said it
    for part in shown:
        shapes = f" in {part.inputs:,} shapes" if part.inputs > 1 and part.cause is None else ""
        texts.append(f"{part_text(part)} {units.duration(part.time_ns // number)}{shapes}")
    if texts:
        yield said("", *listed(texts))


def _most_at(findings: Findings, each: Diagnosis) -> Iterator[str]:
    """The line with most of it, and how much that is if it is not all."""
    line = findings.trace.line(each.frame)
    if line is not None:
        is_whole = is_nearly_all(each.line_ns, each.time_ns)
        yield f"{'' if is_whole else f'{units.duration(each.line_ns)} '}at {at_line(line)}"


def largest_work(findings: Findings) -> tuple[str, dict[str, Any]]:
    """What has most of the GPU's time, for steps in which nothing stands out."""
    for row in work_rows(findings, 1):
        at = "" if row.line is None else f" {shorten.place(row.line)}"
        text = (
            f"; largest row {part_text(DevicePart.of(row))}{at}, {whole_percent(row.share)} of the GPU's time"
        )
        return text, {"share": row.share, "line": row.line}
    return "", {}
