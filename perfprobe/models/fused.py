"""Kernels that torch.compile generated: which operators inductor made them from, by their names."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

# In traces with the number of the graph: graph_0_cpp_fused_add_1.
_MOST_WORDS = 256
_NUMBERED = re.compile(r"(?:graph_\d+_)?(?:cpp|triton_[a-z]+)_fused_(.+)_\d+")


def operators(kernel: str, known: Collection[str]) -> list[str]:
    """The operators that a kernel was made from: `cpp_fused_gelu_gelu_backward_0` of gelu, gelu_backward.

    Inductor sorts their names, leaves out doubles and joins them with "_", which many of them contain: of all
    ways to read the name as `known` operators in this order, the one with the fewest; [] if none fits.
    """
    match = _NUMBERED.fullmatch(kernel)
    words = match.group(1).split("_") if match is not None else []
    if len(words) > _MOST_WORDS:
        return []
    read: list[list[str]] = [[]]  # by how many of the words
    for end in range(1, len(words) + 1):
        found: list[list[str]] = []
        for start in range(end):
            name, before = "_".join(words[start:end]), read[start]
            fits = (start == 0 or bool(before)) and name in known and before[-1:] < [name]
            found += [[*before, name]] if fits else []
        read.append(min(found, key=len, default=[]))
    return read[-1]


def is_generated(kernel: str) -> bool:
    """Whether a kernel has the name of one that inductor generated."""
    return _NUMBERED.fullmatch(kernel) is not None
