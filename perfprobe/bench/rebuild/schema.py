"""An operator in torch's registry, as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from perfprobe.bench.rebuild.recipe import NotRebuilt


@dataclass(frozen=True)
class Parameter:
    """An argument of an overload.

    kind: torch's name of its type without Optional: "Tensor", "List[int]", "number", "ScalarType". length: of
    a list for which one number may stand. default: meant only where has_default. written: the call changes
    it.
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
        """Whether a text may leave it out; the recorder leaves out what is None."""
        return self.optional or self.has_default


@dataclass(frozen=True)
class Schema:
    """An overload. reshapes: it changes the sizes or strides of an operand in place."""

    operator: str
    overload: str
    parameters: tuple[Parameter, ...]
    reshapes: bool = False


def schemas(operator: str, torch: Any) -> tuple[Schema, ...]:
    """The overloads of `aten::div` or the one of `aten::div.Tensor`, in torch's order.

    Empty where torch has none of that name. Raises NotRebuilt for a name that is not torch's own.
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
    """`aten::div.Tensor` as ("aten::div", "Tensor"); no overload as None, `.default` as "".

    Raises NotRebuilt for a name that is not one of torch's own operators.
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
    """TorchScript has overloads of its own, on plain numbers, that are not operators."""
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
