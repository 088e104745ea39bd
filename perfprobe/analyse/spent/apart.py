"""What a run has beside the steps that count."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.account import Account
from perfprobe.tables.columns import Mask, among
from perfprobe.tables.spent import ApartKind, ApartTimes
from perfprobe.tables.steps import StepKind, StepTimes


def apart(times: StepTimes, account: Account, threads_ns: int) -> ApartTimes:
    """The times that are no part of the steps' own time. threads_ns: of operators of other threads."""
    steps = times.steps
    counts = among(np.arange(len(steps)), times.leading())
    evaluation = steps.kind == StepKind.EVALUATION

    def of_steps(chosen: Mask) -> tuple[int, int]:
        return int((steps.end_ns - steps.start_ns)[chosen].sum()), int(np.count_nonzero(chosen))

    found = {
        ApartKind.START_UP: (times.start_up_ns or 0, -1),
        ApartKind.LEFT_OUT: of_steps((steps.loop == 0) & ~counts),
        ApartKind.EVALUATION: of_steps((steps.loop != 0) & evaluation),
        ApartKind.OTHER_LOOPS: of_steps((steps.loop != 0) & ~evaluation),
        ApartKind.PROCESSOR: (account.waited_ns or 0, -1),
        ApartKind.THREADS: (threads_ns, -1),
    }
    kept = {kind: row for kind, row in found.items() if row[0] > 0}
    return ApartTimes(
        kind=np.array([*kept], np.int8),
        time_ns=np.array([time_ns for time_ns, _ in kept.values()], np.int64),
        count=np.array([count for _, count in kept.values()], np.int64),
    )
