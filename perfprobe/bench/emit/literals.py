"""Writes Python source from untrusted values: none can escape its literal or comment."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from perfprobe.bench.rebuild.recipe import TensorRecipe
from perfprobe.support.text import printable

LONGEST_LINE = 400  # characters of a line in a docstring
_PLAIN = (bool, int, str, type(None))
_WIDTH = 180
_LONGEST_STEM = 60


def literal(value: object, indent: int = 0) -> str:
    """Returns the source of plain data, on several lines if it is long.

    Raises:
        TypeError: the value is of another type.
    """
    flat = _flat(value)
    if len(flat) + indent <= _WIDTH:
        return flat
    parts = _parts(value)
    if parts is None:
        return flat
    opening, inner, closing = parts
    space = " " * (indent + 4)
    lines = [f"{space}{label}{literal(part, indent + 4)},\n" for label, part in inner]
    return f"{opening}\n{''.join(lines)}{' ' * indent}{closing}"


def _flat(value: object) -> str:
    if type(value) is float:
        return repr(value) if math.isfinite(value) else f'float("{value!r}")'
    if type(value) in _PLAIN:
        return ascii(value)
    parts = _parts(value)
    if parts is None:
        raise TypeError(f"a value of type {type(value).__name__}")
    opening, inner, closing = parts
    comma = "," if type(value) is tuple and len(inner) == 1 else ""
    return f"{opening}{', '.join(label + _flat(part) for label, part in inner)}{comma}{closing}"


def _parts(value: object) -> tuple[str, list[tuple[str, object]], str] | None:
    """Returns opening bracket, labelled parts and closing bracket of a container; None for other values."""
    if type(value) is tuple:
        return "(", [("", part) for part in value], ")"
    if type(value) is dict:
        return "{", [(f"{_key(key)}: ", part) for key, part in value.items()], "}"
    if type(value) is list:
        return "[", [("", part) for part in value], "]"
    return None


def _key(key: object) -> str:
    if type(key) is not str:
        raise TypeError(f"a name of type {type(key).__name__}")
    return ascii(key)


def doc_line(text: str) -> str:
    """Returns the text as a line of a docstring. Escapes invisible characters and any that could end it."""
    shown = printable(text)
    if len(shown) > LONGEST_LINE:
        shown = f"{shown[:LONGEST_LINE]}... ({len(shown):,} characters)"
    return shown.replace("\\", "\\\\").replace('"', '\\"')


def stem(number: int, operator: str, tensors: Sequence[TensorRecipe]) -> str:
    """Returns a file name without ending, of letters, digits and `_`: `01_aten_bmm_f32_8x4x2_f32_8x2x4`."""
    words = [f"{number:02d}", *re.findall(r"\w+", operator, re.ASCII)]
    for one in tensors:
        shape = f"{_short(one.dtype)}_{'x'.join(map(str, one.sizes)) or 'scalar'}"
        if len("_".join([*words, shape])) > _LONGEST_STEM:
            break
        words.append(shape)
    return "_".join(words)[:_LONGEST_STEM]


def _short(dtype: str) -> str:
    plain = "".join(re.findall(r"\w+", dtype, re.ASCII))
    return re.sub(r"^(bf|f|i|c)(loat|nt|omplex)", r"\1", plain)
