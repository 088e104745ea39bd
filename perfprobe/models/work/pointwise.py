"""One result for each element of the broadcast operands."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from perfprobe.models.work.call import (
    Call,
    Elements,
    Flops,
    Model,
    Work,
    broadcast,
    is_float,
    least,
    promoted,
    result,
)
from perfprobe.models.work.touched import Operand, require


def _unary_flops(call: Call) -> int:
    """One operation for each element."""
    return prod(call.sizes[0])


def _binary_flops(call: Call) -> int:
    """One operation for each element of the broadcast result."""
    require(call.overload in ("", "Tensor", "out") and "rounding_mode" not in call.values)
    return prod(broadcast(call.sizes[:2]))


def _add_flops(call: Call) -> int:
    """self + alpha * other: a multiplication more when alpha is not 1."""
    return _binary_flops(call) * (1 if call.value("alpha") in ("1", None) else 2)


Dtype = Callable[[Call], str]


def same(call: Call) -> str:
    """The result has the operands' dtype."""
    return promoted(call.tensors)


def fractional(call: Call) -> str:
    """Whole numbers give f32 (torch.get_default_dtype); so does a fraction given as a number beside them."""
    dtype = promoted(call.tensors)
    return dtype if is_float(dtype) else "f32"


def _scaled(call: Call) -> str:
    """A scalar that is a float makes whole numbers f32; its text is `float` or has a point."""
    dtype = promoted(call.tensors)
    scalars = [call.value(name) for name in ("other", "alpha", "value", "exponent", "min", "max", "weight")]
    fraction = any(text is not None and (text == "float" or "." in text) for text in scalars)
    return "f32" if fraction and not is_float(dtype) else dtype


def _truth(_: Call) -> str:
    return "bool"


def pointwise(*kinds: str, flops: int = 1, dtype: Dtype = _scaled) -> Model:
    """Reads each operand's distinct elements once, writes the result; in place, the first is updated.

    kinds: what each element costs beside that, by ELEMENT_KINDS. flops: operations of each element, by the
    definition of the operator.
    """

    def work(call: Call) -> Work:
        tensors = call.tensors
        sizes = broadcast(call.sizes)
        count = prod(sizes)
        elements: Elements = tuple((kind, count) for kind in kinds)
        made = dtype(call)
        arithmetic = promoted(tensors) if made == "bool" else made
        if call.in_place:
            require(tensors[0].sizes == sizes)
            return least(
                tensors[1:],
                updates=tensors[:1],
                flops=flops * count,
                dtype=tensors[0].dtype,
                elements=elements,
            )
        output = result(call, made, sizes)
        return least(tensors, [output], flops=flops * count, dtype=arithmetic, elements=elements)

    return work


def _division(call: Call) -> Work:
    """Whole numbers give fractions, unless they are rounded."""
    return pointwise("div", dtype=same if "rounding_mode" in call.values else fractional)(call)


def _power(call: Call) -> Work:
    """A whole exponent of 2 or 3 is multiplication; others go by `pow` (ATen/native/cpu/PowKernel.cpp)."""
    plain = (call.value("exponent") or "").removesuffix(".0") in ("0", "1", "2", "3")
    return (pointwise() if plain else pointwise("pow", flops=0))(call)


def _gelu(call: Call) -> Work:
    """erf; when approximate, tanh (torch.nn.GELU's documentation): 0.5 (1 + tanh y) is sigmoid 2y."""
    return pointwise("sigmoid" if call.value("approximate") == '"tanh"' else "erf", flops=0)(call)


def _where(call: Call) -> Work:
    """Condition and both values; which of them an element needs is not known, so both count."""
    condition, *values = call.tensors
    require(bool(values))
    sizes = broadcast(call.sizes)
    dtype = promoted(values) if len(values) > 1 else values[0].dtype
    return least([condition, *values], [result(call, dtype, sizes)], dtype=dtype)


def _masked_fill(call: Call) -> Work:
    """Reads the mask and writes everything: with one True in a line, the line is written.

    How many there are is in no signature, so this is the bound of a mask that is neither sparse nor empty.
    Out of place the tensor is copied as well.
    """
    tensor, mask = call.tensor(0), call.tensor(1)
    sizes = broadcast([tensor.sizes, mask.sizes])
    if call.in_place:
        return least([mask], [tensor], dtype=tensor.dtype)
    return least([mask, tensor], [Operand(tensor.dtype, sizes)], dtype=tensor.dtype)


def _outer(call: Call) -> Work:
    """Every element of one vector times every element of another."""
    left, right = call.tensor(0), call.tensor(1)
    sizes = (left.count, right.count)
    dtype = promoted(call.tensors)
    return least([left, right], [result(call, dtype, sizes)], flops=prod(sizes), dtype=dtype)


def _gated(call: Call) -> Work:
    """`glu`: one half times the sigmoid of the other."""
    tensor = call.tensor(0)
    axis = call.axis("dim", len(tensor.sizes))
    half = tensor.resized(axis, tensor.sizes[axis] // 2)
    elements = (("sigmoid", half.count),)
    output = result(call, tensor.dtype, half.sizes)
    return least([tensor], [output], flops=2 * half.count, dtype=tensor.dtype, elements=elements)


FLOPS: dict[str, Flops] = {
    **dict.fromkeys(("sqrt", "neg", "reciprocal"), _unary_flops),
    **dict.fromkeys(("add", "sub"), _add_flops),
    **dict.fromkeys(("mul", "div", "maximum", "minimum", "clamp_min", "clamp_max"), _binary_flops),
}

_PLAIN = (
    "add sub rsub mul multiply subtract maximum minimum fmax fmin neg negative abs relu clamp clip clamp_min "
    "clamp_max hardtanh relu6 leaky_relu threshold hardsigmoid hardswish sign sgn floor ceil round trunc "
    "frac square bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_left_shift bitwise_right_shift "
    "nan_to_num copysign threshold_backward hardtanh_backward leaky_relu_backward "
    "hardsigmoid_backward hardswish_backward positive _prelu_kernel dropout_backward"
)
_COMPARING = (
    "eq ne lt le gt ge isnan isinf isfinite logical_and logical_or logical_not logical_xor signbit isposinf "
    "isneginf"
)
_OF_KINDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("exp", "exp2", "expm1"), ("exp",)),
    **dict.fromkeys(("log", "log2", "log10", "log1p"), ("log",)),
    **dict.fromkeys(("sin", "cos"), ("sin",)),
    **dict.fromkeys(("erf", "erfc"), ("erf",)),
    "tanh": ("tanh",),
    "sqrt": ("sqrt",),
    "rsqrt": ("sqrt",),
    "hypot": ("sqrt",),
    "reciprocal": ("div",),
    **dict.fromkeys(("sigmoid", "silu", "silu_backward"), ("sigmoid",)),
    **dict.fromkeys(("elu", "celu", "selu"), ("exp",)),
    **dict.fromkeys(("softplus", "log_sigmoid", "log_sigmoid_forward"), ("exp", "log")),
    **dict.fromkeys(("softplus_backward", "log_sigmoid_backward"), ("exp",)),
    "mish": ("exp", "log", "tanh"),
}
_IEEE = ("div", "sqrt")  # kinds that are one floating-point operation each

MODELS: dict[str, Model] = {
    **dict.fromkeys(_PLAIN.split(), pointwise()),
    **dict.fromkeys(_COMPARING.split(), pointwise(dtype=_truth, flops=0)),
    **{
        name: pointwise(*kinds, dtype=fractional, flops=sum(kind in _IEEE for kind in kinds))
        for name, kinds in _OF_KINDS.items()
    },
    "div": _division,
    **dict.fromkeys(("floor_divide", "remainder", "fmod"), pointwise("div")),
    **dict.fromkeys(("addcmul", "lerp", "sigmoid_backward", "tanh_backward"), pointwise(flops=3)),
    "addcdiv": pointwise("div", flops=3, dtype=fractional),
    "elu_backward": pointwise(),
    "pow": _power,
    **dict.fromkeys(("gelu", "gelu_backward"), _gelu),
    "where": _where,
    "outer": _outer,
    "glu": _gated,
    "masked_fill": _masked_fill,
}
