"""Perfprobe's own kernels, independent of libraries: the cost of elements and gathers on this processor.

csrc/cpu/peak/element_math.h states how exact they are. If torch's own kernel sets a limit, the limit
says nothing about that kernel. `words` names such references.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

from perfprobe import native
from perfprobe.models.verdicts import TORCHS
from perfprobe.support.errors import EnvironmentLack

WIDENED = {"f16": "f32", "bf16": "f32"}  # the dtype in which these are computed


@lru_cache(maxsize=1)
def element_kernels() -> dict[tuple[str, str], str]:
    """Returns the kernel's name by kind and dtype: the one with the fastest instructions that run here."""
    found: dict[tuple[str, str], str] = {}
    for name, kind, dtype, _, missing in _listed():
        if not missing:
            found.setdefault((kind, dtype), name)
    return found


def _listed() -> Sequence[tuple[str, str, str, str, str]]:
    found = _of_core("element_kernels")
    listed: Sequence[tuple[str, str, str, str, str]] = () if found is None else found()
    return listed


def gather_kernel() -> Callable[..., object] | None:
    """Returns a function of (table, places, out, run bytes, part, parts); None if it was not built."""
    found: Callable[..., object] | None = _of_core("gather")
    return found


def _of_core(name: str) -> Any:
    """Returns None if perfprobe's native code was not built or is older."""
    try:
        return getattr(native.core(), name, None)
    except EnvironmentLack:
        return None


def element_call(name: str) -> Callable[..., object]:
    """Returns a function of arrays of the kernel's dtype: (left, right, out). Only division uses `right`."""
    return partial(native.core().run_elements, name)


def words(operator: str) -> str:
    """Returns the text for a reference that is an operator of torch."""
    return f"{TORCHS} ({operator.rstrip('_')})"
