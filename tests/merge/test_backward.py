import random
from pathlib import Path

import numpy as np
import pytest

from perfprobe.merge import backward, link
from perfprobe.tables import storage
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import NoLine, Phase, Trace
from tests.build import Op, Program, op

ENGINE = "/env/site-packages/torch/autograd/graph.py:841 _engine_run_backward"
TORCH = "/env/site-packages/torch/functional.py:7 f"


def forward_stacks(trace: Trace) -> dict[str, int]:
    """For each operator in backward the stack of its forward call."""
    rows = linked(trace)
    names = [trace.recording[Strings][name] for name in rows.name.tolist()]
    stacks = dict(zip(names, rows.forward_stack.tolist(), strict=True))
    return {name: stack for name, stack in stacks.items() if "ackward" in name}


def linked(trace: Trace) -> LinkedOperators:
    return LinkedOperators.concat(list(trace.operators()))


def lines(trace: Trace) -> dict[str, tuple[int | None, int | None, str, str]]:
    """By operator name: own line, forward line, phase, and the reason why a line is missing."""
    rows = linked(trace)
    found = {}
    for at in range(len(rows)):
        own, forward = trace.line(int(rows.frame[at])), trace.line(int(rows.forward_frame[at]))
        found[trace.recording[Strings][int(rows.name[at])]] = (
            own and own.line,
            forward and forward.line,
            Phase(rows.phase[at]).name,
            NoLine(rows.no_line[at]).name,
        )
    return found


class Training(Program):
    """One forward thread (torch's id 1), with rows by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.thread(1)
        self.engine = self.stack("train.py:99 step", ENGINE)
        self.time_ns = 0

    def at(self, line: int) -> int:
        return self.stack("train.py:1 main", f"train.py:{line} forward", TORCH)

    def _span(self) -> tuple[int, int]:
        self.time_ns += 10
        return self.time_ns, self.time_ns + 8

    def forward(self, name: str, line: int, sequence: int, **fields: int) -> None:
        self.run(op(name, *self._span(), stack=self.at(line), sequence=sequence, **fields))

    def backward(self, name: str, node: int, node_thread: int = 1, scope: int = 0, **fields: int) -> None:
        values = {
            "stack": self.engine,
            "scope": scope,
            "node_sequence": node,
            "node_thread": node_thread,
            **fields,
        }
        self.run(op(name, *self._span(), **values))


def test_a_backward_row_has_the_line_of_its_forward_call(tmp_path: Path) -> None:
    program = Training()
    program.forward("mm", 10, 0)
    program.forward("div", 11, 1)
    program.backward("DivBackward0", 1, scope=1)
    program.backward("div_of_backward", 1)
    program.backward("MmBackward0", 0, scope=1)
    assert lines(link(program.recording(tmp_path))) == {
        "mm": (10, None, "FORWARD", "NONE"),
        "div": (11, None, "FORWARD", "NONE"),
        "DivBackward0": (11, 11, "BACKWARD", "NONE"),
        "div_of_backward": (11, 11, "BACKWARD", "NONE"),
        "MmBackward0": (10, 10, "BACKWARD", "NONE"),
    }


def test_the_last_started_operator_with_a_number_made_the_node(tmp_path: Path) -> None:
    program = Training()
    program.forward("size_without_node", 10, 0)
    inner = op("mm", 25, 30, stack=program.at(12), sequence=0)
    program.run(op("linear", 20, 40, inner, stack=program.at(11), sequence=0))
    program.backward("MmBackward0", 0, scope=1)
    found = lines(link(program.recording(tmp_path)))
    assert found["MmBackward0"] == (12, 12, "BACKWARD", "NONE")
    assert found["size_without_node"] == (10, None, "OTHER", "NONE")
    assert found["linear"][2] == "OTHER"


def test_reasons_for_a_missing_forward_line(tmp_path: Path) -> None:
    program = Training()
    program.forward("mm", 10, 0)
    program.run(op("without_python", 100, 110, sequence=1))
    program.backward("accumulate", -1, stack=-1)
    program.backward("early", -1, node_thread=0)
    program.backward("unrecorded", 7)
    program.backward("other_thread", 0, node_thread=9)
    program.backward("of_a_bare_thread", 1)
    found = lines(link(program.recording(tmp_path)))
    assert found["without_python"] == (None, None, "OTHER", "NO_PYTHON")
    assert {name: row[3] for name, row in found.items() if row[2] == "BACKWARD"} == {
        "accumulate": "NODE_WITHOUT_FORWARD",
        "early": "NODE_UNKNOWN",
        "unrecorded": "FORWARD_NOT_RECORDED",
        "other_thread": "FORWARD_NOT_RECORDED",
        "of_a_bare_thread": "FORWARD_WITHOUT_LINE",
    }
    assert all(row[:2] == (None, None) for row in found.values() if row[2] == "BACKWARD")


def test_python_in_backward_has_its_own_and_the_forward_line(tmp_path: Path) -> None:
    program = Training()
    program.forward("Scale", 10, 0)
    program.backward(
        "custom", 0, stack=program.stack("train.py:99 step", ENGINE, TORCH, "train.py:50 backward")
    )
    program.backward("hook", -1, stack=program.stack("train.py:99 step", ENGINE, "train.py:60 <lambda>"))
    program.backward("on_a_worker", 0, stack=program.stack(TORCH, "train.py:50 backward"))
    found = lines(link(program.recording(tmp_path)))
    assert found["custom"] == (50, 10, "BACKWARD", "NONE")
    assert found["hook"] == (60, None, "BACKWARD", "NONE")
    assert found["on_a_worker"] == (50, 10, "BACKWARD", "NONE")


def test_double_backward_follows_the_nodes_to_the_first_forward_call(tmp_path: Path) -> None:
    program = Training()
    program.forward("tanh", 10, 0)
    # create_graph: operators in backward make nodes too.
    program.backward("tanh_backward", 0, sequence=1)
    program.backward("third", 1, sequence=2)
    program.backward("TanhBackwardBackward0", 1, scope=1)
    program.backward("Third", 2, scope=1)
    # For a Python node that ran in backward, its line is known.
    own = program.stack("train.py:99 step", ENGINE, "train.py:50 backward")
    program.backward("sin", 0, sequence=3, stack=own)
    program.backward("SinBackward0", 3, scope=1)
    found = lines(link(program.recording(tmp_path)))
    assert found["TanhBackwardBackward0"] == (10, 10, "BACKWARD", "NONE")
    assert found["Third"] == (10, 10, "BACKWARD", "NONE")
    assert found["SinBackward0"] == (50, 50, "BACKWARD", "NONE")


def test_the_forward_stack_belongs_to_the_forward_line(tmp_path: Path) -> None:
    program = Training()
    program.forward("tanh", 10, 0)
    program.backward("tanh_backward", 0, sequence=1)
    program.backward("TanhBackwardBackward0", 1, scope=1)
    own = program.stack("train.py:99 step", ENGINE, "train.py:50 backward")
    program.backward("sin of a backward()", 0, sequence=2, stack=own)
    program.backward("SinBackward0", 2, scope=1)
    other = program.row("stacks", -1, -1, -1)
    program.run(op("no line", *program._span(), stack=other, sequence=3))
    program.backward("NoLineBackward0", 3, scope=1)
    program.run(op("no Python", *program._span(), sequence=4))
    program.backward("NoPythonBackward0", 4, scope=1)
    program.backward("UnknownBackward0", 77, scope=1)
    program.backward("AccumulateGrad in backward", -1, scope=1)
    program.backward("not known yet in backward", -1, node_thread=0)
    assert forward_stacks(link(program.recording(tmp_path))) == {
        "tanh_backward": program.at(10),
        "TanhBackwardBackward0": program.at(10),  # not the engine's, in which tanh_backward ran
        "sin of a backward()": program.at(10),
        "SinBackward0": own,
        "NoLineBackward0": other,
        "NoPythonBackward0": -1,
        "UnknownBackward0": -1,
        "AccumulateGrad in backward": -1,
        "not known yet in backward": -1,
    }


def test_circular_references_of_nodes_end(tmp_path: Path) -> None:
    program = Training()
    program.backward("a", 1, sequence=0)
    program.backward("b", 0, sequence=1)
    assert lines(link(program.recording(tmp_path)))["a"] == (None, None, "BACKWARD", "FORWARD_NOT_RECORDED")


def test_numbers_are_per_thread(tmp_path: Path) -> None:
    program = Training()
    other = program.thread(2)
    program.forward("mm", 10, 0)
    program.run(op("mm", 30, 40, stack=program.at(20), sequence=0), thread=other)
    program.backward("first", 0)
    program.backward("second", 0, node_thread=2)
    found = lines(link(program.recording(tmp_path, 1)))
    assert (found["first"][0], found["second"][0]) == (10, 20)


def test_backward_has_the_modules_of_forward(tmp_path: Path) -> None:
    program = Training()
    attn = program.module("attn", "Attention", program.module("", "Net"))
    forward = program.stack(
        "train.py:1 main", ("torch/nn/modules/module.py:1 call", attn), "model.py:5 forward"
    )
    program.run(op("CheckpointFunction", 1, 5, stack=forward, sequence=0))
    again = program.stack("train.py:99 step", ENGINE, "train.py:50 body")
    program.backward("sin", 0, stack=again, sequence=1)
    program.backward("plain", 0)
    program.backward("SinBackward0", 1, scope=1)
    trace = link(program.recording(tmp_path))
    rows = linked(trace)
    assert [trace.module(int(module)) for module in rows.module] == ["attn"] * 4
    assert lines(trace)["SinBackward0"][:2] == (50, 50)


def test_operators_in_a_module_or_with_a_node_are_forward(tmp_path: Path) -> None:
    program = Training()
    net = program.module("", "Net")
    program.run(op("in_module", 1, 2, stack=program.stack(("model.py:5 forward", net))))
    inside = op("inside_loss", 11, 12, stack=program.at(10))
    program.run(op("data_on_its_line", 3, 4, stack=program.at(10), sequence=0))
    program.run(op("loss", 10, 15, inside, stack=program.at(10), sequence=0))
    program.run(op("loss_without_backward", 16, 17, stack=program.at(13), sequence=1))
    program.forward("optimizer", 12, -1)
    program.backward("LossBackward0", 0, scope=1)
    found = {name: row[2] for name, row in lines(link(program.recording(tmp_path))).items()}
    assert found == {
        "in_module": "FORWARD",
        "loss": "FORWARD",
        "inside_loss": "FORWARD",
        "data_on_its_line": "OTHER",
        "loss_without_backward": "OTHER",
        "optimizer": "OTHER",
        "LossBackward0": "BACKWARD",
    }


def test_later_nodes_of_a_call_belong_to_it(tmp_path: Path) -> None:
    program = Training()
    program.forward("mul_", 10, 4)
    program.forward("sum", 11, 7)
    program.forward("detach", 12, 8)
    nodes = {
        "TooEarlyBackward0": (3, None, "FORWARD_NOT_RECORDED"),
        "torch::autograd::CopySlices": (5, 10, "NONE"),
        "torch::autograd::CppNode<Mine>": (6, None, "FORWARD_NOT_RECORDED"),
        "torch::jit::DifferentiableGraphBackward": (8, None, "NODE_WITHOUT_OPERATOR"),
        "LastBackward0": (9, 12, "NONE"),
    }
    for name, (sequence, _, _) in nodes.items():
        program.backward(name, sequence, scope=1)
    found = lines(link(program.recording(tmp_path)))
    for name, (_, line, no_line) in nodes.items():
        assert (found[name][0], found[name][3]) == (line, no_line)


@pytest.mark.parametrize("far", [2**62, 2**63 - 1, 2**31])
def test_huge_numbers_do_not_allocate_memory(tmp_path: Path, far: int) -> None:
    program = Training()
    program.forward("mm", 10, 5)
    program.forward("far", 11, far)
    program.backward("near", 5, scope=1)
    program.backward("Far", far, scope=1)
    found = lines(link(program.recording(tmp_path)))
    assert found["near"][0] == 10
    assert found["Far"] == (None, None, "BACKWARD", "FORWARD_NOT_RECORDED")


def test_numbers_for_which_there_is_no_room_are_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backward, "NUMBERS_A_ROW", 0)
    monkeypatch.setattr(backward, "SPARE_NUMBERS", 0)
    program = Training()
    program.forward("mm", 10, 5)
    program.backward("near", 5, scope=1)
    assert lines(link(program.recording(tmp_path)))["near"] == (
        None,
        None,
        "BACKWARD",
        "FORWARD_NOT_RECORDED",
    )


def test_a_recording_that_starts_late_in_the_program(tmp_path: Path) -> None:
    program = Training()
    program.forward("mm", 10, 50_000_000)
    program.backward("MmBackward0", 50_000_000, scope=1)
    assert lines(link(program.recording(tmp_path)))["MmBackward0"][0] == 10


def slow_forward_line(rows: list[Op], sequence: int, thread: int) -> int | None:
    """The last started row with this number on the thread, or else with the next lower number."""
    calls = [
        row for row in rows if row.fields["sequence"] <= sequence and row.fields["torch_thread"] == thread
    ]
    return (
        max(calls, key=lambda row: (row.fields["sequence"], row.start_ns)).fields["line"] if calls else None
    )


@pytest.mark.parametrize("batch_rows", [1, 7, 100_000])
def test_forward_lines_equal_the_definition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch_rows: int
) -> None:
    rng = random.Random(batch_rows)
    program = Training()
    threads = {1: 0, 2: program.thread(2)}
    monkeypatch.setattr(storage, "BATCH_ROWS", batch_rows)
    calls: list[Op] = []

    def call(thread: int, start_ns: int, depth: int) -> Op:
        at, inside = start_ns + 1, []
        fields = {"sequence": rng.randrange(30), "line": rng.randrange(1, 999), "torch_thread": thread}
        for _ in range(rng.randrange(3) if depth < 3 else 0):
            inside.append(call(thread, at, depth + 1))
            at = inside[-1].end_ns + 1
        made = Op("x", start_ns, at + 1, inside, fields)
        calls.append(made)
        return made

    def row(made: Op) -> Op:
        fields = {"sequence": made.fields["sequence"], "stack": program.at(made.fields["line"])}
        return Op("x", made.start_ns, made.end_ns, [row(item) for item in made.inside], fields)

    at = 0
    for _ in range(60):
        thread = rng.choice([1, 2])
        made = call(thread, at, 0)
        at = made.end_ns + 1
        program.run(row(made), thread=threads[thread])
    wanted = [(rng.randrange(32), rng.choice([1, 2, 3])) for _ in range(200)]
    for sequence, thread in wanted:
        program.backward("Back", sequence, thread, scope=1)
    trace = link(program.recording(tmp_path, 5))
    rows = linked(trace)
    back = rows.take(np.flatnonzero(rows.phase == Phase.BACKWARD))
    found = [trace.line(int(frame)) for frame in back.forward_frame]
    assert [line and line.line for line in found] == [slow_forward_line(calls, *node) for node in wanted]
