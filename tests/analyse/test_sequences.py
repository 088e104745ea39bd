"""Sequences of short kernels, against a slow search."""

from __future__ import annotations

import random
from collections import Counter
from itertools import groupby
from pathlib import Path

import pytest

from perfprobe.merge import link
from perfprobe.report.rows.gpu.sequences import sequence_rows
from perfprobe.tables.sequences import Sequences
from tests.build import Program, op
from tests.found import find


def launched(program: Program, kernels: list[tuple[str, int, int]]) -> None:
    """A kernel every 100: name, line that launches it, duration; each call takes 10."""
    for at, (name, line, ran) in enumerate(kernels):
        begin, stack = 100 * at, program.stack(f"a.py:{line} main")
        program.run(op(f"aten::{name}", begin, begin + 50, stack=stack))
        program.api_call("cudaLaunchKernel", begin + 5, begin + 15, at)
        program.kernel(f"kernel of {name}", begin + 20, begin + 20 + ran, at)


def test_what_repeats_at_a_line(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    step = [("mul_", 7, 4), ("add_", 7, 4)] * 3
    launched(program, [*step, ("mm", 5, 60), *step, ("mm", 5, 60), ("exp", 8, 4), ("log", 8, 4)])
    findings = find(link(program.recording(tmp_path)), Sequences)
    (row,) = sequence_rows(findings, 0).rows
    assert (row.operators, row.kernels, row.period, row.times) == (["aten::mul_", "aten::add_"], 6, 2, 2)
    assert row.names == ["kernel of mul_", "kernel of add_"]
    assert (row.total_ns, row.gpu_ns, row.call_ns) == (2 * 504, 2 * 24, 2 * 60)
    assert row.at.line is not None
    assert row.at.line.line == 7


@pytest.mark.parametrize("seed", range(20))
def test_all_sequences_of_any_kernels(tmp_path: Path, seed: int) -> None:
    chance, program = random.Random(seed), Program()
    program.thread(1)
    kernels = [
        (chance.choice("ab"), chance.choice([5, 6]), chance.choice([4, 4, 4, 60]))
        for _ in range(chance.randrange(90))
    ]
    launched(program, kernels)
    expected: Counter[tuple[tuple[str, ...], int]] = Counter()
    for (line, is_short), run in groupby(kernels, key=lambda each: (each[1], each[2] < 10)):
        names = tuple(f"aten::{name}" for name, _, _ in run)
        if is_short and len(names) >= 3:
            expected[names, line] += 1
    findings = find(link(program.recording(tmp_path)), Sequences)
    if not kernels:
        assert Sequences not in findings
        return
    found: Counter[tuple[tuple[str, ...], int]] = Counter()
    for row in sequence_rows(findings, 0).rows:
        assert row.at.line is not None
        repeated = (list(row.operators) * row.kernels)[: row.kernels]
        found[tuple(repeated), row.at.line.line] += row.times
    assert found == expected
