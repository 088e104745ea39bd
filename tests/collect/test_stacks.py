"""The recorded Python stack of every operator, compared with a walk over all frames beside it."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

import perfprobe
from perfprobe import _core
from perfprobe.tables import storage
from perfprobe.tables.events import Losses
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import Frames, Modules, Stacks
from perfprobe.tables.strings import Strings
from tests.collect.call_trees import grow

CUT = ("<not recorded>", "(outer frames cut)", 0)
Stack = list[tuple[str, str, int]]


class Walked:
    """Runs one operator, and notes the frames around it, some of the time with frame objects made."""

    def __init__(self, seed: int) -> None:
        self.stacks: list[Stack | None] = []
        self._random = Random(seed)
        self._tensor = torch.zeros(2)

    def __call__(self) -> None:
        walked = _walk() if self._random.random() < 0.3 else None
        # One line: a tree may trace both, and look in between.
        _ = self._tensor.neg(), self.stacks.append(walked)  # type: ignore[func-returns-value]


def _walk() -> Stack:
    """The frames of the caller's caller, innermost first."""
    walked = traceback.walk_stack(sys._getframe(2))
    return [(frame.f_code.co_filename, frame.f_code.co_name, line) for frame, line in walked]


def _record(path: Path, run: Callable[[], Any]) -> Recording:
    with perfprobe.profile(path, python="off"):
        run()
    return storage.read(path)


def _rows_of(recording: Recording, name: str) -> list[int]:
    """The stack row of each operator of this name, in the order in which they ended."""
    return [
        int(stack)
        for batch in recording.operators()
        for operator, stack in zip(batch.name, batch.stack, strict=True)
        if recording[Strings][operator] == name
    ]


def _stack(recording: Recording, row: int) -> Stack:
    strings, frames, stacks = recording[Strings], recording[Frames], recording[Stacks]
    found: Stack = []
    while row >= 0:
        frame = stacks.frame[row]
        function = strings[frames.function[frame]].rsplit(".", 1)[-1]
        found.append((strings[frames.file[frame]], function, int(frames.line[frame])))
        row = int(stacks.parent[row])
    return found


@pytest.mark.parametrize("seed", range(2))
def test_stacks_of_random_trees(tmp_path: Path, seed: int) -> None:
    walked = Walked(seed)
    before = sys.gettrace()
    recording = _record(tmp_path / "a.perfprobe", lambda: grow(seed, walked, 1000))
    sys.settrace(before)
    rows = _rows_of(recording, "aten::neg")
    assert len(rows) == len(walked.stacks)
    for row, expected in zip(rows, walked.stacks, strict=True):
        assert expected is None or _stack(recording, row)[1:] == expected


def test_modules_of_calls_that_are_not_read_again(tmp_path: Path) -> None:
    class Net(torch.nn.Module):
        def __init__(self, depth: int) -> None:
            super().__init__()
            self.inner = Net(depth - 1) if depth > 0 else None

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = x.neg()
            x = x.neg()
            return x if self.inner is None else self.inner(x).neg()

    net, x = Net(12), torch.zeros(2)
    recording = _record(tmp_path / "a.perfprobe", lambda: [net(x), net(x)])
    rows = [_module(recording, row) for row in _rows_of(recording, "aten::neg")]
    down = [depth for depth in range(13) for _ in range(2)]
    assert rows == 2 * [*down, *reversed(range(12))]


def _module(recording: Recording, row: int) -> int:
    """How far inside of the outermost module this stack's module is."""
    modules, module = recording[Modules], int(recording[Stacks].module[row])
    depth = -1
    while module >= 0:
        depth, module = depth + 1, int(modules.parent[module])
    return depth


def test_a_stack_that_is_too_deep(tmp_path: Path) -> None:
    x = torch.zeros(2)

    def descend(left: int) -> None:
        if left == 0:
            x.neg(), x.abs()
        else:
            descend(left - 1)

    before = sys.getrecursionlimit()
    sys.setrecursionlimit(2 * _core.DEEPEST_READ + 1000)
    recording = _record(tmp_path / "a.perfprobe", lambda: descend(_core.DEEPEST_READ))
    sys.setrecursionlimit(before)
    (row,) = _rows_of(recording, "aten::neg")
    stack = _stack(recording, row)
    assert len(stack) == _core.FRAMES_OF_CUT + 1
    assert stack[-1] == CUT
    assert {function for _, function, _ in stack[:-1]} == {"descend"}
    losses = recording[Losses]
    found = dict(zip(losses.reason, losses.count.tolist(), strict=True))
    assert found["stacks truncated: too deep, only the innermost frames are shown"] == 2
