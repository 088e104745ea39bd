"""A call as plain data: what a measuring process builds operands from, and what a script is written from.

Nothing here is code: a recording is untrusted, so names are looked up in torch's own registry and values are
numbers, booleans, dtypes and strings that were parsed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias


class NotRebuilt(Exception):
    """The call cannot be rebuilt; the message is the reason, for `not rebuilt: ...`."""


class MachineLacks(NotRebuilt):
    """It could be elsewhere: here is too little memory, or no such device."""


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
    settings: dict[str, float | int | str | tuple[float, ...]] = field(default_factory=dict)
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
    applied to all arguments once they are made. notes: what was not recorded and had to be chosen, in words.
    """

    operator: str
    overload: str
    arguments: tuple[Argument, ...]
    keywords: dict[str, Argument] = field(default_factory=dict)
    saved: str | None = None
    notes: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """The call as `operands.Operands` takes it: dicts, lists and plain values."""
        return {
            "operator": self.operator,
            "overload": self.overload,
            "arguments": [_plain(argument) for argument in self.arguments],
            "keywords": {name: _plain(argument) for name, argument in self.keywords.items()},
            "saved": self.saved,
        }

    def tensors(self) -> Iterator[TensorRecipe]:
        """All tensors, those in lists too, in the order of the signature."""
        for argument in (*self.arguments, *self.keywords.values()):
            yield from tensors_in(argument)

    def devices(self) -> set[str]:
        """Where its tensors are, and where it makes some."""
        named = {argument.name for argument in self.keywords.values() if isinstance(argument, DeviceRecipe)}
        named |= {argument.name for argument in self.arguments if isinstance(argument, DeviceRecipe)}
        return named | {tensor.device for tensor in self.tensors()}


def tensors_in(argument: Argument) -> Iterator[TensorRecipe]:
    """The tensors of one argument."""
    if isinstance(argument, TensorRecipe):
        yield argument
    elif isinstance(argument, tuple):
        for item in argument:
            yield from tensors_in(item)


def _plain(argument: Argument) -> Any:
    if isinstance(argument, TensorRecipe):
        return {"tensor": {**asdict(argument), "sizes": list(argument.sizes), "strides": argument.strides}}
    if isinstance(argument, DtypeRecipe):
        return {"dtype": argument.name}
    if isinstance(argument, DeviceRecipe):
        return {"device": argument.name}
    return [_plain(item) for item in argument] if isinstance(argument, tuple) else argument
