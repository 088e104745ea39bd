"""Calls of outermost modules, recorded as they begin, compared with counts of the programs' own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

import perfprobe
from perfprobe import _core
from perfprobe.tables import storage
from perfprobe.tables.module_calls import ModuleCalls
from perfprobe.tables.recording import Recording

pytestmark = pytest.mark.skipif(not _core.FAST_FRAMES, reason="this Python's frames have no marks")

INPUT = torch.ones(2, 4)


def net(layers: int = 3) -> nn.Sequential:
    return nn.Sequential(*(each for _ in range(layers) for each in (nn.Linear(4, 4), nn.ReLU())))


def recorded(path: Path, run: Callable[[], object]) -> Recording:
    with perfprobe.profile(path):
        run()
    return storage.read(path)


def calls(path: Path, run: Callable[[], object]) -> int:
    return len(recorded(path, run)[ModuleCalls])


def test_each_call_from_one_line_is_a_row(tmp_path: Path) -> None:
    model = net()
    assert calls(tmp_path / "r.perfprobe", lambda: [model(INPUT) for _ in range(57)]) == 57


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is:DeprecationWarning")
def test_calls_of_torchscript_are_not_its_operators(tmp_path: Path) -> None:
    scripted = torch.jit.script(net(40))
    assert calls(tmp_path / "r.perfprobe", lambda: [scripted(INPUT) for _ in range(30)]) == 30


def test_modules_called_by_modules_have_no_rows(tmp_path: Path) -> None:
    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = net()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return sum((self.inner(x) for _ in range(4)), x)

    outer = Outer()
    assert calls(tmp_path / "r.perfprobe", lambda: [outer(INPUT) for _ in range(5)]) == 5


def test_a_module_that_gets_its_name_during_the_call_is_called_once(tmp_path: Path) -> None:
    class Agent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.actor = net()

    agent = Agent()

    def run() -> None:
        for _ in range(3):
            agent.actor[0](INPUT)
            agent.actor(INPUT)

    assert calls(tmp_path / "r.perfprobe", run) == 6


def test_calls_that_raise_count_and_calls_without_operators_do_not(tmp_path: Path) -> None:
    class Raises(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise ValueError(float((x + 1).sum()))

    raises, passes = Raises(), nn.Identity()

    def run() -> None:
        for _ in range(7):
            passes(INPUT)
            with pytest.raises(ValueError, match="16"):
                raises(INPUT)

    assert calls(tmp_path / "r.perfprobe", run) == 7


def test_calls_of_two_threads_have_their_threads(tmp_path: Path) -> None:
    model = net()

    def called(times: int) -> None:
        for _ in range(times):
            model(INPUT)

    def run() -> None:
        threads = [threading.Thread(target=called, args=(times,)) for times in (11, 23)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    rows = recorded(tmp_path / "r.perfprobe", run)[ModuleCalls]
    assert sorted((rows.thread == thread).sum() for thread in set(rows.thread.tolist())) == [11, 23]


def test_recomputation_is_a_call_of_its_own_in_backward(tmp_path: Path) -> None:
    from torch.utils.checkpoint import checkpoint

    model = net()
    x = INPUT.clone().requires_grad_()

    def run() -> None:
        for _ in range(4):
            checkpoint(model, x, use_reentrant=False).sum().backward()

    assert calls(tmp_path / "r.perfprobe", run) == 8
