"""The observer's signature text equals the one that `perfprobe.models.signature` makes for the same call.

The inputs of a call come from torch: its schema, and the sizes and strides of the tensors.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

from perfprobe.models.dtypes import short_name
from perfprobe.models.signature import (
    LONGEST_LIST,
    LONGEST_STRING,
    MOST_VARIANTS,
    UNDEFINED,
    List,
    Scalar,
    Tensor,
    list_text,
    named_text,
    parse,
    render,
    shown_strides,
    tensor_text,
    value_text,
)
from tests.collect.recorded import Row, record

aten = torch.ops.aten
A = torch.ones(2, 3)
IMAGE = torch.ones(2, 3, 4, 5)
PLACES = torch.tensor([1, 0])
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    COMPRESSED = A.to_sparse_csr()
LONG = "ij," + " " * LONGEST_STRING + "jk->ik"

CALLS: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "matrices": (aten.mm.default, (A, A.t()), {}),
    "a number": (aten.add.Scalar, (A, 2), {"alpha": 3}),
    "a complex number": (aten.mul.Scalar, (A, 1j), {}),
    "lists of numbers": (aten.sum.dim_IntList, (A, [0, -1], True), {"dtype": torch.float64}),
    "an empty list": (aten.sum.dim_IntList, (A, []), {}),
    "a list of tensors": (aten.cat.default, ([A, A.t().contiguous().t()], 1), {}),
    "a list too long": (aten.cat.default, ([A[0]] * (LONGEST_LIST + 1),), {}),
    "as long as a list may be": (aten.cat.default, ([A[0]] * LONGEST_LIST,), {}),
    "tensors left out of a list": (aten.index.Tensor, (A, [None, PLACES]), {}),
    "tensors left out": (aten.native_layer_norm.default, (A, [3], None, None, 1e-5), {}),
    "numbers left out": (aten.clamp.default, (A,), {"max": 0.25}),
    "a string": (aten.gelu.default, (A,), {"approximate": "tanh"}),
    "a string with signs": (aten.gelu.default, (A,), {"approximate": 'a "b\\" , (c=-)'}),
    "a string too long": (aten.einsum.default, (LONG, [A, A.t()]), {}),
    "integers": (aten.slice.Tensor, (A, 1, 0, 9223372036854775807, 2), {}),
    "a device": (aten.to.device, (A, torch.device("meta"), torch.float16), {}),
    "repeated": (aten.exp.default, (A.expand(4, 2, 3),), {}),
    "one wide": (aten.exp.default, (torch.ones(2, 5)[:, :1],), {}),
    "channels last": (aten.exp.default, (IMAGE.to(memory_format=torch.channels_last),), {}),
    "empty": (aten.exp.default, (torch.ones(0, 4).t(),), {}),
    "no dimensions": (aten.exp.default, (torch.tensor(1.0),), {}),
    "sparse": (aten.coalesce.default, (A.to_sparse(),), {}),
    "compressed": (aten.values.default, (COMPRESSED,), {}),
    "without data": (aten.exp.default, (torch.empty(2, 3, device="meta").t(),), {}),
}


def written(operator: Any, given: tuple[Any, ...], named: dict[str, Any], *, floats: bool) -> str:
    texts = []
    for place, argument in enumerate(operator._schema.arguments):
        value = given[place] if place < len(given) else named.get(argument.name, argument.default_value)
        takes_tensors = "Tensor" in str(argument.type)
        if value is None and not takes_tensors:
            continue
        text = input_text(value, "ScalarType" in str(argument.real_type), floats)
        texts.append(text if takes_tensors else named_text(argument.name, text))
    return " ".join(texts)


def input_text(value: Any, is_dtype: bool, floats: bool) -> str:
    if value is None:
        return UNDEFINED
    if isinstance(value, torch.Tensor):
        return tensor_text(described(value))
    if isinstance(value, list) and any(isinstance(item, torch.Tensor) for item in value):
        return list_text([input_text(item, False, floats) for item in value])
    if is_dtype:
        return short_name(str(value).removeprefix("torch."))
    return str(value) if isinstance(value, torch.device) else value_text(value, floats=floats)


def described(tensor: torch.Tensor) -> Tensor:
    layout = str(tensor.layout).removeprefix("torch.")
    strides = shown_strides(tensor.shape, tensor.stride() if layout == "strided" else (), layout)
    dtype = short_name(str(tensor.dtype).removeprefix("torch."))
    return Tensor(dtype, tuple(tensor.shape), strides, layout, str(tensor.device))


def only(rows: list[Row], operator: Any) -> Row:
    return next(row for row in rows if row.name == operator._schema.name)


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("name", CALLS)
def test_both_write_the_same_text(name: str, tmp_path: Path) -> None:
    operator, given, named = CALLS[name]

    def run() -> None:
        with suppress(RuntimeError):  # for meaningless strings; they are recorded all the same
            operator(*given, **named)

    row = only(record(tmp_path / "run.perfprobe", run), operator)
    assert row.signature == written(operator, given, named, floats=False)
    items = parse(row.signature)
    assert items is not None
    assert render(items) == row.signature
    # The digits of floats may differ: 1e-05 and 1e-5 are the same value.
    assert values(row.example) == values(written(operator, given, named, floats=True))


def values(text: str) -> list[object]:
    return [number(item.value) if isinstance(item, Scalar) else item for item in parse(text) or ()]


def number(text: str) -> object:
    with suppress(ValueError):
        return float(text)
    return text


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, 1e5, 1e-5, 1 / 3, 1e300, float("inf"), float("nan")])
def test_floats_keep_their_value(value: float, tmp_path: Path) -> None:
    row = only(record(tmp_path / "run.perfprobe", lambda: aten.add.Scalar(A, value)), aten.add.Scalar)
    for text in (row.example, f"f32[2,3] other={value_text(value, floats=True)} alpha=1"):
        items = parse(text)
        assert items is not None
        found = items[1]
        assert isinstance(found, Scalar)
        assert found.name == "other"
        assert repr(float(found.value)) == repr(value)
        assert not found.value.lstrip("-").isdigit()


def test_integers_count_by_type_beyond_the_limit(tmp_path: Path) -> None:
    table = torch.ones(100, 2)

    def walk(operator: Callable[..., object]) -> None:
        for place in range(100):
            operator(table, 0, place)

    rows = record(tmp_path / "run.perfprobe", lambda: walk(aten.select.int))
    texts = [row.signature for row in rows if row.name == "aten::select"]
    by_value = [f"f32[100,2] dim=0 index={value_text(place)}" for place in range(MOST_VARIANTS)]
    by_type = f"f32[100,2] dim={value_text(0, by_type=True)} index={value_text(0, by_type=True)}"
    assert texts == [*by_value, *[by_type] * (100 - MOST_VARIANTS)]


def test_a_too_long_list_ends_with_dots() -> None:
    (whole,) = parse(list_text(["1"] * LONGEST_LIST)) or (None,)
    (part,) = parse(list_text(["1"] * (LONGEST_LIST + 1))) or (None,)
    assert isinstance(whole, List)
    assert isinstance(part, List)
    assert (len(whole.items), whole.whole) == (LONGEST_LIST, True)
    assert (len(part.items), part.whole) == (LONGEST_LIST, False)
