"""Copies, new tensors and random numbers: nothing is computed from what is read."""

from __future__ import annotations

from math import prod

from perfprobe.models.work.call import Call, Model, Work, broadcast, least, result
from perfprobe.models.work.touched import Operand, require

_MOST_ROWS = 1 << 20  # rows of a triangle that are counted one by one


def _copy(call: Call) -> Work:
    """Reads the source's distinct elements; writes the target."""
    target, source = call.tensor(0), call.tensor(1)
    require(broadcast([target.sizes, source.sizes]) == target.sizes)
    return least([source], [target], dtype=target.dtype)


def _clone(call: Call) -> Work:
    """A dense copy, perhaps with another dtype."""
    tensor = call.tensor(0)
    dtype = call.value("dtype") or tensor.dtype
    return least([tensor], [Operand(dtype, tensor.sizes)], dtype=dtype)


def _moved(call: Call) -> Work:
    """`flip`, `roll`: the same elements in other places."""
    tensor = call.tensor(0)
    return least([tensor], [result(call, tensor.dtype, tensor.sizes)], dtype=tensor.dtype)


def _triangle(call: Call) -> Work:
    """`tril`, `triu`: only the kept part is read. In place, only the other part is written."""
    tensor = call.tensor(0)
    rows, columns = tensor.sizes[-2:]
    diagonal = call.integer("diagonal")
    require(rows <= _MOST_ROWS)
    is_lower = call.operator.startswith("tril")
    below = _below(rows, columns, diagonal if is_lower else diagonal - 1)
    kept = below if is_lower else rows * columns - below
    part = Operand(tensor.dtype, (*tensor.sizes[:-2], kept))
    if call.in_place:
        rest = Operand(tensor.dtype, (*tensor.sizes[:-2], rows * columns - kept))
        return least([], [rest], dtype=tensor.dtype)
    return least([part], [result(call, tensor.dtype, tensor.sizes)], dtype=tensor.dtype)


def _below(rows: int, columns: int, diagonal: int) -> int:
    """Returns the number of elements on a diagonal and below."""
    return sum(min(max(row + 1 + diagonal, 0), columns) for row in range(rows))


def _repeat(call: Call) -> Work:
    """Reads the tensor once; writes as many copies as requested."""
    tensor = call.tensor(0)
    output = Operand(tensor.dtype, (tensor.count * prod(call.integers("repeats")),))
    return least([tensor], [output], dtype=tensor.dtype)


def _pad(call: Call) -> Work:
    """`constant_pad_nd`: pairs of paddings, beginning with the last dimension."""
    tensor, pads = call.tensor(0), call.integers("pad")
    require(len(pads) % 2 == 0 and len(pads) <= 2 * len(tensor.sizes) and min(pads, default=0) >= 0)
    sizes = list(tensor.sizes)
    for place in range(len(pads) // 2):
        sizes[-1 - place] += pads[2 * place] + pads[2 * place + 1]
    return least([tensor], [Operand(tensor.dtype, tuple(sizes))], dtype=tensor.dtype)


def _joined(call: Call) -> Work:
    """`cat`, `stack`: writes all that it reads."""
    tensors = call.tensor_list(0)
    require(bool(tensors))
    dtype = tensors[0].dtype
    require({tensor.dtype for tensor in tensors} == {dtype})
    output = Operand(dtype, (sum(tensor.count for tensor in tensors),))
    return least(tensors, [output], dtype=dtype)


def _filled(call: Call) -> Work:
    """`fill_`, `zero_`."""
    tensor = call.tensor(0)
    return least(writes=[tensor], dtype=tensor.dtype)


def _new(writes: bool) -> Model:
    """A new tensor of `size`, or of another tensor's sizes. `empty` writes nothing: memory is no limit."""

    def work(call: Call) -> Work:
        like = call.given(0) if call.slots else None
        sizes = call.integers("size") if "size" in call.values or like is None else like.sizes
        require("size" in call.values or like is not None)
        dtype = call.value("dtype") or (like.dtype if like else "f32")
        output = Operand(dtype, sizes)
        return least(writes=[output] if writes else (), dtype=dtype)

    return work


def _counted(call: Call) -> Work:
    """`arange` of integers, `linspace` and similar: writes new numbers."""
    if "steps" in call.values:
        count, dtype = call.integer("steps"), "f32"
    else:
        start, step = (call.integer(name) if name in call.values else default for name, default in _FROM)
        require(step != 0)
        count, dtype = max(-(-(call.integer("end") - start) // step), 0), "i64"
    dtype = call.value("dtype") or (call.outs[0].dtype if call.outs else dtype)
    return least(writes=[result(call, dtype, (count,))], dtype=dtype)


_FROM = (("start", 0), ("step", 1))


def _part_backward(call: Call) -> Work:
    """`slice_backward`, `select_backward`: writes a part's gradient into a tensor of zeros."""
    gradient, sizes = call.tensor(0), call.integers("input_sizes")
    return least([gradient], [Operand(gradient.dtype, sizes)], dtype=gradient.dtype)


def _view(call: Call) -> Work:
    """A view touches no memory."""
    return least(dtype=call.tensor(0).dtype)


def _converted(call: Call) -> Work:
    """`to.dtype`: a view, unless the dtype changes."""
    same = call.value("dtype") in (None, call.tensor(0).dtype) and call.value("copy") != "True"
    require(not same or call.overload == "dtype")
    return _view(call) if same else _clone(call)


def _read(call: Call) -> Work:
    """`item`: reads one number."""
    return least([call.tensor(0)], dtype=call.tensor(0).dtype)


def _random(call: Call) -> Work:
    """Writes one random number for each element. `rng` is the rate of the generator."""
    tensor = call.tensor(0)
    numbers = (("rng", tensor.count),)
    probabilities = call.given(1) if len(call.slots) > 1 else None
    if call.in_place:
        return least([probabilities], [tensor], dtype=tensor.dtype, elements=numbers)
    output = result(call, tensor.dtype, tensor.sizes)
    reads = [tensor] if call.operator in ("bernoulli", "normal") else []
    return least(reads, [output], dtype=tensor.dtype, elements=numbers)


def _random_new(call: Call) -> Work:
    """`rand`, `randn`, `randint` of a given size."""
    sizes = call.integers("size")
    require("size" in call.values)
    dtype = call.value("dtype") or ("i64" if call.operator == "randint" else "f32")
    return least(writes=[Operand(dtype, sizes)], dtype=dtype, elements=(("rng", prod(sizes)),))


def _shuffled(call: Call) -> Work:
    """`randperm`: one random number for each element."""
    count, dtype = call.integer("n"), call.value("dtype") or "i64"
    return least(writes=[result(call, dtype, (count,))], dtype=dtype, elements=(("rng", count),))


def _dropout(call: Call) -> Work:
    """One random number for each element. `native_dropout` also writes the mask as booleans."""
    tensor = call.tensor(0)
    require(call.value("train") == "True")
    mask = Operand("bool", tensor.sizes) if call.operator == "native_dropout" else None
    numbers = (("rng", tensor.count),)
    return least([tensor], [Operand(tensor.dtype, tensor.sizes), mask], dtype=tensor.dtype, elements=numbers)


_VIEWS = (
    "alias as_strided chunk detach diagonal expand expand_as lift_fresh narrow permute resize_ select slice "
    "split split_with_sizes squeeze t transpose unbind unfold unsafe_chunk unsafe_split unsqueeze view "
    "view_as _reshape_alias _unsafe_view resolve_conj resolve_neg"
)
_EMPTY = "empty empty_like empty_strided new_empty new_empty_strided"
# These read and write no element.
WITHOUT_WORK = frozenset((*_VIEWS.split(), *_EMPTY.split()))

MODELS: dict[str, Model] = {
    **dict.fromkeys(_VIEWS.split(), _view),
    **dict.fromkeys(("item", "_local_scalar_dense"), _read),
    "to": _converted,
    **dict.fromkeys(("arange", "linspace"), _counted),
    **dict.fromkeys(("slice_backward", "select_backward"), _part_backward),
    "randperm": _shuffled,
    "copy_": _copy,
    **dict.fromkeys(("clone", "contiguous", "_to_copy"), _clone),
    **dict.fromkeys(("flip", "roll"), _moved),
    **dict.fromkeys(("tril", "triu"), _triangle),
    "repeat": _repeat,
    "constant_pad_nd": _pad,
    **dict.fromkeys(("cat", "stack", "concat", "concatenate"), _joined),
    **dict.fromkeys(("fill_", "zero_"), _filled),
    **dict.fromkeys(_EMPTY.split(), _new(False)),
    **dict.fromkeys(
        (
            "zeros",
            "ones",
            "full",
            "zeros_like",
            "ones_like",
            "full_like",
            "new_zeros",
            "new_ones",
            "new_full",
        ),
        _new(True),
    ),
    **dict.fromkeys(
        (
            "bernoulli_",
            "bernoulli",
            "uniform_",
            "normal_",
            "random_",
            "exponential_",
            "rand_like",
            "randn_like",
        ),
        _random,
    ),
    **dict.fromkeys(("rand", "randn", "randint"), _random_new),
    **dict.fromkeys(("native_dropout", "dropout"), _dropout),
}
