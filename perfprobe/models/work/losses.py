"""Losses and their gradients."""

from __future__ import annotations

from perfprobe.models.work.call import Call, Elements, Model, Work, broadcast, least
from perfprobe.models.work.touched import Operand, Scattered, require

_NONE = "0"  # at::Reduction::None


def _nll(call: Call) -> Work:
    """Reads the classes and one element of each row; writes the loss or losses, and the total weight."""
    scores, classes, weight = call.tensor(0), call.tensor(1), call.given(2)
    loss = Operand(scores.dtype, classes.sizes if call.value("reduction") == _NONE else ())
    total = Operand(scores.dtype, ())
    chosen = Scattered(scores, classes.count, 1)
    return least([classes, chosen, weight], [loss, total], flops=classes.count, dtype=scores.dtype)


def _nll_backward(call: Call) -> Work:
    """Reads the classes; writes the whole gradient, which is mostly zeros."""
    gradient, scores, classes = (call.tensor(slot) for slot in range(3))
    output = Operand(scores.dtype, scores.sizes)
    return least([gradient, classes, call.given(3), call.given(4)], [output], dtype=scores.dtype)


def _cross_entropy(call: Call) -> Work:
    """`_log_softmax` of all scores, which backward needs, then `nll_loss` of one element a row."""
    scores, classes, weight = call.tensor(0), call.tensor(1), call.given(2)
    require(classes.dtype == "i64")
    kept = Operand(scores.dtype, scores.sizes)
    exps = (("exp", scores.count),)
    return least([scores, classes, weight], [kept], flops=4 * scores.count, dtype=scores.dtype, elements=exps)


def _elementwise(flops: int, *kinds: str) -> Model:
    """A loss for each element of two tensors, then their mean or sum unless `reduction` is none."""

    def work(call: Call) -> Work:
        first, second, weight = call.tensor(0), call.tensor(1), call.given(2)
        sizes = broadcast([first.sizes, second.sizes])
        output = Operand(first.dtype, sizes if call.value("reduction") == _NONE else ())
        count = Operand(first.dtype, sizes).count
        return least(
            [first, second, weight],
            [output],
            flops=flops * count,
            dtype=first.dtype,
            elements=_each(kinds, count),
        )

    return work


def _elementwise_backward(flops: int, *kinds: str) -> Model:
    """Reads a gradient (one number after a reduction) and both tensors; writes the first's gradient."""

    def work(call: Call) -> Work:
        gradient, first, second = (call.tensor(slot) for slot in range(3))
        sizes = broadcast([first.sizes, second.sizes])
        output = Operand(first.dtype, sizes)
        return least(
            [gradient, first, second, call.given(3)],
            [output],
            flops=flops * output.count,
            dtype=first.dtype,
            elements=_each(kinds, output.count),
        )

    return work


def _each(kinds: tuple[str, ...], count: int) -> Elements:
    return tuple((kind, kinds.count(kind) * count) for kind in dict.fromkeys(kinds))


MODELS: dict[str, Model] = {
    **dict.fromkeys(
        ("nll_loss_forward", "nll_loss2d_forward", "nll_loss", "nll_loss_nd", "nll_loss2d"), _nll
    ),
    **dict.fromkeys(("nll_loss_backward", "nll_loss2d_backward"), _nll_backward),
    "cross_entropy_loss": _cross_entropy,
    "mse_loss": _elementwise(3),
    "mse_loss_backward": _elementwise_backward(3),
    **dict.fromkeys(("l1_loss", "smooth_l1_loss", "huber_loss"), _elementwise(3)),
    **dict.fromkeys(("smooth_l1_loss_backward", "huber_loss_backward"), _elementwise_backward(3)),
    "binary_cross_entropy": _elementwise(5, "log", "log"),
    "binary_cross_entropy_backward": _elementwise_backward(5, "div"),
    "binary_cross_entropy_with_logits": _elementwise(5, "exp", "log"),
}
