"""Assigns the inputs of a signature to the arguments of an overload, and reads their values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from perfprobe.bench.rebuild.recipe import Argument, DeviceRecipe, DtypeRecipe, NotRebuilt, TensorRecipe
from perfprobe.bench.rebuild.schema import Parameter, Schema
from perfprobe.models.dtypes import ITEM_BYTES, torch_name
from perfprobe.models.signature import LONGEST_STRING, UNKNOWN, Item, List, Scalar, Tensor, Undefined
from perfprobe.support import units

_INTEGER = re.compile(r"-?\d{1,19}", re.ASCII)
_FLOAT = re.compile(r"-?(?:\d{1,32}(?:\.\d{0,32})?(?:e[-+]?\d{1,4})?|inf|nan)", re.ASCII)
_DEVICE = re.compile(r"cpu|cuda(?::\d{1,3})?", re.ASCII)
_MOST_DIMENSIONS = 64  # torch's own limit

FLOATS = {
    "p": 0.5,
    "eps": 1e-5,
    "momentum": 0.1,
    "lr": 1e-3,
    "beta1": 0.9,
    "beta2": 0.999,
    "weight_decay": 0.0,
    "negative_slope": 0.01,
    "threshold": 0.0,
    "dropout": 0.0,
    "dropout_p": 0.0,
    "mean": 0.0,
    "from": 0.0,
    "min": 0.0,
    "min_val": 0.0,
    "norm_type": 2.0,
    "exponent": 2.0,
    "ord": 2.0,
    "p_norm": 2.0,
}  # for floats whose values were not recorded; other names are 1
INTEGERS = dict.fromkeys(("index", "start", "dim", "storage_offset", "diagonal", "offset"), 0)


class Unfit(Exception):
    """The inputs do not fit this overload."""


@dataclass
class Fitted:
    """Arguments by parameter name.

    Attributes:
        notes: what was not recorded and had to be chosen.
        left_out: a count of omitted arguments; those without a default count twice.
    """

    schema: Schema
    arguments: dict[str, Argument]
    notes: list[str] = field(default_factory=list)
    left_out: int = 0
    saved: str | None = None


def fit(schema: Schema, items: Sequence[Item]) -> Fitted:
    """Assigns the inputs to an overload.

    Raises:
        Unfit: the overload takes other inputs.
        NotRebuilt: an input cannot be made.
    """
    given = _assign(schema.parameters, items)
    fitted = Fitted(schema, {})
    for parameter in schema.parameters:
        item = given.get(parameter.name)
        if item is not None:
            fitted.arguments[parameter.name] = _argument(parameter, item, fitted.notes)
        elif parameter.omittable:
            fitted.arguments[parameter.name] = _plain(parameter.default)
            fitted.left_out += 1 if parameter.has_default else 2
        else:
            raise Unfit(f"{parameter.name} is missing")
    return fitted


def _assign(parameters: Sequence[Parameter], items: Sequence[Item]) -> dict[str, Item]:
    given: dict[str, Item] = {}
    given.update({item.name: item for item in items if isinstance(item, (Scalar, List)) and item.name})
    if unknown := given.keys() - {parameter.name for parameter in parameters}:
        raise Unfit(f"it has no argument {min(unknown)}")
    rest = iter([parameter for parameter in parameters if parameter.name not in given])
    for item in items:
        if isinstance(item, (Scalar, List)) and item.name:
            continue
        for parameter in rest:
            if _accepts(parameter, item):
                given[parameter.name] = item
                break
            if _is_unknown(item):
                raise NotRebuilt(_not_recorded(parameter, item))
            if not parameter.omittable:
                raise Unfit(f"{parameter.name} is of another type")
        else:
            raise Unfit("too many inputs")
    return given


def _accepts(parameter: Parameter, item: Item) -> bool:
    """Whether the parameter takes this unnamed input, judged by its kind."""
    if isinstance(item, Tensor):
        return parameter.kind == "Tensor"
    if isinstance(item, Undefined):
        return "Tensor" in parameter.kind
    if isinstance(item, List):
        holds_tensors = any(isinstance(element, (Tensor, Undefined)) for element in item.items)
        is_list = parameter.kind.startswith("List[")
        return is_list and (not item.items or holds_tensors == ("Tensor" in parameter.kind))
    if _is_unknown(item):
        return "Tensor" not in parameter.kind
    return "Tensor" not in parameter.kind and _takes(parameter, item.value)


def _not_recorded(parameter: Parameter, item: Item) -> str:
    """Returns why a call with an unknown input is not rebuilt. Of tensors in lists a trace has the shapes
    alone.
    """
    of_list = isinstance(item, List)
    return (
        f"the types of its {parameter.name} were not recorded"
        if of_list
        else (f"its {parameter.name} was not recorded")
    )


def _is_unknown(item: Item) -> bool:
    """Whether a trace says that there was an input, and not which."""
    if isinstance(item, List):
        return len(item.items) > 0 and all(map(_is_unknown, item.items))
    return isinstance(item, Scalar) and item.value == UNKNOWN


def _chosen(parameter: Parameter, notes: list[str]) -> Argument:
    """Returns what an input that was not recorded is taken as; its default where there is one."""
    if parameter.has_default:
        value = _plain(parameter.default)
    elif parameter.kind == "bool":
        value = False
    elif parameter.kind in ("float", "number") and parameter.name in FLOATS:
        value = FLOATS[parameter.name]
    else:
        raise NotRebuilt(f"its {parameter.name} was not recorded")
    notes.append(f"{parameter.name} was not recorded: taken as {value}")
    return value


def _takes(parameter: Parameter, text: str) -> bool:
    kind = parameter.kind
    if kind.startswith("List["):
        kind = kind[len("List[") : -1] if parameter.length else "nothing"
    try:
        scalar(kind, parameter.name, text, [])
    except (Unfit, NotRebuilt):
        return False
    return True


def _plain(default: object) -> Argument:
    if isinstance(default, (list, tuple)):
        return tuple(_plain(item) for item in default)
    return default if isinstance(default, (bool, int, float, str)) else None


def _argument(parameter: Parameter, item: Item, notes: list[str]) -> Argument:
    if isinstance(item, Undefined):
        return None
    if isinstance(item, Tensor):
        if parameter.kind != "Tensor":
            raise Unfit(f"{parameter.name} is no tensor")
        return tensor(item, parameter.written)
    if isinstance(item, List):
        return _list(parameter, item, notes)
    return _plain_argument(parameter, item, notes)


def _plain_argument(parameter: Parameter, item: Scalar, notes: list[str]) -> Argument:
    kind = parameter.kind
    if _is_unknown(item):
        return _chosen(parameter, notes)
    if item.value == "Generator":
        notes.append("torch's default generator instead of the program's")
        return None
    if kind.startswith("List[") and parameter.length:
        return (scalar(kind[len("List[") : -1], parameter.name, item.value, notes),) * parameter.length
    return scalar(kind, parameter.name, item.value, notes)


def _list(parameter: Parameter, item: List, notes: list[str]) -> Argument:
    if not parameter.kind.startswith("List["):
        raise Unfit(f"{parameter.name} is no list")
    if not item.whole:
        raise NotRebuilt("only a part of a list was recorded")
    kind = parameter.kind[len("List[") : -1]
    optional = kind.startswith("Optional[")
    element = Parameter(
        parameter.name, kind[len("Optional[") : -1] if optional else kind, optional, written=parameter.written
    )
    return tuple(_argument(element, value, notes) for value in item.items)


def tensor(item: Tensor, written: bool) -> TensorRecipe:
    """Returns the recipe. Raises NotRebuilt if a plain tensor cannot represent the item."""
    dtype = torch_name(item.dtype)
    if item.subclass:
        raise NotRebuilt("a tensor subclass")
    if item.sizes is None:
        raise NotRebuilt("a tensor with unrecorded sizes (symbolic or nested)")
    if item.layout != "strided":
        raise NotRebuilt(f"a {item.layout} tensor")
    if dtype not in ITEM_BYTES:
        raise NotRebuilt(f"a {item.dtype} tensor"[:80])
    if not _DEVICE.fullmatch(item.device):
        raise NotRebuilt(f"a tensor on {item.device}"[:80])
    if len(item.sizes) > _MOST_DIMENSIONS or len(item.strides or item.sizes) != len(item.sizes):
        raise NotRebuilt("sizes and strides that do not fit")
    return TensorRecipe(dtype, item.sizes, item.strides, item.device, "uniform", {}, written)


def scalar(kind: str, name: str, text: str, notes: list[str]) -> Argument:
    """Parses a plain value. Raises Unfit for a text of another kind, NotRebuilt for an unknown kind."""
    if kind in _OTHERS:
        return _OTHERS[kind](text)
    if "Tensor" in kind:
        raise Unfit(f"{name} is a tensor")
    if kind in _CODES:
        return _code(kind, name, text)
    if kind not in ("int", "float", "number", "SymInt"):
        raise NotRebuilt(f"its {name} cannot be made from text")
    if text in ("float", "int"):
        return _unrecorded(kind, name, text, notes)
    if text in ("ComplexDouble", "SymInt", "SymFloat"):
        raise NotRebuilt(f"its {name} was not recorded ({text})")
    return _number(kind, name, text)


def _code(kind: str, name: str, text: str) -> Argument:
    """Returns one of torch's codes. torch itself does not check them."""
    if text not in _CODES[kind]:
        raise NotRebuilt(f"its {name} is {text}"[:80])
    return int(text)


def _number(kind: str, name: str, text: str) -> Argument:
    if _INTEGER.fullmatch(text):
        value = int(text)
        if not -(1 << 63) <= value < 1 << 63:
            raise NotRebuilt(f"its {name} does not fit in 64 bits")
        return float(value) if kind == "float" else value
    if kind in ("float", "number") and _FLOAT.fullmatch(text):
        return float(text)
    if kind == "number" and text in _BOOLEANS:
        return _BOOLEANS[text]
    raise Unfit(f"{name} is of another type")


def _unrecorded(kind: str, name: str, text: str, notes: list[str]) -> Argument:
    if text == "float" and kind in ("float", "number"):
        value: float = FLOATS.get(name, 1.0)
    elif text == "int" and name in INTEGERS:
        value = INTEGERS[name]
    elif text == "int":
        raise NotRebuilt(f"its {name} was not recorded")
    else:
        raise Unfit(f"{name} is of another type")
    notes.append(f"{name} was not recorded: taken as {units.plain(value)}")
    return value


_CODES = {"Layout": ("0",), "MemoryFormat": ("0", "1", "2", "3")}  # only strided; contiguous, preserve, ...
_BOOLEANS = {"True": True, "False": False}


def _boolean(text: str) -> Argument:
    if text not in _BOOLEANS:
        raise Unfit("not a bool")
    return _BOOLEANS[text]


def _string(text: str) -> Argument:
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        raise Unfit("not a string")
    value = re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)
    if len(value) >= LONGEST_STRING:
        raise NotRebuilt("only a part of a string was recorded")
    return value


def _dtype(text: str) -> Argument:
    name = torch_name(text)
    if name not in ITEM_BYTES:
        raise Unfit("not a dtype")
    return DtypeRecipe(name)


def _device(text: str) -> Argument:
    if not _DEVICE.fullmatch(text):
        raise Unfit("not a device")
    return DeviceRecipe(text)


_OTHERS = {"bool": _boolean, "str": _string, "ScalarType": _dtype, "Device": _device}
