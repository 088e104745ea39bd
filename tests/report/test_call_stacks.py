"""The stacks from which an operator was called, compared with calls counted by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perfprobe.results import Results
from perfprobe.support.errors import InputError, UsageError
from perfprobe.support.view import View
from tests.build import Program, op
from tests.snapshots import Snapshot


def made(folder: Path) -> Results:
    """`div` three times on one line, once on another, once in backward; and another operator."""
    program = Program(start={"monotonic_ns": 0}, stop={"monotonic_ns": 1000})
    program.thread(1)
    here = program.stack("train.py:40 main", "model.py:7 forward")
    there = program.stack("train.py:41 main")
    tensor, scalar = program.string("Tensor"), program.string("Scalar")
    program.run(
        *(op("aten::div", at, at + 10, stack=here, overload=tensor, sequence=at) for at in (0, 10, 20)),
        op("aten::div", 30, 35, stack=there, overload=scalar),
        op("aten::mul", 35, 95, stack=there),
    )
    program.run(
        op(
            "autograd::engine::evaluate_function: DivBackward0",
            *(100, 160),
            op("aten::div", 110, 150, stack=-1, overload=tensor, node_sequence=20, node_thread=1),
            scope=1,
            sequence=20,
            forward_thread=1,
        )
    )
    program.recording(folder)
    return Results(str(folder / "made.perfprobe"))


def test_stacks_with_lines_calls_and_shares(tmp_path: Path) -> None:
    found = made(tmp_path).calls_document("aten::div", View())
    assert json.loads(json.dumps(found)) == found
    assert (found["calls"], found["self_ns"], found["stacks"]) == (5, 75, 3)
    rows = [
        (row["operator"], row["phase"], row["calls"], row["self_ns"], row["share"])
        for row in found["call_stacks"]
    ]
    assert rows == [
        ("aten::div.Tensor", "backward", 1, 40, pytest.approx(40 / 75)),
        ("aten::div.Tensor", "other", 3, 30, pytest.approx(30 / 75)),
        ("aten::div.Scalar", "other", 1, 5, pytest.approx(5 / 75)),
    ]
    here = [
        {"file": "train.py", "line": 40, "function": "main"},
        {"file": "model.py", "line": 7, "function": "forward"},
    ]
    assert [row["frames"] for row in found["call_stacks"]] == [
        here,
        here,
        [{**here[0], "line": 41}],
    ]


@pytest.mark.parametrize(("asked", "calls"), [("div", 5), ("div.Tensor", 4), ("aten::div.Scalar", 1)])
def test_the_overload_is_optional(tmp_path: Path, asked: str, calls: int) -> None:
    assert made(tmp_path).calls_document(asked, View())["calls"] == calls


def test_text_has_the_innermost_frame_first(tmp_path: Path, snapshot: Snapshot) -> None:
    text = made(tmp_path).calls_text("div", View(top=1))
    assert text.index("model.py:7 forward") < text.index("train.py:40 main")
    snapshot(text)


def test_an_unknown_operator_is_reported_with_similar_names(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no operator aten::dvi") as error:
        made(tmp_path).calls_text("aten::dvi", View())
    assert "aten::div" in error.value.remedy


def test_without_operators_there_are_no_stacks(tmp_path: Path) -> None:
    Program().recording(tmp_path)
    with pytest.raises(InputError, match="no call stacks"):
        Results(str(tmp_path / "made.perfprobe")).calls_text("div", View())
