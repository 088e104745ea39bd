"""Faster forms of single operators, which `perfprobe bench` found to give the same result."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.diagnose.advice.known import Known, change
from perfprobe.diagnose.advice.measured import FASTER, WORTH, interval
from perfprobe.tables.advice import Change, Check
from perfprobe.tables.measurements import Counterfactual, Estimate, Measurement, Measurements


def faster_forms(known: Known) -> Iterator[Change]:
    """One change for each operator and inputs."""
    found = known.findings.get(Measurements)
    if found is None or known.has_gpu:
        return
    for row in found.rows:
        best = _best(row)
        if row.seen is None or best is None:
            continue
        share, speedup = row.seen.share * known.operators_share(), best.speedup
        saved = Estimate(*(share * (1 - 1 / each) for each in (speedup.value, speedup.low, speedup.high)))
        if saved.value >= WORTH:
            name = row.wanted.operator.removeprefix("aten::")
            what, snippet = f"a faster form of {name}", f"{best.change}  # for {name}"
            given = {"frame": _frame(known, row), **interval(saved)}
            yield change("faster-form", saved.value, Check.CLOSE, what, snippet, **given)


def _best(row: Measurement) -> Counterfactual | None:
    forms = (each for each in row.counterfactuals if each.kind == "equivalent")
    return max((each for each in forms if each.speedup.low >= FASTER), key=_speedup, default=None)


def _speedup(form: Counterfactual) -> float:
    return form.speedup.value


def _frame(known: Known, row: Measurement) -> int:
    """The line with most time in this call; -1 if the steps have none."""
    rows = known.rows.take(known.named(known.rows, row.wanted.operator.partition(".")[0]))
    frames: dict[int, int] = {}
    for frame, signature, time_ns in zip(
        rows.frame.tolist(), rows.signature.tolist(), rows.typical_ns.tolist(), strict=True
    ):
        if known.findings.trace.signature(signature) == row.wanted.signature:
            frames[frame] = frames.get(frame, 0) + time_ns
    return max(frames, key=frames.__getitem__, default=-1)
