"""Inputs printed by reports can be typed."""

import random
from pathlib import Path

import pytest
import torch

from perfprobe.measuring import by_hand
from perfprobe.models.typed import written_out
from perfprobe.report import shorten
from perfprobe.support.errors import UsageError
from tests.build import Program, op


@pytest.mark.parametrize("sizes", [(2, 3), (1024, 1024), (5, 2, 3), (2, 5, 1, 7), (3, 0), (1, 1)])
def test_transposed_matrices_have_the_strides_that_torch_gives_them(sizes: tuple[int, ...]) -> None:
    other = torch.empty(*sizes[:-2], sizes[-1], sizes[-2]).transpose(-1, -2)
    text = ",".join(map(str, sizes))
    strides = ",".join(map(str, other.stride()))
    assert written_out(f"f32[{text}].T@cuda:0 dim=1") == f"f32[{text}]{{{strides}}}@cuda:0 dim=1"


def test_printed_inputs_are_read_as_recorded() -> None:
    generator = random.Random(1)
    for _ in range(300):
        sizes = [generator.randint(2, 9) for _ in range(generator.randint(2, 4))]
        strides = list(torch.empty(*sizes[:-2], sizes[-1], sizes[-2]).transpose(-1, -2).stride())
        tensor = f"f32[{','.join(map(str, sizes))}]{{{','.join(map(str, strides))}}}"
        text = f'{tensor} ({",".join([tensor] * generator.randint(1, 9))}) alpha=0.5 mode="f32[2,3].T"'
        assert written_out(shorten.signature(text)) == text


def test_inputs_can_be_typed_as_reports_print_them() -> None:
    ((wanted, _),) = by_hand("mm", ["f32[1024,1024].T", "f32[1024,8]"], 1).calls
    assert wanted.signature == "f32[1024,1024]{1,1024} f32[1024,8]"
    ((wanted, _),) = by_hand("cat", ["(5x", "f32[9,4])", "dim=0"], 1).calls
    assert wanted.signature == f"({','.join(['f32[9,4]'] * 5)}) dim=0"


LISTS = ("(" + ",".join(["f32[9,4]", "f32[9]"] * 31) + ") dim=0", "(f32[2],f32[3],f32[4],f32[5]) dim=0")


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    program = Program()
    program.thread(1)
    line = program.stack("/p/train.py:1 main")
    texts = (*LISTS, "f32[6] split_sizes=(1,1,1,1,1,1,0)")
    names = ("aten::cat", "aten::cat", "aten::split_with_sizes")
    for at, (name, text) in enumerate(zip(names, texts, strict=True)):
        signature = program.signature(text)
        program.run(op(name, 100 * at, 100 * at + 50, stack=line, signature=signature))
    (tmp_path / "run.perfprobe").write_bytes(program.encode())
    monkeypatch.chdir(tmp_path)
    return texts


def test_shortened_inputs_come_from_the_newest_recording(recorded: tuple[str, ...]) -> None:
    for text, name in zip(recorded, ("cat", "aten::cat", "split_with_sizes"), strict=True):
        ((wanted, _),) = by_hand(name, [shorten.signature(text)], 1).calls
        assert wanted.signature == text
    ((wanted, _),) = by_hand("cat", [recorded[0][:40] + "…"], 1).calls
    assert wanted.signature == recorded[0]


def test_ambiguous_or_unknown_shortened_inputs_are_refused(recorded: tuple[str, ...], tmp_path: Path) -> None:
    for typed, said in (
        ("(…) dim=0", "2 calls of run.perfprobe"),
        ("(9: i64[2], …)", "no call of run.perfp"),
    ):
        with pytest.raises(UsageError, match=said):
            by_hand("cat", [typed], 1)
    (tmp_path / "run.perfprobe").unlink()
    with pytest.raises(UsageError, match="no recording here"):
        by_hand("cat", ["(…) dim=0"], 1)
