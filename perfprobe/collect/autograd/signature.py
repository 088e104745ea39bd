"""Makes signature texts from the profiler's inputs.

The profiler only reports tensors, numbers and lists of up to 30 numbers. `?` stands for other arguments that
must have been passed; optional ones are omitted. The profiler does not know requires_grad.
"""

from __future__ import annotations

from perfprobe.models.dtypes import short_name
from perfprobe.models.signature import (
    FLOAT,
    MOST_VARIANTS,
    UNDEFINED,
    UNKNOWN,
    Tensor,
    list_text,
    named_text,
    shown_strides,
    tensor_text,
    value_text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MOST_KNOWN = 65_536

_NUMBERS = ("int", "bool", "float", "number", "Scalar", "SymInt", "complex")


class Argument:
    """The needed facts about a schema's argument."""

    def __init__(self, argument: Any) -> None:
        kind = str(argument.type)
        self.name = str(argument.name)
        self.is_tensor = "Tensor" in kind
        self.is_list = "List[" in kind
        self.is_dtype = "ScalarType" in str(getattr(argument, "real_type", kind))
        # For these types None means "no argument"; for others it may also mean "not recorded".
        self.is_absent = kind.startswith(("Optional[", "NoneType")) or kind in _NUMBERS


class Signatures:
    """Makes signature texts. Each recording needs its own object.

    Args:
        torch: the program's torch.
    """

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._schemas: dict[tuple[str, str], list[Argument]] = {}
        self._tensors: dict[Any, str] = {}
        self._known: dict[tuple[str, str, str], tuple[str, str | None]] = {}
        self._variants: dict[tuple[str, str, str], set[str]] = {}
        self._by_type: set[tuple[str, str]] = set()
        self._meta = torch._C._profiler._TensorMetadata

    def texts(self, name: str, overload: str, inputs: Sequence[Any]) -> tuple[str, str | None]:
        """Returns the text of these inputs, and the text with values of floats; None if there are none."""
        key = (name, overload)
        arguments = self._arguments(name, overload)
        if 0 < len(arguments) < len(inputs):  # in TorchScript: its whole stack, the inputs last
            inputs = inputs[-len(arguments) :]
        whole = self._text(arguments, inputs, key in self._by_type, True)
        known = self._known.get((*key, whole))
        if known is None:
            text = self._first_text(key, arguments, inputs)
            known = text, whole if FLOAT in text and whole != text else None
            if len(self._known) < MOST_KNOWN:
                self._known[(*key, whole)] = known
        return known

    def _first_text(self, key: tuple[str, str], arguments: list[Argument], inputs: Sequence[Any]) -> str:
        """Returns the text of new inputs. With too many variants, their integers are written as `int`."""
        text = self._text(arguments, inputs, key in self._by_type, False)
        if "=" not in text or key in self._by_type:
            return text
        typed = self._text(arguments, inputs, True, False)
        variants = self._variants.setdefault((*key, typed), set())
        variants.add(text)
        if len(variants) <= MOST_VARIANTS:
            return text
        self._by_type.add(key)
        return typed

    def _text(self, arguments: list[Argument], inputs: Sequence[Any], by_type: bool, floats: bool) -> str:
        items = []
        for place, value in enumerate(inputs):
            argument = arguments[place] if place < len(arguments) else None
            item = self._item(value, argument, by_type, floats)
            if item:
                items.append(item)
        return " ".join(items)

    def _item(self, value: Any, argument: Argument | None, by_type: bool, floats: bool) -> str:
        if value is None:
            return _missing(argument)
        if isinstance(value, self._meta):
            return self._tensor(value)
        if isinstance(value, list) and (
            (value[:1] and isinstance(value[0], self._meta)) or (argument is not None and argument.is_tensor)
        ):
            return list_text([*map(self._tensor, value)])
        is_dtype = argument is not None and argument.is_dtype
        text = value_text(value, is_dtype=is_dtype, by_type=by_type, floats=floats)
        return text if argument is None else named_text(argument.name, text)

    def _tensor(self, tensor: Any) -> str:
        sizes, strides = tuple(tensor.sizes), tuple(tensor.strides)
        key = (tensor.dtype, sizes, strides, tensor.layout, str(tensor.device))
        text = self._tensors.get(key)
        if text is None:
            text = self._tensors[key] = tensor_text(_described(*key))
        return text

    def _arguments(self, name: str, overload: str) -> list[Argument]:
        key = (name, overload)
        if key not in self._schemas:
            self._schemas[key] = self._look_up(name, overload)
        return self._schemas[key]

    def _look_up(self, name: str, overload: str) -> list[Argument]:
        if "::" not in name or " " in name:
            return []
        try:
            schemas = self._torch._C._jit_get_schemas_for_operator(name)
        except RuntimeError:
            return []
        for schema in schemas:
            if schema.overload_name == overload:
                return [Argument(argument) for argument in schema.arguments]
        return []


def _missing(argument: Argument | None) -> str:
    """Returns the text for an input that the profiler does not report."""
    if argument is None:
        return UNDEFINED
    if argument.is_tensor:
        return list_text([UNKNOWN]) if argument.is_list else UNDEFINED
    return "" if argument.is_absent else named_text(argument.name, UNKNOWN)


def _described(
    dtype: Any, sizes: tuple[int, ...], strides: tuple[int, ...], layout: Any, device: str
) -> Tensor:
    kind = str(layout).removeprefix("torch.").lstrip("_")
    name = short_name(str(dtype).removeprefix("torch."))
    return Tensor(name, sizes, shown_strides(sizes, strides, kind), kind, device)
