"""Readable names of GPU kernels, because demangled C++ names have hundreds of characters.

They are for display only: JSON has the full names.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence

from rich.cells import cell_len, set_cell_size

from perfprobe.models.mangled import plain_name
from perfprobe.report.shorten import ELLIPSIS, cut
from perfprobe.support.pattern import pattern
from perfprobe.support.text import printable

LONGEST_NAME = 8_192  # characters of a name that are read
DEEPEST = 8  # levels of template arguments that are read

_OPENING, _CLOSING = "<([{", ">)]}"
_ANONYMOUS = pattern(r"\((?:anonymous namespace|unnamed)\)::|<unnamed>::")
# Template arguments without information, or with less than the operator's signature.
_PLAIN = pattern(
    r"(?:const|void|bool|char|short|int|long|unsigned|signed|float|double|half|size_t|u?int\d+_t|float\d|__half2?"
    r"|__nv_bfloat16|BFloat16|bfloat16_t|Half|half_t|tfloat32_t|true|false|Float8_\w+|complex|OpaqueType|[-\d].*|\(.*)"
    r"[ *&]*"
)
_PLUMBING = pattern(
    r"[aA]rray|\w*OffsetCalculator|(?:Load|Store)With\w*|TensorListMetadata|\w*_policy|Policy\w*|plus|multiplies"
)
_PASSES_ON = pattern(r"[kK]ernel\d?|gpu_kernel\w*|(?:Binary|BUnary|AUnary)Functor|ReduceOp|func_wrapper_t")
_NO_NAME = pattern(r"\{.*|operator\(\).*|(?:result_)?type.*", re.DOTALL)


def kernel_names(names: Sequence[str], beside: Sequence[Hashable]) -> list[str]:
    """A short form of each name, with all template arguments if different rows would look the same.

    beside: what else identifies each row.
    """
    rows = list(zip([shortened(name) for name in names], beside, strict=True))
    full: dict[Hashable, set[str]] = {}
    for row, name in zip(rows, names, strict=True):
        full.setdefault(row, set()).add(name)
    return [
        shortened(name, whole=True) if len(full[row]) > 1 else row[0]
        for row, name in zip(rows, names, strict=True)
    ]


def shortened(name: str, *, whole: bool = False) -> str:
    """The name without namespaces, parameters and, unless `whole`, uninformative template arguments."""
    text = _simplified(_ANONYMOUS.sub("", plain_name(name)[:LONGEST_NAME]), DEEPEST, whole=whole)
    return printable(text or name[:LONGEST_NAME])


def cut_middle(text: str, width: int) -> str:
    """The text in at most `width` cells, cut in the middle: names of matrix products differ at their ends."""
    if cell_len(text) <= width or width < 12:
        return cut(text, width)
    end = width // 3
    return set_cell_size(text, width - 1 - end) + ELLIPSIS + set_cell_size(text[::-1], end)[::-1]


def _simplified(text: str, depth: int, *, whole: bool) -> str:
    """`reduce<MeanOps>` for `ns::reduce<512, ns::MeanOps<float>>(int)`; empty without a name."""
    if depth == 0:
        return ELLIPSIS
    *_, last = ["", *_split(text.strip().replace(" const::", "::"), " ")]
    parts = [part for part in _split(last, "::") if not _NO_NAME.fullmatch(part)]
    if not parts:
        return ""
    base, _, rest = _before_parameters(parts[-1]).partition("<")
    within = rest[: rest.rfind(">")] if ">" in rest else rest
    found = [_simplified(argument, depth - 1, whole=whole) for argument in _split(within, ",")]
    arguments = list(dict.fromkeys(argument for argument in found if argument))
    if not whole:
        arguments = [argument for argument in arguments if not _says_little(argument)]
    if arguments and not whole and _PASSES_ON.fullmatch(base):
        return ", ".join(arguments)
    if len(parts) > 1 and _PASSES_ON.fullmatch(base):
        base = f"{parts[-2].partition('<')[0]}::{base}"
    return f"{base}<{', '.join(arguments)}>" if arguments else base


def _says_little(argument: str) -> bool:
    return (
        _PLAIN.fullmatch(argument) is not None or _PLUMBING.fullmatch(argument.partition("<")[0]) is not None
    )


def _before_parameters(text: str) -> str:
    """`name<arguments>` of `name<arguments>(parameters)`."""
    depth = 0
    for at, letter in enumerate(text):
        if letter == "(" and depth == 0 and at:
            return text[:at]
        depth += (letter in _OPENING) - (letter in _CLOSING and depth > 0)
    return text


def _split(text: str, separator: str) -> Iterator[str]:
    """The parts between separators outside of all brackets."""
    depth = start = at = 0
    while at < len(text):
        if depth == 0 and text.startswith(separator, at):
            if at > start:
                yield text[start:at]
            at = start = at + len(separator)
            continue
        depth += (text[at] in _OPENING) - (text[at] in _CLOSING and depth > 0)
        at += 1
    if at > start:
        yield text[start:]
