"""What a faster form is, and what may be lost by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

VALUES_ONLY = "if the indices are not used"
NO_GRADIENT = "without a gradient"
FINITE = "if all values are finite"
AT_MULTIPLES = "rounds in another way beside multiples of n"
NOT_NEGATIVE = "if no value is negative"


def always(*_args: Any, **_kwargs: Any) -> bool:
    """For a form that fits every call of its overload."""
    return True


@dataclass(frozen=True, kw_only=True)
class Form:
    """Another way to compute what a call of an operator computes.

    Attributes:
        operators: with their overloads: "aten::any.dim".
        words: what to write instead, with x for the first operand.
        cautions: what must hold, or is lost.
        fits: whether a call is of the kind for which this was seen to be faster, by its arguments.
        call: the form: torch, then the call's own arguments.
        part: of a call with several results, the one that this gives; None for all.
    """

    operators: tuple[str, ...]
    words: str
    call: Callable[..., Any]
    fits: Callable[..., bool] = always
    cautions: tuple[str, ...] = ()
    part: int | None = None

    @property
    def shown(self) -> str:
        """The form with its cautions."""
        return f"{self.words} ({', '.join(self.cautions)})" if self.cautions else self.words


def floating(x: Any) -> bool:
    """Whether it holds single or double precision numbers: for narrower ones the forms round more often."""
    return str(x.dtype) in ("torch.float32", "torch.float64")


def axis(x: Any, dim: int) -> int:
    """A dimension counted from the first."""
    return int(dim % max(x.dim(), 1))
