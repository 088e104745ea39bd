"""The work of an operator by what it was called with."""

from __future__ import annotations


def flops(operator: str, signature: str) -> int | None:
    """Floating-point operations of one call, without those of operators that it calls.

    Args:
        operator: with its overload: `aten::add.Tensor`.
        signature: the recorded text of its inputs.

    Returns:
        None where there is no model, as for all operators so far.
    """
    return None
