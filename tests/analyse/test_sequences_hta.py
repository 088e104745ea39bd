"""HTA's table of kernel sequences of a real trace, made again from our links of kernels to operators.

Our own table (`--view sequences`) answers another question: which short kernels of one line could be fused.
HTA lists all kernels below given operators, however long they take, so the rows differ. The facts below both
must agree: the kernels below each call of an operator, in order, and their times.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from perfprobe.analyse.idle.gaps import Work, work_of
from perfprobe.merge import link
from perfprobe.read import kineto
from perfprobe.tables.gpu import ApiCalls, Kernels
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace
from tests.analyse.test_gpu_traces import folder

TRUTH = Path(__file__).parent.parent.parent / "benchmarks" / "truth" / "hta_sequences.json"
FEWEST = 3
CASES = [
    (trace, operator)
    for trace, reported in json.loads(TRUTH.read_text()).items()
    for operator, rows in reported.items()
    if isinstance(rows, list)
]


class Found(NamedTuple):
    """Sums over all occurrences of a sequence."""

    times: int
    gpu_us: float
    operator_us: float


def below(trace: Trace, operator: str) -> dict[tuple[str, ...], Found]:
    """The kernels and copies launched in calls of operators with this text in their name."""
    assert trace.gpu is not None
    recording, strings = trace.recording, trace.recording[Strings]
    work, calls = work_of(recording, trace.gpu), recording[ApiCalls]
    call_start_ns, call_thread = (
        np.append(column, -1)[work.call] for column in (calls.start_ns, calls.thread)
    )
    times: Counter[tuple[str, ...]] = Counter()
    gpu_ns, operator_ns = Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
    for batch in trace.operators():
        for row in np.flatnonzero([operator in strings[name] for name in batch.name.tolist()]).tolist():
            inside = (work.call >= 0) & (call_thread == batch.thread[row])
            inside &= (call_start_ns >= batch.start_ns[row]) & (call_start_ns < batch.end_ns[row])
            at = np.flatnonzero(inside)
            if len(at) < FEWEST:
                continue
            at = at[np.argsort(work.start_ns[at], kind="stable")]
            key = (strings[batch.name[row]], *(name(trace, work, each) for each in at.tolist()))
            times[key] += 1
            gpu_ns[key] += int((work.end_ns - work.start_ns)[at].sum())
            operator_ns[key] += int(batch.end_ns[row] - batch.start_ns[row])
    return {key: Found(times[key], gpu_ns[key] / 1e3, operator_ns[key] / 1e3) for key in times}


def name(trace: Trace, work: Work, row: int) -> str:
    """The name of a kernel; for copies and fills, the common beginning of their names."""
    kernels, strings = trace.recording[Kernels], trace.recording[Strings]
    at = int(work.row[row])
    return str(strings[kernels.name[at]]) if at < len(kernels) else "Mem"


def brief(kernel: str) -> str:
    return "Mem" if kernel.startswith("Mem") else kernel


@pytest.mark.parametrize(("trace", "operator"), CASES)
def test_the_same_sequences_as_hta(trace: str, operator: str) -> None:
    path = folder() / f"{trace}.json.gz"
    if not path.is_file():
        pytest.skip(f"no {path.name} in PERFPROBE_TRACES")
    reported = json.loads(TRUTH.read_text())[trace][operator]
    wanted = {tuple(map(brief, row["kernels"])): row for row in reported}
    found = below(link(kineto.read(path)), operator)
    found = {tuple(map(brief, key)): sums for key, sums in found.items()}
    assert found.keys() == wanted.keys()
    for key, sums in found.items():
        assert sums.times == wanted[key]["times"]
        assert sums.gpu_us == pytest.approx(wanted[key]["gpu_us"], abs=0.01 * sums.times)
        assert sums.operator_us == pytest.approx(wanted[key]["operator_us"], abs=0.01 * sums.times)
