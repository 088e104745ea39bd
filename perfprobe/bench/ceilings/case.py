"""A case: one call to be timed for a ceiling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from perfprobe.models.dtypes import torch_name

KEY = ("kind", "dtype", "threads", "what", "mix", "footprint_bytes")  # fields that identify a ceiling
Call: TypeAlias = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """A call to be timed. The other fields are those of `tables.machine.Ceiling`.

    Attributes:
        make: builds the operands and returns the call.
        work: FLOPs, bytes or elements of a call; 0 if the call's time itself is the ceiling.
    """

    kind: str
    dtype: str
    threads: int
    what: str
    make: Callable[[], Call]
    work: float = 0.0
    mix: str = ""
    footprint_bytes: int = 0

    @property
    def family(self) -> tuple[str, str, int]:
        """What cases share that differ only in size. A smaller case predicts how long a larger one takes."""
        return (self.kind, self.dtype, self.threads)


_FORMATS = {"tf32": "f32", "f8": "float8_e4m3fn"}  # names of ceilings that are no dtype: the dtype used


def dtype_of(torch: Any, name: str) -> Any:
    """Returns the torch.dtype for the name in a ceiling."""
    return getattr(torch, torch_name(_FORMATS.get(name, name)))
