"""Evaluations on the first screen: rollouts may take longer than all training steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.report.rows.screen import ScreenRow
from perfprobe.report.section.screen.screen import screen_rows
from tests.build import Program, op
from tests.report.test_screen import MS, STEP_NS, found
from tests.report.test_text import META

ROUNDS, UPDATES = 4, 3


def rollouts(rollout_ms: int) -> Program:
    """4 rounds, each of 3 training steps of 100 ms and then a call of the model in `act`."""
    round_ns = rollout_ms * MS + UPDATES * STEP_NS
    program = Program(**{**META, "stop": {"monotonic_ns": ROUNDS * round_ns, "cpu_ns": ROUNDS * round_ns}})
    program.thread(1)
    net = program.module("", "Net")
    act = program.stack("/p/ppo.py:60 main", ("/p/ppo.py:12 act", net))
    forward = program.stack("/p/ppo.py:50 main", ("/p/ppo.py:14 values", net))
    engine = "/env/site-packages/torch/autograd/graph.py:841 _engine_run_backward"
    backward, step = program.stack("/p/ppo.py:51 main", engine), program.stack("/p/ppo.py:52 main")
    for link in range(ROUNDS * UPDATES):
        at = link // UPDATES * round_ns + link % UPDATES * STEP_NS
        program.run(
            op("aten::mm", at, at + 50 * MS, stack=forward, sequence=link),
            op("aten::mm", at + 50 * MS, at + 90 * MS, stack=backward, node_sequence=link, node_thread=1),
            op("Optimizer.step#SGD.step", at + 90 * MS, at + 99 * MS, stack=step, scope=7),
        )
        if link % UPDATES == UPDATES - 1:
            program.run(op("aten::mm", at + 100 * MS, at + (100 + rollout_ms) * MS, stack=act))
    return program


def of_evaluations(rows: list[ScreenRow]) -> list[tuple[str, str]]:
    return [(row.label, row.text) for row in rows if "rollout" in row.text]


@pytest.mark.parametrize(
    ("rollout_ms", "expected"),
    [
        (20, []),
        (100, [("ALSO", "4 evaluations or rollouts, 400 ms = 25 % of the loop: ppo.py:60 in main")]),
        (600, [("SLOW", "4 evaluations or rollouts, 2.40 s = 67 % of the loop: ppo.py:60 in main")]),
    ],
)
def test_long_evaluations_are_on_the_first_screen(
    rollout_ms: int, expected: list[tuple[str, str]], tmp_path: Path
) -> None:
    rows = screen_rows(found(rollouts(rollout_ms), tmp_path))
    assert of_evaluations(rows) == expected
    said = {row.label: row.text for row in rows}
    if expected and expected[0][0] == "SLOW":
        assert said["GAIN"] == "at most 3.0x (bounded, not measured)"
        assert said["NEXT"] == "perfprobe report --view phases"
    else:
        assert not said["SLOW"].startswith("evaluation")
