"""Layer, group, batch and RMS normalisation. Each input is read once if a row or the whole fits a cache.

Operations for each element: forward about 7 (mean, variance, scale, shift), RMS 4, backward 12.
"""

from __future__ import annotations

from math import prod

from perfprobe.models.work.call import Call, Model, Sizes, Work, least
from perfprobe.models.work.touched import Operand, require


def _rows(call: Call, sizes: Sizes) -> int:
    """Returns the number of normalised rows, from `normalized_shape`."""
    inner = call.integers("normalized_shape")
    require(bool(inner) and sizes[-len(inner) :] == inner)
    return prod(sizes[: len(sizes) - len(inner)])


def _dense(tensor: Operand) -> Operand:
    """Returns a new tensor of the same sizes."""
    return Operand(tensor.dtype, tensor.sizes)


def _asked(call: Call, *gradients: Operand | None) -> list[Operand | None]:
    """Returns the gradients that `output_mask` requests."""
    mask = call.list("output_mask")
    require(len(mask) == len(gradients))
    return [gradient for gradient, asked in zip(gradients, mask, strict=True) if asked == "True"]


def _layer_norm(call: Call) -> Work:
    """Writes the result, and mean and 1/deviation of each row."""
    tensor, weight, bias = call.tensor(0), call.given(1), call.given(2)
    statistics = Operand(tensor.dtype, (_rows(call, tensor.sizes),))
    return least(
        [tensor, weight, bias],
        [_dense(tensor), statistics, statistics],
        flops=7 * tensor.count,
        dtype=tensor.dtype,
    )


def _layer_norm_backward(call: Call) -> Work:
    """Reads gradient, input, both statistics and weight; writes what `output_mask` requests."""
    gradient, tensor, mean, deviation = (call.tensor(slot) for slot in range(4))
    weight = call.given(4)
    parameter = Operand(tensor.dtype, call.integers("normalized_shape"))
    writes = _asked(call, _dense(tensor), parameter, parameter)
    return least(
        [gradient, tensor, mean, deviation, weight], writes, flops=12 * tensor.count, dtype=tensor.dtype
    )


def _rms_norm(call: Call) -> Work:
    """Writes the result, and one statistic of each row."""
    tensor, weight = call.tensor(0), call.given(1)
    statistics = Operand(tensor.dtype, (_rows(call, tensor.sizes),))
    return least([tensor, weight], [_dense(tensor), statistics], flops=4 * tensor.count, dtype=tensor.dtype)


def _rms_norm_backward(call: Call) -> Work:
    """Reads gradient, input, the rows' statistics and weight; writes what `output_mask` requests."""
    gradient, tensor, statistics, weight = call.tensor(0), call.tensor(1), call.tensor(2), call.given(3)
    writes = _asked(call, _dense(tensor), weight)
    return least([gradient, tensor, statistics, weight], writes, flops=8 * tensor.count, dtype=tensor.dtype)


def _group_norm(call: Call) -> Work:
    """Writes the result, and mean and 1/deviation of each group of each image."""
    tensor, weight, bias = call.tensor(0), call.given(1), call.given(2)
    groups = call.integer("group" if "group" in call.values else "num_groups")
    statistics = Operand(tensor.dtype, (tensor.sizes[0], groups))
    return least(
        [tensor, weight, bias],
        [_dense(tensor), statistics, statistics],
        flops=7 * tensor.count,
        dtype=tensor.dtype,
    )


def _group_norm_backward(call: Call) -> Work:
    """Reads gradient, input, both statistics and weight; writes what `output_mask` requests."""
    gradient, tensor, mean, deviation = (call.tensor(slot) for slot in range(4))
    parameter = Operand(tensor.dtype, (call.integer("C"),))
    writes = _asked(call, _dense(tensor), parameter, parameter)
    return least(
        [gradient, tensor, mean, deviation, call.given(4)],
        writes,
        flops=12 * tensor.count,
        dtype=tensor.dtype,
    )


def _batch_norm(call: Call) -> Work:
    """In training, writes statistics of each channel and updates the running ones; otherwise reads these.

    In training, an input larger than the caches is read twice. The bound assumes that it fits.
    """
    tensor, weight, bias = call.tensor(0), call.given(1), call.given(2)
    running = [call.given(3), call.given(4)] if len(call.slots) > 3 else []
    training = call.value("training" if "training" in call.values else "train") == "True"
    saved = Operand(tensor.dtype, (tensor.sizes[1],)) if training else None
    return least(
        [tensor, weight, bias, *([] if training else running)],
        [_dense(tensor), saved, saved],
        running if training else (),
        flops=7 * tensor.count,
        dtype=tensor.dtype,
    )


def _batch_norm_backward(call: Call) -> Work:
    """Reads gradient, input, weight and statistics; in training twice if larger than the caches."""
    gradient, tensor, weight = call.tensor(0), call.tensor(1), call.given(2)
    training = call.value("train") == "True"
    statistics = [call.given(5), call.given(6)] if training else [call.given(3), call.given(4)]
    parameter = Operand(tensor.dtype, (tensor.sizes[1],))
    writes = _asked(call, _dense(tensor), parameter, parameter)
    return least([gradient, tensor, weight, *statistics], writes, flops=12 * tensor.count, dtype=tensor.dtype)


MODELS: dict[str, Model] = {
    **dict.fromkeys(("native_layer_norm", "layer_norm"), _layer_norm),
    "native_layer_norm_backward": _layer_norm_backward,
    **dict.fromkeys(("rms_norm", "_fused_rms_norm"), _rms_norm),
    "_fused_rms_norm_backward": _rms_norm_backward,
    **dict.fromkeys(("native_group_norm", "group_norm"), _group_norm),
    "native_group_norm_backward": _group_norm_backward,
    **dict.fromkeys(
        (
            "native_batch_norm",
            "_native_batch_norm_legit",
            "batch_norm",
            "_batch_norm_impl_index",
            "cudnn_batch_norm",
        ),
        _batch_norm,
    ),
    "native_batch_norm_backward": _batch_norm_backward,
}
