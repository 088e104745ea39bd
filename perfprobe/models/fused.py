"""Finds from the name of a kernel that torch.compile generated which operators inductor made it from."""

from __future__ import annotations

from perfprobe.support.pattern import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

# Traces put the number of the graph before the name: graph_0_cpp_fused_add_1.
_MOST_WORDS = 256
_MOST_WORDS_OF_ONE = 16  # of an operator's name
_NUMBERED = pattern(r"(?:graph_\d+_)?(?:cpp|triton_[a-z]+)_fused_(.+)_\d+")


def operators(kernel: str, known: Collection[str]) -> list[str]:
    """Returns the operators that a kernel was made from.

    For `cpp_fused_gelu_gelu_backward_0` these are gelu and gelu_backward. Inductor sorts the names of the
    operators, removes duplicates and joins them with "_", which many names contain. So a kernel's name can
    often be split into sorted names of `known` operators in several ways; the one with the fewest operators
    is returned, or [] if there is none.
    """
    match = _NUMBERED.fullmatch(kernel)
    words = match.group(1).split("_") if match is not None else []
    if len(words) > _MOST_WORDS:
        return []
    read: list[list[str]] = [[]]  # at index n: the operators in the first n words, [] if they cannot be split
    for end in range(1, len(words) + 1):
        found: list[list[str]] = []
        for start in range(max(end - _MOST_WORDS_OF_ONE, 0), end):
            name, before = "_".join(words[start:end]), read[start]
            fits = (start == 0 or bool(before)) and name in known and before[-1:] < [name]
            found += [[*before, name]] if fits else []
        read.append(min(found, key=len, default=[]))
    return read[-1]


def is_generated(kernel: str) -> bool:
    """Returns whether inductor generated a kernel, by its name."""
    return _NUMBERED.fullmatch(kernel) is not None
