"""The Python path to an operator, with an operator and paths of known length."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from perfprobe.bench.path import PythonPath
from perfprobe.bench.subjects import Arguments, Subject

SPIN_NS = 400_000  # long compared with other delays of the machine
CALLS = 16  # the profiler shows wall time; of so many calls, most are not interrupted by other programs


def spin(x: torch.Tensor) -> torch.Tensor:
    end_ns = time.thread_time_ns() + SPIN_NS
    while time.thread_time_ns() < end_ns:
        pass
    return torch.empty(1)


@pytest.fixture
def operator() -> Iterator[Any]:
    library = torch.library.Library("perfprobe_path", "FRAGMENT")
    library.define("spin(Tensor x) -> Tensor")
    library.impl("spin", spin, "CPU")
    yield torch.ops.perfprobe_path.spin.default
    library._destroy()


def test_time_outside_the_operator_is_the_path(operator: Any) -> None:
    def detour(x: torch.Tensor) -> object:
        spin(x)
        return operator(x)

    path, x = PythonPath(torch), torch.ones(1)
    direct, around = (Subject("call", call, [Arguments((x,))], 1) for call in (operator, detour))
    direct.calls = around.calls = CALLS
    assert path.ns("perfprobe_path::spin", direct) < SPIN_NS / 2
    assert SPIN_NS / 2 < path.ns("perfprobe_path::spin", around) < 2 * SPIN_NS


def test_there_is_no_path_if_the_profiler_does_not_show_it() -> None:
    nothing = Subject("call", lambda: None, [Arguments(())], 1)
    assert PythonPath(torch).ns("aten::mm", nothing) == 0.0
