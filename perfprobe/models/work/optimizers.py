"""Optimizer steps. Fused ones touch everything once; those on lists apply an elementwise operator to each."""

from __future__ import annotations

from dataclasses import replace

from perfprobe.models.work.call import Call, Elements, Model, Work, least
from perfprobe.models.work.pointwise import MODELS as POINTWISE
from perfprobe.models.work.touched import NoModel, Operand, require


def _adam(call: Call) -> Work:
    """Reads parameter, gradient and averages; writes all but the gradient. About 14 operations an element.

    Each element also has a square root and two divisions (Kingma and Ba 2015, "Adam", algorithm 1).
    """
    parameters, gradients, *averages = (call.tensor_list(slot) for slot in range(5))
    return _step(parameters, gradients, [tensor for held in averages for tensor in held], 14, ("sqrt", "div"))


def _adagrad(call: Call) -> Work:
    """Updates one running sum: a square, an addition, a root, a division, a subtraction."""
    parameters, gradients, sums = (call.tensor_list(slot) for slot in range(3))
    return _step(parameters, gradients, sums, 6, ("sqrt", "div"))


def _sgd(call: Call) -> Work:
    """2 operations for each element; with momentum 4, and its buffers are updated too."""
    parameters, gradients, buffers = (call.tensor_list(slot) for slot in range(3))
    return _step(parameters, gradients, buffers, 4 if buffers else 2, ())


def _step(
    parameters: list[Operand],
    gradients: list[Operand],
    state: list[Operand],
    flops: int,
    kinds: tuple[str, ...],
) -> Work:
    require(bool(parameters) and len(parameters) == len(gradients))
    count = sum(tensor.count for tensor in parameters)
    return least(
        gradients,
        updates=[*parameters, *state],
        flops=flops * count,
        dtype=parameters[0].dtype,
        elements=tuple((kind, count) for kind in kinds),
    )


def _each(name: str) -> Model:
    """`_foreach_add_` and similar: the elementwise operator on each tensor of the lists."""

    def work(call: Call) -> Work:
        length = len(call.tensor_list(0))
        require(length > 0)
        values = {
            {"scalar": "other", "scalars": "other"}.get(key, key): value for key, value in call.values.items()
        }
        parts = []
        for place in range(length):
            slots = [slot[place] if isinstance(slot, tuple) else slot for slot in call.slots]
            operator = name + "_" * call.in_place
            model = POINTWISE.get(name) or _OTHERS[name]
            parts.append(model(Call(operator, "", slots, values)))
        return _together(parts)

    return work


def _copied(call: Call) -> Work:
    return least([call.tensor(1)], [call.tensor(0)], dtype=call.tensor(0).dtype)


def _zeroed(call: Call) -> Work:
    return least(writes=[call.tensor(0)], dtype=call.tensor(0).dtype)


def _normed(call: Call) -> Work:
    """Computes the norm of each tensor."""
    tensor = call.tensor(0)
    return least([tensor], [Operand(tensor.dtype, ())], flops=2 * tensor.count, dtype=tensor.dtype)


def _together(parts: list[Work]) -> Work:
    """Returns the sum of all. Raises NoModel if they differ in dtype."""
    if len({part.dtype for part in parts}) != 1:
        raise NoModel
    elements: dict[str, int] = {}
    for part in parts:
        for kind, count in part.elements:
            elements[kind] = elements.get(kind, 0) + count
    total: Elements = tuple(elements.items())
    return replace(
        parts[0],
        flops=sum(part.flops for part in parts),
        read_bytes=sum(part.read_bytes for part in parts),
        write_bytes=sum(part.write_bytes for part in parts),
        line_bytes=sum(part.line_bytes for part in parts),
        footprint_bytes=sum(part.footprint_bytes for part in parts),
        elements=total,
    )


_OTHERS: dict[str, Model] = {"copy": _copied, "zero": _zeroed, "norm": _normed}

_LISTED = (
    "add sub mul div neg abs sqrt rsqrt exp log reciprocal sign lerp addcmul addcdiv maximum minimum "
    "clamp_min clamp_max pow sigmoid tanh"
)

MODELS: dict[str, Model] = {
    **dict.fromkeys(("_fused_adam", "_fused_adamw"), _adam),
    "_fused_adagrad": _adagrad,
    "_fused_sgd": _sgd,
    **{f"_foreach_{name}": _each(name) for name in (*_LISTED.split(), *_OTHERS)},
}
