"""Python source from untrusted values: nothing in them can escape its literal or comment."""

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
    """The source of plain data; on several lines where one is too short.

    Raises:
        TypeError: a value of another type, however it prints itself.
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
        raise TypeError(f"{type(value).__name__} in a recipe")
    opening, inner, closing = parts
    comma = "," if type(value) is tuple and len(inner) == 1 else ""
    return f"{opening}{', '.join(label + _flat(part) for label, part in inner)}{comma}{closing}"


def _parts(value: object) -> tuple[str, list[tuple[str, object]], str] | None:
    """A container: its beginning, its parts with their labels, its end."""
    if type(value) is tuple:
        return "(", [("", part) for part in value], ")"
    if type(value) is dict:
        return "{", [(f"{_key(key)}: ", part) for key, part in value.items()], "}"
    if type(value) is list:
        return "[", [("", part) for part in value], "]"
    return None


def _key(key: object) -> str:
    if type(key) is not str:
        raise TypeError(f"{type(key).__name__} as a name in a recipe")
    return ascii(key)


def doc_line(text: str) -> str:
    """A line of a docstring: every character that could end it, or that is invisible, is escaped."""
    shown = printable(text)
    if len(shown) > LONGEST_LINE:
        shown = f"{shown[:LONGEST_LINE]}... ({len(shown):,} characters)"
    return shown.replace("\\", "\\\\").replace('"', '\\"')


def stem(number: int, operator: str, tensors: Sequence[TensorRecipe]) -> str:
    """A file name without its ending, of letters, digits and `_`: `01_aten_bmm_f32_8x4x2_f32_8x2x4`."""
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
