"""Backward of operators that were not recorded, in a recording that left out some steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from perfprobe.merge import link
from perfprobe.tables.live_steps import LiveSteps
from tests.merge.test_backward import Training, lines


class Paused(Training):
    """Operators of one forward thread, with the steps that they are in."""

    def __init__(self) -> None:
        super().__init__()
        self._begun_ns = 0

    def step(self, *, recorded: bool = True) -> None:
        """The step ends here. One that is not recorded takes 100 ns."""
        self.time_ns += 0 if recorded else 100
        row: dict[str, Any] = dict.fromkeys(LiveSteps.dtypes, 0)
        row |= {"start_ns": self._begun_ns, "end_ns": self.time_ns + 9, "is_recorded": int(recorded)}
        self._begun_ns = self.time_ns + 9
        self.row("live_steps", *row.values(), anew=True)


def forward_lines(program: Paused, folder: Path) -> dict[str, int | None]:
    found = lines(link(program.recording(folder)))
    return {name: line for name, (_, line, _, _) in found.items() if "Backward" in name}


def test_a_node_of_a_step_that_was_not_recorded_has_no_line(tmp_path: Path) -> None:
    """Its number is that of no operator, so without the pause it would be the one before it."""
    program = Paused()
    program.forward("stack", 10, 4)
    program.step()
    program.step(recorded=False)  # nodes 5 to 7 are made
    program.forward("mul", 11, 8)
    program.backward("MulBackward0", 8, scope=1)
    program.backward("StackBackward0", 6, scope=1)
    program.step()
    assert forward_lines(program, tmp_path) == {"MulBackward0": 11, "StackBackward0": None}


def test_the_last_number_before_the_pause_may_be_of_an_operator_in_it(tmp_path: Path) -> None:
    """The last operator made no node: the next one, which is not recorded, did, with the same number."""
    program = Paused()
    program.forward("argmax", 10, 4)
    program.step()
    program.step(recorded=False)
    program.forward("mul", 11, 6)
    program.backward("SumBackward0", 4, scope=1)
    program.backward("MulBackward0", 6, scope=1)
    program.step()
    assert forward_lines(program, tmp_path) == {"SumBackward0": None, "MulBackward0": 11}


def test_the_same_node_before_the_pause_is_that_of_the_operator(tmp_path: Path) -> None:
    program = Paused()
    program.forward("sum", 10, 4)
    program.backward("SumBackward0", 4, scope=1)
    program.step()
    program.step(recorded=False)
    program.forward("mul", 11, 6)
    program.backward("MulBackward0", 6, scope=1)
    program.step()
    assert forward_lines(program, tmp_path) == {"SumBackward0": 10, "MulBackward0": 11}


def test_a_graph_that_is_kept_over_a_pause_has_its_lines(tmp_path: Path) -> None:
    """`mm` made its node before the pause for certain: `argmax` after it has a higher number."""
    program = Paused()
    program.forward("mm", 10, 3)
    program.forward("argmax", 11, 4)
    program.step()
    program.step(recorded=False)
    program.forward("mul", 12, 4)  # no node was made in between
    program.backward("MulBackward0", 4, scope=1)
    program.backward("MmBackward0", 3, scope=1)
    program.step()
    assert forward_lines(program, tmp_path) == {"MulBackward0": 12, "MmBackward0": 10}


@pytest.mark.parametrize("pauses", [1, 3])
def test_numbers_of_another_thread_do_not_matter(tmp_path: Path, pauses: int) -> None:
    program = Paused()
    program.thread(2)
    for number in range(pauses):
        program.forward("sum", 10, 4 * number)
        program.step()
        program.step(recorded=False)
    program.forward("mul", 11, 40)
    program.backward("MulBackward0", 40, scope=1)
    program.backward("ExpBackward0", 6, node_thread=2, scope=1)
    program.backward("CosBackward0", 39, scope=1)
    program.step()
    expected = {"MulBackward0": 11, "ExpBackward0": None, "CosBackward0": None}
    assert forward_lines(program, tmp_path) == expected
