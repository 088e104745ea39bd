"""What calls of CUDA took within one operator."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from perfprobe.report.rows.operators import OperatorRow
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu import ApiCalls
from perfprobe.tables.strings import Strings


class CudaCall(NamedTuple):
    """All calls of this name within an operator."""

    name: str
    time_ns: int


def longest_cuda_call(findings: Findings, row: OperatorRow) -> CudaCall | None:
    """The longest call of CUDA within an operator; None if it is not most of the operator's self time."""
    links, recording = findings.trace.gpu, findings.trace.recording
    if links is None or row.operator is None:
        return None
    calls, strings = recording[ApiCalls], recording[Strings]
    within = np.flatnonzero(strings.marks(row.operator.__eq__)[links.sites.name])
    if len(within) == 0:
        return None
    time_ns = calls.end_ns[within] - calls.start_ns[within]
    at = int(np.argmax(time_ns))
    if 2 * time_ns[at] <= row.ran.self_ns:
        return None
    return CudaCall(strings[int(calls.name[within[at]])], int(time_ns[at]))
