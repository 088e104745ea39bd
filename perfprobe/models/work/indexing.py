"""Reading and writing at indices.

A signature does not have the values of indices. Each counts as a different place, but all together as no more
than the whole tensor.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from perfprobe.models.work.call import Call, Model, Slot, Work, broadcast, least, result
from perfprobe.models.work.touched import Operand, Scattered, contiguous, require


def _rows(table: Operand, axis: int, count: int) -> Scattered:
    """Returns `count` places of one dimension, with all elements of the other dimensions."""
    inner = prod(table.sizes[axis + 1 :])
    run = inner if table.strides in (None, contiguous(table.sizes)) else 1
    return Scattered(table, prod(table.sizes[:axis]) * count * (inner // max(run, 1)), run)


def _gathers(reads: list[Operand], runs: Scattered, output: Operand) -> Work:
    """Reads indices, and runs of a table at these indices."""
    found = least([*reads, runs], [output], dtype=output.dtype)
    return replace(found, gathered_runs=runs.count, run_elements=runs.run)


def _embedding(call: Call) -> Work:
    """Reads the indices and a row for each; writes the rows."""
    table, index = call.tensor(0), call.tensor(1)
    require(len(table.sizes) == 2)
    output = Operand(table.dtype, (*index.sizes, table.sizes[1]))
    return _gathers([index], _rows(table, 0, index.count), output)


def _embedding_backward(call: Call) -> Work:
    """Reads gradient and indices; writes every row of the table's gradient, most of them with zeros.

    It does one addition for each element of the gradient.
    """
    gradient, index = call.tensor(0), call.tensor(1)
    table = Operand(gradient.dtype, (call.integer("num_weights"), gradient.sizes[-1]))
    return least([gradient, index], [table], flops=gradient.count, dtype=gradient.dtype)


def _index_select(call: Call) -> Work:
    """Copies a row of one dimension for each index."""
    table, index = call.tensor(0), call.tensor(1)
    axis = call.axis("dim", len(table.sizes))
    sizes = (*table.sizes[:axis], index.count, *table.sizes[axis + 1 :])
    output = result(call, table.dtype, sizes)
    return _gathers([index], _rows(table, axis, index.count), output)


def _gather(call: Call) -> Work:
    """Copies one element for each index."""
    table, index = call.tensor(0), call.tensor(1)
    output = result(call, table.dtype, index.sizes)
    return _gathers([index], Scattered(table, index.count, 1), output)


def _pieces(table: Operand, indices: Slot) -> tuple[list[Operand], int, int]:
    """Returns the index tensors of `table[i, j]`, the number of places they select, and elements of each.

    Only for indices of the first dimensions, for which a place is a run. There is no model for masks, because
    the number of True is not known.
    """
    indices = indices if isinstance(indices, tuple) else ()
    given = [index for index in indices if index is not None]
    require(bool(given) and all(index.dtype in ("i64", "i32") for index in given))
    last = max(place for place, index in enumerate(indices) if index is not None)
    named = [1 if index is not None else table.sizes[place] for place, index in enumerate(indices)]
    count = prod(broadcast([index.sizes for index in given])) * prod(named)
    return given, count, prod(table.sizes[last + 1 :])


def _index(call: Call) -> Work:
    """`table[i, j]`: copies a run for each place."""
    table = call.tensor(0)
    given, count, run = _pieces(table, call.slots[1])
    output = Operand(table.dtype, (count, run))
    return _gathers(given, Scattered(table, count, run), output)


def _index_put(call: Call) -> Work:
    """Writes the values to their places. Accumulating reads the places first and adds each element."""
    table, values = call.tensor(0), call.tensor(2)
    given, count, run = _pieces(table, call.slots[1])
    return _put(call, [*given, values], Scattered(table, count, run), call.value("accumulate") == "True")


def _put(call: Call, reads: list[Operand], places: Scattered, adding: bool) -> Work:
    """Writes to places of the first operand. Unless in place, the operand is copied first."""
    table = call.tensor(0)
    flops = places.count * places.run if adding else 0
    if not call.in_place:
        copy = Operand(table.dtype, table.sizes)
        return least([table, *reads], [copy], flops=flops, dtype=table.dtype)
    if adding:
        return least(reads, updates=[places], flops=flops, dtype=table.dtype)
    return least(reads, [places], dtype=table.dtype)


def _scatter(adding: bool) -> Model:
    """`scatter_(dim, index, source)`: writes an element for each index."""

    def work(call: Call) -> Work:
        table, index, source = call.tensor(0), call.tensor(1), call.given(2)
        adds = adding or call.value("reduce") is not None
        used = Operand(source.dtype, index.sizes) if source and source.sizes else source
        reads = [index, *([used] if used else [])]
        return _put(call, reads, Scattered(table, index.count, 1), adds)

    return work


def _index_rows(adding: bool) -> Model:
    """`index_add_(dim, index, source)`, `index_copy_`, `index_fill_`: writes a row for each index."""

    def work(call: Call) -> Work:
        table, index, source = call.tensor(0), call.tensor(1), call.given(2)
        axis = call.axis("dim", len(table.sizes))
        reads = [index, *([source] if source else [])]
        return _put(call, reads, _rows(table, axis, index.count), adding)

    return work


MODELS: dict[str, Model] = {
    "embedding": _embedding,
    **dict.fromkeys(("embedding_dense_backward", "embedding_backward"), _embedding_backward),
    "index_select": _index_select,
    "gather": _gather,
    "take": _gather,
    "index": _index,
    **dict.fromkeys(("index_put", "_index_put_impl_", "_unsafe_index_put"), _index_put),
    "scatter": _scatter(False),
    "scatter_add": _scatter(True),
    "index_add": _index_rows(True),
    **dict.fromkeys(("index_copy", "index_fill"), _index_rows(False)),
}
