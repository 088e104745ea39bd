"""References, compared with the bytes and operations counted from their tensors."""

import random
from statistics import median
from typing import Any

import numpy as np
import pytest

from perfprobe.bench import element_references, own_kernels
from perfprobe.bench.ceilings import sweep
from perfprobe.bench.ceilings.products import products
from perfprobe.bench.clocks import HostClock
from perfprobe.bench.reference import Reference
from perfprobe.bench.references import References, traffic
from perfprobe.bench.subjects import Arguments, Subject, rounds
from perfprobe.models.verdicts import TORCHS
from perfprobe.models.work import ELEMENT_KINDS, Work, work

torch = pytest.importorskip("torch")

ROTATED = 8 << 20


def memory(read: int, written: int, in_place: bool = False) -> Work:
    return Work(0, read, written, read + written, read + written, "f32", in_place)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("aten::sum f32[1024,1024]", ["sum", "mm of a row"]),
        ("aten::zero_ f32[64]", ["fill_"]),
        ("aten::copy_ f32[64] f32[64] False", ["copy_"]),
        ("aten::div.Tensor f32[64] f32[64]", ["add(out=)"]),
        ("aten::div.Tensor f32[64,64] f32[64,1]", ["copy_"]),
        ("aten::add_.Tensor f32[64] f32[64] alpha=1", ["add_ in place"]),
        ("aten::mul_.Tensor f32[64] 3", ["mul_ in place"]),
        ("aten::mm f32[1,4096] f32[4096,4096]", ["sum", "mm of a row"]),
    ],
)
def test_a_reference_has_the_calls_mix_of_reads_and_writes(call: str, words: list[str]) -> None:
    operator, _, signature = call.partition(" ")
    made = work(operator, signature)
    assert made is not None
    assert [found.words for found in traffic(made)] == words


def beside(made: Work, threads: int = 1, rotates: bool = False) -> list[Reference]:
    references = References(torch, HostClock(), "cpu", ROTATED)
    return references.of(made, threads, rotates, references.arena(made))


def distinct(subject: Subject) -> list[list[Any]]:
    """The tensors of each set."""
    return [[value for value in one.args if hasattr(value, "data_ptr")] for one in subject._sets]


@pytest.mark.parametrize("rotates", [False, True])
@pytest.mark.parametrize(
    ("made", "passes"),
    [
        (memory(3_000_000, 0), 1),
        (memory(0, 600_000), 1),
        (memory(400_000, 400_000), 1),
        (memory(800_000, 400_000), 1),
        (memory(400_000, 400_000, True), 2),
        (memory(800_000, 400_000, True), 1.5),
    ],
)
def test_a_reference_moves_the_calls_bytes_and_rotates(made: Work, passes: float, rotates: bool) -> None:
    """passes: how often an element of the tensors moves. In place, one element is read and written."""
    for reference in beside(made, 1, rotates):
        sets = distinct(reference.subject)
        touched = sum(tensor.nbytes for tensor in sets[0]) * passes
        assert touched * reference.scale == pytest.approx(made.read_bytes + made.write_bytes, rel=0.01)
        places = [{one[place].data_ptr() for one in sets} for place in range(len(sets[0]))]
        is_output = made.write_bytes > 0 and not made.in_place
        assert len(places[0]) == (1 if is_output and not rotates else len(sets))
        assert all(len(place) == len(sets) > 1 for place in places[1:])
        assert len(set().union(*places)) == sum(map(len, places))  # no two buffers overlap
        one = sum(tensor.nbytes for tensor in sets[0])
        assert len(sets) == max(ROTATED // one, min(8, 4 * ROTATED // one))


def of_kind(made: Work, kind: str, threads: int = 1) -> list[Reference]:
    return [reference for reference in beside(made, threads) if reference.kind == kind]


def test_a_product_is_compared_with_a_square_one_of_its_dtype() -> None:
    made = work("aten::bmm", "f64[4,64,32] f64[4,32,16]")
    assert made is not None
    found = of_kind(made, "gemm")[0]
    left, right = found.subject._sets[0].args
    size = left.shape[0]
    assert left.shape == right.shape == (size, size)
    assert left.dtype == torch.float64
    assert found.scale * 2 * size**3 == 2 * 4 * 64 * 32 * 16


def test_dtypes_without_a_product_have_no_reference() -> None:
    assert of_kind(Work(100, 0, 0, 0, 0, "i64", is_product=True), "gemm") == []


@pytest.fixture
def slow_kernels_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """On some processors MKL is more than 1.25 times as fast as our own kernel, which is then left out."""
    monkeypatch.setattr(element_references, "_AS_FAST", float("inf"))


@pytest.mark.usefixtures("slow_kernels_stay")
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("kind", ["exp", "log", "tanh", "erf", "sigmoid", "sqrt", "div"])
def test_elementwise_calls_are_compared_with_our_own_kernel(kind: str, dtype: str) -> None:
    own, *others = of_kind(Work(0, 0, 0, 0, 0, dtype, elements=((kind, 10_000_000),)), "element", threads=2)
    assert (own.text, own.part) == (kind, kind)
    left, right, out = own.subject._sets[0].args
    assert left is right or np.array_equal(left, right)
    assert left.dtype == {"f32": np.float32, "f64": np.float64}[dtype]
    assert left.nbytes == out.nbytes == 256 * 1024  # fits the second cache
    assert own.scale * left.size * 2 == pytest.approx(10_000_000)  # of two threads
    assert own.subject.threads == 1
    for other in others:
        assert other.text.startswith(TORCHS)


@pytest.mark.usefixtures("slow_kernels_stay")
def test_half_precision_is_computed_in_single() -> None:
    own = of_kind(Work(0, 0, 0, 0, 0, "bf16", elements=(("tanh", 1000),)), "element")[0]
    assert own.text == "tanh in f32"
    assert own.subject._sets[0].args[0].dtype == np.float32


@pytest.mark.parametrize(
    ("kind", "operator"), [("sin", "sin"), ("pow", "pow"), ("rng", "uniform_"), ("compare", "sort")]
)
def test_references_by_torch_are_named_so(kind: str, operator: str) -> None:
    (found,) = of_kind(Work(0, 0, 0, 0, 0, "f64", elements=((kind, 10_000_000),)), "element", threads=2)
    assert found.text == f"torch's own kernel ({operator.rstrip('_')})"
    values = found.subject._sets[0].args[0]
    steps = 15 if kind == "compare" else 1  # log2 of 32768, the elements in a thread's part of the cache
    assert values.dtype == torch.float64
    assert values.nbytes == 256 * 1024
    assert found.scale * values.numel() * steps * 2 == pytest.approx(10_000_000)


def test_without_our_kernels_torchs_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_kernels, "element_kernels", dict)
    found = of_kind(Work(0, 0, 0, 0, 0, "f32", elements=(("exp", 1_000_000),)), "element")
    assert found
    assert all(one.text.startswith(TORCHS) for one in found)


def test_references_have_as_few_elements_as_the_call() -> None:
    for found in of_kind(Work(0, 0, 0, 0, 0, "f32", elements=(("log", 100),)), "element"):
        assert len(found.subject._sets[0].args[0]) * found.scale == 100


def test_every_kind_of_the_models_has_a_reference() -> None:
    for kind in ELEMENT_KINDS:
        assert of_kind(Work(0, 0, 0, 0, 0, "f32", elements=((kind, 1000),)), "element")


def test_an_unknown_kind_has_no_reference() -> None:
    made = Work(0, 0, 0, 0, 0, "f32", elements=(("magic", 100),))
    assert of_kind(made, "element") == []


def test_a_call_beside_itself_has_a_ratio_of_one() -> None:
    values = torch.rand(1 << 18)
    sets = [Arguments((values,))]
    subjects = [Subject(name, torch.ops.aten.exp.default, sets, 1) for name in "ab"]
    blocks = rounds(subjects, HostClock(), 0.2, random.Random(0), torch.set_num_threads)
    ratios = [a.cpu_ns / b.cpu_ns for a, b in zip(blocks["a"], blocks["b"], strict=True)]
    assert 0.9 * min(ratios) <= 1.0 <= 1.1 * max(ratios)
    assert 0.5 < median(ratios) < 2.0


def test_a_convolution_does_the_counted_number_of_products() -> None:
    references = References(torch, HostClock(), "cpu", ROTATED)
    product = next(iter(references._products("f32", 1)))
    (call,) = product.subject._sets
    picture, weight = call.args
    result = torch.nn.functional.conv2d(picture, weight)
    assert (
        result == weight[0].numel()
    ).all()  # all inputs are 1, so each result is the number of products, without those of padding
    assert product.flops == 2 * result.numel() * weight[0].numel()


def test_the_best_product_is_chosen_among_all_references_of_bench() -> None:
    """Otherwise `machine` would print a best product that calls exceed seven times."""
    references, plan = References(torch, HostClock(), "cpu", ROTATED), sweep.full("cpu", (1,))
    cases = list(products(torch, "cpu", plan.product_dtypes, plan.sides, 1))
    for dtype in ("f32", "f64", "bf16", "f16"):
        known = {round(case.work) for case in cases if case.dtype == dtype}
        assert {product.flops for product in references._products(dtype, 1)} <= known
    (convolution,) = (case for case in cases if case.dtype == "bf16" and "convolution" in case.what)
    result: Any = convolution.make()()
    assert (result.dtype, tuple(result.shape)) == (torch.bfloat16, (1, 64, 56, 56))


def test_a_rotation_covers_all_memory_and_writes_like_the_call() -> None:
    references = References(torch, HostClock(), "cpu", ROTATED)
    made = memory(400_000, 400_000, in_place=True)
    arena = references.arena(made)
    views = [view for (view,) in arena.views(ROTATED // 4, 1)]
    assert sum(view.nbytes for view in views) == ROTATED
    before = [view._version for view in views]
    references.rotation(made, arena)()
    assert all(view._version > version for view, version in zip(views, before, strict=True))
