"""Rule: one function of the program has a large part of the time, though none of its lines has."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace

import numpy as np

from perfprobe.diagnose.limits import STANDS_OUT
from perfprobe.diagnose.waits import of_group
from perfprobe.tables.account import Account, LeafKind, Leaves, group
from perfprobe.tables.columns import Int32, Rows
from perfprobe.tables.diagnoses import Cause, Diagnosis
from perfprobe.tables.findings import Findings
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import Frames
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.strings import Strings

_MOST = 0.5  # a function with more of the time is that of a whole step or model, and says nothing


def functions(
    findings: Findings, account: Account, about: AbstractSet[int]
) -> Iterator[tuple[Diagnosis, set[int]]]:
    """Such functions with the frames of their lines, of which none is in `about`.

    Not the function with the loop: what its lines have in common is the loop.
    """
    leaves = account.leaves.take((account.leaves.kind == LeafKind.LINE) & (account.leaves.frame >= 0))
    loops = _loop_frames(findings)
    number = _numbered(findings.trace.recording, np.append(leaves.frame, loops))
    of_leaf, of_loop = number[: len(leaves)], number[len(leaves) :]
    for each in sorted({*of_leaf.tolist()} - {*of_loop.tolist()}):
        own = leaves.take(of_leaf == each)
        lines = set(own.frame.tolist())
        share = account.share(int(own.time_ns.sum()))
        if lines & about or not STANDS_OUT <= share <= _MOST:
            continue
        if account.share(group(own).line_ns) < STANDS_OUT:
            yield _of_function(account, findings.trace.recording[Frames], own), lines


def _numbered(recording: Recording, frame: Int32) -> Rows:
    """The number of each frame's function. Functions and comprehensions in a function are parts of it.

    From Python 3.11 on names are qualified, and say in which file's function they are. Before, only the first
    line of a function tells it from others of its name.
    """
    frames, strings = recording[Frames].take(frame), recording[Strings]
    names = [strings[each] for each in frames.function.tolist()]
    outer = np.unique([name.partition(".<locals>")[0] for name in names], return_inverse=True)[1].reshape(-1)
    first_line = frames.first_line * (not any("." in name for name in names))
    return np.unique(np.stack([frames.file, outer, first_line]), axis=1, return_inverse=True)[1].reshape(-1)


def _loop_frames(findings: Findings) -> Int32:
    """A frame in the function of each loop."""
    times = findings.get(StepTimes)
    found = np.empty(0, np.int32) if times is None else times.loops.frame
    return found[found >= 0]


def _of_function(account: Account, frames: Frames, own: Leaves) -> Diagnosis:
    found, numbers = of_group(account, group(own), Cause.FUNCTION), frames.line[own.frame]
    return replace(found, lines=(int(numbers.min()), int(numbers.max())))
