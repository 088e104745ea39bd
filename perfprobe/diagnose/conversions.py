"""Rule: several lines together copy tensors into another layout, as `contiguous` does after `permute`.

Each of these lines may be small. They have one cause, and one change removes all of them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from perfprobe.diagnose.limits import STANDS_OUT
from perfprobe.diagnose.waits import of_group
from perfprobe.models.signature import parse, tensors
from perfprobe.tables.account import Account, Group, LeafKind, group
from perfprobe.tables.diagnoses import Cause, Diagnosis
from perfprobe.tables.findings import Findings, HotspotRows
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Line, Trace

_COPY = "aten::copy_"
_WHOLE = 0.8  # of the operators' time of a line: then all of it is for the copies
_LEAST = 0.05  # of the steps; lines with less are not looked at


def conversions(findings: Findings, account: Account) -> tuple[Diagnosis, set[int]] | None:
    """All lines that do little else, if they stand out together. A single one is a line like others."""
    found, trace = findings.get(StepHotspots), findings.trace
    copies = Counter[Line]() if found is None else _copies(trace, found.hotspots.rows)
    lines = [each for each in account.lines() if account.share(each.time_ns) >= _LEAST]
    lines = [each for each in lines if _copies_only(trace, each, copies)]
    frames = {each.frame for each in lines}
    leaves = account.leaves
    own = leaves.take((leaves.kind == LeafKind.LINE) & np.isin(leaves.frame, list(frames)))
    if len(lines) < 2 or account.share(int(own.time_ns.sum())) < STANDS_OUT:
        return None
    judged = of_group(account, group(own), Cause.CONVERSIONS)
    places = [line for each in lines if (line := trace.line(each.frame)) is not None]
    numbers = [line.line for line in places]
    in_one = len({line.file for line in places}) == 1
    return replace(judged, lines=(min(numbers), max(numbers)) if in_one else None), frames


def _copies_only(trace: Trace, each: Group, copies: Counter[Line]) -> bool:
    line = trace.line(each.frame)
    return line is not None and copies[_place(line)] >= _WHOLE * each.operators_ns > 0


def _copies(trace: Trace, rows: HotspotRows) -> Counter[Line]:
    """The time of such copies by line; in backward that of the forward call."""
    rows = rows.take(trace.recording[Strings].marks(lambda name: name == _COPY)[rows.name])
    times_ns = Counter[Line]()
    frame = np.where(rows.frame >= 0, rows.frame, rows.forward_frame)
    columns = (frame.tolist(), rows.signature.tolist(), rows.typical_ns.tolist())
    for at, signature, typical_ns in zip(*columns, strict=True):
        line = trace.line(at)
        if line is not None and _changes_layout(trace.signature(signature)):
            times_ns[_place(line)] += typical_ns
    return times_ns


def _place(line: Line) -> Line:
    return line._replace(function="")


def _changes_layout(signature: str | None) -> bool:
    """Whether two tensors that differ in nothing else have other strides."""
    own = [*tensors(parse(signature or "") or ())]
    return len(own) == 2 and own[0] != own[1] == replace(own[0], strides=own[1].strides)
