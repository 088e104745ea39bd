"""Reads and writes the text of an operator's inputs: `f32[64,128]{1,64}@cuda:0 (f32[2],-) dim=1`.

Report, JSON and `bench` use this grammar: inputs in order, separated by spaces; a plain value after its
argument's name; arguments with their default value are omitted. csrc/torch/signature_text.cpp writes it too.
The text comes from a recording, which is untrusted. No text makes these functions raise, recurse deeply or
take long. Unknown text becomes a `Scalar` with the text as its value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from perfprobe.models.dtypes import name_of_number
from perfprobe.support.frozen import frozen
from perfprobe.support.strides import is_contiguous

LONGEST = 1 << 18  # characters; a list of 4096 tensors has all elements written
DEEPEST = 8  # levels of lists; the recorder writes at most four
LONGEST_LIST = 4096  # elements that are written; a longer list ends in "..."
LONGEST_STRING = 64  # bytes of a string that are written
MOST_VARIANTS = 64  # texts of an operator that differ in integers only; beyond, these become `int`

UNDEFINED = "-"
CUT = "..."
FLOAT, INTEGER = "float", "int"  # in place of a value
UNKNOWN = "?"  # in place of an input that the source does not report


@frozen
class Tensor:
    """A tensor.

    Attributes:
        sizes: None if symbolic or nested.
        strides: in elements; None if contiguous.
    """

    dtype: str
    sizes: tuple[int, ...] | None
    strides: tuple[int, ...] | None = None
    layout: str = "strided"
    device: str = "cpu"
    subclass: bool = False


@frozen
class Scalar:
    """A plain value as written in the text: `1`, `float`, `"same"`, `cuda:0`. Its name may be ""."""

    name: str
    value: str


@frozen
class List:
    """A list of values. whole: False if the recorder truncated it."""

    name: str
    items: tuple[Item, ...]
    whole: bool = True


@frozen
class Undefined:
    """An optional tensor that was not passed."""


Item: TypeAlias = Tensor | Scalar | List | Undefined

_TOKEN = re.compile(
    r"""(?:(?P<name>[A-Za-z_]\w*)=)?
    (?: (?P<dtype>[a-z]\w*)\[(?P<sizes>symbolic|nested|[\d,]*)\]
        (?:\{(?P<strides>[\d,]*)\})?  (?P<marks>(?::\w+)*)  (?:@(?P<device>[\w:]+))?  (?=[\ ,)]|$)
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<open>\()
      | (?P<word>[^\ ,()]+) )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_LARGEST_DIGITS = 19  # of a 64-bit integer


def parse(text: str) -> tuple[Item, ...] | None:
    """Returns the inputs in order; None if the text is too long or its brackets do not match."""
    if len(text) > LONGEST:
        return None
    items, end = _items(text, 0, 0)
    return tuple(items) if items is not None and end == len(text) else None


def _items(text: str, at: int, depth: int) -> tuple[list[Item] | None, int]:
    """Returns the items from `at` to the end of the text or of this list, and the position of the end."""
    items: list[Item] = []
    while at < len(text) and text[at] != ")":
        if text[at] in " ,":
            at += 1
            continue
        token = _TOKEN.match(text, at)
        if token is None:
            return None, at
        at = token.end()
        if token["open"] is None:
            items.append(_plain(token))
            continue
        inner, at = _items(text, at, depth + 1) if depth < DEEPEST else (None, at)
        if inner is None or text[at : at + 1] != ")":
            return None, at
        items.append(_list(token["name"] or "", inner))
        at += 1
    return items, at


def _list(name: str, items: list[Item]) -> List:
    cut = items[-1:] == [Scalar("", CUT)]
    return List(name, tuple(items[:-1] if cut else items), not cut)


def _plain(token: re.Match[str]) -> Item:
    if token["dtype"] is not None:
        return _tensor(token)
    value = token["string"] or token["word"]
    return Undefined() if value == UNDEFINED and token["name"] is None else Scalar(token["name"] or "", value)


def _tensor(token: re.Match[str]) -> Tensor:
    marks = token["marks"].split(":")[1:]
    layouts = [mark for mark in marks if mark != "subclass"]
    return Tensor(
        token["dtype"],
        integers(token["sizes"]),
        None if token["strides"] is None else integers(token["strides"]),
        layouts[0] if layouts else "strided",
        token["device"] or "cpu",
        "subclass" in marks,
    )


def integers(text: str) -> tuple[int, ...] | None:
    """Parses `2,3` as (2, 3), the empty text as (); None if it holds anything but integers of 64 bits."""
    parts = text.split(",") if text else []
    if not all(part.isascii() and part.isdecimal() and len(part) <= _LARGEST_DIGITS for part in parts):
        return None
    return tuple(map(int, parts))


def render(items: Sequence[Item]) -> str:
    """Returns the text of these inputs: the inverse of `parse`."""
    return " ".join(map(_rendered, items))


def _rendered(item: Item) -> str:
    if isinstance(item, Tensor):
        return tensor_text(item)
    if isinstance(item, Undefined):
        return UNDEFINED
    if isinstance(item, Scalar):
        return named_text(item.name, item.value)
    return named_text(item.name, list_text([*map(_rendered, item.items)], whole=item.whole))


def named_text(name: str, value: str) -> str:
    """Returns a value after its argument's name, which is "" if not known."""
    return f"{name}={value}" if name else value


def list_text(items: Sequence[str], *, whole: bool = True) -> str:
    """Returns the text of a list. whole: False if the list is longer than `items`."""
    if len(items) > LONGEST_LIST:
        items, whole = items[:LONGEST_LIST], False
    return f"({','.join([*items, *([] if whole else [CUT])])})"


def tensor_text(tensor: Tensor) -> str:
    """Returns the text of a tensor."""
    sizes = "symbolic" if tensor.sizes is None else ",".join(map(str, tensor.sizes))
    strides = "" if tensor.strides is None else f"{{{','.join(map(str, tensor.strides))}}}"
    layout = "" if tensor.layout == "strided" else f":{tensor.layout}"
    device = "" if tensor.device == "cpu" else f"@{tensor.device}"
    return f"{tensor.dtype}[{sizes}]{strides}{layout}{':subclass' * tensor.subclass}{device}"


def shown_strides(sizes: Sequence[int], strides: Sequence[int], layout: str) -> tuple[int, ...] | None:
    """Returns the strides for a `Tensor`: None if it is contiguous or not strided."""
    return None if layout != "strided" or is_contiguous(sizes, strides) else tuple(strides)


def value_text(value: object, *, is_dtype: bool = False, by_type: bool = False, floats: bool = False) -> str:
    """Returns the text of a plain value or a list. Values that vary from call to call may appear by type.

    Args:
        is_dtype: the argument is a dtype, which torch passes as its number.
        by_type: write integers as `int`.
        floats: write floats by value, else as `float`.
    """
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        dtype = name_of_number(value) if is_dtype else None
        return dtype or (INTEGER if by_type else str(value))
    if isinstance(value, float):
        return repr(value) if floats else FLOAT
    if isinstance(value, str):
        return string_text(value)
    if isinstance(value, list):
        return list_text([value_text(item, by_type=by_type, floats=floats) for item in value])
    return "ComplexDouble" if isinstance(value, complex) else UNKNOWN


def string_text(value: str) -> str:
    """Returns a string in quotes, truncated like the recorder's."""
    kept = value.encode()[:LONGEST_STRING].decode(errors="ignore")
    return '"' + re.sub(r'(["\\])', r"\\\1", kept) + '"'


def tensors(items: Sequence[Item]) -> Iterator[Tensor]:
    """Yields all tensors in order, also those in lists. Undefined ones are left out."""
    for item in items:
        if isinstance(item, Tensor):
            yield item
        elif isinstance(item, List):
            yield from tensors(item.items)


def with_tensors(items: Sequence[Item], changed: Iterator[Tensor]) -> tuple[Item, ...]:
    """Returns the same inputs with each tensor replaced by the next of `changed`."""
    return tuple(
        next(changed)
        if isinstance(item, Tensor)
        else replace(item, items=with_tensors(item.items, changed))
        if isinstance(item, List)
        else item
        for item in items
    )
