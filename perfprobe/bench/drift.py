"""How often a call may run on its own output before the values are no longer ordinary.

`exp_` of `exp_` of 1.5 is 88, and `mul_(0.001)` ends in denormals, which take a hundred times as long. Calls
that add or overwrite can be repeated often. So can products, because operands made here have factors of 0.5
to 1.5.
"""

from __future__ import annotations

FEW, MANY = 2, 16

_STEADY = frozenset(
    (
        "add_",
        "sub_",
        "addcmul_",
        "addcdiv_",
        "lerp_",
        "addmm_",
        "baddbmm_",
        "mul_.Tensor",
        "div_.Tensor",
        "copy_",
        "fill_",
        "zero_",
        "masked_fill_",
        "bernoulli_",
        "uniform_",
        "normal_",
        "exponential_",
        "random_",
        "index_copy_",
        "index_fill_",
        "index_add_",
        "index_put_",
        "_index_put_impl_",
        "scatter_",
        "scatter_add_",
        "masked_scatter_",
        "_fused_adam_",
        "_fused_adamw_",
        "_fused_sgd_",
        "_foreach_add_",
        "_foreach_lerp_",
        "_foreach_addcmul_",
        "_foreach_addcdiv_",
    )
)


def calls_between_restores(operator: str, overload: str) -> int:
    """Returns how many calls may use one set of operands before it is restored."""
    name = operator.removeprefix("aten::")
    steady = overload == "out" or name in _STEADY or f"{name}.{overload}" in _STEADY
    return MANY if steady else FEW
