"""The bottleneck of steps: SLOW with its parts, LIMIT, GAIN and THEN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from perfprobe.models.seen import has_shapes, knows_python
from perfprobe.report.rows.diagnosed import module_of
from perfprobe.report.rows.named import is_named
from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.report.section.screen.advice import remedy
from perfprobe.report.section.screen.compiled import compiling_lines, is_in_left_out_steps
from perfprobe.report.section.screen.device import device_lines, judged_by_gpu
from perfprobe.report.section.screen.evaluations import evaluation_lines
from perfprobe.report.section.screen.loader import awaited_loader, worker_lines
from perfprobe.report.section.screen.model import module_lines
from perfprobe.report.section.screen.nothing import nothing, option_for_lines
from perfprobe.report.section.screen.places import at_line, at_most, facts_of, place_in, whole_percent
from perfprobe.report.section.screen.source import loop_line, source_line
from perfprobe.report.section.screen.start_up import slow_start_lines
from perfprobe.report.section.screen.steps import step_word
from perfprobe.report.section.screen.threads import crowd_text, thread_lines
from perfprobe.report.section.screen.worded import (
    how_much,
    in_a_line,
    in_steps,
    made_of,
    main_of,
    phases_of,
    short_text,
    what,
)
from perfprobe.report.shorten import place
from perfprobe.support.first_line import bare
from perfprobe.support.text import printable
from perfprobe.tables.diagnoses import Cause, Diagnoses, Diagnosis, Short
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import HeldUpTeam, LoaderRemedy
from perfprobe.tables.measurements import Measurements
from perfprobe.tables.steps import StepTimes

# What helps then has nothing to do with what the workers do.
_NOT_WORK = (LoaderRemedy.PERSISTENT, LoaderRemedy.RECEIVING)


def slow_lines(findings: Findings) -> Iterator[ScreenRow]:
    """The lines SLOW with its parts, LIMIT, GAIN and THEN."""
    judged = findings[Diagnoses]
    first = judged.slow
    if first is None:
        yield from nothing(findings)
    else:
        for row in _slow(findings, first):
            yield row
            if row.label == "SLOW":
                yield from source_line(findings, row)
        yield from _then(findings, judged.second, is_close=judged.is_close)


def short_lines(findings: Findings) -> Iterator[ScreenRow]:
    """ALSO: short operators, where something else takes more time than their fixed costs."""
    judged = findings[Diagnoses]
    if judged_by_gpu(findings):
        return  # a share of another time
    if judged.in_steps is None or judged.in_steps.cause is Cause.SHORT_OPERATORS:
        return
    for each in judged.of(Cause.SHORT_OPERATORS):
        yield said("ALSO", short_text(findings, each), ": calling them takes the time")


def _slow(findings: Findings, first: Diagnosis) -> Iterator[ScreenRow]:
    if first.cause in (Cause.START_UP, Cause.AFTER):
        yield from slow_start_lines(findings, first)
    elif first.cause is Cause.EVALUATION:
        yield from evaluation_lines(findings, first, "SLOW")
    elif is_in_left_out_steps(first):
        yield from compiling_lines(findings, first)
    elif first.group is not None:
        yield from device_lines(findings, first, "SLOW")
        yield from _gain(first)
    else:
        yield from _in_steps(findings, first)
        yield from _limit(findings, first)
        if HeldUpTeam not in findings:  # its times have waiting in them, of which the gain is larger
            yield from _gain(first)


def _in_steps(findings: Findings, first: Diagnosis) -> Iterator[ScreenRow]:
    module, facts = module_of(findings, first), facts_of(findings, first)
    if first.crowd is not None:
        yield from thread_lines(findings, first.crowd, facts)
    elif first.cause is Cause.SHORT_OPERATORS:
        yield from _short(findings, first, facts)
    elif module is not None:
        yield from module_lines(findings, first, module, facts)
    elif first.cause is Cause.FUNCTION:
        yield _function(findings, first, facts)
        yield from _made_of(findings, first)
    elif first.cause in (Cause.FORWARD_ONLY, Cause.MODULES):
        yield said("SLOW", f"{what(findings, first)}, {how_much(first)}", style="bold", **facts)
        yield from _called_at(facts)
    elif first.cause is Cause.CONVERSIONS:
        yield said("SLOW", in_a_line(findings, first), style="bold", **facts)
        yield said("", "copies: a model with one layout needs none (permute once, or channels_last)")
    elif first.cause in (Cause.LINE, Cause.OPERATOR):
        yield _line_of(findings, first, facts)
        yield from _made_of(findings, first)
    else:
        yield from _wait(findings, first, facts)


def _wait(findings: Findings, first: Diagnosis, facts: dict[str, Any]) -> Iterator[ScreenRow]:
    loader = awaited_loader(findings) if first.cause is Cause.DATA else None
    if loader is not None and loader.line is not None and loader.verdict.remedy not in _NOT_WORK:
        facts["line"] = loader.line
    text = f"{what(findings, first)}, {how_much(first)}{in_steps(findings, first)}"
    yield said("SLOW", text, *place_in(facts["line"]), style="bold", **facts)
    if first.cause is Cause.UNEXPLAINED:
        how = _how_to_see(findings)
        yield said("", f"nothing recorded shows what ran there ({how})")
    else:
        yield from _made_of(findings, first) if loader is None else worker_lines(findings, loader)


def _how_to_see(findings: Findings) -> str:
    """How to find out; a trace with Python's calls shows at least between which operators it was."""
    recording = findings.trace.recording
    is_shown = recording.is_trace and knows_python(recording)
    return "--view between says after which operators" if is_shown else option_for_lines(findings)


def _called_at(facts: dict[str, Any]) -> Iterator[ScreenRow]:
    if facts["line"] is not None:
        yield said("", f"called at {at_line(facts['line'])}")


def _made_of(findings: Findings, first: Diagnosis) -> Iterator[ScreenRow]:
    parts = made_of(findings, first)
    if parts:
        yield said("", *parts)


def _line_of(findings: Findings, first: Diagnosis, facts: dict[str, Any]) -> ScreenRow:
    line, main = facts["line"], main_of(findings, first)
    at = "" if line is None else f"{at_line(line)}, "
    phases = phases_of(findings, first, main)
    much = f"{at}{how_much(first)}{in_steps(findings, first)}{', ' if phases else ''}{phases}"
    if main is not None:
        return said("SLOW", f"{much}: {main.name}", main.inputs, style="bold", **facts)
    function = "" if line is None else bare(line.function)
    name = f" in {printable(function)}" if function not in ("", "<module>") else ""
    return said("SLOW", much, name, style="bold", **facts)


def _function(findings: Findings, first: Diagnosis, facts: dict[str, Any]) -> ScreenRow:
    """`Tokenizer.__call__, 120 ms = 21 %, Python` and its first and last line with time."""
    begin, end = first.lines or (0, 0)
    file = place(facts["line"]).rpartition(":")[0]
    much = f"{what(findings, first)}, {how_much(first)}{in_steps(findings, first)}"
    pieces = (f"{much}: {file}:{begin}-{end}", f", {phases_of(findings, first, None)}")
    return said("SLOW", *pieces, style="bold", **facts)


def _short(findings: Findings, first: Diagnosis, facts: dict[str, Any]) -> Iterator[ScreenRow]:
    """How many short operators a step has, how often one begins, and the line with most time."""
    part = first.line_ns / max(first.time_ns, 1) * first.share
    at = place_in(facts["line"], f"; {whole_percent(part)} of the time at ")
    yield said("SLOW", short_text(findings, first), *at, style="bold", **facts)
    if facts["line"] is not None:
        yield from loop_line(findings, facts["line"])
    short = Short(1, 0.0) if first.short is None else first.short
    costs = f"calling them takes the time: at most {whole_percent(short.of_data)} is work on data"
    remedies = _remedies(findings, short)
    yield said("", costs, *([] if remedies else _cures(findings)))
    yield from (said("", remedy) for remedy in remedies)


def _cures(findings: Findings) -> Iterator[str]:
    """What helps any steps of short operators; nothing where TRY says it."""
    rules = ["larger-batches"] if int(findings[StepTimes].loops.samples[0]) > 0 else []
    texts = [text for rule in (*rules, "compile") for text in remedy(findings, rule, "")]
    if texts:
        yield f"; {', '.join(texts)}"


def _remedies(findings: Findings, short: Short) -> list[str]:
    """What to change where the operators have a cause of their own."""
    found = []
    if short.reads is not None:
        number = f"{round(short.reads / findings[Diagnoses].steps):,} values a {step_word(findings)}"
        found.append("".join((f"{number} are read one by one", *remedy(findings, "tolist"))))
    if short.of_updates is not None:
        share = whole_percent(short.of_updates)
        found.append("".join((f"{share} in the optimizer, by parameter", *remedy(findings, "optimizer"))))
    return found


def _limit(findings: Findings, first: Diagnosis) -> Iterator[ScreenRow]:
    """Yields how near the operator is to its limit, or how to find out."""
    main = main_of(findings, first)
    if main is None or main.row is None:
        return
    if main.row.of_limit is not None:
        verdict = f": {main.row.verdict}" if main.row.verdict else ""
        yield said("LIMIT", f"at {whole_percent(main.row.of_limit)} of its limit, {main.row.limit}{verdict}")
    elif Measurements not in findings and has_shapes(findings.trace.recording):
        yield said("LIMIT", "not measured: perfprobe bench")


def _gain(first: Diagnosis) -> Iterator[ScreenRow]:
    if first.gain is not None:
        gain = f"{at_most(first.gain)}, if it took no time"
        yield said("GAIN", gain, " (bounded, not measured)", share=first.share)


def _then(findings: Findings, each: Diagnosis | None, *, is_close: bool = False) -> Iterator[ScreenRow]:
    """The next judgement. is_close: whether it may be as large as the first."""
    if each is None or not is_named(each.share):
        return
    if each.group is not None:
        yield from device_lines(findings, each, "THEN", "perhaps as much: " if is_close else "")
        return
    facts = facts_of(findings, each)
    if each.crowd is not None:
        yield said("THEN", crowd_text(findings, each.crowd), **facts)
    elif each.cause is Cause.SHORT_OPERATORS:
        yield said("THEN", short_text(findings, each), **facts)
    else:
        also = "perhaps as much: " if is_close else ""
        yield said("THEN", f"{also}{in_a_line(findings, each)}", **facts)
