"""Perfprobe's own kernels, independent of libraries: the cost of elements and gathers on this processor.

csrc/cpu/peak/element_math.h states how exact they are. A ceiling that is torch's own kernel says nothing of
that kernel; where no kernel of ours is, `words` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

from perfprobe import native
from perfprobe.models.verdicts import TORCHS
from perfprobe.support.errors import EnvironmentLack

WIDENED = {"f16": "f32", "bf16": "f32"}  # which arithmetic these are done in


@lru_cache(maxsize=1)
def element_kernels() -> dict[tuple[str, str], str]:
    """By kind of elements and dtype, the name of the kernel with the fastest instructions that run here."""
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
    """A call on (table, places, out, bytes of a run, part, parts); None where it is not built."""
    found: Callable[..., object] | None = _of_core("gather")
    return found


def _of_core(name: str) -> Any:
    """None where perfprobe's native code is not built, or is of an older perfprobe."""
    try:
        return getattr(native.core(), name, None)
    except EnvironmentLack:
        return None


def element_call(name: str) -> Callable[..., object]:
    """A call on arrays of the kernel's dtype: (left, right, out). `right` is of division alone."""
    return partial(native.core().run_elements, name)


def words(operator: str) -> str:
    """Of a reference of elements that is torch's."""
    return f"{TORCHS} ({operator.rstrip('_')})"
