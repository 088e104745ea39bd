"""Finds the faster forms that fit a rebuilt call and give its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perfprobe.bench.equivalents import indexing, ordering, powers, products, reductions
from perfprobe.bench.equivalents.form import Form
from perfprobe.bench.rebuild.rebuilt import Rebuilt

FORMS = (*reductions.FORMS, *powers.FORMS, *ordering.FORMS, *indexing.FORMS, *products.FORMS)
DIFFERS = "its result is another one"
# Of the largest value. A sum in another order rounds differently.
_TOLERANCE = {"torch.float64": 1e-11, "torch.float32": 1e-5}


def fitting(operator: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Form]:
    """The forms for a call with these arguments. operator: with its overload."""
    return [form for form in FORMS if operator in form.operators and _fits(form, args, kwargs)]


def _fits(form: Form, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    try:
        return bool(form.fits(*args, **kwargs))
    except (TypeError, ValueError, AttributeError, IndexError, RuntimeError):  # an argument of another kind
        return False


def is_equal(torch: Any, call: Rebuilt, form: Form, seed: int) -> bool:
    """Whether both give the same result on the same new operands, which neither writes. Raises as torch."""
    operands = call.operands(seed)
    expected = call.run(operands)
    if form.part is not None:
        expected = expected[form.part]
    return same(torch, expected, form.call(torch, *operands.args, **operands.kwargs))


def same(torch: Any, expected: Any, found: Any) -> bool:
    """Whether two results are equal; of floats, within rounding, with NaN and infinity in the same places."""
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return False
    tolerance = _TOLERANCE.get(str(expected.dtype))
    if tolerance is None or expected.numel() == 0:
        return bool(torch.equal(expected, found))
    finite = expected.isfinite()
    largest = expected.abs().where(finite, 0.0).max()
    return bool(torch.allclose(found, expected, rtol=0.0, atol=float(largest) * tolerance, equal_nan=True))
