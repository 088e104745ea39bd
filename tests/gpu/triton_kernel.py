"""A Triton kernel. It is in its own module, because Triton reads the source of what it compiles."""

# ruff: noqa: N803
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import triton  # type: ignore[import-not-found,unused-ignore]
import triton.language as tl  # type: ignore[import-not-found,unused-ignore]


# Without types: Triton looks for the names in annotations too, and refuses those that are not its own.
@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def add_one(data, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(data + at, tl.load(data + at, mask=inside) + 1, mask=inside)
