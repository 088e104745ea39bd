"""Evaluations on the first screen: rollouts may take longer than all training steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.report.rows.screen import ScreenRow
from perfprobe.report.section.screen.screen import screen_rows
from tests.build import Program, op
from tests.report.test_screen import MS, STEP_NS, found
from tests.report.test_text import META
from tests.snapshots import Snapshot

ROUNDS, UPDATES = 4, 3


def rollouts(rollout_ms: int, first_ms: int = 0, drawn_ms: int = 0) -> Program:
    """4 rounds, each of 3 training steps of 100 ms and then a call of the model in `act`.

    first_ms: how much longer the first step is. drawn_ms: for how long the program draws what the model made.
    """
    round_ns = (rollout_ms + drawn_ms) * MS + UPDATES * STEP_NS
    stop_ns = ROUNDS * round_ns + first_ms * MS
    program = Program(**{**META, "stop": {"monotonic_ns": stop_ns, "cpu_ns": stop_ns}})
    program.thread(1)
    net = program.module("", "Net")
    act = program.stack("/p/ppo.py:60 main", ("/p/ppo.py:12 act", net))
    forward = program.stack("/p/ppo.py:50 main", ("/p/ppo.py:14 values", net))
    asks = program.stack("/p/ppo.py:49 main")
    engine = "/env/site-packages/torch/autograd/graph.py:841 _engine_run_backward"
    backward, step = program.stack("/p/ppo.py:51 main", engine), program.stack("/p/ppo.py:52 main")
    for link in range(ROUNDS * UPDATES):
        at = link // UPDATES * round_ns + link % UPDATES * STEP_NS + first_ms * MS
        begin = at if link else 0
        if drawn_ms:  # the next request to the loader ends the drawing
            program.run(op("enumerate(DataLoader)#_Next", begin, begin + MS, stack=asks, scope=7))
            begin += MS
        program.run(
            op("aten::mm", begin, at + 50 * MS, stack=forward, sequence=link),
            op("aten::mm", at + 50 * MS, at + 90 * MS, stack=backward, node_sequence=link, node_thread=1),
            op("Optimizer.step#SGD.step", at + 90 * MS, at + 99 * MS, stack=step, scope=7),
        )
        if link % UPDATES == UPDATES - 1:
            begin, end = at + 100 * MS, at + (100 + rollout_ms) * MS
            program.run(op("aten::mm", begin, end, stack=act))
            for look in range(end, end + drawn_ms * MS, 10 * MS):
                program.sample(look, look + 10 * MS - 1, "/p/ppo.py:70 main", cpu_ns=10 * MS)
    return program


def of_evaluations(rows: list[ScreenRow]) -> list[tuple[str, str]]:
    return [(row.label, row.text) for row in rows if "rollout" in row.text]


@pytest.mark.parametrize(("rollout_ms", "expected"), [(20, []), (100, ["ALSO"]), (600, ["SLOW"])])
def test_long_evaluations_are_on_the_first_screen(
    rollout_ms: int, expected: list[str], tmp_path: Path, snapshot: Snapshot
) -> None:
    rows = screen_rows(found(rollouts(rollout_ms), tmp_path))
    assert [label for label, _ in of_evaluations(rows)] == expected
    shown = {*expected, "SLOW", "GAIN", "NEXT"}
    snapshot("\n".join(f"{row.label} {row.text}" for row in rows if row.label in shown))


@pytest.mark.parametrize(("rollout_ms", "line"), [(10, 70), (90, 60)])
def test_where_the_model_takes_little_the_line_is_that_of_the_rest(
    rollout_ms: int, line: int, tmp_path: Path
) -> None:
    """Drawing takes 110 ms beside 10 ms of the model, and then beside 90."""
    ((_, text),) = of_evaluations(screen_rows(found(rollouts(rollout_ms, drawn_ms=110), tmp_path)))
    assert f"ppo.py:{line}" in text


def test_a_long_first_step_does_not_hide_evaluations(tmp_path: Path) -> None:
    assert len(of_evaluations(screen_rows(found(rollouts(40, first_ms=400), tmp_path)))) == 1


def test_the_line_of_an_evaluation_is_not_that_of_the_training_before(tmp_path: Path) -> None:
    """`train` runs 6 steps, and asks its loader once more. Then `test` calls the model for longer."""
    steps, each_ms = 6, 100
    end_ns = (steps * each_ms + 1000) * MS
    program = Program(**{**META, "stop": {"monotonic_ns": end_ns, "cpu_ns": end_ns}})
    program.thread(1)
    net = program.module("", "Net")
    trains = "/p/train.py:85 <module>"
    asks, step = program.stack(trains, "/p/train.py:14 train"), program.stack(trains, "/p/train.py:18 train")
    forward = program.stack(trains, ("/p/train.py:16 train", net))
    backward = program.stack(
        trains, "/p/train.py:17 train", "/env/site-packages/torch/autograd/graph.py:841 f"
    )
    tests = program.stack("/p/train.py:86 <module>", ("/p/train.py:34 test", net))
    for number in range(steps + 1):
        at = number * each_ms * MS
        program.run(op("enumerate(DataLoader)#_Next", at, at + 5 * MS, stack=asks, scope=7))
        if number < steps:
            node = {"node_sequence": number, "node_thread": 1}
            program.run(
                op("aten::mm", at + 10 * MS, at + 50 * MS, stack=forward, sequence=number),
                op("aten::mm", at + 50 * MS, at + 90 * MS, stack=backward, **node),
                op("Optimizer.step#SGD.step", at + 90 * MS, at + 99 * MS, stack=step, scope=7),
            )
    begin_ns = (steps * each_ms + 10) * MS
    program.run(
        *(
            op("aten::mm", at, at + 300 * MS, stack=tests)
            for at in range(begin_ns, end_ns - 300 * MS, 310 * MS)
        )
    )
    ((label, text),) = of_evaluations(screen_rows(found(program, tmp_path)))
    assert (label, text.rpartition(": ")[2].partition(" ")[0]) == ("SLOW", "train.py:86")
