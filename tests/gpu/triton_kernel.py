"""A Triton kernel. It is in its own module, because Triton reads the source of what it compiles."""

# ruff: noqa: N803
from __future__ import annotations

from typing import Any

import triton  # type: ignore[import-not-found,unused-ignore]
import triton.language as tl  # type: ignore[import-not-found,unused-ignore]


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def add_one(data: Any, count: Any, BLOCK: tl.constexpr) -> None:
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(data + at, tl.load(data + at, mask=inside) + 1, mask=inside)
