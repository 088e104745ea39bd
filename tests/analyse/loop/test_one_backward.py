"""One backward makes no training loop; two do, and so does one with a loader."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.merge import link
from perfprobe.tables.steps import StepTimes
from tests.build import Program, op
from tests.found import find
from tests.report.test_screen import ENGINE
from tests.report.test_text import META

MS = 1_000_000


def backwards(count: int, *, loader: bool) -> Program:
    program, at = Program(**META), 0
    program.thread(1)
    net = program.module("", "Net")
    line = program.stack("/p/train.py:20 main", ("/p/model.py:88 forward", net))
    calls = ("/p/train.py:30 main", "/env/site-packages/torch/_tensor.py:581 backward", ENGINE)
    main, engine = program.stack("/p/train.py:19 main"), program.stack(*calls)
    for number in range(count):
        if loader:
            name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
            program.run(op(name, at, at + MS, stack=main, scope=7))
            at += MS
        node = {"node_sequence": number, "node_thread": 1}
        program.run(op("aten::mm", at, at + MS, stack=line, sequence=number))
        program.run(op("MmBackward0", at + MS, at + 2 * MS, stack=engine, **node))
        at += 2 * MS
    return program


@pytest.mark.parametrize(
    ("count", "loader", "steps"), [(1, False, 0), (2, False, 2), (5, False, 5), (1, True, 1)]
)
def test_a_single_backward_is_no_step(count: int, loader: bool, steps: int, tmp_path: Path) -> None:
    times = find(link(backwards(count, loader=loader).recording(tmp_path)), StepTimes).get(StepTimes)
    assert (0 if times is None else len(times.steps)) == steps
