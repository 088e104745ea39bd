"""Which operands need values of a certain kind, by operator and argument.

The operator's name has no "_foreach_" before it and no "_" after it. By default floats are in [0.5, 1.5),
integers in [1, 100), and half of all booleans are True.
"""

from __future__ import annotations

from typing import TypeVar

Settings = dict[str, float | int | str | tuple[float, ...]]
Values = tuple[str, Settings]  # name of a maker, and its settings
_Value = TypeVar("_Value")


def each(operators: str, value: _Value) -> dict[str, _Value]:
    """Maps several names to the same value."""
    return dict.fromkeys(operators.split(), value)


# Branches, comparisons and piecewise formulas take a different time if all numbers are positive.
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
_PART: Values = ("uniform", {"low": 0.05, "high": 0.95})  # probabilities, and outputs of a sigmoid
_TANH: Values = ("uniform", {"low": 0.05, "high": 0.95, **_HALF})
_LOGARITHMS: Values = ("uniform", {"low": 0.1, "high": 5.0, "negatives": 1.0})
_NEAR_ONE: Values = ("uniform", {"low": 0.999, "high": 1.001})  # so that products of many stay in range
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
_MATRIX: dict[str, Values] = each("self A input input1 input2", _DEFINITE)

FIXED: dict[str, dict[str, Values]] = {
    "threshold_backward": {"self": ("uniform", {"zeros": 0.5})},  # the output of a relu
    "tanh_backward": {"output": _TANH},
    "sigmoid_backward": {"output": _PART},
    "bernoulli": {"self": _PART, "p": _PART},
    "binary_cross_entropy": {"self": _PART, "target": _PART},
    "binary_cross_entropy_backward": {"self": _PART, "target": _PART},
    "binary_cross_entropy_with_logits": {"target": _PART},
    "logit": {"self": _PART},
    "logit_backward": {"self": _PART},
    **each("acos asin atanh erfinv arccos arcsin arctanh", {"self": _TANH}),
    "acosh": {"self": ("uniform", {"low": 1.5, "high": 3.0})},
    "kl_div": {"self": _LOGARITHMS, "target": _PART},
    **each(
        """
        nll_loss nll_loss_forward nll_loss_backward nll_loss2d_forward nll_loss2d_backward
        """,
        {"self": _LOGARITHMS, "weight": ("uniform", {}), "total_weight": _ONE},
    ),
    **each("_ctc_loss _ctc_loss_backward", {"log_probs": _LOGARITHMS, "neg_log_likelihood": _TEN}),
    "prod": {"self": _NEAR_ONE},
    "cumprod": {"self": _NEAR_ONE},
    "searchsorted": {"sorted_sequence": _ORDERED},
    "bucketize": {"boundaries": _ORDERED},
    **each("grid_sampler grid_sampler_2d grid_sampler_3d", {"grid": _TANH}),
    **each("_fused_adam _fused_adamw _fused_sgd _fused_adagrad", _OPTIMIZER),
    "_amp_foreach_non_finite_check_and_unscale": {"found_inf": _ZERO, "inv_scale": _ONE},
    "_amp_update_scale": {"growth_tracker": _ZERO, "found_inf": _ZERO},
    **each(
        """
        cholesky linalg_cholesky linalg_cholesky_ex linalg_inv linalg_inv_ex inverse
        linalg_solve linalg_solve_ex _linalg_solve_ex cholesky_solve cholesky_inverse
        triangular_solve linalg_solve_triangular linalg_lu_factor linalg_lu_factor_ex
        _linalg_det _linalg_slogdet linalg_eigh _linalg_eigh linalg_ldl_factor_ex
        """,
        _MATRIX,
    ),
    **each(
        """
        bitwise_left_shift bitwise_right_shift __lshift__ __rshift__ __ilshift__ __irshift__
        """,
        {"other": ("integers", {"low": 0, "below": 7})},
    ),
    "narrow": {"start": _ZERO},
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
