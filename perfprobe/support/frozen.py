"""Frozen dataclasses that share their methods.

`dataclass(frozen=True)` generates and compiles seven methods for each class, in half a millisecond. A report
imports a hundred such classes, which would take a sixth of its time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, FrozenInstanceError, dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:  # typing has it from Python 3.11 on

    def dataclass_transform(**_: Any) -> Callable[[Any], Any]:
        """Returns the decorator unchanged: only type checkers use it."""
        return lambda decorator: decorator


Kind = TypeVar("Kind")


@overload
def frozen(kind: type[Kind], /) -> type[Kind]: ...
@overload
def frozen(*, kw_only: bool = False) -> Callable[[type[Kind]], type[Kind]]: ...
@dataclass_transform(frozen_default=True)
def frozen(kind: type[Any] | None = None, /, *, kw_only: bool = False) -> Any:
    """Makes the class a frozen dataclass, which also works with `fields`, `replace` and `asdict`.

    Base classes that are dataclasses must be made by `frozen` too. Methods that the class defines are kept.
    """
    return (lambda given: _made(given, kw_only=kw_only)) if kind is None else _made(kind, kw_only=kw_only)


def _made(kind: type[Any], *, kw_only: bool) -> type[Any]:
    own = vars(kind)
    methods = {name: method for name, method in _METHODS.items() if name not in own}
    made: type[Any] = dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(kind)
    each = fields(made)
    made._positional = tuple(field.name for field in each if field.init and not field.kw_only)
    made._named = tuple(field.name for field in each)
    made._defaults = {field.name: field.default for field in each if field.default is not MISSING}
    made._factories = {
        field.name: field.default_factory for field in each if field.default_factory is not MISSING
    }
    for name, method in methods.items():
        setattr(made, name, method)
    return made


def _init(self: Any, *values: object, **named: object) -> None:
    kind = type(self)
    if values:
        _take_positions(kind, values, named)
    for name, factory in kind._factories.items():
        if name not in named:
            named[name] = factory()
    found = {**kind._defaults, **named}
    if len(found) != len(kind._named) or any(name not in found for name in kind._named):
        _refuse(kind, found)
    vars(self).update({name: found[name] for name in kind._named})
    prepare = getattr(self, "__post_init__", None)
    if prepare is not None:
        prepare()


def _take_positions(kind: Any, values: Sequence[object], named: dict[str, object]) -> None:
    if len(values) > len(kind._positional):
        raise TypeError(f"{kind.__name__} takes {len(kind._positional)} values by position")
    for name, value in zip(kind._positional, values, strict=False):
        if name in named:
            raise TypeError(f"{kind.__name__} got several values of {name!r}")
        named[name] = value


def _refuse(kind: Any, found: dict[str, object]) -> None:
    unknown = [name for name in found if name not in kind._named]
    missing = [name for name in kind._named if name not in found]
    said = f"has no {', '.join(unknown)}" if unknown else f"is missing {', '.join(missing)}"
    raise TypeError(f"{kind.__name__} {said}")


def _values(of: Any) -> tuple[object, ...]:
    return tuple(getattr(of, name) for name in of._named)


def _repr(self: Any) -> str:
    said = (f"{name}={getattr(self, name)!r}" for name in self._named)
    return f"{type(self).__qualname__}({', '.join(said)})"


def _eq(self: Any, other: object) -> Any:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _setattr(self: Any, name: str, value: object) -> None:
    del self, value
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: Any, name: str) -> None:
    del self
    raise FrozenInstanceError(f"cannot delete field {name!r}")


_METHODS: dict[str, Any] = {
    "__init__": _init,
    "__repr__": _repr,
    "__eq__": _eq,
    "__hash__": _hash,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
}
