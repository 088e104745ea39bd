"""One thing to be timed for a ceiling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

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


DTYPES = {
    "f32": "float32",
    "f64": "float64",
    "bf16": "bfloat16",
    "f16": "float16",
    "i8": "int8",
    "tf32": "float32",
    "f8": "float8_e4m3fn",
}


def dtype_of(torch: Any, name: str) -> Any:
    """The torch.dtype of a dtype's short name."""
    return getattr(torch, DTYPES[name])
