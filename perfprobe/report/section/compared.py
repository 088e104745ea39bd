"""Two versions of a program: the lines of the first screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from perfprobe.models.compared import (
    NAMED_PHASES,
    Change,
    Changed,
    Comparison,
    Count,
    GateResult,
    Match,
    Outcome,
    Part,
    Spot,
)
from perfprobe.models.paired import Difference, Verdict
from perfprobe.models.signature import Tensor, parse, tensors
from perfprobe.report import shorten
from perfprobe.report.rows.screen import ScreenRow, listed, said
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.account import LEAF_TEXTS, LeafKind
from perfprobe.tables.run_value import Measure
from perfprobe.tables.steps import PHASE_TEXTS, StepPhase
from perfprobe.tables.trace import shown_name

LINES = 14
# If there are too many lines, those with these labels are dropped in this order.
_LEAST_IMPORTANT = ("SAME", "COUNTS", "ALSO", "NOTE", "GPU", "WHY")
_MOST_OPERATORS = 3
_UNSAID = (StepPhase.FORWARD, StepPhase.OTHER)
FIGURE_TEXTS = {
    "start_up": "start-up",
    "peak_memory": "peak memory",
    "evaluation": "an evaluation",
    "compilation": "torch.compile",
    "gpu_kernels": "kernels of a step",
    "gpu_copies": "copies of a step",
    "gpu_copy": "a copy to the GPU",
    "gpu_idle": "GPU idle",
}
_COLORS = {Outcome.PASSED: "", Outcome.FAILED: "bold red", Outcome.UNKNOWN: "yellow"}


def screen_rows(found: Comparison, short: Changed, results: Sequence[GateResult]) -> list[ScreenRow]:
    """The lines of the first screen, as many as fit."""
    rows = list(_rows(found, short, results))
    for label in _LEAST_IMPORTANT:
        while len(rows) > LINES and any(row.label == label for row in rows):
            last = max(at for at, row in enumerate(rows) if row.label == label)
            del rows[last]
    return rows


def _rows(found: Comparison, short: Changed, results: Sequence[GateResult]) -> Iterator[ScreenRow]:
    yield said("", *_names(found), style="bold")
    yield from _mismatches(found)
    yield _step(found, short)
    if short.phase is not None:
        yield _phase(found, short.phase)
    if short.where is not None:
        yield said(
            "ALSO" if short.phase else "WHERE", *_spot(short.where, found), line=short.where.part.place
        )
        yield from _why(short.where)
    for spot in short.also:
        yield said("ALSO", *_spot(spot, None), line=spot.part.place)
    yield from (_figure(name, found.figures[name]) for name in short.figures)
    yield from _gpu(found)
    yield from _counts(found)
    yield from _same(found, short)
    yield _limit(found)
    yield from _gates(results)


def _names(found: Comparison) -> Iterator[str]:
    first, second = (printable(_stem(name)) for name in found.names)
    yield f"A {first}, B {second}"
    numbers = [f"{number:,} run{'' if number == 1 else 's'}" for number in found.runs]
    steps = f"{found.steps[0]:,} and {found.steps[1]:,} steps"
    runs = f"{numbers[0]} each" if found.runs[0] == found.runs[1] else " and ".join(numbers)
    yield f"; {runs}, {steps}"


def _stem(name: str) -> str:
    """The name of a file without its ending."""
    for ending in (".gz", ".json", ".perfprobe"):
        name = name.removesuffix(ending)
    return name


def _mismatches(found: Comparison) -> Iterator[ScreenRow]:
    for each in found.mismatches:
        text = f"not comparable, {each.text}" if each.forbids else f"different {each.text}"
        yield said("NOTE", printable(text), style="yellow")
    if found.is_strange:
        share = units.whole_percent(found.shared or 0)
        yield said("NOTE", f"only {share} % of the time is in parts that both have", style="yellow")


def _step(found: Comparison, short: Changed) -> ScreenRow:
    if found.step is None or found.step_ns is None:
        which = [name for name, steps in zip(("A", "B"), found.steps, strict=True) if not steps]
        return said("STEP", f"cannot tell: no steps{f' in {which[0]}' if len(which) == 1 else ''}")
    step = found.step
    of = " of CPU time" if found.measure is Measure.CPU else ""
    pieces = [f"{_both(found.step_ns)}{of}, {units.change(step.ratio - 1)} %"]
    if step.low is not None and step.high is not None and found.paired:
        pieces.append(f" ({units.change(step.low - 1)} to {units.change(step.high - 1)})")
    pieces += _verdict(found, short, step)
    if found.median_ns is not None:
        pieces.append(f"; median {_both(found.median_ns)}")
    is_bad = short.verdict is Verdict.SLOWER
    return said("STEP", *pieces, style="bold" if is_bad else "", time_ns=round(found.step_ns.after))


def _verdict(found: Comparison, short: Changed, step: Difference) -> Iterator[str]:
    if short.verdict is not Verdict.UNKNOWN:
        yield f", {short.verdict.value}"
        yield f"; {step.pairs} pairs, interleaved"
        if step.p is not None:
            yield f", p {units.significant(step.p, 2)} by signs"
    elif not found.is_comparable:
        yield ", cannot tell (not comparable)"
    elif found.unpaired:
        yield f", cannot tell ({found.unpaired})"
    elif step.low is None:
        yield f", cannot tell ({_pairs(step)}, 5 are needed)"
    else:
        yield f", cannot tell; {_pairs(step)}"


def _pairs(step: Difference) -> str:
    return f"{step.pairs} pair{'' if step.pairs == 1 else 's'}"


def _both(change: Change) -> str:
    """`204 -> 231 ms`."""
    before, after = units.duration(change.before), units.duration(change.after)
    return f"{units.without_unit(before, after)} -> {after}"


def signed(time_ns: float) -> str:
    """`+21.8 ms`."""
    return f"{'+' if time_ns >= 0 else ''}{units.duration(time_ns)}"


def _phase(found: Comparison, phase: StepPhase) -> ScreenRow:
    change = found.phases[phase]
    of = "" if found.step_ns is None else f" of {signed(found.step_ns.by)}"
    return said("WHERE", f"{PHASE_TEXTS[phase]} {_both(change)} a step: {signed(change.by)}{of}")


def _spot(spot: Spot, found: Comparison | None) -> Iterator[str]:
    """Where, what, how much. found: the comparison, of whose difference this is a part; None: not said."""
    yield f"{_head(spot)} {signed(spot.by_ns)}"
    if found is not None and found.step_ns is not None:
        yield f" of {signed(found.step_ns.by)}"
    main = spot.main
    if spot.phase in NAMED_PHASES:
        yield f", {_both(spot.time_ns)} a step"
    elif main is None and len(spot.rows) > 1:
        yield from listed(_made_of(spot), ": ")
    elif main is not None and main.match in (Match.NEW, Match.GONE) and main.part.operator:
        calls = main.calls.after if main.match is Match.NEW else main.calls.before
        yield f", {_number(calls)} a step"
    elif main is not None and main.match is Match.MOVED and main.before is not None and main.before.place:
        yield f", probably moved from {shorten.place(main.before.place)}"


def _made_of(spot: Spot) -> list[str]:
    """The operators with most of the difference."""
    sums_ns: Counter[str] = Counter()
    for row in spot.rows:
        sums_ns[operator_text(row.part)] += round(row.time_ns.by)
    same = [each for each in sums_ns if sums_ns[each] * spot.by_ns > 0]
    order = sorted(same, key=lambda each: -abs(sums_ns[each]))
    return [f"{each} {signed(sums_ns[each])}" for each in order[:_MOST_OPERATORS]]


def _head(spot: Spot) -> str:
    """`resnet.py:49 backward convolution_backward`."""
    words = [] if spot.part.place is None else [shorten.place(spot.part.place)]
    main, matches = spot.main, {row.match for row in spot.rows}
    for match in (Match.NEW, Match.GONE):
        if matches == {match} or (main is not None and main.match is match):
            words.append(f"{match.value}:")
    is_named = spot.phase in NAMED_PHASES
    if spot.phase is not None and (
        is_named or (spot.phase not in _UNSAID and spot.part.kind == LeafKind.LINE)
    ):
        words.append(PHASE_TEXTS[spot.phase])
    if (main is not None and not is_named) or not words:
        words.append(operator_text(spot.part))
    return " ".join(words)


def operator_text(part: Part) -> str:
    """The operator; `Python`, or what has no line."""
    if part.operator:
        return printable(shown_name(part.operator, narrow=True).partition(".")[0])
    if part.kind == LeafKind.LINE and part.path:
        return "Python"
    return LEAF_TEXTS[part.kind]


def _number(calls: float) -> str:
    shown = f"{round(calls):,}" if calls == round(calls) else units.significant(calls, 3)
    return f"{shown} call{'' if calls == 1 else 's'}"


def _why(spot: Spot) -> Iterator[ScreenRow]:
    """What differs in its calls."""
    row, rows = spot.main, spot.rows if spot.main is None else (spot.main, *spot.rows)
    change = next(filter(None, (_signature_change(*each.signatures) for each in rows)), "")
    if row is None or row.calls_ns is None or row.each_ns is None:
        yield from [said("WHY", change)] if change else []
        return
    calls, time_ns = row.calls, row.time_ns
    each = (time_ns.after / calls.after) / (time_ns.before / calls.before or 1)
    times = units.hundredths(each)
    long = "each as long" if times == units.hundredths(1) else f"each {times}x as long"
    if calls.before == calls.after:
        pieces = [f"same calls, {long}"]
    else:
        shown = f"{_number(calls.after)} a step instead of {_number(calls.before).partition(' ')[0]}"
        pieces = [f"{shown}: {signed(row.calls_ns)}", f"; {long}: {signed(row.each_ns)}"]
    yield said("WHY", *pieces, *([f"; {change}"] if change else []))


def _signature_change(before: Sequence[str], after: Sequence[str]) -> str:
    """`f32[16,32..] -> f64[16,32..]`: the first tensor that differs; "" if none does."""
    if not before or not after or before == after:
        return ""
    old, new = (tuple(tensors(parse(side[0]) or ())) for side in (before, after))
    for earlier, later in zip(old, new, strict=False):
        if earlier != later:
            only_strides = (earlier.dtype, earlier.sizes) == (later.dtype, later.sizes)
            return f"{_tensor(earlier, only_strides)} -> {_tensor(later, only_strides)}"
    return ""


def _tensor(tensor: Tensor, with_strides: bool) -> str:
    sizes = None if tensor.sizes is None else [str(size) for size in tensor.sizes]
    shown = "?" if sizes is None else ",".join(sizes[:2]) + (".." if sizes[2:] else "")
    strides = (
        ""
        if tensor.strides is None or not with_strides
        else "{" + ",".join(map(str, tensor.strides[:2])) + "..}"
    )
    return f"{tensor.dtype}[{shown}]{strides}{'' if tensor.device == 'cpu' else f'@{tensor.device}'}"


def _figure(name: str, change: Change) -> ScreenRow:
    if name == "peak_memory":
        before, after = units.size(change.before), units.size(change.after)
        text = f"{units.without_unit(before, after)} -> {after}"
    else:
        text = _both(change)
    share = "" if not change.before else f", {units.change(change.by / change.before)} %"
    certain = "" if change.is_certain else " (not certain)"
    return said("ALSO", f"{FIGURE_TEXTS[name]} {text}{share}{certain}")


def _gpu(found: Comparison) -> Iterator[ScreenRow]:
    """What the GPU did in a step."""
    kernels, copy, idle = (found.figures.get(name) for name in ("gpu_kernels", "gpu_copy", "gpu_idle"))
    pieces = []
    if kernels is not None:
        pieces.append(f"kernels {_both(kernels)} a step")
    if copy is not None:
        pieces.append(f"copies to it {_both(copy)} each")
    if idle is not None:
        pieces.append(f"idle {units.whole_percent(idle.before)} -> {units.whole_percent(idle.after)} %")
    if pieces:
        yield said("GPU", *listed(pieces))


def _counts(found: Comparison) -> Iterator[ScreenRow]:
    differing = [_count(each) for each in found.counts if each.differs]
    if any(differing):
        yield said("COUNTS", *listed(filter(None, differing)))


def _count(each: Count) -> str:
    """`launches 480 -> 512`; "" if both look the same."""
    if isinstance(each.before, str) and isinstance(each.after, str):
        change = _signature_change((each.before,), (each.after,)) or f"{each.before} -> {each.after}"
        at = "" if each.line is None else f" at {shorten.place(each.line)}"
        return f"{each.name}{at} {printable(change)}"
    before, after = (units.amount(whole(value)) for value in (each.before, each.after))
    if before == after:
        return ""
    return f"{each.name} {before} -> {after}{'' if each.is_certain else ' (not in every step)'}"


def whole(value: float | str | None) -> float | None:
    """The number as an integer if it is one; None for texts."""
    if value is None or isinstance(value, str):
        return None
    return int(value) if value == round(value) else value


def _same(found: Comparison, short: Changed) -> Iterator[ScreenRow]:
    pieces = []
    if short.same:
        names = ", ".join(PHASE_TEXTS[phase] for phase in short.same)
        pieces.append(f"{names} (within {units.duration(short.same_ns)})")
    start_up = found.figures.get("start_up")
    if start_up is not None and "start_up" not in short.figures:
        pieces.append(f"{'; ' if pieces else ''}start-up {units.duration(start_up.after)}")
    if pieces:
        yield said("SAME", *pieces)


def _limit(found: Comparison) -> ScreenRow:
    step = found.step
    if step is None:
        return said("LIMIT", "without steps in both there is nothing to compare")
    least = units.percent(step.least)
    if found.paired and step.low is not None:
        return said("LIMIT", f"changes of the step below {least} could not have been seen")
    return said("LIMIT", f"from these runs no change of the step below {least} could be claimed")


def _gates(results: Sequence[GateResult]) -> Iterator[ScreenRow]:
    """A line for each that did not pass, one for the others."""
    for outcome in (Outcome.FAILED, Outcome.UNKNOWN):
        for result in results:
            if result.outcome is outcome:
                code = " (exit 5)" if outcome is Outcome.FAILED else ""
                text = f"{result.gate.text}: {outcome.value}{code}, {result.why}"
                yield said("GATE", printable(text), style=_COLORS[outcome])
    passed = [result.gate.text for result in results if result.outcome is Outcome.PASSED]
    if passed:
        yield said("GATE", *listed(map(printable, passed)), ": passed")
