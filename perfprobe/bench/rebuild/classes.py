"""Which operands need values of a certain class, by operator and argument: data, and the bounds of indices.

An operator stands here by its name without "_foreach_" before it and "_" after it. Where nothing stands,
floats are of [0.5, 1.5), integers of [1, 100), and half of all booleans are True.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import TypeVar

from perfprobe.bench.rebuild.recipe import Argument, TensorRecipe

Arguments = Mapping[str, Argument]
Settings = dict[str, float | int | str]
Values = tuple[str, Settings]  # a maker and its settings
_Value = TypeVar("_Value")


def _each(operators: str, value: _Value) -> dict[str, _Value]:
    """The same for several names."""
    return dict.fromkeys(operators.split(), value)


# Branches, comparisons and piecewise formulas take another time on numbers that are all positive.
_SIGNED = """
    threshold threshold_backward relu relu6 gelu gelu_backward leaky_relu leaky_relu_backward elu
    elu_backward celu selu silu silu_backward mish mish_backward hardtanh hardtanh_backward
    hardswish hardswish_backward hardsigmoid hardsigmoid_backward hardshrink hardshrink_backward
    softshrink softshrink_backward softplus softplus_backward log_sigmoid log_sigmoid_forward
    log_sigmoid_backward prelu _prelu_kernel _prelu_kernel_backward rrelu rrelu_with_noise abs sign
    sgn signbit clamp clamp_min clamp_max maximum minimum max min amax amin aminmax argmax argmin
    topk sort argsort kthvalue median gt ge lt le eq ne where sigmoid tanh erf sin cos tan exp expm1
    softmax log_softmax _softmax _log_softmax max_pool2d max_pool2d_with_indices
    max_pool3d_with_indices binary_cross_entropy_with_logits smooth_l1_loss huber_loss l1_loss
    copysign isfinite nan_to_num
    """
SIGNED = frozenset(_SIGNED.split())

_HALF: Settings = {"negatives": 0.5}
_PART: Values = ("uniform", {"low": 0.05, "high": 0.95})  # probabilities, and what a sigmoid yields
_TANH: Values = ("uniform", {"low": 0.05, "high": 0.95, **_HALF})
_LOGARITHMS: Values = ("uniform", {"low": 0.1, "high": 5.0, "negatives": 1.0})
_NEAR_ONE: Values = ("uniform", {"low": 0.999, "high": 1.001})  # so that long products stay in range
_DEFINITE: Values = ("definite", {})
_ORDERED: Values = ("ordered", {})
_TEN: Values = ("constant", {"value": 10.0})
_ONE: Values = ("constant", {"value": 1.0})
_ZERO: Values = ("constant", {"value": 0.0})
_OPTIMIZER: dict[str, Values] = {
    "grads": ("uniform", dict(_HALF)),
    "exp_avgs": ("uniform", dict(_HALF)),
    "state_steps": _TEN,
    "grad_scale": _ONE,
    "found_inf": _ZERO,
}
_MATRIX: dict[str, Values] = _each("self A input input1 input2", _DEFINITE)

FIXED: dict[str, dict[str, Values]] = {
    "threshold_backward": {"self": ("uniform", {"zeros": 0.5})},  # the result of a relu
    "tanh_backward": {"output": _TANH},
    "sigmoid_backward": {"output": _PART},
    "bernoulli": {"self": _PART, "p": _PART},
    "binary_cross_entropy": {"self": _PART, "target": _PART},
    "binary_cross_entropy_backward": {"self": _PART, "target": _PART},
    "binary_cross_entropy_with_logits": {"target": _PART},
    "logit": {"self": _PART},
    **_each("acos asin atanh erfinv arccos arcsin arctanh", {"self": _TANH}),
    "acosh": {"self": ("uniform", {"low": 1.5, "high": 3.0})},
    "kl_div": {"self": _LOGARITHMS, "target": _PART},
    **_each(
        """
        nll_loss nll_loss_forward nll_loss_backward nll_loss2d_forward nll_loss2d_backward
        """,
        {"self": _LOGARITHMS, "weight": ("uniform", {}), "total_weight": _ONE},
    ),
    "_ctc_loss": {"log_probs": _LOGARITHMS},
    "prod": {"self": _NEAR_ONE},
    "cumprod": {"self": _NEAR_ONE},
    "searchsorted": {"sorted_sequence": _ORDERED},
    "bucketize": {"boundaries": _ORDERED},
    **_each("grid_sampler grid_sampler_2d grid_sampler_3d", {"grid": _TANH}),
    **_each("_fused_adam _fused_adamw _fused_sgd _fused_adagrad", _OPTIMIZER),
    "_amp_foreach_non_finite_check_and_unscale": {"found_inf": _ZERO, "inv_scale": _ONE},
    "_amp_update_scale": {"growth_tracker": _ZERO, "found_inf": _ZERO},
    **_each(
        """
        cholesky linalg_cholesky linalg_cholesky_ex linalg_inv linalg_inv_ex inverse
        linalg_solve linalg_solve_ex _linalg_solve_ex cholesky_solve cholesky_inverse
        triangular_solve linalg_solve_triangular linalg_lu_factor linalg_lu_factor_ex
        _linalg_det _linalg_slogdet linalg_eigh _linalg_eigh linalg_ldl_factor_ex
        """,
        _MATRIX,
    ),
    **_each(
        """
        bitwise_left_shift bitwise_right_shift __lshift__ __rshift__ __ilshift__ __irshift__
        """,
        {"other": ("integers", {"low": 0, "below": 7})},
    ),
    "repeat_interleave": {"repeats": ("integers", {"low": 1, "below": 3})},
}

SAVED = {
    "native_layer_norm_backward": "layer_norm",
    "native_group_norm_backward": "group_norm",
    "_fused_rms_norm_backward": "rms_norm",
    "native_batch_norm_backward": "batch_norm",
    "_softmax_backward_data": "softmax",
    "_log_softmax_backward_data": "log_softmax",
    "_scaled_dot_product_flash_attention_for_cpu_backward": "attention_cpu",
    "_scaled_dot_product_flash_attention_backward": "attention_flash",
    "_scaled_dot_product_efficient_attention_backward": "attention_efficient",
    "cudnn_batch_norm_backward": "batch_norm_cudnn",
    "mkldnn_rnn_layer_backward": "rnn_mkldnn",
    "max_pool2d_with_indices_backward": "max_pool",
    "nll_loss_backward": "nll_loss",
    "nll_loss2d_backward": "nll_loss",
}


def extent(argument: Argument, dimension: Argument) -> int:
    """A tensor's extent along a dimension, 1 where it has no such one."""
    sizes = argument.sizes if isinstance(argument, TensorRecipe) else ()
    dimension = dimension if isinstance(dimension, int) else 0
    return sizes[dimension] if -len(sizes) <= dimension < len(sizes) else 1


def _along(tensor: str, dimension: str) -> Callable[[Arguments], int]:
    return lambda arguments: extent(arguments.get(tensor), arguments.get(dimension))


def _rows(tensor: str, dimension: int = 0) -> Callable[[Arguments], int]:
    return lambda arguments: extent(arguments.get(tensor), dimension)


def _number(name: str) -> Callable[[Arguments], int]:
    def bound(arguments: Arguments) -> int:
        value = arguments.get(name)
        return value if isinstance(value, int) and value > 0 else 100

    return bound


def _elements(tensor: str, last: int | None = None) -> Callable[[Arguments], int]:
    """All elements, or those of the last dimensions."""

    def bound(arguments: Arguments) -> int:
        found = arguments.get(tensor)
        return prod(found.sizes[-last if last else 0 :]) if isinstance(found, TensorRecipe) else 1

    return bound


def _classes(arguments: Arguments) -> int:
    scores = arguments.get("self", arguments.get("input"))
    return extent(scores, 0 if isinstance(scores, TensorRecipe) and len(scores.sizes) == 1 else 1)


_EMBEDDED = {"indices": _rows("weight")}
_WEIGHTED = {"indices": _number("num_weights"), "maximum_indices": _number("num_weights")}

# The integers of these operands are below what the function finds in the other arguments.
BOUNDS: dict[str, dict[str, Callable[[Arguments], int]]] = {
    **_each("embedding embedding_bag _embedding_bag _embedding_bag_forward_only", _EMBEDDED),
    **_each("embedding_dense_backward embedding_backward _embedding_bag_dense_backward", _WEIGHTED),
    "embedding_renorm": {"indices": _rows("self")},
    **_each(
        """
        index_select index_add index_copy index_fill index_reduce gather scatter scatter_add
        scatter_reduce
        """,
        {"index": _along("self", "dim")},
    ),
    "gather_backward": {"index": _along("self", "dim")},
    "take_along_dim": {"indices": _along("self", "dim")},
    **_each("take put", {"index": _elements("self")}),
    **_each(
        """
        nll_loss nll_loss_nd nll_loss2d nll_loss_forward nll_loss_backward nll_loss2d_forward
        nll_loss2d_backward cross_entropy_loss multi_margin_loss multi_margin_loss_backward
        """,
        {"target": _classes},
    ),
    "one_hot": {"self": _number("num_classes")},
    "max_pool2d_with_indices_backward": {"indices": _elements("self", 2)},
    "max_pool3d_with_indices_backward": {"indices": _elements("self", 3)},
    "adaptive_max_pool2d_backward": {"indices": _elements("self", 2)},
    "adaptive_max_pool3d_backward": {"indices": _elements("self", 3)},
    "_ctc_loss": {"targets": _rows("log_probs", 2)},
}
