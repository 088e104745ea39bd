"""Steps of many short operators on the first screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.report.section.screen.screen import screen_rows
from tests.build import Program, op
from tests.report.test_screen import found
from tests.report.test_text import META
from tests.snapshots import Snapshot

US = 1000
STEPS = 6


def short(
    calls: int,
    each_us: int,
    elements: int = 8,
    lines: int = 8,
    load_us: int = 0,
    long_us: int = 0,
    steps: int = STEPS,
) -> Program:
    """Steps with this many additions back to back, on so many lines.

    load_us: in the loader. long_us: one operator in the optimizer.
    """
    step_ns = (load_us + calls * each_us + long_us + 20) * US
    program = Program(**{**META, "stop": {"monotonic_ns": steps * step_ns, "cpu_ns": steps * step_ns}})
    program.thread(1)
    net = program.module("", "Net")
    stacks = [
        program.stack("/p/train.py:20 main", (f"/p/model.py:{88 + at} forward", net)) for at in range(lines)
    ]
    engine = "/env/site-packages/torch/autograd/graph.py:841 _engine_run_backward"
    backward, step = program.stack("/p/train.py:39 main", engine), program.stack("/p/train.py:40 main")
    inputs = program.signature(f"f32[{elements}] f32[{elements}] alpha=1")
    for number in range(steps):
        at = number * step_ns
        if load_us:
            program.run(op("enumerate(DataLoader)#_Next", at, at + load_us * US, stack=step, scope=7))
            at += load_us * US
        for call in range(calls):
            facts = {"stack": stacks[call % lines], "signature": inputs, "sequence": number}
            begin = at + call * each_us * US
            program.run(op("aten::add", begin, begin + each_us * US, **facts))
        at += calls * each_us * US
        node = {"node_sequence": number, "node_thread": 1}
        program.run(op("aten::mm", at, at + 8 * US, stack=backward, **node))
        at += 8 * US
        end = at + (long_us + 10) * US
        fused = [op("aten::_fused_sgd_", at, at + long_us * US, stack=step)] if long_us else []
        program.run(op("Optimizer.step#SGD.step", at, end, *fused, stack=step, scope=7))
    return program


def texts(program: Program, tmp_path: Path, label: str) -> list[str]:
    return [row.text for row in screen_rows(found(program, tmp_path)) if row.label == label]


@pytest.mark.parametrize(
    ("program", "slow"),
    [
        # 501 calls in 500 * 4 + 10 us; 10 us of its step the optimizer runs none.
        (short(500, 4), "501 short operators a step, one every 4.01 us; 13 % of the time at model.py:91"),
        (short(100, 25), "nothing stands out; largest model.py:91, "),
        # 12 bytes an element at 5 bytes/ns are 2.4 us, more than a quarter of 4 us.
        (short(500, 4, elements=1000), "nothing stands out; largest model.py:91, "),
        # 502 calls in 3 ms, of which one takes 1 ms.
        (short(500, 4, long_us=980), "train.py:40, 990 us = 33 %, optimizer: _fused_sgd_"),
    ],
)
def test_slow_names_them_if_the_time_is_theirs(program: Program, slow: str, tmp_path: Path) -> None:
    (text,) = texts(program, tmp_path, "SLOW")
    assert text.startswith(slow)


def test_they_come_before_the_line_that_has_most_of_them(tmp_path: Path) -> None:
    slow = "501 short operators a step, one every 4.01 us; 50 % of the time at model.py:89 in forward"
    assert texts(short(500, 4, lines=2), tmp_path, "SLOW") == [slow]


def test_beside_a_wait_they_are_another_finding(tmp_path: Path, snapshot: Snapshot) -> None:
    program = short(500, 4, load_us=3000)
    said = [text for label in ("SLOW", "ALSO") for text in texts(program, tmp_path, label)]
    snapshot("\n".join(said))


def test_the_share_of_their_work_is_an_upper_bound(tmp_path: Path) -> None:
    details = texts(short(500, 4), tmp_path, "")
    # Three tensors are three lines of 64 bytes: 38 ns of 4 us at 5 bytes/ns.
    assert "at most 1 %" in details[0]  # TRY says what helps
