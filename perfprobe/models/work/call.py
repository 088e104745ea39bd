"""An operator's inputs as work models read them, and the sizes and dtypes of results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from perfprobe.models.signature import Item, List, Scalar, Tensor, Undefined
from perfprobe.models.work.touched import NoModel, Operand, Scattered, require
from perfprobe.support.frozen import frozen

Sizes: TypeAlias = tuple[int, ...]
Slot: TypeAlias = "Operand | tuple[Operand | None, ...] | None"
Elements: TypeAlias = "tuple[tuple[str, int], ...]"


@frozen
class Work:
    """The least that one call must do.

    Attributes:
        flops: a multiply-add counts two.
        read_bytes, write_bytes: each element that must be touched counts once, even if a kernel touches it
            more often. What is changed in place is read and written.
        line_bytes: all 64-byte lines of these elements, twice for what is changed in place. Divided by
            read_bytes + write_bytes it shows what the layout wastes.
        footprint_bytes: an operand changed in place counts once.
        dtype: of the arithmetic, such as "f32".
        is_product: the FLOPs are matrix products, which a GEMM limits.
        elements: work limited by arithmetic, by kind of ELEMENT_KINDS: ("exp", N). Each kind is a separate
            limit; their times are not added, because a processor does several at once.
        gathered_runs: number of runs that a gather reads at indices; 0 for other operators.
        run_elements: elements of such a run.
    """

    flops: int
    read_bytes: int
    write_bytes: int
    line_bytes: int
    footprint_bytes: int
    dtype: str
    in_place: bool = False
    is_product: bool = False
    elements: tuple[tuple[str, int], ...] = ()
    gathered_runs: int = 0
    run_elements: int = 0


@frozen
class Call:
    """An operator's inputs.

    Attributes:
        operator: without `aten::` and overload, such as "add_".
        slots: every tensor or list of tensors in the schema; None if not passed.
        values: plain values by name.
        outs: the tensor passed as `out=`, which is not in `slots`.
        all_named: False if plain values were typed without names: it is then not known which are missing.
    """

    operator: str
    overload: str
    slots: Sequence[Slot]
    values: dict[str, Scalar | List]
    outs: Sequence[Operand] = ()
    all_named: bool = True

    @property
    def in_place(self) -> bool:
        """Whether the first operand is changed."""
        return self.operator.endswith("_")

    @property
    def tensors(self) -> list[Operand]:
        """All plain tensors that were passed."""
        return [slot for slot in self.slots if isinstance(slot, Operand)]

    @property
    def sizes(self) -> list[Sizes]:
        """The sizes of each plain tensor that was passed."""
        return [tensor.sizes for tensor in self.tensors]

    def given(self, slot: int) -> Operand | None:
        """Returns the tensor of a slot; None if it was omitted."""
        found = self.slots[slot] if slot < len(self.slots) else None
        require(not isinstance(found, tuple))
        return found if isinstance(found, Operand) else None

    def tensor(self, slot: int) -> Operand:
        """Returns the tensor of a slot that is never omitted. Raises NoModel if it was."""
        found = self.given(slot)
        if found is None:
            raise NoModel
        return found

    def tensor_list(self, slot: int) -> list[Operand]:
        """Returns the tensors of a list."""
        found = self.slots[slot]
        return [item for item in found if item is not None] if isinstance(found, tuple) else []

    def value(self, name: str) -> str | None:
        """Returns the text of a plain value; None if it was omitted."""
        found = self.values.get(name)
        return found.value if isinstance(found, Scalar) else None

    def list(self, name: str) -> list[str]:
        """Returns the texts of a list of plain values; empty if there is no such list."""
        found = self.values.get(name)
        items = found.items if isinstance(found, List) else ()
        return [item.value for item in items if isinstance(item, Scalar)]

    def integer(self, name: str) -> int:
        """Returns an integer. Raises NoModel if it is missing or no integer."""
        text = self.value(name)
        require(text is not None and text.lstrip("-").isdecimal())
        return int(text or 0)

    def integers(self, name: str) -> tuple[int, ...]:
        """Returns the integers of a list or of a single value; empty if omitted."""
        require(self.all_named or name in self.values)
        texts = self.list(name) if isinstance(self.values.get(name), List) else [self.value(name)]
        return tuple(int(text) for text in texts if text is not None)

    def axis(self, name: str, dimensions: int) -> int:
        """Returns a dimension as a number from 0. A tensor without dimensions counts as one-dimensional."""
        axis = self.integer(name)
        require(-max(dimensions, 1) <= axis < max(dimensions, 1))
        return axis % max(dimensions, 1)


Model: TypeAlias = Callable[[Call], Work]
Flops: TypeAlias = Callable[[Call], int]


def read_call(name: str, overload: str, items: Iterable[Item]) -> Call:
    """Reads inputs. Raises NoModel for complex, sparse, nested, symbolic and meta tensors and subclasses."""
    items = list(items)
    slots: list[Slot] = [_slot(item) for item in items if _is_slot(item)]
    named = {item.name: item for item in items if isinstance(item, Scalar | List) and item.name}
    outs: list[Operand] = []
    if overload.endswith(("out", "output")):
        last = slots.pop()
        outs = [last] if isinstance(last, Operand) else []
    return Call(name, overload, slots, named, outs, not any(map(_is_nameless, items)))


def _is_nameless(item: Item) -> bool:
    """Whether it is a plain value without a name, or an unnamed list of them."""
    if isinstance(item, List) and not item.name:
        return any(isinstance(inner, Scalar) for inner in item.items)
    return isinstance(item, Scalar) and not item.name


def _is_slot(item: Item) -> bool:
    return isinstance(item, Tensor | Undefined) or (isinstance(item, List) and not item.name)


def _slot(item: Item) -> Slot:
    if isinstance(item, List):
        require(item.whole)
        return tuple(_operand(inner) for inner in item.items if isinstance(inner, Tensor | Undefined))
    return _operand(item)


def _operand(item: Item) -> Operand | None:
    if not isinstance(item, Tensor):
        return None
    complicated = item.layout != "strided" or item.subclass or item.device == "meta"
    if item.sizes is None or complicated or item.dtype in ("c32", "c64", "c128"):
        raise NoModel
    return Operand(item.dtype, item.sizes, item.strides)


def least(
    reads: Iterable[Operand | Scattered | None] = (),
    writes: Iterable[Operand | Scattered | None] = (),
    updates: Iterable[Operand | Scattered | None] = (),
    *,
    flops: int = 0,
    dtype: str,
    is_product: bool = False,
    elements: Elements = (),
) -> Work:
    """Returns the work of a call that reads and writes these once.

    Args:
        updates: operands changed in place.
    """
    read, written, changed = (
        [part for part in parts if part is not None] for parts in (reads, writes, updates)
    )
    read_bytes, write_bytes, changed_bytes = (
        sum(part.bytes for part in parts) for parts in (read, written, changed)
    )
    line_bytes = sum(part.line_bytes for part in (*read, *written, *changed, *changed))
    return Work(
        flops,
        read_bytes + changed_bytes,
        write_bytes + changed_bytes,
        line_bytes,
        read_bytes + write_bytes + changed_bytes,
        dtype,
        bool(changed),
        is_product,
        tuple((kind, count) for kind, count in elements if count),
    )


def result(call: Call, dtype: str, sizes: Sizes) -> Operand:
    """Returns the result: `out` if it has the right sizes, else a new contiguous tensor."""
    fits = bool(call.outs) and call.outs[-1].sizes == tuple(sizes)
    return call.outs[-1] if fits else Operand(dtype, tuple(sizes))


def broadcast(sizes: Sequence[Sizes]) -> Sizes:
    """Returns the sizes of the result (https://docs.pytorch.org/docs/stable/notes/broadcasting.html)."""
    together: list[int] = []
    for place in range(1, 1 + max(map(len, sizes))):
        extents = {shape[-place] for shape in sizes if place <= len(shape)} - {1}
        require(len(extents) <= 1)
        together.append(extents.pop() if extents else 1)
    return tuple(reversed(together))


_RANK = ("bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64")


def is_float(dtype: str) -> bool:
    """Whether this dtype is a floating-point type."""
    return dtype.startswith(("f", "bf"))


def promoted(tensors: Sequence[Operand]) -> str:
    """Returns the dtype of arithmetic on these.

    Source: https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc. A number reaches
    the operator as a tensor without dimensions. Such a tensor does not widen others of its category.
    """
    require(bool(tensors))
    shaped = [tensor.dtype for tensor in tensors if tensor.sizes]
    numbers = [tensor.dtype for tensor in tensors if not tensor.sizes]
    if not shaped:
        return _widest(numbers)
    dtype = _widest(shaped)
    lifted = [number for number in numbers if _category(number) > _category(dtype)]
    if not lifted:
        return dtype
    return "f32" if is_float(_widest(lifted)) else _widest(lifted)


def _category(dtype: str) -> int:
    return 2 if is_float(dtype) else int(dtype != "bool")


def _widest(dtypes: Sequence[str]) -> str:
    if {"f16", "bf16"} <= set(dtypes) or ({"u8", "i8"} <= set(dtypes)):
        dtypes = [*dtypes, "f32" if "f16" in dtypes else "i16"]
    return max(dtypes, key=lambda dtype: _RANK.index(dtype) if dtype in _RANK else -1)
