"""One thing to be timed for a ceiling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from perfprobe.models.dtypes import torch_name

KEY = ("kind", "dtype", "threads", "what", "mix", "footprint_bytes")  # what names a ceiling
Call: TypeAlias = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """The fields are those of `tables.machine.Ceiling`.

    make: builds the operands; its result is the call that is timed. work: FLOPs, bytes or elements of a call;
    0 where its time itself is the ceiling.
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
        """Cases of one family differ in size only: a smaller one foretells how long a bigger one takes."""
        return (self.kind, self.dtype, self.threads)


_FORMATS = {"tf32": "f32", "f8": "float8_e4m3fn"}  # what a ceiling is named after that is not a dtype


def dtype_of(torch: Any, name: str) -> Any:
    """The torch.dtype of a dtype's short name."""
    return getattr(torch, torch_name(_FORMATS.get(name, name)))
