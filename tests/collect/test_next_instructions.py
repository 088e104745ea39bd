"""Which frames ask the iterator of a `for` loop for its next item, compared with `dis` and with programs."""

from __future__ import annotations

import dis
import gc
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest
import torch

import perfprobe
from perfprobe import _core
from perfprobe.tables import storage
from perfprobe.tables.python import Look, Samples
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import Frames, Stacks
from perfprobe.tables.strings import Strings
from tests.collect.test_code_locations import LIBRARY, nested

_MOST_CODE = 3000  # code objects of this process that are looked at


def asking(code: CodeType) -> list[int]:
    """As dis lists them. In 3.12 a generator runs while its caller stands at the instruction's data."""
    found = [each.offset for each in dis.get_instructions(code) if each.opname == "FOR_ITER"]
    if sys.version_info[:2] == (3, 12):
        return sorted(found + [offset + 2 for offset in found])
    return found


@pytest.mark.parametrize("letter", "acdit")
def test_instructions_are_those_that_dis_lists(letter: str) -> None:
    for path in sorted(LIBRARY.glob(f"{letter}*.py")):
        for code in nested(compile(path.read_bytes(), str(path), "exec")):
            assert _core.next_instructions(code.co_code) == asking(code), f"{path}: {code.co_qualname}"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="bytecode is not specialised")
def test_code_that_has_run_is_read_too() -> None:
    codes = {each.__code__ for each in gc.get_objects() if type(each) is FunctionType}
    ran = [code for code in codes if code._co_code_adaptive != code.co_code]  # type: ignore[attr-defined]
    assert len(ran) > 100
    for code in ran[:_MOST_CODE]:
        found = _core.next_instructions(code._co_code_adaptive)  # type: ignore[attr-defined]
        starts = {each.offset for each in dis.get_instructions(code)}
        expected = set(asking(code))
        assert expected <= set(found), code
        assert not starts & (set(found) - expected), code


class Noted:
    """Notes whether its caller's caller was asking, as that frame's instruction says."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, bool]] = set()

    def __call__(self, kind: str) -> None:
        frame: FrameType = sys._getframe(2)
        code = frame.f_code
        asks = frame.f_lasti in _core.next_instructions(getattr(code, "_co_code_adaptive", code.co_code))
        self.seen.add((kind, asks))


class Counting:
    """An iterator written as a class, whose items can also be had by index."""

    def __init__(self, note: Noted, most: int) -> None:
        self._note, self._most = note, most

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        self._note("next")
        self._most -= 1
        if self._most < 0:
            raise StopIteration
        return self._most

    def __getitem__(self, at: int) -> int:
        self._note("index")
        return at


def counted(note: Noted, most: int) -> Iterator[int]:
    for each in range(most):
        note("generator")
        yield each


def test_a_frame_stands_at_it_while_its_iterator_runs() -> None:
    note = Noted()
    items = Counting(note, 0)
    for _ in range(3):  # until the interpreter has specialised it
        for each in counted(note, 50):
            items[each]
        for each in Counting(note, 50):
            items[each]
        assert sum([each for each in counted(note, 50)]) == sum(range(50))
    assert note.seen == {("generator", True), ("next", True), ("index", False)}


def made(count: int) -> Iterator[torch.Tensor]:
    for _ in range(count):
        time.sleep(0.02)
        yield torch.zeros(3).neg()


def used(item: torch.Tensor) -> None:
    time.sleep(0.02)
    item.exp()


def loop(count: int) -> None:
    for item in made(count):
        used(item)


def callers(recording: Recording, stack: int) -> dict[str, bool]:
    """Of a stack the functions, and whether each of them asks."""
    stacks, frames, strings = recording[Stacks], recording[Frames], recording[Strings]
    found: dict[str, bool] = {}
    while stack >= 0:
        function = strings[int(frames.function[stacks.frame[stack]])].rpartition(".")[2]
        found.setdefault(function, int(stacks.asks_next[stack]) == 1)
        stack = int(stacks.parent[stack])
    return found


def test_operators_and_samples_say_so(tmp_path: Path) -> None:
    with perfprobe.profile(tmp_path / "r.perfprobe"):
        loop(20)
    recording = storage.read(tmp_path / "r.perfprobe")
    seen: dict[str, set[Any]] = {}
    for batch in recording.operators():
        for name, stack in zip(batch.name.tolist(), batch.stack.tolist(), strict=True):
            of_stack = callers(recording, stack)
            if "loop" in of_stack:
                seen.setdefault(recording[Strings][name], set()).add(of_stack["loop"])
    assert seen["aten::neg"] == {True}
    assert seen["aten::exp"] == {False}
    if _core.sampler_missing() is not None:
        return
    samples = recording[Samples]
    looked = [callers(recording, each) for each in set(samples.stack[samples.look == Look.READ].tolist())]
    assert {each["loop"] for each in looked if "made" in each} == {True}
    assert {each["loop"] for each in looked if "used" in each} == {False}
