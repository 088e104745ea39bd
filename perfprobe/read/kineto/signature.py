"""Makes signatures of operators from a trace's shapes, types, strides and values of plain inputs.

A trace has neither the names of arguments nor the devices of tensors.
"""

from __future__ import annotations

import re
from typing import Any

from perfprobe.models.dtypes import KINETO_NAMES, short_name
from perfprobe.models.signature import (
    FLOAT,
    UNDEFINED,
    UNKNOWN,
    Tensor,
    list_text,
    shown_strides,
    tensor_text,
)
from perfprobe.read.kineto.event import value_of

_PLAIN = ("Int", "Bool", "Double", "Scalar", "ScalarList", "String", "Device", "Complex")
_LISTS = ("TensorList", "GenericList")
_INTEGER = re.compile(r"-?[0-9]{1,19}")
_REAL = re.compile(r"-?(?:[0-9]+\.?[0-9]*(?:e[+-]?[0-9]+)?|inf|nan)")
_NUMBERS = re.compile(r"\[[\w.+\-, ]{0,1024}\]", re.ASCII)
LONGEST_LIST = 64


def text_of(dims: bytes, kinds: bytes, steps: bytes, plain: bytes) -> str | None:
    """Returns the text of the inputs; None if shapes were not recorded.

    All arguments are JSON lists with one entry for each input.

    Args:
        dims: shapes of tensors.
        kinds: types.
        steps: strides of tensors.
        plain: values of inputs that are not tensors.
    """
    sizes, types = value_of(dims), value_of(kinds)
    if not isinstance(sizes, list) or not isinstance(types, list) or len(sizes) != len(types):
        return None
    strides = _same_length(value_of(steps), len(sizes))
    values = _same_length(value_of(plain), len(sizes))
    items = [_item(*input_) for input_ in zip(sizes, types, strides, values, strict=True)]
    while items and items[-1] == "":
        items.pop()
    return " ".join(item or UNDEFINED for item in items)


def _same_length(values: Any, count: int) -> list[Any]:
    return values if isinstance(values, list) and len(values) == count else [None] * count


def _item(sizes: Any, kind: Any, strides: Any, value: Any) -> str:
    """Returns the text of one input; "" if it was not passed."""
    if not isinstance(kind, str):
        return "" if kind is None else UNKNOWN
    if kind in KINETO_NAMES:
        return _tensor(sizes, kind, strides)
    if kind in _LISTS:
        return _list(sizes)
    if kind in _PLAIN:
        return _value(value)
    return "" if kind == "" else UNKNOWN


def _tensor(sizes: Any, kind: str, strides: Any) -> str:
    shape = _integers(sizes)
    if shape is None:
        return UNKNOWN
    steps = _integers(strides)
    shown = shown_strides(shape, steps, "strided") if steps is not None and len(steps) == len(shape) else None
    return tensor_text(Tensor(short_name(KINETO_NAMES[kind]), shape, shown, "strided", "cpu"))


def _list(sizes: Any) -> str:
    """Returns the text of a list of tensors. A trace has only their shapes, and nothing of other lists."""
    inner = sizes if isinstance(sizes, list) else []
    if len(inner) == 0:
        return UNKNOWN
    return list_text([UNKNOWN] * min(len(inner), LONGEST_LIST), whole=len(inner) <= LONGEST_LIST)


def _value(value: Any) -> str:
    if not isinstance(value, str):
        return UNKNOWN
    if _NUMBERS.fullmatch(value):
        return list_text([_word(part.strip()) for part in value[1:-1].split(",") if part.strip()])
    return _word(value)


def _word(value: str) -> str:
    """Floats appear as `float`, as in all signatures."""
    if value in ("True", "False") or _INTEGER.fullmatch(value):
        return value
    return FLOAT if _REAL.fullmatch(value) else UNKNOWN


def _integers(values: Any) -> tuple[int, ...] | None:
    if not isinstance(values, list) or len(values) > LONGEST_LIST:
        return None
    if not all(type(value) is int and 0 <= value < 1 << 62 for value in values):
        return None
    return tuple(values)
