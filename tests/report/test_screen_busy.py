"""The first screen of a program whose loader waited for a processor in two of eight steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.report.section.screen.screen import screen_rows
from tests.build import Program, op
from tests.report.test_screen import MS, STEPS, found
from tests.report.test_text import META

LATE = (2, 5)  # steps in which loading takes 109 ms instead of 9


def loading(waited_ms: int) -> Program:
    """Steps of 100 ms, 200 if loading is late.

    waited_ms: how long the thread waited for a processor, by the scheduler. Samples see it in the late loads.
    """
    end_ns = (STEPS + len(LATE)) * 100 * MS
    stop = {"monotonic_ns": end_ns, "cpu_ns": STEPS * 100 * MS}
    program = Program(**{**META, "stop": stop})
    program.thread(1)
    for time_ns, wait_ns in ((0, 0), (end_ns, waited_ms * MS)) if waited_ms else ():
        program.row("thread_times", time_ns, 0, 0, wait_ns, 0, 0, 0)
    main, net = program.stack("/p/train.py:20 main"), program.module("", "Net")
    engine = "/env/site-packages/torch/autograd/graph.py:841 _engine_run_backward"
    backward, step = program.stack("/p/train.py:23 main", engine), program.stack("/p/train.py:24 main")
    lines = [program.stack("/p/train.py:22 main", (f"/p/model.py:{at} forward", net)) for at in range(8)]
    at = 0
    for number in range(STEPS):
        end = at + (109 if number in LATE else 9) * MS
        program.run(op("enumerate(DataLoader)#_Next", at, end, stack=main, scope=7))
        if waited_ms:
            late_ns = end - at - 9 * MS
            program.sample(at, end - 1, "/p/train.py:20 main", cpu_ns=9 * MS, wait_ns=late_ns)
        for each, stack in enumerate(lines):
            begin = end + (1 + 10 * each) * MS
            program.run(op("aten::mm", begin, begin + 9 * MS, stack=stack, sequence=number))
            if waited_ms:
                line = f"/p/model.py:{each} forward"
                program.sample(
                    begin - MS, begin + 8 * MS, "/p/train.py:22 main", line, cpu_ns=9 * MS, wait_ns=0
                )
        node = {"node_sequence": number, "node_thread": 1}
        program.run(
            op("aten::mm", end + 81 * MS, end + 88 * MS, stack=backward, **node),
            op("Optimizer.step#SGD.step", end + 88 * MS, end + 90 * MS, stack=step, scope=7),
        )
        at = end + 91 * MS
    return program


@pytest.mark.parametrize(
    ("waited_ms", "slow"), [(0, "data loading, 34.0 ms = 27 %"), (200, "nothing stands out")]
)
def test_a_phase_that_waited_for_a_processor_does_not_stand_out(
    waited_ms: int, slow: str, tmp_path: Path
) -> None:
    said = {row.label: row.text for row in screen_rows(found(loading(waited_ms), tmp_path))}
    assert said["SLOW"].startswith(slow)
