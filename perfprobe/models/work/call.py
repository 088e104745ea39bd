"""An operator's inputs as work models read them, and their results."""

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

    flops: multiply-adds count two; is_product: they are matrix products, whose limit is that of a GEMM.
    read_bytes, write_bytes: each element that must be touched once, however often a kernel comes back; what
    is changed in place is read and written. line_bytes: all 64-byte lines that these lie in, those of what is
    changed in place twice, so that line_bytes by read_bytes + write_bytes is what the layout wastes.
    footprint_bytes: an operand written in place counts once. dtype: of the arithmetic, "f32". elements: work
    limited by arithmetic of its own, by kind of ELEMENT_KINDS: ("exp", N). Each is a limit by itself: what
    two kinds take does not add up, a processor does both at once. gathered_runs: of a gather, so many runs of
    run_elements each that lie where an index says; 0 of all others.
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
    """An operator's inputs. slots: of every tensor or list of tensors in the schema, None where not given.

    operator: without `aten::` and overload: "add_". outs: what `out=` was given, not among the slots.
    all_named: False when values were typed without their names: then it is unknown which are missing.
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
        """All plain tensors that were given."""
        return [slot for slot in self.slots if isinstance(slot, Operand)]

    @property
    def sizes(self) -> list[Sizes]:
        """Of each plain tensor that was given."""
        return [tensor.sizes for tensor in self.tensors]

    def given(self, slot: int) -> Operand | None:
        """The tensor of a slot, None when it was left out."""
        found = self.slots[slot] if slot < len(self.slots) else None
        require(not isinstance(found, tuple))
        return found if isinstance(found, Operand) else None

    def tensor(self, slot: int) -> Operand:
        """The tensor of a slot that is never left out."""
        found = self.given(slot)
        if found is None:
            raise NoModel
        return found

    def tensor_list(self, slot: int) -> list[Operand]:
        """The tensors of a list."""
        found = self.slots[slot]
        return [item for item in found if item is not None] if isinstance(found, tuple) else []

    def value(self, name: str) -> str | None:
        """The text of a plain value."""
        found = self.values.get(name)
        return found.value if isinstance(found, Scalar) else None

    def list(self, name: str) -> list[str]:
        """The texts of a list of plain values; none when there is no such list."""
        found = self.values.get(name)
        items = found.items if isinstance(found, List) else ()
        return [item.value for item in items if isinstance(item, Scalar)]

    def integer(self, name: str) -> int:
        """A whole number; raises NoModel when it was not given as one."""
        text = self.value(name)
        require(text is not None and text.lstrip("-").isdecimal())
        return int(text or 0)

    def integers(self, name: str) -> tuple[int, ...]:
        """Whole numbers, of a list or one alone; none when not given."""
        require(self.all_named or name in self.values)
        texts = self.list(name) if isinstance(self.values.get(name), List) else [self.value(name)]
        return tuple(int(text) for text in texts if text is not None)

    def axis(self, name: str, dimensions: int) -> int:
        """A dimension's number, from 0; a tensor without dimensions counts as one of one element."""
        axis = self.integer(name)
        require(-max(dimensions, 1) <= axis < max(dimensions, 1))
        return axis % max(dimensions, 1)


Model: TypeAlias = Callable[[Call], Work]
Flops: TypeAlias = Callable[[Call], int]


def read_call(name: str, overload: str, items: Iterable[Item]) -> Call:
    """Raises NoModel for tensors without a model: complex, sparse, nested or symbolic, subclasses, meta."""
    items = list(items)
    slots: list[Slot] = [_slot(item) for item in items if _is_slot(item)]
    named = {item.name: item for item in items if isinstance(item, Scalar | List) and item.name}
    outs: list[Operand] = []
    if overload.endswith(("out", "output")):
        last = slots.pop()
        outs = [last] if isinstance(last, Operand) else []
    return Call(name, overload, slots, named, outs, not any(map(_is_nameless, items)))


def _is_nameless(item: Item) -> bool:
    """Whether it is a plain value, or a list of them, without a name."""
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
    """The work of a call that reads and writes these once; updates: changed in place."""
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
    """The result: `out`, where that has the right sizes, else a new contiguous tensor."""
    fits = bool(call.outs) and call.outs[-1].sizes == tuple(sizes)
    return call.outs[-1] if fits else Operand(dtype, tuple(sizes))


def broadcast(sizes: Sequence[Sizes]) -> Sizes:
    """The sizes of the result (https://docs.pytorch.org/docs/stable/notes/broadcasting.html)."""
    together: list[int] = []
    for place in range(1, 1 + max(map(len, sizes))):
        extents = {shape[-place] for shape in sizes if place <= len(shape)} - {1}
        require(len(extents) <= 1)
        together.append(extents.pop() if extents else 1)
    return tuple(reversed(together))


_RANK = ("bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64")


def is_float(dtype: str) -> bool:
    """Whether numbers of this dtype have a fraction."""
    return dtype.startswith(("f", "bf"))


def promoted(tensors: Sequence[Operand]) -> str:
    """The dtype of arithmetic on these.

    https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc; a number reaches the
    operator as a tensor of no dimensions, so one of those never widens a tensor of its own category.
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
