"""The lines about a step's duration and its parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from perfprobe.report.rows.named import is_named
from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.report.rows.steps import LoopLines
from perfprobe.report.section.block import Aside
from perfprobe.report.section.program import program
from perfprobe.report.section.screen.device import device_parts, judged_by_gpu
from perfprobe.report.section.screen.machine import starved_line
from perfprobe.report.section.screen.parts import parts_text, whole_percents
from perfprobe.report.section.screen.spark import spark
from perfprobe.report.section.screen.tests import tests_line
from perfprobe.report.section.screen.trends import slower_line
from perfprobe.report.shorten import place
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.account import Account
from perfprobe.tables.device_account import DeviceAccount
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import Idle
from perfprobe.tables.stacks import Modules
from perfprobe.tables.steps import (
    INFERENCE_TEXTS,
    PHASE_TEXTS,
    StepKind,
    StepMark,
    StepPhase,
    StepTimes,
)
from perfprobe.tables.strings import Strings

_WORTH_SAYING_NS = 50_000_000  # a shorter start-up is not mentioned
_LEFT_OUT = {
    StepMark.WARM_UP: "warm-up",
    StepMark.COMPILE: "compiling",
    StepMark.CUT: "cut short",
    StepMark.BASELINE: "untraced",
    StepMark.COUNTED: "with cProfile",
}
# The order of phases, as they occur in a step.
ORDER = (
    *(StepPhase.DATA, StepPhase.COPY, StepPhase.FORWARD, StepPhase.BACKWARD, StepPhase.RECOMPUTE),
    *(StepPhase.CLIPPING, StepPhase.OPTIMIZER, StepPhase.ZERO_GRAD, StepPhase.RESULTS, StepPhase.SAVING),
    StepPhase.LOGGING,
    *(StepPhase.COLLECTION, StepPhase.COMPILE, StepPhase.IMPORT, StepPhase.OTHER),
)
_FAR_APART = 1.2


def steps_lines(findings: Findings) -> Iterator[ScreenRow]:
    """The first line, then STEP or CALL, and PARTS."""
    times = findings[StepTimes]
    yield _head(findings, times)
    yield from tests_line(findings)
    yield from starved_line(findings)
    yield _durations(findings, times)
    yield from slower_line(findings, step_word(findings))
    yield from _idle(findings)
    yield from _parts(findings, times)


def step_word(findings: Findings) -> str:
    """What a step of the leading loop is called: `step` or `call`."""
    return "call" if is_inference(findings[StepTimes]) else "step"


def is_inference(times: StepTimes) -> bool:
    """Whether the leading loop trains nothing."""
    return int(times.loops.kind[0]) != StepKind.TRAINING


def _head(findings: Findings, times: StepTimes) -> ScreenRow:
    loops, trace = times.loops, findings.trace
    line = trace.line(int(loops.frame[0]))
    shown = LoopLines(findings).line(int(loops.frame[0]), int(loops.line[0]))
    library = trace.line(int(loops.library_frame[0]))
    pieces = [_what(findings, times)]
    if library is not None and line is not None:
        shown = line
        pieces = [f"{printable(library.function)}: {pieces[0]}"]
    more, threads = _elsewhere(times)
    pieces += [f", {more:,} more in {_number(threads, 'other thread')}"] if threads else []
    start_up_ns = times.start_up_ns or 0
    is_long = bool(findings.wall_ns) and 2 * start_up_ns > (findings.wall_ns or 0)
    pieces += [f" after {units.duration(start_up_ns)} of start-up"] if is_long else []
    pieces += [f", {text}" for text in _left_out(times)]
    pieces += [f"; {text}" for text in _evaluations(times)]
    if not is_long and start_up_ns >= _WORTH_SAYING_NS:
        pieces.append(f"; start-up {units.duration(start_up_ns)}")
    label = program(trace)[:40] if shown is None else place(shown)
    return said(label, *pieces, style="bold", line=shown)


def _what(findings: Findings, times: StepTimes) -> str:
    loops = times.loops
    count, micro = int(loops.steps[0]), int(loops.micro_batches[0])
    if is_inference(times):
        model = _model(findings, times)
        return f"{_number(count, 'call')}{f' of {model}' if model else ''}"
    if micro > 1:
        return f"{_number(count, 'optimizer step')} of {micro} forward and backward passes"
    return _number(count, "training step")


def _elsewhere(times: StepTimes) -> tuple[int, int]:
    """How many steps of the same place other threads ran, and how many threads."""
    loops = times.loops
    same = (loops.kind == loops.kind[0]) & (loops.frame == loops.frame[0]) & (loops.thread != loops.thread[0])
    return int(loops.steps[same].sum()), int(same.sum())


def _model(findings: Findings, times: StepTimes) -> str:
    """The class of the only root module, "" if there are several or none."""
    recording = findings.trace.recording
    modules, strings = recording[Modules], recording[Strings]
    roots = {strings[type_] for type_ in modules.type[modules.parent < 0].tolist()}
    return printable(roots.pop()) if len(roots) == 1 else ""


def _left_out(times: StepTimes) -> Iterator[str]:
    """`1 warm-up left out`: the steps that averages leave out."""
    marks = times.steps.mark[times.steps.loop == 0]
    if not bool((marks == StepMark.STEADY).any()):
        yield "none steady" if len(marks) > 1 else "the first: what happens only once is in it"
        return
    counts = [(int((marks == mark).sum()), text) for mark, text in _LEFT_OUT.items()]
    found = [f"{count:,} {text}" for count, text in counts if count]
    if found:
        yield f"{' and '.join(found)} left out"


def _evaluations(times: StepTimes) -> Iterator[str]:
    """How many there are: they are no part of the steps."""
    evaluations = int((times.steps.kind == StepKind.EVALUATION).sum())
    if evaluations:
        yield f"{_number(evaluations, 'evaluation')} not counted"


def _durations(findings: Findings, times: StepTimes) -> ScreenRow:
    loops, label = times.loops, "CALL" if is_inference(times) else "STEP"
    median_ns = int(loops.median_ns[0])
    pieces = [units.duration(median_ns)]
    if int(loops.steady[0]) > 1:
        pieces = [_median(median_ns, int(loops.low_ns[0]), int(loops.high_ns[0]))]
        mean_ns = int(loops.total_ns[0]) // int(loops.steady[0])
        if mean_ns > _FAR_APART * median_ns:  # times and shares below are means
            pieces.append(f", mean {_beside(mean_ns, median_ns)}")
        pieces += _spread(times, _own_time(findings))
    else:
        pieces += _own_time(findings)
    samples = int(loops.samples[0])
    lasted_ns = _outlasted(findings, times)
    if lasted_ns is not None:  # then the rate of launches says nothing
        pieces.append(f"; the GPU's work ends after {units.duration(lasted_ns)}")
    elif samples > 0 and median_ns > 0:
        of = f"batch {samples:,}, this thread" if _elsewhere(times)[1] else f"batch {samples:,}"
        pieces.append(f"; {_rate(samples * 1e9 / median_ns)} samples/s ({of})")
    return said(label, *pieces, time_ns=median_ns)


def _median(median_ns: int, low_ns: int, high_ns: int) -> str:
    """`38.0 ms +- 2.1 median`, or its interval if that is wider than a figure with one error can say."""
    if low_ns < 0:
        return f"{units.duration(median_ns)} median"
    error_ns = max(high_ns - median_ns, median_ns - low_ns)
    if error_ns < median_ns:
        return f"{units.with_error(median_ns, error_ns)} median"
    interval = units.interval(units.duration(low_ns), units.duration(high_ns))
    return f"{units.duration(median_ns)} median ({interval})"


def _spread(times: StepTimes, own: list[str]) -> list[str]:
    """How different the steps are: their course if it shows something, else first the percentiles."""
    loops, steps = times.loops, times.steps.take(times.leading())
    median_ns, p95_ns, p99_ns = (int(c[0]) for c in (loops.median_ns, loops.p95_ns, loops.p99_ns))
    far = [f", p95 {_beside(p95_ns, median_ns)}"]
    if is_inference(times) and int(loops.steady[0]) >= 100:
        far.append(f", p99 {_beside(p99_ns, median_ns)}")
    course = spark((steps.end_ns - steps.start_ns).tolist())
    return [*own, Aside(f"; {course}"), *far] if course else [*far, *own]


def _own_time(findings: Findings) -> list[str]:
    account = findings.get(Account)
    if account is None or not is_named(account.waited_ns or 0, account.time_ns):
        return []
    return [f"; {units.duration(account.own_ns // account.steps)} on average without waiting"]


def _outlasted(findings: Findings, times: StepTimes) -> int | None:
    """How long the GPU's part of a step takes, if it ends long after the step has launched all."""
    gpu = findings.get(DeviceAccount)
    if gpu is None or not gpu.of_steps or not judged_by_gpu(findings):
        return None
    return gpu.time_ns // gpu.steps if gpu.time_ns > _FAR_APART * int(times.loops.total_ns[0]) else None


def _idle(findings: Findings) -> Iterator[ScreenRow]:
    """IDLE: how long a server waited for requests."""
    found = findings.get(Idle)
    if found is not None:
        line = findings.trace.line(found.frame)
        at = () if line is None else (f", at {place(line)}",)
        much = f"{units.duration(found.time_ns)} = {units.whole_percent(found.share)} % of the time"
        facts: dict[str, Any] = {"time_ns": found.time_ns, "share": found.share, "line": line}
        yield said("IDLE", f"{much}, waiting for requests", *at, **facts)


def _beside(time_ns: int, other_ns: int) -> str:
    """The second of two durations, without its unit if the first has the same."""
    return units.without_unit(units.duration(time_ns), units.duration(other_ns))


def _rate(value: float) -> str:
    return units.count(round(value)) if value >= 100 else units.significant(value, 3)


def _parts(findings: Findings, times: StepTimes) -> Iterator[ScreenRow]:
    """What steps are judged by; where that is a GPU's time, also what the loop's thread did, of its own."""
    account, by_gpu = findings.get(Account), judged_by_gpu(findings)
    if by_gpu:
        yield device_parts(findings)
    if account is not None and account.own_ns > 0:
        texts = INFERENCE_TEXTS if is_inference(times) else PHASE_TEXTS
        times_ns = account.phases()
        percents = dict(zip(times_ns, whole_percents([*times_ns.values()]), strict=True))
        order = [each for each in ORDER if percents.get(each) and each is not StepPhase.OTHER]
        whose = " of the CPU thread" if by_gpu else ""
        text = parts_text(percents, order, texts, texts[StepPhase.OTHER], whose)
        yield said("" if by_gpu else "PARTS", text, time_ns=account.own_ns // account.steps)


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
