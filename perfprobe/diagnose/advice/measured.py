"""Changes that `perfprobe bench` measured on operators alone, carried to the step by their shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from perfprobe.diagnose.advice.known import Known, change
from perfprobe.diagnose.advice.short import hottest_frame, model_name
from perfprobe.models.rules import RULES
from perfprobe.tables.advice import Change, Check, Got, Untold
from perfprobe.tables.measurements import Estimate, Measurement, Measurements

_LEAST = 0.3  # of a step, in operators that such a change may help
WORTH = 0.03  # of a step: what it saves
FASTER = 1.15  # the whole interval is beyond it, as for the verdicts of bench
_OF_FAULTS = 0.3  # of an operator
_NEEDS = "perfprobe bench"
_WHOLE = "perfprobe bench without --quick"
_LONGER = "perfprobe bench with a longer --time"


class _Measured(NamedTuple):
    """A rule. kind: of the counterfactual. faster: the least speed-up; operators: of which it is about."""

    rule: str
    kind: str
    faster: float
    check: Check
    what: str
    code: str
    tries: str
    operators: tuple[str, ...] = ()


_CONVOLUTIONS = ("convolution", "conv")
_MATRICES = ("mm", "conv", "linear", "matmul", "attention")
_RULES = (
    _Measured(
        *("bf16", "dtype", 1.5, Check.DTYPE, "autocast to bfloat16"),
        *('with torch.autocast("cpu", torch.bfloat16):\n    out = {model}(x)', "bf16", _MATRICES),
    ),
    _Measured(
        *("channels-last", "channels_last", FASTER, Check.CLOSE, "channels_last"),
        *(
            "{model} = {model}.to(memory_format=torch.channels_last)",
            "channels-last",
            _CONVOLUTIONS,
        ),
    ),
    _Measured(
        *("denormals", "flushed", FASTER, Check.CLOSE, "torch.set_flush_denormal(True)"),
        *("torch.set_flush_denormal(True)", "flush-denormals"),
    ),
)


def measured(known: Known) -> Iterator[Change | Untold]:
    """What bench's changes of operators would save of the step; without bench, that it would say so."""
    found = known.findings.get(Measurements)
    if known.has_gpu:
        return  # other rules look at GPUs
    for rule in _RULES:
        share = _operators_share(known, rule.operators)
        if share < _LEAST:
            continue
        if found is None or not any(row.counterfactuals for row in found.rows):
            yield Untold(rule=rule.rule, needs=_NEEDS if found is None else _WHOLE)
            continue
        saved = _saved(known, found.rows, rule)
        if saved.value >= WORTH:
            yield _change(known, rule, saved)
        elif _may_be(known, found.rows, rule):
            yield Untold(rule=rule.rule, needs=_LONGER)


def _change(known: Known, rule: _Measured, saved: Estimate) -> Change:
    snippet = rule.code.format(model=model_name(known))
    given = {"frame": hottest_frame(known), "tries": (rule.tries,), **interval(saved)}
    return change(rule.rule, saved.value, rule.check, rule.what, snippet, **given)


def interval(saved: Estimate) -> dict[str, Any]:
    """What a change says of a share that was measured."""
    return {"got": Got.REPLAYED, "least": saved.low, "most": saved.high}


def _operators_share(known: Known, parts: Sequence[str]) -> float:
    """The share of the step in operators whose names contain one of these; without any in all."""
    rows = known.rows
    is_own = known.marks(rows, lambda name: not parts or any(part in name for part in parts))
    return known.operators_share(rows.take(is_own))


def _saved(known: Known, rows: Sequence[Measurement], rule: _Measured) -> Estimate:
    """What the change saves of a step: of each operator by how much it was faster alone."""
    of_step = known.operators_share()
    found = [(row.seen.share, best) for row in rows if row.seen is not None and (best := _best(row, rule))]
    if rule.operators and sum(share for share, _ in found) * of_step < _LEAST:
        return Estimate(0, 0, 0)
    value, low, high = (
        sum(share * (1 - 1 / getattr(best, name)) for share, best in found) * of_step
        for name in ("value", "low", "high")
    )
    return Estimate(value, low, high)


def _may_be(known: Known, rows: Sequence[Measurement], rule: _Measured) -> bool:
    """Whether operators for which bench had no time left could make it enough."""
    if not rule.operators:
        return False
    shares = (
        row.seen.share
        for row in rows
        if row.seen is not None
        and any(part in row.wanted.operator for part in rule.operators)
        and (_best(row, rule) is not None or not row.counterfactuals)
    )
    return sum(shares) * known.operators_share() >= _LEAST


def _best(row: Measurement, rule: _Measured) -> Estimate | None:
    """The fastest change of the kind that is clearly fast enough."""
    speedups = (each.speedup for each in row.counterfactuals if each.kind == rule.kind)
    return max(
        (each for each in speedups if each.low >= rule.faster), key=lambda each: each.value, default=None
    )


def huge_pages(known: Known) -> Iterator[Change | Untold]:
    """Huge pages, where page faults on new memory take much of the operators."""
    found = known.findings.get(Measurements)
    if known.has_gpu:
        return
    of_step = known.operators_share()
    if found is None:
        if of_step >= _LEAST:
            yield Untold(rule="huge-pages", needs=_NEEDS)
        return
    parts = [
        (row.seen.share, row.fault_part)
        for row in found.rows
        if row.seen is not None and row.fault_part is not None and row.fault_part.low >= _OF_FAULTS
    ]
    part = RULES["huge-pages"].part
    value, low, high = (
        sum(share * getattr(each, name) for share, each in parts) * of_step
        for name in ("value", "low", "high")
    )
    if value >= WORTH:
        what = "THP_MEM_ALLOC_ENABLE=1"
        given = {"frame": hottest_frame(known), "tries": ("thp",)}
        given |= interval(Estimate(value, low * part, high * part))
        yield change("huge-pages", value, Check.SAME_BITS, what, what, **given)
