"""One case in this process. Failures around the call do not affect its measurement."""

from typing import Any

import pytest

from perfprobe.bench.answers import Answer, Case, decode, encode
from perfprobe.bench.cases import Bench
from perfprobe.bench.clocks import Block
from perfprobe.bench.counterfactuals import Change
from perfprobe.bench.dtype_products import DtypeProducts
from perfprobe.tables.measurements import Untried, Wanted

torch = pytest.importorskip("torch")

CALL = Wanted("aten::mm", "f32[16,16] f32[16,16]")


def answer(wanted: Wanted, **settings: Any) -> Answer:
    with_changes = settings.pop("with_changes", True)
    chosen = {"seconds": 0.01, "memory_bytes": 1 << 30, "seed": 0, **settings}
    threads = torch.get_num_threads()
    try:
        return Bench(torch, **chosen).answer(Case(7, wanted, with_changes=with_changes))
    finally:
        torch.set_num_threads(threads)


def test_a_change_refused_by_torch_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize("speedup", [0.03, 1.0, None])
def test_a_dtype_with_slower_products_is_not_tried(
    speedup: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def products(_: object, *of: object) -> float | None:
        asked.append(of)
        return speedup

    monkeypatch.setattr("perfprobe.bench.dtype_products.DtypeProducts.speedup", products)
    found = answer(CALL)
    assert asked == [("f32", "bf16", 1, False)]
    is_left_out = speedup == 0.03
    assert ("dtype" in [changed.kind for changed in found.changes]) is not is_left_out
    reason = "products of bf16 are slower here than those of f32: 0.03x"
    assert found.untried == ([Untried("dtype", "f32→bf16", reason)] if is_left_out else [])


def test_small_products_measure_the_speed_of_a_dtype() -> None:
    """f64 has half the elements per register on any processor. There are no products of strings."""

    class Clock:
        def __init__(self) -> None:
            self.times_ns = iter([10, 40, 30, 20, 12, 50])

        def begin(self) -> None:
            pass

        def end(self, calls: int) -> Block:
            ns = float(next(self.times_ns))
            return Block(ns, ns, 0.0, 0.0, 1.0)

    threads = torch.get_num_threads()
    products = DtypeProducts(torch, Clock(), "cpu")
    assert [products.speedup("f32", "f64", threads, False) for _ in range(2)] == [0.5, 0.5]
    assert products.speedup("f32", "bool", threads, False) is None


def test_results_are_reported_from_the_first_call_on() -> None:
    reported: list[Answer] = []
    whole = Bench(torch, seconds=0.01, memory_bytes=1 << 30, seed=0).answer(Case(7, CALL), reported.append)
    assert all(said.partial and said.case == 7 for said in reported)
    assert not whole.partial
    first, second = reported[:2]
    assert list(first.blocks) == ["rotating"]
    assert first.changes == []
    assert {limit.subject for limit in second.limits} <= set(second.blocks)
    again = decode(encode(first))
    assert again is not None
    assert (again.blocks, again.partial) == (first.blocks, True)


def test_a_time_limit_keeps_the_call_and_names_what_was_left_out() -> None:
    case = Case(7, Wanted("aten::mm", "f32[64,13] f32[13,32]"), limit_s=0.0)
    found = Bench(torch, seconds=0.01, memory_bytes=1 << 30, seed=0).answer(case)
    assert len(found.blocks["rotating"]) == 1
    # Whether products of bf16 are slower than those of f32 depends on the processor.
    others = [untried for untried in found.untried if untried.kind != "dtype"]
    assert {untried.reason for untried in others} == {"no time left"}
    assert "K 13→16" in [untried.change for untried in others]


@pytest.mark.parametrize(
    ("wanted", "cause"),
    [
        (Wanted("aten::mm", "f32[4,5] f32[4,5]"), "call"),
        (Wanted("aten::no_such_operator", "f32[4]"), "call"),
        (Wanted("aten::neg", "f32[1000000000000]"), "machine"),
        (Wanted("aten::neg", "f32[4]@cuda:77"), "machine"),
    ],
)
def test_a_reason_has_its_kind(wanted: Wanted, cause: str) -> None:
    found = answer(wanted)
    assert found.not_rebuilt is not None
    assert found.cause == cause


def test_memory_is_checked_for_all_copies() -> None:
    big = Wanted("aten::neg", "f32[4194304]")
    assert answer(big).rotated_bytes == 128 << 20
    assert answer(big, memory_bytes=100 << 20).rotated_bytes == 16 << 20
    assert "more than" in (answer(big, memory_bytes=20 << 20).not_rebuilt or "")


def test_every_subject_has_a_block_in_every_round() -> None:
    found = answer(Wanted("aten::div_.Tensor", "f32[300,300] f32[300,300]{1,300}"))
    assert {"rotating", "warm", "floor", "change 0"} <= set(found.blocks)
    limits = {limit.subject for limit in found.limits}
    assert limits <= set(found.blocks)
    counts = {name: len(blocks) for name, blocks in found.blocks.items()}
    # Rounds of only the call and its limits come last.
    assert {counts[name] for name in limits | {"rotating"}} == {max(counts.values())}
    assert len({counts[name] for name in ("warm", "change 0")}) == 1
    assert {changed.subject for changed in found.changes} <= set(found.blocks)
