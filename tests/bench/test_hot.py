"""Which calls of a recording are measured."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import perfprobe
from perfprobe.bench import hot as chosen
from perfprobe.bench.hot import Hot, hot
from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables.findings import Hotspots
from tests.build import Program, op

ENGINE = "autograd::engine::evaluate_function: MulBackward0"


def program(**meta: Any) -> Program:
    """One operator with one signature on two lines and in two phases, and rows that are not operators."""
    made = Program(torch={"threads": 2}, **meta)
    made.thread(1)
    here, there = made.stack("/p/train.py:1 main"), made.stack("/p/train.py:2 main")
    inputs = made.signature("f32[8,8] f32[8,8]")
    other = made.signature("f32[4] f32[4]")
    tensor = made.string("Tensor")
    node = {"node_sequence": 0, "node_thread": 1}
    made.run(
        op("aten::mm", 0, 300, stack=here, signature=inputs, sequence=0, cpu_ns=290),
        op("aten::mm", 300, 500, stack=there, signature=inputs, cpu_ns=190),
        op(
            ENGINE,
            500,
            700,
            op("aten::mul", 550, 650, overload=tensor, signature=other, cpu_ns=100, **node),
            scope=1,
            **node,
        ),
        op("a range", 700, 900, scope=7),
        op("MulBackward0", 900, 950, signature=inputs),
        op("aten::empty", 950, 970),
        op("mine::window", 970, 1000, signature=other, cpu_ns=30),
    )
    return made


def of(
    made: Program, folder: Path, top: int = 0, focus: str | None = None, threads: int | None = None
) -> Hot:
    path = made.recording(folder).path
    return hot(Results(path).findings(View(group="signature", focus=focus), (Hotspots,)), top, threads)


def test_lines_and_phases_of_one_call_are_measured_once(tmp_path: Path) -> None:
    found = of(program(), tmp_path)
    reported = [(wanted.operator, wanted.signature, seen.calls, seen.self_ns) for wanted, seen in found.calls]
    assert reported == [
        ("aten::mm", "f32[8,8] f32[8,8]", 2, 500),
        ("aten::mul.Tensor", "f32[4] f32[4]", 1, 100),
        ("mine::window", "f32[4] f32[4]", 1, 30),
    ]
    assert {wanted.threads for wanted, _ in found.calls} == {2}
    assert found.calls[0][1].share == pytest.approx(500 / 800)


def test_rows_that_are_not_operators_are_left_out_with_their_share(tmp_path: Path) -> None:
    (note,) = of(program(), tmp_path).notes
    assert f"18.8 % {chosen.NODE}" in note
    assert f"2.5 % {chosen.NO_INPUTS}" in note
    (note,) = of(program(compiled={"mine::window": {}}), tmp_path).notes
    assert f"3.8 % {chosen.COMPILED}" in note


def test_only_the_hottest_calls_are_taken(tmp_path: Path) -> None:
    found = of(program(), tmp_path, top=1)
    assert [wanted.operator for wanted, _ in found.calls] == ["aten::mm"]


def test_all_calls_means_those_that_touch_elements(tmp_path: Path) -> None:
    """Views can only be gained by removing them, and measuring all of them would take an hour."""
    made = Program(torch={"threads": 2})
    inputs = made.signature("f32[8,8]")
    names = ("aten::view", "aten::relu", "aten::empty", "aten::t", "aten::clone")
    made.run(*(op(name, 100 * at, 100 * at + 100, signature=inputs) for at, name in enumerate(names)))
    found = of(made, tmp_path)
    assert {wanted.operator for wanted, _ in found.calls} == {"aten::relu", "aten::clone"}
    assert f"60.0 % {chosen.NO_WORK}" in found.notes[0]
    assert len(of(made, tmp_path, top=5).calls) == 5


@pytest.mark.parametrize("focus", [None, "relu|mm"])
def test_waiting_does_not_count_if_cpu_time_is_known(focus: str | None, tmp_path: Path) -> None:
    made = Program(recording={"cpu_time": "all"}, torch={"threads": 2})
    inputs = made.signature("f32[8,8]")
    calls = [op("aten::mm", 0, 5000, signature=inputs, cpu_ns=100)]
    calls += [op("aten::relu", 5000, 6000, signature=inputs, cpu_ns=900)]
    calls += [op("aten::neg", 6000, 7000, signature=inputs, cpu_ns=1000)]
    made.run(*calls)
    found = of(made, tmp_path, focus=focus)
    reported = {wanted.operator: seen.share for wanted, seen in found.calls}
    hottest = ["aten::relu", "aten::mm"]
    assert list(reported) == (["aten::neg", *hottest] if focus is None else hottest)
    assert reported["aten::mm"] == pytest.approx(0.05)
    assert reported["aten::relu"] == pytest.approx(0.45)
    assert chosen.BY_CPU in found.notes


def test_ranking_uses_wall_time_without_cpu_time_of_all_operators(tmp_path: Path) -> None:
    made = Program(recording={"cpu_time": "outermost"}, torch={"threads": 2})
    inputs = made.signature("f32[8,8]")
    made.run(
        op("aten::mm", 0, 5000, signature=inputs, cpu_ns=100),
        op("aten::relu", 5000, 6000, signature=inputs, cpu_ns=900),
    )
    found = of(made, tmp_path)
    assert [wanted.operator for wanted, _ in found.calls] == ["aten::mm", "aten::relu"]
    assert chosen.BY_CPU not in found.notes


def test_the_focus_limits_the_calls(tmp_path: Path) -> None:
    found = of(program(), tmp_path, focus="train.py:2")
    ((wanted, seen),) = found.calls
    assert (wanted.operator, seen.calls, seen.self_ns) == ("aten::mm", 1, 200)


@pytest.mark.parametrize(
    ("meta", "threads", "used", "said"),
    [
        ({}, 4, 4, "which was 2"),
        ({}, 2, 2, None),
        ({"torch": {}}, None, 1, "does not say how many threads"),
        ({"torch": {"threads": "many"}}, None, 1, "does not say how many threads"),
        ({"torch": {}}, 3, 3, None),
    ],
)
def test_the_programs_number_of_threads_is_used(
    meta: dict[str, Any], threads: int | None, used: int, said: str | None, tmp_path: Path
) -> None:
    made = program()
    made.meta |= meta
    found = of(made, tmp_path, threads=threads)
    assert {wanted.threads for wanted, _ in found.calls} == {used}
    notes = [note for note in found.notes if "hreads" in note]
    assert (said is None and not notes) or (said is not None and said in notes[0])


def test_cpu_time_is_used_only_if_all_calls_have_it(tmp_path: Path) -> None:
    def cpu_ns(recording: dict[str, Any]) -> list[int | None]:
        return [seen.cpu_ns for _, seen in of(program(recording=recording), tmp_path).calls]

    assert cpu_ns({"cpu_time": "all"}) == [480, 100, 30]
    assert cpu_ns({"cpu_time": "outermost"}) == cpu_ns({"cpu_time": True}) == cpu_ns({}) == [None] * 3


@pytest.mark.parametrize(("waited_ns", "threads", "spins"), [(900, 2, True), (0, 2, False), (900, 1, False)])
def test_cpu_time_of_spinning_threads_is_not_compared(
    waited_ns: int, threads: int, spins: bool, tmp_path: Path
) -> None:
    """Two threads of a team on a busy machine: each spins while the other waits for a processor."""
    made = program(recording={"cpu_time": "all"}, processors={"waited_ns": waited_ns})
    made.meta |= {"torch": {"threads": threads}}
    made.meta |= {"start": {"monotonic_ns": 0}, "stop": {"monotonic_ns": 1000}}
    found = of(made, tmp_path)
    assert [seen.cpu_ns for _, seen in found.calls] == ([None] * 3 if spins else [480, 100, 30])
    assert (chosen.SPINNING in found.notes) == spins


def test_cpu_time_excludes_that_of_recording(tmp_path: Path) -> None:
    cost = {"timed_event_ns": 20.0, "empty_cpu_ns": 5.0}
    found = of(program(recording={"cpu_time": "all"}, cost=cost), tmp_path)
    assert [seen.cpu_ns for _, seen in found.calls] == [480 - 2 * 5, 100 - 5, 30 - 5]


def test_page_faults_count_once_and_only_if_recorded(tmp_path: Path) -> None:
    def faults(cpu_time: str, **fields: int) -> list[int | None]:
        made = Program(recording={"cpu_time": cpu_time})
        made.thread(1)
        inputs, stack = made.signature("f32[8]"), made.stack("/p/train.py:1 main")
        fields |= {"signature": inputs, "stack": stack}
        made.run(
            op("mine::again", 0, 100, op("mine::again", 10, 90, cpu_ns=70, **fields), cpu_ns=90, **fields),
            op("mine::again", 100, 200, cpu_ns=90, **fields),
        )
        return [seen.faults for _, seen in of(made, tmp_path).calls]

    assert faults("all", faults=3) == [6]
    assert faults("all", faults=0) == [0]
    assert faults("all") == faults("outermost", faults=3) == [None]


def test_values_belong_to_an_operator_and_its_inputs(tmp_path: Path) -> None:
    """In the recorder's present format, and in the one before it recorded the operator."""
    found = {}
    for says in (True, False):
        made = Program(torch={"threads": 1})
        made.thread(1)
        for at, name in enumerate(("aten::neg", "aten::exp")):
            values = {"values": f'[{{"zeros": 0.{at}}}]', "example": f"f32[8] x={at}.5"}
            inputs = made.signature("f32[8]", at, name if says else "", **values)
            made.run(op(name, 100 * at, 100 * at + 50 + at, signature=inputs))
        folder = tmp_path / str(says)
        folder.mkdir()
        calls = of(made, folder).calls
        found[says] = {wanted.operator: (wanted.values, wanted.example) for wanted, _ in calls}
    assert found[True] == {
        "aten::exp": ('[{"zeros": 0.1}]', "f32[8] x=1.5"),
        "aten::neg": ('[{"zeros": 0.0}]', "f32[8] x=0.5"),
    }
    assert found[False] == {"aten::exp": ("", ""), "aten::neg": ("", "")}


def test_each_operator_gets_its_own_recorded_data(tmp_path: Path) -> None:
    """Two operators with equal inputs: each has its own values, floats and operand reuse."""
    low, high = torch.zeros(64), torch.full((64,), 3.0)
    path = tmp_path / "it.perfprobe"
    with perfprobe.profile(path, detail="bench"):
        for _ in range(3):
            torch.ops.aten.neg(low)
            torch.ops.aten.elu(low, 0.5)
            torch.ops.aten.leaky_relu(high, 0.25)
            torch.ops.aten.exp(high)
    found = hot(Results(str(path)).findings(View(group="signature"), (Hotspots,)), 0)
    calls = {wanted.operator: wanted for wanted, _ in found.calls}
    zeros = {name: json.loads(wanted.values)[0]["zeros"] for name, wanted in calls.items() if wanted.values}
    assert {name: zeros[name] for name in ("aten::neg", "aten::exp")} == {"aten::neg": 1, "aten::exp": 0}
    assert calls["aten::leaky_relu"].example == "f32[64] negative_slope=0.25"
