"""What an operator has to do, from its signature alone: operations, and memory that must be touched.

A multiply-add is two operations; integers count like floats. The counts are what the result needs, not what a
kernel happens to do. Recomputation that belongs to the operator (flash attention's backward) is counted;
padding is counted as if it were data.

`flops` is for rows that are added up, so it only counts the work of an operator's own kernel. `aten::linear`,
`aten::matmul`, `aten::relu`, `aten::mv`, `aten::addbmm`, `aten::mul.Scalar` and others that call another
operator for their work have none: the operator that they call has it. `work` is about one call alone, with
all that it calls. A signature does not show that under autocast an operator calls itself with other dtypes.
If a call has a child of the same name, only the child must be counted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from perfprobe.models.signature import parse
from perfprobe.models.work import (
    attention,
    convolution,
    decompositions,
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
    selecting,
)
from perfprobe.models.work.call import Call, Flops, Model, Work, read_call
from perfprobe.models.work.touched import NoModel

__all__ = ["ELEMENT_KINDS", "Work", "flops", "work"]

_Formula = TypeVar("_Formula")
_MOST = (1 << 63) - 1  # more than any real call, and the most that an int64 column holds

# What limits an element besides memory, and the operators of which the fastest sets the ceiling. They are
# timed on a tensor in the L2 cache with uniform values from 0.5 to 1.5. "pow" is to the power of 2.5.
# "compare" counts N log2(N) for sorting N random values in one row. There are several operators if the
# operator of that name uses a vendor's library that may be slower: exp and erf can be half as fast as the
# vector code inside sigmoid and gelu. "rng" is the rate of uniform_, the simplest use of the generator, for
# all random operators: bernoulli_ compared with its own rate would always be perfect.
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
_OTHERS = (filling, indexing, losses, norms, optimizers, pooling, recurrent, selecting, decompositions)
FLOPS: dict[str, Flops] = {name: count for family in _FAMILIES for name, count in family.FLOPS.items()}
MODELS: dict[str, Model] = {
    name: model for family in (*_FAMILIES, *_OTHERS) for name, model in family.MODELS.items()
}


def flops(operator: str, signature: str) -> int | None:
    """Returns the floating-point operations of one call, without those of operators that it calls.

    Args:
        operator: with its overload, as the report shows it: `aten::add.Tensor`.
        signature: the recorded text of its inputs.

    Returns:
        None if there is no formula for this operator or these inputs: complex numbers, sparse, nested or
            symbolic tensors, tensor subclasses (which call the operator again inside), the meta device.
    """
    try:
        call = _call(operator, signature)
        count = _of(FLOPS, call.operator)(call)
    except (NoModel, IndexError, ValueError):
        return None
    return count if 0 <= count <= _MOST else None


def work(operator: str, signature: str) -> Work | None:
    """Returns the least that one call must do, with all that it calls.

    Args:
        operator: with its overload, such as `aten::bmm`.
        signature: the recorded text of its inputs.

    Returns:
        None if there is no model for this operator or these inputs: as for `flops`, and if most of what is
            touched depends on values (an index that is a mask). Such an operator is not judged.
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
    """Returns the formula of this operator, or for an in-place operator that of its other form."""
    model = models.get(name) or models.get(name.removesuffix("_"))
    if model is None:
        raise NoModel
    return model
