"""Convolutions. Padding is counted as if it were data, as torch.utils.flop_counter does."""

from __future__ import annotations

from math import prod

from perfprobe.models.work.call import Call, Flops, Model, Sizes, Work, least, result
from perfprobe.models.work.touched import Operand, require

_MOST_PLACES = 1 << 20  # positions of one dimension that are enumerated


def _windows(call: Call) -> tuple[Sizes, Sizes, Sizes, Sizes]:
    """Returns stride, padding, dilation and sizes of the output, by dimension (see torch.nn.Conv2d)."""
    image, weight = call.sizes[:2]
    dimensions = len(weight) - 2
    require(len(image) == len(weight) and dimensions >= 1)
    stride, padding, dilation = (
        _per_dimension(call, name, dimensions) for name in ("stride", "padding", "dilation")
    )
    require(all(step > 0 for step in stride))
    out = tuple(
        (image[2 + i] + 2 * padding[i] - dilation[i] * (weight[2 + i] - 1) - 1) // stride[i] + 1
        for i in range(dimensions)
    )
    require(all(points >= 0 for points in out))
    return stride, padding, dilation, out


def _per_dimension(call: Call, name: str, dimensions: int) -> Sizes:
    """Returns a setting for every dimension. Operators without dilation do not have that setting."""
    given = tuple(int(text) for text in call.list(name))
    if not given and name == "dilation":
        return (1,) * dimensions
    require(len(given) in (1, dimensions))
    return given * dimensions if len(given) == 1 else given


def _forward_flops(call: Call) -> int:
    """Each output point of each image uses the whole weight once: 2 * N * prod(out) * prod(weight).

    The weight is [channels out, channels in / groups, kernel...], so groups need no separate factor.
    """
    image, weight = call.sizes[:2]
    return 2 * image[0] * prod(_windows(call)[3]) * prod(weight)


def _transposed_flops(call: Call) -> int:
    """Each input point uses the whole weight once: 2 * N * prod(in) * prod(weight).

    This counts at `_convolution`, which calls oneDNN directly for it on a CPU. Other convolutions are counted
    at the kernels that `_convolution` calls.
    """
    image, weight = call.sizes[:2]
    require(call.value("transposed") == "True" and len(image) == len(weight) > 2)
    return 2 * image[0] * prod(image[2:]) * prod(weight)


def _backward_flops(call: Call) -> int:
    """As many as forward for each requested gradient of input and weight."""
    gradient, image, weight = call.sizes[:3]
    transposed, mask = call.value("transposed"), call.list("output_mask")
    require(len(mask) == 3 and transposed in ("True", "False"))
    require(len(gradient) == len(image) == len(weight) > 2)
    points = prod((image if transposed == "True" else gradient)[2:])
    return mask[:2].count("True") * 2 * image[0] * points * prod(weight)


def _forward(call: Call) -> Work:
    """Reads the part of the image in any window, weight and bias; writes the output."""
    image, weight, bias = call.tensor(0), call.tensor(1), call.given(2)
    if call.value("transposed") == "True":
        made, read, flops = _transposed_output(call), image, _transposed_flops(call)
    else:
        out = _windows(call)[3]
        made, read, flops = (image.sizes[0], weight.sizes[0], *out), _looked_at(call), _forward_flops(call)
    output = result(call, image.dtype, made)
    return least([read, weight, bias], [output], flops=flops, dtype=image.dtype, is_product=True)


def _looked_at(call: Call) -> Operand:
    """Returns the part of the image in any window: a 1x1 kernel of stride 2 reads a quarter."""
    stride, padding, dilation, out = _windows(call)
    image, weight = call.tensor(0), call.sizes[1]
    for i, points in enumerate(out):
        size, kernel = image.sizes[2 + i], weight[2 + i]
        if stride[i] == 1 or points * kernel > _MOST_PLACES:
            continue
        places = {
            point * stride[i] + tap * dilation[i] - padding[i]
            for point in range(points)
            for tap in range(kernel)
        }
        count = sum(0 <= place < size for place in places)
        image = image.resized(2 + i, count, stride[i] if kernel == 1 else 1) if count < size else image
    return image


def _transposed_output(call: Call) -> Sizes:
    """Returns the sizes (see torch.nn.ConvTranspose2d). The weight is [in, out / groups, kernel...]."""
    image, weight = call.sizes[:2]
    dimensions = len(weight) - 2
    stride, padding, dilation, extra = (
        _per_dimension(call, name, dimensions) for name in ("stride", "padding", "dilation", "output_padding")
    )
    out = (
        (image[2 + i] - 1) * stride[i] - 2 * padding[i] + dilation[i] * (weight[2 + i] - 1) + extra[i] + 1
        for i in range(dimensions)
    )
    return (image[0], weight[1] * call.integer("groups"), *out)


def _backward(call: Call) -> Work:
    """Reads gradient, weight (for the image's gradient) and image (for the weight's); writes those requested.

    The bias's gradient is one addition for each element of the gradient, which is not counted.
    """
    gradient, image, weight = call.tensors[:3]
    mask = [text == "True" for text in call.list("output_mask")]
    flops = _backward_flops(call)
    biases = call.integers("bias_sizes") if mask[2] else ()
    reads = [gradient, weight if mask[0] else None, image if mask[1] else None]
    writes = [
        Operand(image.dtype, image.sizes) if mask[0] else None,
        Operand(weight.dtype, weight.sizes) if mask[1] else None,
        Operand(weight.dtype, biases) if biases else None,
    ]
    return least(reads, writes, flops=flops, dtype=image.dtype, is_product=True)


_KERNELS = (
    "mkldnn_convolution",
    "_slow_conv2d_forward",
    "slow_conv3d_forward",
    "slow_conv_dilated2d",
    "slow_conv_dilated3d",
    "_nnpack_spatial_convolution",
    "cudnn_convolution",
    "_conv_depthwise2d",
    "conv_depthwise3d",
)

FLOPS: dict[str, Flops] = {
    **dict.fromkeys(_KERNELS, _forward_flops),
    "_convolution": _transposed_flops,
    "convolution_backward": _backward_flops,
}

_CALLERS = ("convolution", "_convolution", "conv1d", "conv2d", "conv3d", "thnn_conv2d")

MODELS: dict[str, Model] = {
    **dict.fromkeys((*_KERNELS, *_CALLERS), _forward),
    "convolution_backward": _backward,
}
