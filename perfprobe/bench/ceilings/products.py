"""Measures products of matrices and convolutions: the most FLOP/s that a program reaches through torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from perfprobe.bench.ceilings.case import Call, Case, dtype_of


def products(
    torch: Any, device: str, dtypes: Sequence[str], sides: Sequence[int], threads: int
) -> Iterator[Case]:
    """Yields a convolution and square products of each dtype, small ones first. A product has 2 n^3 FLOPs."""
    for dtype in dtypes:
        if device == "cpu" and dtype in CONVOLVED:  # first, because it is not estimated from smaller products
            words, flops = CONVOLUTION.words, CONVOLUTION.flops
            yield Case("gemm", dtype, threads, words, partial(_convolution, torch, dtype), work=float(flops))
        for side in sides:
            what = f"{_OPERATORS.get(dtype, 'mm')} n={side}"
            make = partial(_product, torch, device, dtype, side)
            yield Case("gemm", dtype, threads, what, make, work=2.0 * side**3)


class Convolution(NamedTuple):
    """A convolution of one image.

    Attributes:
        side: height and width of the output.
        window: height and width of the kernel.
    """

    channels: int
    side: int
    window: int

    @property
    def words(self) -> str:
        return f"convolution {self.window}x{self.window} of {self.channels} channels"

    @property
    def flops(self) -> int:
        """A multiplication and an addition for each tap and input channel of each output element."""
        return 2 * self.side**2 * (self.channels * self.window) ** 2

    def operands(self, torch: Any, dtype: Any) -> list[Any]:
        """Returns image and weight, both channels last."""
        channels, window = self.channels, self.window
        sizes = ((1, channels, *[self.side + window - 1] * 2), (channels, channels, window, window))
        return [torch.ones(of, dtype=dtype).contiguous(memory_format=torch.channels_last) for of in sizes]


# Convolutions use another library. On AMD's processors they are 9 to 17 % faster than products of matrices,
# in half precision seven times.
CONVOLUTION = Convolution(64, 56, 3)
CONVOLVED = ("f16", "bf16", "f32")
_OPERATORS = {"i8": "_int_mm", "f8": "_scaled_mm"}


def _convolution(torch: Any, dtype: str) -> Call:
    return partial(torch.nn.functional.conv2d, *CONVOLUTION.operands(torch, dtype_of(torch, dtype)))


def _product(torch: Any, device: str, dtype: str, side: int) -> Call:
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    left, right = (_operand(torch, device, dtype, side) for _ in range(2))
    if dtype == "i8":
        return partial(torch._int_mm, left, right)
    if dtype == "f8":
        # cuBLASLt multiplies fp8 only if the second factor is column-major.
        one = torch.ones((), device=device)
        return partial(torch._scaled_mm, left, right.t(), one, one, out_dtype=torch.bfloat16)
    return partial(torch.mm, left, right, out=torch.empty_like(left))


def _operand(torch: Any, device: str, dtype: str, side: int) -> Any:
    if dtype == "i8":
        return torch.randint(-8, 8, (side, side), dtype=torch.int8, device=device)
    return torch.rand(side, side, device=device).sub_(0.5).to(dtype_of(torch, dtype))
