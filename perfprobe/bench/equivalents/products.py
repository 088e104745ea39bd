"""Products, convolutions and pooling.

Sources: ATen/native/LinearAlgebra.cpp (`bmm` makes a product for each batch), Convolution.cpp (no FFT on a
CPU), cpu/AvgPoolKernel.cpp and MaxPoolKernel.cpp (windows are not vectorised in the default layout), each
measured by `python -m benchmarks.equivalents`.
"""

from __future__ import annotations

from typing import Any

from perfprobe.bench.equivalents.form import VALUES_ONLY, Form, floating

_LONG = 64  # elements of a kernel, above which an FFT may be faster


def _shares_matrix(a: Any, b: Any) -> bool:
    return bool(b.stride(0) == 0 and a.shape[0] > 1 and a.is_contiguous())


def _one_product(_torch: Any, a: Any, b: Any) -> Any:
    return (a.flatten(0, 1) @ b[0]).view(*a.shape[:2], b.shape[2])


def _is_outer(a: Any, b: Any) -> bool:
    return bool(a.shape[-1] == 1 and b.shape[-2] == 1)


def _is_long(x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, *rest: Any) -> bool:
    """Whether it is a convolution of one dimension with a long kernel, without anything else."""
    transposed, _, groups = rest[:3]
    plain = not transposed and groups == 1 and bias is None and floating(x) and x.dim() == 3
    usual = list(stride) == [1] and list(padding) == [0] and list(dilation) == [1]
    return plain and usual and weight.shape[2] >= _LONG


def _by_fft(torch: Any, x: Any, weight: Any, *_: Any) -> Any:
    length = x.shape[2]
    found = torch.einsum("bcf,ocf->bof", torch.fft.rfft(x, n=length), torch.fft.rfft(weight, n=length).conj())
    return torch.fft.irfft(found, n=length)[:, :, : length - weight.shape[2] + 1]


def _is_whole(x: Any, kernel: Any, _stride: Any = (), padding: Any = (0,), *_: Any) -> bool:
    sides = [*kernel, *kernel][:2]
    return floating(x) and not any(padding) and sides == list(x.shape[-2:])


def _is_two_by_two(
    x: Any, kernel: Any, stride: Any = (), padding: Any = (0,), dilation: Any = (1,), *_: Any
) -> bool:
    twos = set(kernel) == {2} and set(stride) <= {2} and not any(padding) and set(dilation) == {1}
    return twos and x.shape[-1] % 2 == 0 == x.shape[-2] % 2


def _of_slices(torch: Any, x: Any, *_: Any) -> Any:
    upper = torch.maximum(x[..., ::2, ::2], x[..., ::2, 1::2])
    return torch.maximum(upper, torch.maximum(x[..., 1::2, ::2], x[..., 1::2, 1::2]))


FORMS = (
    Form(
        operators=("aten::bmm",),
        words="(a.flatten(0, 1) @ b[0]).view(...): one product, b is expanded",
        fits=_shares_matrix,
        call=_one_product,
    ),
    Form(
        operators=("aten::bmm",),
        words="a * b",
        fits=_is_outer,
        call=lambda _torch, a, b: a * b,
    ),
    Form(
        operators=("aten::convolution",),
        words="torch.fft.irfft(torch.fft.rfft(x) * torch.fft.rfft(w, n).conj())",
        fits=_is_long,
        call=_by_fft,
    ),
    Form(
        operators=("aten::avg_pool2d",),
        words="x.mean((-2, -1), keepdim=True)",
        fits=_is_whole,
        call=lambda _torch, x, *_: x.mean((-2, -1), keepdim=True),
    ),
    Form(
        operators=("aten::max_pool2d_with_indices",),
        words="torch.maximum of the four slices x[..., i::2, j::2]",
        cautions=(VALUES_ONLY,),
        fits=_is_two_by_two,
        call=_of_slices,
        part=0,
    ),
)
