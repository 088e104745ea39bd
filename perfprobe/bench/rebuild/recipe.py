"""A call as plain data: what a measuring process builds operands from, and what a script is written from.

Nothing here is code: a recording is untrusted, so names are looked up in torch's own registry and values are
numbers, booleans, dtypes and strings that were parsed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias


class NotRebuilt(Exception):
    """The call cannot be rebuilt; the message is the reason, for `not rebuilt: ...`."""


@dataclass(frozen=True)
class TensorRecipe:
    """How to make a tensor.

    dtype: torch's name, "float32". maker: a name in `operands.MAKERS`, with its settings: "uniform" with
    {"low": 0.5, "high": 1.5}, "indices" with {"below": 5000}. written: the call changes it, so that it must
    be put back.
    """

    dtype: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...] | None
    device: str
    maker: str
    settings: dict[str, float | int | str] = field(default_factory=dict)
    written: bool = False


@dataclass(frozen=True)
class DtypeRecipe:
    """A torch.dtype by its name."""

    name: str


@dataclass(frozen=True)
class DeviceRecipe:
    """A torch.device by its name."""

    name: str


Plain: TypeAlias = bool | int | float | str | None
Argument: TypeAlias = "Plain | TensorRecipe | DtypeRecipe | DeviceRecipe | tuple[Argument, ...]"


@dataclass(frozen=True)
class CallRecipe:
    """operator: "aten::bmm"; overload: "" for the default one. keywords: keyword-only arguments.

    saved: tensors that must fit others, such as the mean and rstd of a norm: a name in `operands.SAVED`,
    applied to all arguments once they are made.
    """

    operator: str
    overload: str
    arguments: tuple[Argument, ...]
    keywords: dict[str, Argument] = field(default_factory=dict)
    saved: str | None = None
