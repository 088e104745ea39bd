"""Faster forms of single operators, which `perfprobe bench` found to give the same result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from perfprobe.diagnose.advice.known import Known, change
from perfprobe.tables.advice import Change, Check, Got
from perfprobe.tables.measurements import Counterfactual, Measurement, Measurements

_WORTH = 0.03  # of a step: what it saves
_FASTER = 1.15  # the whole interval is beyond it, as for the verdicts of bench


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
        value, least, most = (share * (1 - 1 / each) for each in (speedup.value, speedup.low, speedup.high))
        if value >= _WORTH:
            name = row.wanted.operator.removeprefix("aten::")
            given: dict[str, Any] = {"got": Got.REPLAYED, "least": least, "most": most}
            given |= {"frame": _frame(known, row), "what": f"a faster form of {name}"}
            yield change("faster-form", value, Check.CLOSE, snippet=f"{best.change}  # for {name}", **given)


def _best(row: Measurement) -> Counterfactual | None:
    forms = (each for each in row.counterfactuals if each.kind == "equivalent")
    return max((each for each in forms if each.speedup.low >= _FASTER), key=_speedup, default=None)


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
