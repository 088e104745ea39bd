"""A call as plain data: measuring processes build operands from it, and scripts contain it.

It contains no code, because a recording is untrusted: names are looked up in torch's own registry, and values
are parsed numbers, booleans, dtypes and strings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias


class NotRebuilt(Exception):
    """The call cannot be rebuilt. The message is the reason, for `not rebuilt: ...`."""


class MachineLacks(NotRebuilt):
    """The call cannot be rebuilt on this machine: it has too little memory, or no such device."""


@dataclass(frozen=True)
class TensorRecipe:
    """How to make a tensor.

    Attributes:
        dtype: torch's name, such as "float32".
        maker: a name in `operands.MAKERS`.
        settings: arguments of the maker, such as {"low": 0.5, "high": 1.5} for "uniform".
        written: whether the call changes it, so that it must be restored.
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
    """A call.

    Attributes:
        operator: such as "aten::bmm".
        overload: "" for the default one.
        keywords: keyword-only arguments.
        saved: a name in `operands.SAVED`, for tensors that must fit others, such as the mean and rstd of a
            norm. It is applied after all arguments are made.
        notes: what was not recorded and had to be chosen, in words.
    """

    operator: str
    overload: str
    arguments: tuple[Argument, ...]
    keywords: dict[str, Argument] = field(default_factory=dict)
    saved: str | None = None
    notes: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """Returns the call in the form that `operands.Operands` takes: dicts, lists and plain values."""
        return {
            "operator": self.operator,
            "overload": self.overload,
            "arguments": [_plain(argument) for argument in self.arguments],
            "keywords": {name: _plain(argument) for name, argument in self.keywords.items()},
            "saved": self.saved,
        }

    def tensors(self) -> Iterator[TensorRecipe]:
        """Yields all tensors, also those in lists, in the order of the signature."""
        for argument in (*self.arguments, *self.keywords.values()):
            yield from tensors_in(argument)

    def devices(self) -> set[str]:
        """Returns the devices of its tensors and those on which it makes tensors."""
        named = {argument.name for argument in self.keywords.values() if isinstance(argument, DeviceRecipe)}
        named |= {argument.name for argument in self.arguments if isinstance(argument, DeviceRecipe)}
        return named | {tensor.device for tensor in self.tensors()}


def tensors_in(argument: Argument) -> Iterator[TensorRecipe]:
    """Yields the tensors of one argument."""
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
