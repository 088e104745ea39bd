"""The reference of a gather copies the same data from the same places as the call."""

from typing import Any

import numpy as np
import pytest

from perfprobe import native
from perfprobe.bench.clocks import HostClock
from perfprobe.bench.gang import Gang
from perfprobe.bench.gather_reference import Gathering
from perfprobe.bench.reference import Reference
from perfprobe.bench.references import References
from perfprobe.bench.subjects import Arguments
from perfprobe.models.work import work

torch = pytest.importorskip("torch")
aten = torch.ops.aten
ROOM = 1 << 28


def made(operator: str, signature: str, sets: list[tuple[Any, ...]], threads: int = 1) -> list[Reference]:
    model = work(operator, signature)
    assert model is not None
    references = References(torch, HostClock(), "cpu", 1 << 20)
    gathering = Gathering(operator.rpartition(".")[0] or operator, [Arguments(args) for args in sets], ROOM)
    return references.of(model, threads, False, references.arena(model), gathering)


def places(count: int, below: int, *, ordered: bool = False) -> Any:
    found = torch.randint(below, (count,))
    return found.sort().values if ordered else found


TABLE = torch.rand(40, 6, 8)
CASES = {
    "embedding": (
        "aten::embedding",
        "f32[40,8] i64[30] padding_idx=-1 scale_grad_by_freq=False sparse=False",
        (torch.rand(40, 8), places(30, 40), -1, False, False),
    ),
    "rows": ("aten::index_select", "f32[40,6,8] dim=0 i64[5]", (TABLE, 0, places(5, 40))),
    "inner rows": ("aten::index_select", "f32[40,6,8] dim=1 i64[3]", (TABLE, 1, places(3, 6))),
    "columns": ("aten::index_select", "f32[40,6,8] dim=2 i64[3]", (TABLE, 2, places(3, 8))),
    "elements": ("aten::take", "f32[40,6,8] i64[100]", (TABLE, places(100, 1920))),
    "bytes": ("aten::take", "u8[300] i64[100]", (torch.arange(300).to(torch.uint8), places(100, 300))),
    "halves": ("aten::take", "bf16[300] i64[100]", (torch.rand(300).bfloat16(), places(100, 300))),
    "a dimension": (
        "aten::gather",
        "f64[9,7] dim=1 i64[9,3] sparse_grad=False",
        (torch.rand(9, 7).double(), 1, places(27, 7).view(9, 3)),
    ),
    "pairs": ("aten::index.Tensor", "f32[40,6,8] (i64[9],i64[9])", (TABLE, [places(9, 40), places(9, 6)])),
    "transposed": (
        "aten::index_select",
        "f32[8,40]{1,8} dim=1 i64[9]",
        (torch.rand(40, 8).t(), 1, places(9, 40)),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_reference_copies_the_calls_result(case: str) -> None:
    operator, signature, args = CASES[case]
    (found,) = made(operator, signature, [args])
    assert found.kind == "gather"
    assert found.scale == 1.0
    table, at, run_bytes = found.subject._sets[0].args
    name, _, overload = operator.removeprefix("aten::").partition(".")
    expected = getattr(getattr(aten, name), overload or "default")(*args).contiguous()
    out = np.zeros(expected.numel() * expected.element_size(), np.uint8)
    for part in range(3):
        native.core().gather(table, at, out, run_bytes, part, 3)
    assert bytes(out) == bytes(expected.flatten().view(torch.uint8).numpy())
    found.subject.run(1)  # as when it is timed


@pytest.mark.parametrize(("ordered", "words"), [(True, "sequential"), (False, "random")])
def test_random_and_sequential_lines_are_distinguished(ordered: bool, words: str) -> None:
    torch.manual_seed(0)
    args = (torch.rand(100_000), places(50_000, 100_000, ordered=ordered))
    (found,) = made("aten::take", "f32[100000] i64[50000]", [args])
    assert found.text == f"a gather of {words} lines"
    rows = torch.arange(100) if ordered else torch.randperm(100)
    (found,) = made("aten::index_select", "f32[100,512] dim=0 i64[100]", [(torch.rand(100, 512), 0, rows)])
    assert found.text == f"a gather of {words} lines"


def test_the_reference_reads_another_table_than_the_call() -> None:
    sets = [(torch.rand(100), places(10, 100)) for _ in range(4)]
    (found,) = made("aten::take", "f32[100] i64[10]", sets)
    tables = [one.args[0].ctypes.data for one in found.subject._sets]
    assert tables == [sets[at][0].data_ptr() for at in (2, 3, 0, 1)]


def test_each_thread_copies_a_part() -> None:
    (found,) = made("aten::take", "f32[1000] i64[100]", [(torch.rand(1000), places(100, 1000))], threads=3)
    assert found.subject.threads == 3
    found.subject.run(2)
    done: list[int] = []
    Gang(3).call(done.append)
    assert sorted(done) == [0, 1, 2]


def test_scatters_and_large_gathers_are_compared_by_bytes() -> None:
    table, index = torch.rand(1000), places(100, 1000)
    model = work("aten::take", "f32[1000] i64[100]")
    assert model is not None
    references = References(torch, HostClock(), "cpu", 1 << 20)
    gathering = Gathering("aten::take", [Arguments((table, index))], 1000)
    found = references.of(model, 1, False, references.arena(model), gathering)
    assert {one.kind for one in found} == {"memory"}
    scattered = work("aten::index_add_", "f32[100,8] dim=0 i64[10] f32[10,8] alpha=1")
    assert scattered is not None
    assert scattered.gathered_runs == 0


def test_places_outside_of_the_arrays_are_refused() -> None:
    table, at, out = np.zeros(8, np.uint8), np.zeros(2, np.int64), np.zeros(8, np.uint8)
    for wrong in (
        (table, at, out, 3),
        (table, at, out, 4, 2, 2),
        (table, at, out, 4, -1, 2),
        (table, at, out, 0),
    ):
        with pytest.raises(ValueError, match="needs as many bytes"):
            native.core().gather(*wrong)
