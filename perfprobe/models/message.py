"""What a collective sends, and in which process group: as a signature.

torch writes it as `In msg nelems`, `dtype`, `Process Group Name` and `Group size` of `record_param_comms`,
with or without shapes. The text is `f32[2049000] group="0" group_size=2`.
"""

from __future__ import annotations

from perfprobe.models.dtypes import ITEM_BYTES, SCALAR_TYPES, short_name, torch_name
from perfprobe.models.signature import Scalar, Tensor, named_text, parse, string_text, tensors
from perfprobe.support.frozen import frozen
from perfprobe.support.pattern import pattern

OPERATOR = "record_param_comms"
_CALL = pattern(r"c10d::\w+|" + OPERATOR)
_COLLECTIVE = pattern(r"(nccl|gloo|mpi|ucc|xccl|hccl):\w+")


def is_collective(name: str) -> bool:
    """Whether a range with this name lasts from the request of a collective to its end."""
    return _COLLECTIVE.fullmatch(name) is not None


def calls_collective(name: str) -> bool:
    """Whether an operator asks other ranks for something, and may wait for it."""
    return _CALL.fullmatch(name) is not None


_GROUP, _SIZE = "group", "group_size"
_MOST = 1 << 48


@frozen
class Message:
    """What a call sends. Not known: -1 for size_bytes and group_size, "" for group."""

    size_bytes: int
    group: str
    group_size: int


NO_MESSAGE = Message(-1, "", -1)


def message_text(elements: object, dtype: object, group: object, group_size: object) -> str | None:
    """Returns the signature that describes a collective's message; None if its size is not known."""
    if type(elements) is not int or not 0 <= elements < _MOST:
        return None
    name = SCALAR_TYPES.get(dtype, "") if isinstance(dtype, str) else ""
    items = [f"{short_name(name) or 'unknown'}[{elements}]"]
    if isinstance(group, str) and group:
        items.append(named_text(_GROUP, string_text(group)))
    if type(group_size) is int and 0 < group_size < _MOST:
        items.append(named_text(_SIZE, str(group_size)))
    return " ".join(items)


def message_of(signature: str) -> Message:
    """Returns the message that a signature describes: size of its tensors, and the process group."""
    items = parse(signature) or ()
    sizes = [_bytes(tensor) for tensor in tensors(items)]
    named = {item.name: item.value for item in items if isinstance(item, Scalar)}
    number = named.get(_SIZE, "")
    return Message(
        sum(sizes) if sizes and min(sizes) >= 0 else -1,
        named.get(_GROUP, "").strip('"'),
        int(number) if number.isdecimal() else -1,
    )


def _bytes(tensor: Tensor) -> int:
    name = torch_name(tensor.dtype)
    if tensor.sizes is None or name not in ITEM_BYTES:
        return -1
    size_bytes = ITEM_BYTES[name]
    for size in tensor.sizes:
        size_bytes *= size
    return size_bytes
