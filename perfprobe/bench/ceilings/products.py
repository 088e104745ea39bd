"""Matrix products: the most FLOP/s that a program reaches through torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from perfprobe.bench.ceilings.case import Call, Case, dtype_of


def products(
    torch: Any, device: str, dtypes: Sequence[str], sides: Sequence[int], threads: int
) -> Iterator[Case]:
    """Square products of each dtype, small ones first; 2 n^3 FLOPs each."""
    for dtype in dtypes:
        for side in sides:
            what = f"{_OPERATORS.get(dtype, 'mm')} n={side}"
            make = partial(_product, torch, device, dtype, side)
            yield Case("gemm", dtype, threads, what, make, work=2.0 * side**3)


_OPERATORS = {"i8": "_int_mm", "f8": "_scaled_mm"}


def _product(torch: Any, device: str, dtype: str, side: int) -> Call:
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    left, right = (_operand(torch, device, dtype, side) for _ in range(2))
    if dtype == "i8":
        return partial(torch._int_mm, left, right)
    if dtype == "f8":
        # cuBLASLt multiplies fp8 only where the second factor lies by columns.
        one = torch.ones((), device=device)
        return partial(torch._scaled_mm, left, right.t(), one, one, out_dtype=torch.bfloat16)
    return partial(torch.mm, left, right, out=torch.empty_like(left))


def _operand(torch: Any, device: str, dtype: str, side: int) -> Any:
    if dtype == "i8":
        return torch.randint(-8, 8, (side, side), dtype=torch.int8, device=device)
    return torch.rand(side, side, device=device).sub_(0.5).to(dtype_of(torch, dtype))
