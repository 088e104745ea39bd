"""Steps in which nothing stands out: the largest parts, and what was checked."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.models.left_out import how_to_see_functions
from perfprobe.models.seen import has_samples, has_shapes, knows_python
from perfprobe.models.waiting import waited_ns
from perfprobe.report.rows.named import is_named
from perfprobe.report.rows.screen import ScreenRow, listed, said
from perfprobe.report.section.screen.device import judged_by_gpu, largest_work
from perfprobe.report.section.screen.places import facts_of, whole_percent
from perfprobe.report.section.screen.worded import in_a_line
from perfprobe.tables.diagnoses import Diagnoses, Diagnosis
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import Noise
from perfprobe.tables.measurements import Measurements
from perfprobe.tables.steps import StepTimes


def nothing(findings: Findings) -> Iterator[ScreenRow]:
    """SLOW if nothing stands out, with the largest part; and the next as THEN."""
    if judged_by_gpu(findings):
        text, known = largest_work(findings)
        yield said("SLOW", "nothing stands out", text, style="bold", **known)
        return
    parts = sorted(_parts(findings[Diagnoses]), key=lambda each: -each.share)
    largest = [(in_a_line(findings, each), facts_of(findings, each)) for each in parts[:2]]
    text, facts = largest[0] if largest else ("", {})
    yield said("SLOW", "nothing stands out", f"; largest {text}" if text else "", style="bold", **facts)
    yield from (said("THEN", text, **facts) for text, facts in largest[1:])


def _parts(judged: Diagnoses) -> Iterator[Diagnosis]:
    """What has a noteworthy part of the steps."""
    for each in judged.found:
        if each.base is judged.base and each.crowd is None and each.short is None and is_named(each.share):
            yield each


def checked_lines(findings: Findings) -> Iterator[ScreenRow]:
    """For steps in which nothing stands out: what was checked, what was not, and what would be too small."""
    yield said("CHECKED", ", ".join(_checked(findings)))
    unknown = list(_unknown(findings))
    if unknown:
        yield said("MORE", *listed(unknown, between="; "))
    noise = findings.get(Noise)
    if noise is not None:
        text = f"changes of the median step below {whole_percent(noise.share)} would not be seen"
        yield said("NOISE", text, share=noise.share)


def _checked(findings: Findings) -> Iterator[str]:
    recording = findings.trace.recording
    yield from ("data waits", "operators")
    if has_samples(recording):
        yield from ("lines", "logging", "saving")
    if waited_ns(recording) is not None:
        yield "cores"
    if findings[StepTimes].start_up_ns is not None:
        yield "start-up"


def _unknown(findings: Findings) -> Iterator[str]:
    recording = findings.trace.recording
    is_trace = recording.is_trace
    if not (knows_python(recording) if is_trace else has_samples(recording)):
        yield f"lines, logging, saving ({option_for_lines(findings)})"
    if recording.fact("recording", "memory") is not True:
        yield f"memory ({'profile_memory=True' if is_trace else '--memory'})"
    if Measurements not in findings:
        how = "perfprobe bench, 3 min" if has_shapes(recording) else "record_shapes=True"
        yield f"operator limits ({how})"


def option_for_lines(findings: Findings) -> str:
    """What records lines of Python."""
    return how_to_see_functions(findings.trace.recording)
