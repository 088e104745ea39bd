"""Operators in torch's registry, as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from perfprobe.bench.rebuild.recipe import NotRebuilt


@dataclass(frozen=True)
class Parameter:
    """An argument of an overload.

    Attributes:
        kind: torch's name of its type without Optional: "Tensor", "List[int]", "number", "ScalarType".
        default: only valid if `has_default`.
        written: whether the call changes it.
        length: of a list that may be given as a single number; None for other arguments.
    """

    name: str
    kind: str
    optional: bool = False
    has_default: bool = False
    default: object = None
    keyword_only: bool = False
    written: bool = False
    length: int | None = None

    @property
    def omittable(self) -> bool:
        """Whether a signature may omit it. The recorder omits arguments that are None."""
        return self.optional or self.has_default


@dataclass(frozen=True)
class Schema:
    """An overload. reshapes: it changes the sizes or strides of an operand in place."""

    operator: str
    overload: str
    parameters: tuple[Parameter, ...]
    reshapes: bool = False


def schemas(operator: str, torch: Any) -> tuple[Schema, ...]:
    """Returns the overloads of `aten::div`, or the one of `aten::div.Tensor`, in torch's order.

    Empty if torch has no such operator. Raises NotRebuilt if the name is not of torch's own operators.
    """
    name, overload = split(operator)
    found = torch._C._jit_get_schemas_for_operator(name)
    registered = _registered(torch)
    return tuple(
        _schema(schema, torch)
        for schema in found
        if overload in (None, schema.overload_name)
        and ".".join(filter(None, (name, schema.overload_name))) in registered
    )


def split(operator: str) -> tuple[str, str | None]:
    """Splits `aten::div.Tensor` into ("aten::div", "Tensor"). Without overload the second is None.

    `.default` becomes "". Raises NotRebuilt if the name is not of torch's own operators.
    """
    space, _, rest = operator.partition("::")
    name, dot, overload = rest.partition(".")
    if not space.isidentifier() or not name.isidentifier() or (dot and not overload.isidentifier()):
        raise NotRebuilt("not the name of an operator")
    if space != "aten":
        raise NotRebuilt("an operator of a library that is not loaded here")
    return f"{space}::{name}", ("" if overload == "default" else overload) if dot else None


@cache
def _registered(torch: Any) -> frozenset[str]:
    """Returns the dispatcher's operators. TorchScript has more overloads, on plain numbers."""
    return frozenset(torch._C._dispatch_get_all_op_names())


def _schema(schema: Any, torch: Any) -> Schema:
    name = schema.name.partition("::")[2]
    overload = getattr(getattr(torch.ops.aten, name), schema.overload_name or "default")
    reshapes = torch.Tag.inplace_view in overload.tags
    return Schema(schema.name, schema.overload_name, tuple(_parameters(schema)), reshapes)


def _parameters(schema: Any) -> Iterator[Parameter]:
    for argument in schema.arguments:
        kind = str(argument.real_type)
        optional = kind.startswith("Optional[")
        yield Parameter(
            name=argument.name,
            kind=kind[len("Optional[") : -1] if optional else kind,
            optional=optional,
            has_default=argument.has_default_value(),
            default=argument.default_value if argument.has_default_value() else None,
            keyword_only=argument.kwarg_only,
            written=argument.alias_info is not None and argument.alias_info.is_write,
            length=argument.N,
        )
