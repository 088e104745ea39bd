"""Elementwise operators: one result for each element of the broadcast operands."""

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
    """self + alpha * other: one multiplication more if alpha is not 1."""
    return _binary_flops(call) * (1 if call.value("alpha") in ("1", None) else 2)


Dtype = Callable[[Call], str]


def same(call: Call) -> str:
    """The result has the operands' dtype."""
    return promoted(call.tensors)


def fractional(call: Call) -> str:
    """Integers give f32 (torch.get_default_dtype), also together with a floating-point number."""
    dtype = promoted(call.tensors)
    return dtype if is_float(dtype) else "f32"


def _scaled(call: Call) -> str:
    """A floating-point scalar makes integers f32. Its text is `float` or has a decimal point."""
    dtype = promoted(call.tensors)
    scalars = [call.value(name) for name in ("other", "alpha", "value", "exponent", "min", "max", "weight")]
    fraction = any(text is not None and (text == "float" or "." in text) for text in scalars)
    return "f32" if fraction and not is_float(dtype) else dtype


def _truth(_: Call) -> str:
    return "bool"


def pointwise(*kinds: str, flops: int = 1, dtype: Dtype = _scaled) -> Model:
    """Reads each operand's distinct elements once and writes the result. In place, the first is updated.

    Args:
        kinds: of ELEMENT_KINDS, what each element costs in addition.
        flops: operations of each element, by the definition of the operator.
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
    """Integers give floating-point numbers, unless they are rounded."""
    return pointwise("div", dtype=same if "rounding_mode" in call.values else fractional)(call)


def _power(call: Call) -> Work:
    """An exponent of 2 or 3 is multiplication; others use `pow` (ATen/native/cpu/PowKernel.cpp)."""
    plain = (call.value("exponent") or "").removesuffix(".0") in ("0", "1", "2", "3")
    return (pointwise() if plain else pointwise("pow", flops=0))(call)


def _gelu(call: Call) -> Work:
    """erf; if approximate, tanh (see torch.nn.GELU) as a sigmoid: 0.5 (1 + tanh y) is sigmoid 2y."""
    return pointwise("sigmoid" if call.value("approximate") == '"tanh"' else "erf", flops=0)(call)


def _where(call: Call) -> Work:
    """Reads condition and both values. Which value an element needs is not known, so both count."""
    condition, *values = call.tensors
    require(bool(values))
    sizes = broadcast(call.sizes)
    dtype = promoted(values) if len(values) > 1 else values[0].dtype
    return least([condition, *values], [result(call, dtype, sizes)], dtype=dtype)


def _masked_fill(call: Call) -> Work:
    """Reads the mask and writes the whole tensor: one True in a line means that the line is written.

    A signature does not have the number of True, so this is the bound for a mask that is not sparse. Out of
    place, the tensor is copied too.
    """
    tensor, mask = call.tensor(0), call.tensor(1)
    sizes = broadcast([tensor.sizes, mask.sizes])
    if call.in_place:
        return least([mask], [tensor], dtype=tensor.dtype)
    return least([mask, tensor], [Operand(tensor.dtype, sizes)], dtype=tensor.dtype)


def _outer(call: Call) -> Work:
    """Multiplies each element of one vector by each of another."""
    left, right = call.tensor(0), call.tensor(1)
    sizes = (left.count, right.count)
    dtype = promoted(call.tensors)
    return least([left, right], [result(call, dtype, sizes)], flops=prod(sizes), dtype=dtype)


def _gated(call: Call) -> Work:
    """`glu`: one half multiplied by the sigmoid of the other."""
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
_IEEE = ("div", "sqrt")  # kinds that are one floating-point operation

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
