"""How much an operator has to do, from its signature alone: operations, and memory that must be touched.

A multiply-add is two, everywhere; integers count like floats. The counts are what the result needs, not what
a kernel happens to do: recomputation that belongs to the operator (flash attention's backward) is counted,
padding is counted as if it were data.

`flops` is for rows that are added up, so it counts only the work of an operator's own kernel:
`aten::linear`, `aten::matmul`, `aten::relu`, `aten::mv`, `aten::addbmm`, `aten::mul.Scalar` and other
operators that call another one for their work have none, the operator they call has. `work` is about one
call alone, with all that it calls. What a signature cannot show: under autocast an operator calls itself
with other dtypes; where a call has a child of the same name, only the child must be counted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from perfprobe.models.signature import parse
from perfprobe.models.work import (
    attention,
    convolution,
    filling,
    indexing,
    losses,
    norms,
    optimizers,
    pointwise,
    pooling,
    products,
    recurrent,
    reductions,
)
from perfprobe.models.work.call import Call, Flops, Model, Work, read_call
from perfprobe.models.work.touched import NoModel

__all__ = ["ELEMENT_KINDS", "Work", "flops", "work"]

_Formula = TypeVar("_Formula")
_MOST = (1 << 63) - 1  # beyond any real call, and what an int64 column holds

# What limits an element beside memory, and the operators of whose rates the best is the ceiling, on a tensor
# that fits the L2 cache, of uniform values from 0.5 to 1.5: "pow" to the power of 2.5; "compare" counts
# N log2(N) for sorting N random values in one row. Several stand where torch may have a faster way than the
# operator of that name, which goes to a vendor's library: exp and erf can be half as fast as the vector code
# inside of sigmoid and gelu. "rng" is the rate of uniform_, the plainest use of the generator, for all random
# operators: bernoulli_ judged by its own rate would always be perfect.
ELEMENT_KINDS: dict[str, tuple[str, ...]] = {
    "exp": ("aten::exp", "aten::exp2", "aten::sigmoid"),
    "sigmoid": ("aten::sigmoid",),
    "log": ("aten::log", "aten::log1p"),
    "tanh": ("aten::tanh",),
    "erf": ("aten::erf", "aten::gelu"),
    "sin": ("aten::sin",),
    "pow": ("aten::pow.Tensor_Scalar",),
    "sqrt": ("aten::sqrt", "aten::rsqrt"),
    "div": ("aten::div.Tensor",),
    "rng": ("aten::uniform_",),
    "compare": ("aten::sort",),
}

_FAMILIES = (attention, convolution, pointwise, products, reductions)
FLOPS: dict[str, Flops] = {name: count for family in _FAMILIES for name, count in family.FLOPS.items()}
MODELS: dict[str, Model] = {
    name: model
    for family in (*_FAMILIES, filling, indexing, losses, norms, optimizers, pooling, recurrent)
    for name, model in family.MODELS.items()
}


def flops(operator: str, signature: str) -> int | None:
    """Floating-point operations of one call, without those of operators that it calls.

    Args:
        operator: with its overload, as the report shows it: `aten::add.Tensor`.
        signature: the recorded text of its inputs.

    Returns:
        None where there is no formula for this operator or these inputs: complex numbers, sparse, nested or
        symbolic tensors, tensor subclasses (their operator is called again inside), the meta device.
    """
    try:
        call = _call(operator, signature)
        count = _of(FLOPS, call.operator)(call)
    except (NoModel, IndexError, ValueError):
        return None
    return count if 0 <= count <= _MOST else None


def work(operator: str, signature: str) -> Work | None:
    """The least that one call must do, with all that it calls.

    Args:
        operator: with its overload; `aten::bmm`.
        signature: the recorded text of its inputs.

    Returns:
        None without a model for this operator or these inputs: as for `flops`, and where what is touched
        depends on values (`nonzero`, an index that is a mask). Such an operator is not judged.
    """
    try:
        call = _call(operator, signature)
        found = _of(MODELS, call.operator)(call)
    except (NoModel, IndexError, ValueError):
        return None
    counted = flops(operator, signature)
    found = found if counted is None else replace(found, flops=counted)
    counts = (found.flops, found.line_bytes, *(count for _, count in found.elements))
    return found if min(counts) >= 0 and max(counts) <= _MOST else None


def _call(operator: str, signature: str) -> Call:
    name, _, overload = operator.removeprefix("aten::").partition(".")
    items = parse(signature) if operator.startswith("aten::") else None
    if items is None:
        raise NoModel
    return read_call(name, overload, items)


def _of(models: dict[str, _Formula], name: str) -> _Formula:
    """The model of this operator, or of the operator whose in-place form it is."""
    model = models.get(name) or models.get(name.removesuffix("_"))
    if model is None:
        raise NoModel
    return model
