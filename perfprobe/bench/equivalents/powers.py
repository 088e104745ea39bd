"""Powers, remainders and other arithmetic on single elements.

Sources: ATen/native/cpu/PowKernel.cpp (2, 3, -1, -2 and 0.5 are fast, all other exponents call `pow` for each
element), BinaryOpsKernel.cpp (division of integers and `remainder` are not vectorised), each measured by
`python -m benchmarks.equivalents`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any

from perfprobe.bench.equivalents.form import AT_MULTIPLES, FINITE, Form, floating

# By exponent: the words, and the form. Of square roots and products both are vectorised.
_POWERS: dict[float, tuple[str, Callable[[Any], Any]]] = {
    0.25: ("x.sqrt().sqrt()", lambda x: x.sqrt().sqrt_()),
    0.75: ("r * r.sqrt() with r = x.sqrt()", lambda x: (root := x.sqrt()) * root.sqrt()),
    1.5: ("x * x.sqrt()", lambda x: x.sqrt().mul_(x)),
    -1.5: ("x.rsqrt() / x", lambda x: x.rsqrt().div_(x)),
    2.5: ("x * x * x.sqrt()", lambda x: x.sqrt().mul_(x).mul_(x)),
    4.0: ("x.square().square()", lambda x: x.square().square_()),
    5.0: ("x.square().square() * x", lambda x: x.square().square_().mul_(x)),
    6.0: ("(x * x * x).square()", lambda x: (x * x).mul_(x).square_()),
    8.0: ("x.square().square().square()", lambda x: x.square().square_().square_()),
}


def _is_power(value: float) -> Callable[..., bool]:
    return lambda x, exponent: floating(x) and exponent == value


def _power(function: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda _torch, x, _exponent: function(x)


def _is_two(x: Any, exponent: Any) -> bool:
    return x == 2 and floating(exponent)


def _is_base(x: Any, exponent: Any) -> bool:
    return x > 0 and x != 2 and floating(exponent)


def _to_power_of_two(x: Any, other: Any) -> bool:
    """Whether integers are divided by 2, 4, 8...: other is a number, or a tensor of one."""
    value = _single(other)
    return _is_integer(x) and value is not None and value > 1 and value == int(value) and _is_bit(int(value))


def _is_integer(x: Any) -> bool:
    return str(x.dtype) in ("torch.int64", "torch.int32", "torch.int16")


def _is_bit(value: int) -> bool:
    return value & (value - 1) == 0


def _single(other: Any) -> float | None:
    """The number; of a tensor that of its only element."""
    if isinstance(other, int | float):
        return other
    return other.item() if hasattr(other, "numel") and other.numel() == 1 else None


def _is_float_by_number(x: Any, other: Any) -> bool:
    return floating(x) and _single(other) not in (None, 0.0)


def _shift(_torch: Any, x: Any, other: Any) -> Any:
    return x >> (int(_single(other) or 1).bit_length() - 1)


def _remainder(_torch: Any, x: Any, other: Any) -> Any:
    value = _single(other)
    return x - (x / value).floor_().mul_(value)


def _selects_or_zero(mask: Any, x: Any, other: Any) -> bool:
    return str(mask.dtype) == "torch.bool" and floating(x) and x.dim() > 0 and _single(other) == 0.0


FORMS = (
    *(
        Form(
            operators=("aten::pow.Tensor_Scalar",),
            words=words,
            fits=_is_power(exponent),
            call=_power(function),
        )
        for exponent, (words, function) in _POWERS.items()
    ),
    Form(
        operators=("aten::pow.Scalar",),
        words="torch.exp2(x)",
        fits=_is_two,
        call=lambda torch, _base, x: torch.exp2(x),
    ),
    Form(
        operators=("aten::pow.Scalar",),
        words="torch.exp(x * math.log(base))",
        fits=_is_base,
        call=lambda torch, base, x: torch.exp(x * log(base)),
    ),
    Form(
        operators=("aten::remainder.Scalar", "aten::remainder.Tensor"),
        words="x & (n - 1)",
        fits=_to_power_of_two,
        call=lambda _torch, x, other: x & (int(_single(other) or 1) - 1),
    ),
    Form(
        operators=("aten::floor_divide", "aten::floor_divide.Scalar"),
        words="x >> log2(n)",
        fits=_to_power_of_two,
        call=_shift,
    ),
    Form(
        operators=("aten::floor_divide", "aten::floor_divide.Scalar"),
        words="(x / n).floor()",
        cautions=(AT_MULTIPLES,),
        fits=_is_float_by_number,
        call=lambda _torch, x, other: (x / _single(other)).floor_(),
    ),
    Form(
        operators=("aten::remainder.Scalar", "aten::remainder.Tensor"),
        words="x - (x / n).floor() * n",
        cautions=(AT_MULTIPLES,),
        fits=_is_float_by_number,
        call=_remainder,
    ),
    Form(
        operators=("aten::where.self", "aten::where.ScalarOther"),
        words="x * mask",
        cautions=(FINITE,),
        fits=_selects_or_zero,
        call=lambda _torch, mask, x, _other: x * mask,
    ),
)
