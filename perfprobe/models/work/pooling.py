"""Pooling and resizing of images: counts each window's operations; elements are read and written once."""

from __future__ import annotations

from math import prod

from perfprobe.models.work.call import Call, Model, Sizes, Work, least
from perfprobe.models.work.touched import Operand, require


def _output(call: Call, image: Sizes, dimensions: int) -> Sizes:
    """Returns the sizes by torch.nn.MaxPool2d. With ceil_mode no window starts in the padding at the end."""
    kernel, stride, padding, dilation = (
        _setting(call, name, dimensions) for name in ("kernel_size", "stride", "padding", "dilation")
    )
    stride = stride or kernel
    padding, dilation = padding or (0,) * dimensions, dilation or (1,) * dimensions
    require(bool(kernel) and all(step > 0 for step in stride))
    require(all(step <= size for step, size in zip(stride, kernel, strict=True)))  # else not all is read
    upwards = call.value("ceil_mode") == "True"
    out = []
    for size, k, s, p, d in zip(image[-dimensions:], kernel, stride, padding, dilation, strict=True):
        room = size + 2 * p - d * (k - 1) - 1
        require(room >= 0)
        points = -(-room // s) + 1 if upwards else room // s + 1
        out.append(points - (upwards and (points - 1) * s >= size + p))
    return (*image[:-dimensions], *out)


def _setting(call: Call, name: str, dimensions: int) -> Sizes:
    given = call.integers(name)
    return given * dimensions if len(given) == 1 else given


def _pool(dimensions: int, places: bool) -> Model:
    """Reads the image; writes the result, and for a maximum also its places."""

    def work(call: Call) -> Work:
        image = call.tensor(0)
        sizes = _output(call, image.sizes, dimensions)
        window = prod(_setting(call, "kernel_size", dimensions))
        writes = [Operand(image.dtype, sizes), Operand("i64", sizes) if places else None]
        return least([image], writes, flops=window * prod(sizes), dtype=image.dtype)

    return work


def _pool_backward(call: Call) -> Work:
    """Reads the gradient and the places of maxima; writes the whole gradient of the image."""
    gradient, image = call.tensor(0), call.tensor(1)
    places = call.given(2) if len(call.slots) > 2 else None
    made = Operand(image.dtype, image.sizes)
    return least([gradient, places], [made], flops=gradient.count, dtype=image.dtype)


def _adaptive(dimensions: int, places: bool) -> Model:
    """The output's size is given. Each element is in at least one window."""

    def work(call: Call) -> Work:
        image = call.tensor(0)
        size = call.integers("output_size")
        require(len(size) == dimensions)
        sizes = (*image.sizes[:-dimensions], *size)
        writes = [Operand(image.dtype, sizes), Operand("i64", sizes) if places else None]
        return least([image], writes, flops=image.count, dtype=image.dtype)

    return work


def _enlarged(call: Call) -> Work:
    """`upsample_*`: reads all, writes `output_size`. A smaller output would not read all of it."""
    image, size = call.tensor(0), call.integers("output_size")
    require(len(size) == len(image.sizes) - 2)
    require(all(out >= given for out, given in zip(size, image.sizes[2:], strict=True)))
    made = Operand(image.dtype, (*image.sizes[:2], *size))
    return least([image], [made], dtype=image.dtype)


def _enlarged_backward(call: Call) -> Work:
    """Reads the gradient, writes `input_size`. One addition for each element read."""
    gradient, size = call.tensor(0), call.integers("input_size")
    require(len(size) == len(gradient.sizes))
    made = Operand(gradient.dtype, size)
    return least([gradient], [made], flops=gradient.count, dtype=gradient.dtype)


_RESIZING = (
    "upsample_nearest1d",
    "upsample_nearest2d",
    "upsample_nearest3d",
    "upsample_bilinear2d",
    "upsample_bicubic2d",
)

MODELS: dict[str, Model] = {
    "max_pool1d": _pool(1, False),
    "max_pool2d": _pool(2, False),
    "max_pool2d_with_indices": _pool(2, True),
    "max_pool3d_with_indices": _pool(3, True),
    "avg_pool1d": _pool(1, False),
    "avg_pool2d": _pool(2, False),
    "avg_pool3d": _pool(3, False),
    **dict.fromkeys(("_adaptive_avg_pool2d", "adaptive_avg_pool2d"), _adaptive(2, False)),
    "adaptive_max_pool2d": _adaptive(2, True),
    **dict.fromkeys(
        (
            "max_pool2d_with_indices_backward",
            "max_pool3d_with_indices_backward",
            "avg_pool2d_backward",
            "avg_pool3d_backward",
            "_adaptive_avg_pool2d_backward",
            "adaptive_max_pool2d_backward",
        ),
        _pool_backward,
    ),
    **dict.fromkeys(_RESIZING, _enlarged),
    **dict.fromkeys((f"{name}_backward" for name in _RESIZING), _enlarged_backward),
}
