"""Inputs of operators as Kineto writes them: sizes, types, strides, and values of plain inputs."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfprobe.models.dtypes import kineto_name
from perfprobe.models.signature import FLOAT, INTEGER, UNKNOWN, Item, List, Scalar, Tensor, parse
from perfprobe.models.work.touched import contiguous
from perfprobe.report.export.chrome.scene import text

_KEYS = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")
_WITHOUT_VALUE = (FLOAT, INTEGER, UNKNOWN)  # where the value is not in the signature


class _Input(NamedTuple):
    """An input. sizes, strides: of a tensor; for a list of tensors, a list of those of each."""

    sizes: list[Any]
    kind: str
    strides: list[Any]
    value: str


_NONE = _Input([], "", [], "")


def inputs_text(signature: str) -> str:
    """Members of a JSON object, with a comma in front; "" if the text is not a valid signature."""
    items = parse(signature) if signature else ()
    if items is None:
        return ""
    columns = zip(*map(_input, items), strict=True) if items else ((),) * len(_KEYS)
    return "".join(f',"{key}":{text(list(column))}' for key, column in zip(_KEYS, columns, strict=True))


def _input(item: Item) -> _Input:
    if isinstance(item, Tensor):
        return _tensor(item)
    if isinstance(item, Scalar):
        return _Input([], "Scalar", [], "" if item.value in _WITHOUT_VALUE else item.value)
    return _list(item) if isinstance(item, List) else _NONE


def _tensor(tensor: Tensor) -> _Input:
    kind = kineto_name(tensor.dtype) or tensor.dtype
    if tensor.sizes is None:
        return _Input([], kind, [], "")
    strides = contiguous(tensor.sizes) if tensor.strides is None else tensor.strides
    return _Input(list(tensor.sizes), kind, list(strides), "")


def _list(items: List) -> _Input:
    tensors = [_tensor(item) for item in items.items if isinstance(item, Tensor)]
    if tensors:
        return _Input([one.sizes for one in tensors], "TensorList", [one.strides for one in tensors], "")
    values = [item.value for item in items.items if isinstance(item, Scalar)]
    if len(values) < len(items.items):
        return _Input([], "GenericList", [], "")
    return _Input([], "ScalarList", [], f"[{', '.join(values)}]")
