"""Waits between operators, divided over samples: made by hand, one sample for many waits."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from perfprobe.analyse.account.looks import _waits
from perfprobe.analyse.account.stood import StoodStill, Stretches
from perfprobe.merge import link
from perfprobe.tables.python import Samples
from tests.build import Program, op

MS = 1_000_000
LINES = 30, 31


def test_a_wait_without_a_sample_is_that_of_the_same_two_lines(tmp_path: Path) -> None:
    """The thread waits 6 ms between lines 30 and 31, and 1 ms between 31 and the next 30.

    Only the first wait of each kind has a sample. The last stretch is between two other lines, and no sample
    follows.
    """
    program, at = Program(), 0
    program.thread(1)
    stacks = [program.stack(f"/p/train.py:{line} main") for line in LINES]
    for _ in range(5):
        for stack, wait_ms in zip(stacks, (6, 1), strict=True):
            program.run(op("aten::mm", at, at + MS, stack=stack))
            program.row("wait_readings", at + MS, at + 9 * MS, 0, wait_ms * MS)
            at += 10 * MS
    trace = link(program.recording(tmp_path))
    stood = StoodStill(trace.recording, int(trace.recording.os_threads()[0]))
    for batch in trace.operators():
        every = np.ones(len(batch), np.bool_)
        stood.add(batch, np.zeros(len(batch), np.int8), batch.frame, every)
    between = stood.result().between
    none = {name: np.zeros(2, dtype) for name, dtype in Samples.dtypes.items()}
    samples = Samples(**none | {"end_ns": np.array([5 * MS, 15 * MS])})
    found_ns = _waits(between, samples, np.zeros(2, np.bool_))
    assert found_ns.tolist() == [5 * 6 * MS, 5 * 1 * MS]
    assert len(set(between.kind.tolist())) == 3  # nothing follows the last one


def test_without_any_sample_of_its_kind_a_wait_is_that_of_the_next_one() -> None:
    ends_ns = np.array([10, 20, 30]) * MS
    between = Stretches(ends_ns - 5 * MS, ends_ns, np.array([1, 2, 4]) * MS, np.array([1, 2, 2]))
    none = {name: np.zeros(2, dtype) for name, dtype in Samples.dtypes.items()}
    samples = Samples(**none | {"end_ns": np.array([18 * MS, 40 * MS])})
    assert _waits(between, samples, np.zeros(2, np.bool_)).tolist() == [7 * MS, 0]
