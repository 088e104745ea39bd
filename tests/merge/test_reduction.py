"""Operators of DDP's reducer: in the engine's row around AccumulateGrad, and after backward is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.merge import link
from perfprobe.tables import storage
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import NoLine, Trace
from tests.build import Op, Program, op
from tests.found import hotspots

ENGINE = "/env/site-packages/torch/autograd/graph.py:841 _engine_run_backward"
DDP = "/env/site-packages/torch/nn/parallel/distributed.py"
EVALUATE = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"
REDUCTION = "GRADIENT_REDUCTION"


class Training(Program):
    """Backward of one parameter by hand, as in torch 2.13."""

    def __init__(self, *made_at: int) -> None:
        super().__init__()
        self.thread(1)
        self.weight = self.module("head", "Linear", self.module("", "Net"))
        self.engine = self.stack("train.py:44 main", ENGINE)
        self.hook = self.stack("train.py:44 main", ENGINE, "train.py:20 hook")
        self.node = {"node_thread": 1, "node_sequence": -2 - self.weight, "stack": self.engine}
        for line in made_at:
            made = self.stack(f"train.py:{line} main", f"{DDP}:1079 DistributedDataParallel.__init__")
            self.run(op("c10d::broadcast_", line, line + 1, stack=made))

    def accumulate(self, start_ns: int, *behind: Op) -> Op:
        inside = op("aten::detach", start_ns + 12, start_ns + 14, **self.node)
        name = "torch::autograd::AccumulateGrad"
        node = op(name, start_ns + 10, start_ns + 20, inside, scope=1, **self.node)
        return op(EVALUATE, start_ns, start_ns + 90, node, *behind, **self.node)

    def copies(self, start_ns: int) -> Op:
        multiply = op("aten::mul", start_ns + 1, start_ns + 5, **self.node)
        return op("torch::distributed::reducer::mul_out", start_ns, start_ns + 6, multiply, **self.node)

    def reduces(self, start_ns: int) -> Op:
        signature = self.signature("(f32[530442])")
        return op("c10d::allreduce_", start_ns, start_ns + 20, signature=signature, **self.node)

    def finishes(self, start_ns: int) -> list[Op]:
        outside = {"stack": self.engine}
        copy = op("aten::copy_", start_ns + 11, start_ns + 15, **outside)
        return [
            op("aten::as_strided", start_ns, start_ns + 2, **outside),
            op(
                "torch.distributed.ddp.reducer::copy_bucket_to_grad",
                start_ns + 10,
                start_ns + 19,
                copy,
                **outside,
            ),
        ]


def places(trace: Trace) -> dict[str, list[tuple[int | None, str, str | None]]]:
    """Line, gap and module of the backward calls by name."""
    rows = LinkedOperators.concat(list(trace.operators()))
    found: dict[str, list[tuple[int | None, str, str | None]]] = {}
    for at in range(len(rows)):
        line = trace.line(int(rows.frame[at]))
        no_line, module = NoLine(rows.no_line[at]).name, trace.module(int(rows.module[at]))
        name = trace.recording[Strings][int(rows.name[at])]
        found.setdefault(name, []).append((None if line is None else line.line, no_line, module))
    return found


@pytest.mark.parametrize("block_rows", [1, 2, 3600])
def test_operators_of_the_reducer_have_the_line_that_made_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_rows: int
) -> None:
    monkeypatch.setattr(storage, "BATCH_ROWS", block_rows)
    program = Training(32)
    program.run(
        program.accumulate(100, program.copies(130)),
        program.accumulate(200, program.copies(230), program.reduces(240)),
        program.accumulate(300),  # within no_sync
        *program.finishes(400),
        op("aten::add", 500, 510, stack=program.stack("train.py:45 main")),
    )
    found = places(link(program.recording(tmp_path, block_rows)))
    assert found["torch::distributed::reducer::mul_out"] == [(32, REDUCTION, "head")] * 2
    assert [row[:2] for row in found["aten::mul"]] == [(32, REDUCTION)] * 2
    if block_rows > 2:  # if a batch has only the inside of a range, it is not known that it is a parameter's
        assert {row[2] for row in found["aten::mul"]} == {"head"}
    assert found["c10d::allreduce_"] == [(32, REDUCTION, None)]
    assert found[EVALUATE] == [(32, REDUCTION, "head")] * 2 + [(None, "NODE_WITHOUT_FORWARD", "head")]
    assert set(found["torch::autograd::AccumulateGrad"]) == {(None, "NODE_WITHOUT_FORWARD", "head")}
    assert set(found["aten::detach"]) == {(None, "NODE_WITHOUT_FORWARD", "head")}
    for name in ("aten::as_strided", "torch.distributed.ddp.reducer::copy_bucket_to_grad", "aten::copy_"):
        assert found[name] == [(32, REDUCTION, None)]
    assert found["aten::add"] == [(45, "NONE", None)]


@pytest.mark.parametrize("made_at", [(), (32, 33)])
def test_without_a_unique_line_they_have_the_line_of_backward(
    tmp_path: Path, made_at: tuple[int, ...]
) -> None:
    program = Training(*made_at)
    own = op("aten::div", 150, 160, **{**program.node, "stack": program.hook})  # a communication hook
    program.run(program.accumulate(100, program.copies(130), own, program.reduces(165)))
    found = places(link(program.recording(tmp_path)))
    assert found["c10d::allreduce_"] == [(44, REDUCTION, None)]
    assert found["aten::div"] == [(20, "NONE", None)]


def test_without_ddp_what_follows_accumulate_grad_is_not_reduction(tmp_path: Path) -> None:
    program = Training()
    program.run(program.accumulate(100, op("c10d::allreduce_", 130, 140, **program.node)))
    found = places(link(program.recording(tmp_path)))
    assert found["c10d::allreduce_"] == [(None, "NODE_WITHOUT_FORWARD", "head")]


def test_the_share_of_reduction_in_backward_is_named(tmp_path: Path) -> None:
    program = Training(32)
    program.run(program.accumulate(100, program.copies(130), program.reduces(140)), *program.finishes(400))
    spots = hotspots(link(program.recording(tmp_path)))
    assert spots.totals.linked_ns == 0
    assert spots.totals.backward_ns == 90 + 11
    reduced = spots.rows.self_ns[spots.rows.no_line == NoLine.GRADIENT_REDUCTION]
    assert int(reduced.sum()) == 90 + 11 - 10
