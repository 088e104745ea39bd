"""Faster forms give what torch's operators give, on operands of many kinds, or are not tried."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from perfprobe.bench.equivalents.form import Form
from perfprobe.bench.equivalents.tried import DIFFERS, FORMS, fitting, same
from perfprobe.models.modifiers import modifiers
from perfprobe.tables.measurements import Counterfactual, Estimate, Measurement, Wanted
from tests.bench.test_cases import answer

torch = pytest.importorskip("torch")

SIZES = [(7,), (1,), (5, 3), (4, 1), (2, 3, 4), (2, 2, 4, 6)]


def numbers(*sizes: int) -> Iterator[Any]:
    """Floats of both signs, with zeros and equal values; a view that is not contiguous; integers."""
    for dtype in (torch.float32, torch.float64):
        yield torch.randn(*sizes, dtype=dtype).round(decimals=1)
    yield torch.randn(*sizes[::-1]).t() if len(sizes) == 2 else torch.randn(*sizes, 2)[..., 0]
    yield torch.randint(0, 9, sizes)
    yield torch.randint(-9, 9, sizes, dtype=torch.int32)


def bools(*sizes: int) -> Iterator[Any]:
    yield from (torch.rand(*sizes) < part for part in (0.0, 0.5, 1.1))


def positive(*sizes: int) -> Iterator[Any]:
    yield from (torch.rand(*sizes, dtype=dtype) + 0.1 for dtype in (torch.float32, torch.float64))


def _calls(operator: str) -> Iterator[tuple[Any, ...]]:
    """Calls of an operator on operands of many kinds and sizes, along each dimension."""
    for sizes in SIZES:
        dims = list(range(-1, len(sizes)))
        for x in itertools.chain(numbers(*sizes), bools(*sizes)):
            for more in _more(operator, x, dims):
                yield (x, *more) if operator not in ("aten::pow.Scalar", "aten::where.self") else more


def _more(operator: str, x: Any, dims: list[int]) -> list[tuple[Any, ...]]:
    """The arguments after the first; where the tensor is not the first, all of them."""
    by_dim = [(dim, keepdim) for dim in dims for keepdim in (False, True)]
    index = torch.tensor([0, x.shape[0] - 1, 0])
    rows = torch.arange(x.shape[0]) < 1
    for names, found in (
        ("sum any all median nonzero", [()]),
        ("any.dim all.dim median.dim max.dim min.dim", by_dim),
        ("argmax argmin", [(), *by_dim]),
        ("sum.dim_IntList mean.dim", [([dim], keepdim) for dim, keepdim in by_dim]),
        ("var.correction std.correction", [(None,), *(([dim],) for dim in dims)]),
        ("remainder.Scalar floor_divide.Scalar", [(8,), (3,), (2.5,), (-4,)]),
        ("remainder.Tensor floor_divide", [(torch.tensor(8),), (torch.tensor(-2.5),)]),
        ("pow.Tensor_Scalar", [(n,) for n in (0.25, 0.75, 1.5, -1.5, 2.5, 2, 4, 5.0, 6, 8)]),
        ("pow.Scalar", [(2, x), (10, x), (0.5, x), (-1, x)]),
        ("where.self", [(x > 0, x, torch.tensor(0.0)), (x > 0, x, torch.tensor(1.0))]),
        ("sort", [(dim, descending) for dim in dims for descending in (False, True)]),
        ("kthvalue", [(1, dim, keepdim) for dim, keepdim in by_dim]),
        ("_unique2", [(), (True, True, False)]),
        ("index.Tensor", [([index],), ([None, index],), ([rows],), ([index, index],), ([-index],)]),
        ("cumsum", [(dim,) for dim in dims]),
    ):
        if operator.removeprefix("aten::") in names.split():
            return found
    return []


PLAIN = ([1], [0], [1], False, [0], 1)
OTHERS: dict[str, list[tuple[Any, ...]]] = {
    "aten::topk": [
        (torch.randn(70, 3), k, dim, largest) for k in (8, 66) for dim in (0, 1) for largest in (True, False)
    ],
    "aten::bmm": [
        (torch.randn(3, 2, 4), torch.randn(4, 5).expand(3, 4, 5)),
        (torch.randn(3, 2, 1), torch.randn(3, 1, 5)),
        (torch.randn(3, 2, 4), torch.randn(3, 4, 5)),
    ],
    "aten::convolution": [
        (torch.randn(2, 3, 300), torch.randn(4, 3, 65), None, *PLAIN),
        (torch.randn(2, 3, 300), torch.randn(4, 3, 65), torch.randn(4), *PLAIN),
        (torch.randn(2, 3, 300), torch.randn(4, 3, 65), None, [2], *PLAIN[1:]),
    ],
    "aten::avg_pool2d": [(torch.randn(2, 3, 4, 4), [4, 4]), (torch.randn(2, 3, 4, 6), [4])],
    "aten::max_pool2d_with_indices": [
        (torch.randn(2, 3, 4, 6), [2, 2]),
        (torch.randn(2, 3, 4, 6), [2], [1]),
        (torch.randn(2, 3, 5, 6), [2, 2]),
    ],
}  # fmt: skip
UNTRIED_HERE = ("aten::sort.stable", "aten::where.ScalarOther")


def _function(operator: str) -> Any:
    name, _, overload = operator.removeprefix("aten::").partition(".")
    return getattr(getattr(torch.ops.aten, name), overload or "default")


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.words[:40])
def test_a_form_gives_the_operators_result(form: Form) -> None:
    torch.manual_seed(0)
    tried = 0
    for operator in form.operators:
        if operator in UNTRIED_HERE:
            continue
        for args in OTHERS.get(operator) or _calls(operator):
            if form in fitting(operator, args, {}):
                expected = _result(operator, args)
                if expected is not None:
                    expected = expected if form.part is None else expected[form.part]
                    assert same(torch, expected, form.call(torch, *args)), (operator, args)
                    tried += 1
    assert tried >= 1


def _result(operator: str, args: tuple[Any, ...]) -> Any:
    """What torch gives; None where it has no such call, or where a caution does not hold."""
    if operator == "aten::index.Tensor" and any(
        index is not None and index.dtype != torch.bool and bool(index.min() < 0) for index in args[1]
    ):
        return None
    try:
        return _function(operator)(*args)
    except (RuntimeError, IndexError, NotImplementedError):
        return None


def test_other_values_are_another_result() -> None:
    given = torch.tensor([1.0, float("nan"), float("inf"), 0.0])
    assert same(torch, given, given * (1 + 1e-7))
    for other in ([1.0, 0.0, float("inf"), 0.0], [1.001, float("nan"), float("inf"), 0.0]):
        assert not same(torch, given, torch.tensor(other))
    assert not same(torch, given, given.double())
    assert not same(torch, given, given[:3])
    assert not same(torch, torch.tensor([1, 2]), torch.tensor([1, 3]))


def test_forms_are_timed_beside_the_call_and_named() -> None:
    found = answer(Wanted("aten::max.dim", "f32[64,64] dim=1 keepdim=False"))
    (form,) = (changed for changed in found.changes if changed.kind == "equivalent")
    assert form.change.startswith("x.amax(dim)")
    assert found.blocks[form.subject]


def test_a_form_with_another_result_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Form(operators=("aten::exp",), words="x + 1", call=lambda _torch, x: x + 1)
    monkeypatch.setattr("perfprobe.bench.cases.fitting", lambda *_: [wrong])
    found = answer(Wanted("aten::exp", "f32[64]"))
    assert [(of.kind, of.change, of.reason) for of in found.untried] == [("equivalent", "x + 1", DIFFERS)]
    assert not any(changed.kind == "equivalent" for changed in found.changes)


def test_the_fastest_form_is_said() -> None:
    forms = [
        Counterfactual("equivalent", words, Estimate(factor, factor, factor))
        for words, factor in (("slow", 2.0), ("fast", 3.0))
    ]
    row = Measurement(Wanted("aten::exp", "f32[4]"), "cpu", "cpu", counterfactuals=tuple(forms))
    assert [text.partition(":")[2].split()[0] for text in modifiers(row, "below ceiling")] == ["fast"]
