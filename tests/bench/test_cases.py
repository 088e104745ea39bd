"""One case in this process: what goes wrong beside the call leaves the call measured."""

from typing import Any

import pytest

from perfprobe.bench.answers import Answer
from perfprobe.bench.cases import Bench
from perfprobe.bench.counterfactuals import Change
from perfprobe.tables.measurements import Wanted

torch = pytest.importorskip("torch")

CALL = Wanted("aten::mm", "f32[16,16] f32[16,16]")


def answer(wanted: Wanted, **settings: Any) -> Answer:
    chosen = {"seconds": 0.01, "memory_bytes": 1 << 30, "with_changes": True, "seed": 0, **settings}
    threads = torch.get_num_threads()
    try:
        return Bench(torch, **chosen).answer(7, wanted)
    finally:
        torch.set_num_threads(threads)


def test_a_change_that_torch_refuses_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Wanted("aten::mm", "f32[4,5] f32[4,5]")
    unknown = Wanted("aten::no_such_operator", "f32[4]")
    made = (Change("padded", "K", refused), Change("dtype", "D", unknown), Change("values", "V", CALL))
    monkeypatch.setattr("perfprobe.bench.cases.changes", lambda *_: made)
    found = answer(CALL)
    assert found.not_rebuilt is None
    assert found.blocks["rotating"]
    assert [changed.kind for changed in found.changes] == ["values"]
    assert [note.partition(" not measured: ")[0] for note in found.notes] == [
        "aten::mm, padded K",
        "aten::mm, dtype D",
    ]


def test_changes_can_be_left_out() -> None:
    assert answer(CALL, with_changes=False).changes == []


def test_memory_is_kept_for_all_copies() -> None:
    big = Wanted("aten::neg", "f32[4194304]")
    assert answer(big).rotated_bytes == 128 << 20
    assert answer(big, memory_bytes=100 << 20).rotated_bytes == 16 << 20
    assert "more than" in (answer(big, memory_bytes=20 << 20).not_rebuilt or "")


def test_every_subject_has_a_block_in_every_round() -> None:
    found = answer(Wanted("aten::div_.Tensor", "f32[300,300] f32[300,300]{1,300}"))
    assert {"rotating", "warm", "floor", "change 0"} <= set(found.blocks)
    assert len({len(blocks) for blocks in found.blocks.values()}) == 1
    assert {limit.subject for limit in found.limits} <= set(found.blocks)
    assert {changed.subject for changed in found.changes} <= set(found.blocks)
