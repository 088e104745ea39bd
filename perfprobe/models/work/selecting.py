"""Choosing, counting and sampling elements.

The size of some results depends on values: they count as empty, so that the work is a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log2, prod

from perfprobe.models.work.call import Call, Model, Work, least
from perfprobe.models.work.touched import Operand, Scattered, require


def _of_all(call: Call) -> Work:
    """Reads all operands once. What is written depends on their values."""
    return least(call.tensors, dtype=call.tensor(0).dtype)


def _picked(number: Callable[[Call], int]) -> Model:
    """Reads all; writes a number of values along a dimension, and their indices."""

    def work(call: Call) -> Work:
        image = call.tensor(0)
        axis = call.axis("dim", len(image.sizes)) if "dim" in call.values else len(image.sizes) - 1
        require(len(image.sizes) > 0 and len(call.outs) == 0)
        sizes = (*image.sizes[:axis], number(call), *image.sizes[axis + 1 :])
        return least([image], [Operand(image.dtype, sizes), Operand("i64", sizes)], dtype=image.dtype)

    return work


def _median(call: Call) -> Work:
    """Of all elements, or of a dimension with the indices."""
    if "dim" in call.values:
        return _picked(lambda _: 1)(call)
    image = call.tensor(0)
    return least([image], [Operand(image.dtype, ())], dtype=image.dtype)


def _searched(call: Call) -> Work:
    """`searchsorted(sorted, values)`, `bucketize(values, boundaries)`: an index for each value."""
    first, second = call.tensor(0), call.tensor(1)
    row, values = (first, second) if call.operator == "searchsorted" else (second, first)
    compared = values.count * ceil(log2(max(row.sizes[-1], 1) + 1))
    dtype = "i32" if call.value("out_int32") == "True" else "i64"
    elements = (("compare", compared),)
    return least([first, second], [Operand(dtype, values.sizes)], dtype=values.dtype, elements=elements)


def _bag(call: Call) -> Work:
    """`_embedding_bag`: reads indices, offsets and a row for each index; writes the bags' sums or means.

    What it keeps for backward is left out. It does one addition for each element of a row that it reads.
    """
    table, index, offsets = (call.tensor(slot) for slot in range(3))
    require(len(table.sizes) == 2 and call.value("mode") in (None, "0", "1"))
    bags = offsets.count - (call.value("include_last_offset") == "True")
    rows = Scattered(table, index.count, table.sizes[1])
    weights = call.given(3)
    output = Operand(table.dtype, (bags, table.sizes[1]))
    adds = index.count * table.sizes[1]
    return least([index, offsets, rows, weights], [output], flops=adds, dtype=table.dtype)


def _sampler(call: Call) -> Work:
    """`grid_sampler_2d`, `_3d`: linear needs all neighbours of a place, with 2 operations for each."""
    image, grid = call.tensor(0), call.tensor(1)
    axes = len(image.sizes) - 2
    require(axes == grid.sizes[-1] and call.integer("interpolation_mode") in (0, 1))
    neighbours = 1 if call.integer("interpolation_mode") == 1 else 2**axes
    places = prod(grid.sizes[:-1])
    output = Operand(image.dtype, (*image.sizes[:2], *grid.sizes[1:-1]))
    runs = Scattered(image, places * image.sizes[1] * neighbours, 1)
    flops = output.count * (2 * neighbours - 1) if neighbours > 1 else 0
    return least([grid, runs], [output], flops=flops, dtype=image.dtype)


MODELS: dict[str, Model] = {
    **dict.fromkeys(("nonzero", "masked_select", "_unique2", "_unique", "unique_dim", "bincount"), _of_all),
    **dict.fromkeys(("unique_consecutive", "unique_dim_consecutive", "histc"), _of_all),
    "topk": _picked(lambda call: call.integer("k")),
    "kthvalue": _picked(lambda _: 1),
    "median": _median,
    "nanmedian": _median,
    **dict.fromkeys(("searchsorted", "bucketize"), _searched),
    **dict.fromkeys(("_embedding_bag", "_embedding_bag_forward_only"), _bag),
    **dict.fromkeys(("grid_sampler_2d", "grid_sampler_3d"), _sampler),
}
