"""The line of the loop on the first screen, for loops within it."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.report.section.screen.screen import screen_rows
from perfprobe.tables.findings import SourceRule
from tests.build import Program, op
from tests.report.test_screen import found
from tests.report.test_text import META

MS = 1_000_000
STEPS, CALLS = 6, 100  # more calls in a step than are examined to find the line
SOURCE = """\
for step in range(6):
    for at in range(100):
        hidden = net(x[at], hidden)
    loss(hidden).backward()
    optimizer.step()
"""


def recurrent(file: Path) -> Program:
    """Steps of SOURCE: calls of the module at line 3 of this file, backward at 4, the optimizer at 5."""
    step_ns = (CALLS + 20) * MS
    program = Program(**{**META, "stop": {"monotonic_ns": STEPS * step_ns, "cpu_ns": STEPS * step_ns}})
    program.thread(1)
    module = program.module("", "Net")
    net = program.stack(f"{file}:3 main", ("/p/model.py:88 forward", module))
    engine = "/env/site-packages/torch/autograd/graph.py:841 _engine_run_backward"
    backward, step = program.stack(f"{file}:4 main", engine), program.stack(f"{file}:5 main")
    for number in range(STEPS):
        at, node = number * step_ns, {"node_sequence": number, "node_thread": 1}
        program.run(
            *(
                op("aten::add", at + call * MS, at + (call + 1) * MS, stack=net, sequence=number)
                for call in range(CALLS)
            )
        )
        at += CALLS * MS
        program.run(
            op("aten::mm", at, at + 8 * MS, stack=backward, **node),
            op("Optimizer.step#SGD.step", at + 8 * MS, at + 18 * MS, stack=step, scope=7),
        )
    return program


@pytest.mark.parametrize(("source", "line"), [(SOURCE, 1), (None, 5)])
def test_the_loop_that_calls_the_optimizer_is_named(source: str | None, line: int, tmp_path: Path) -> None:
    """By its first line, or without the source by the line of the optimizer."""
    if source is not None:
        (tmp_path / "train.py").write_text(source)
    findings = found(recurrent(tmp_path / "train.py"), tmp_path)
    first = screen_rows(findings.plus(source_rule=SourceRule(str(tmp_path), True, "")))[0]
    assert first.label == f"train.py:{line}"
    assert first.text.startswith(f"{STEPS} training steps")
