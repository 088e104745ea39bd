"""A line that calls `cat` onto its own result: steps made by hand, that grow, nearly do, and do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.tables.judgements import Growing
from tests.build import Program, op
from tests.report.test_screen import found
from tests.report.test_text import META

MS = 1_000_000
STEPS = 12
CASES = {
    "grows": [(8 * number, 8) for number in range(1, STEPS + 1)],
    "grows by more each time": [(number * (number + 1) // 2, number + 1) for number in range(1, STEPS + 1)],
    "joins the same": [(8, 8)] * STEPS,
    "joins tensors of many lengths": [(7 * number, 8) for number in range(1, STEPS + 1)],
    "grows four times": [(8 * min(number, 5), 8) for number in range(1, STEPS + 1)],
}


CHAINS = tuple(CASES)[:2]


def program(lengths: list[tuple[int, int]], cat_ms: int) -> Program:
    made, at = Program(**META), 0
    made.thread(1)
    stack, update = made.stack("/p/train.py:30 main"), made.stack("/p/train.py:32 main")
    for number, (first, second) in enumerate(lengths):
        signature = made.signature(f"(f32[{first},4],f32[{second},4]) dim=0")
        made.run(op("aten::cat", at, at + cat_ms * MS, stack=stack, signature=signature))
        node = {"stack": update, "node_sequence": number, "node_thread": 1}
        made.run(op("MmBackward0", at + cat_ms * MS, at + 9 * MS, **node))
        made.run(op("Optimizer.step#SGD.step", at + 9 * MS, at + 10 * MS, stack=update, scope=7))
        at += 10 * MS
    made.meta |= {"stop": {"monotonic_ns": at, "cpu_ns": at}}
    return made


@pytest.mark.parametrize("name", CASES)
def test_a_line_that_copies_its_own_result_is_named(tmp_path: Path, name: str) -> None:
    findings = found(program(CASES[name], 6), tmp_path)
    judged = findings.get(Growing)
    assert (judged is not None) is (name in CHAINS)
    if judged is not None:
        line = findings.trace.line(judged.frame)
        assert line is not None
        assert line.line == 30
        assert judged.share == pytest.approx(0.6, abs=0.02)


def test_a_little_of_it_is_not_named(tmp_path: Path) -> None:
    assert found(program(CASES["grows"], 1), tmp_path).get(Growing) is None
