"""Reductions of many elements to one, and scans, softmax and sorting along a dimension."""

from __future__ import annotations

from math import ceil, log2, prod

from perfprobe.models.work.call import Call, Flops, Model, Sizes, Work, is_float, least, result
from perfprobe.models.work.pointwise import fractional, pointwise, same
from perfprobe.models.work.touched import Operand, require


def _sum_flops(call: Call) -> int:
    """One addition for each element. `aten::sum` without `dim` calls the overload with `dim`."""
    require(call.overload in ("dim_IntList", "IntList_out"))
    return prod(call.sizes[0])


def reduced(call: Call, sizes: Sizes) -> Sizes:
    """Returns the sizes without the dimensions in `dim`; without all if `dim` is empty."""
    axes = {axis % max(len(sizes), 1) for axis in call.integers("dim")} or set(range(len(sizes)))
    keep = call.value("keepdim") == "True"
    return tuple(1 if i in axes else size for i, size in enumerate(sizes) if keep or i not in axes)


def _reduction(kind: str, *, flops: int = 1, element: str | None = None) -> Model:
    """Reads everything once; writes one number for each place of the remaining dimensions.

    Args:
        kind: dtype of the result: "same", "wide" (integers add up to i64), "truth" (bool) or "place" (i64).
        flops: of each element.
    """

    def work(call: Call) -> Work:
        tensor = call.tensor(0)
        dtype = call.value("dtype") or tensor.dtype
        made = {"truth": "bool", "place": "i64"}.get(kind, dtype)
        if kind == "wide" and not is_float(dtype):
            made = call.value("dtype") or "i64"
        output = result(call, made, reduced(call, tensor.sizes))
        elements = ((element, tensor.count),) if element else ()
        return least([tensor], [output], flops=flops * tensor.count, dtype=dtype, elements=elements)

    return work


def _extreme(call: Call) -> Work:
    """`max`, `min`: of one tensor, along a dimension with indices, or of two tensors elementwise."""
    if call.overload == "other" or len(call.tensors) == 2:
        return pointwise()(call)
    tensor = call.tensor(0)
    sizes = reduced(call, tensor.sizes)
    places = Operand("i64", sizes) if "dim" in call.values else None
    return least([tensor], [Operand(tensor.dtype, sizes), places], flops=tensor.count, dtype=tensor.dtype)


def _both_extremes(call: Call) -> Work:
    """`aminmax`: writes two results."""
    tensor = call.tensor(0)
    output = Operand(tensor.dtype, reduced(call, tensor.sizes))
    return least([tensor], [output, output], flops=2 * tensor.count, dtype=tensor.dtype)


def _mean_and_variance(call: Call) -> Work:
    """`var_mean`, `std_mean`: write two results."""
    tensor = call.tensor(0)
    output = Operand(tensor.dtype, reduced(call, tensor.sizes))
    return least([tensor], [output, output], flops=4 * tensor.count, dtype=tensor.dtype)


def _scan(call: Call) -> Work:
    """`cumsum`, `cumprod`: write one result for each element."""
    tensor = call.tensor(0)
    dtype = call.value("dtype") or (tensor.dtype if is_float(tensor.dtype) else "i64")
    if call.in_place:
        return least(updates=[tensor], flops=tensor.count, dtype=tensor.dtype)
    return least([tensor], [result(call, dtype, tensor.sizes)], flops=tensor.count, dtype=dtype)


def _softmax(call: Call) -> Work:
    """exp, sum, maximum and a factor for each element: read once, written once.

    A row larger than the caches is read two or three times. The bound assumes that it fits.
    """
    tensor = call.tensor(0)
    dtype = "f32" if call.value("half_to_float") == "True" else call.value("dtype") or tensor.dtype
    output = result(call, dtype, tensor.sizes)
    exps = (("exp", tensor.count),)
    return least([tensor], [output], flops=4 * tensor.count, dtype=dtype, elements=exps)


def _softmax_backward(*kinds: str) -> Model:
    """(gradient - a sum along the row) * output: reads both, writes the result; 3 operations an element."""

    def work(call: Call) -> Work:
        gradient, output = call.tensor(0), call.tensor(1)
        require(gradient.sizes == output.sizes)
        made = result(call, call.value("input_dtype") or gradient.dtype, output.sizes)
        elements = tuple((kind, output.count) for kind in kinds)
        return least(
            [gradient, output], [made], flops=3 * output.count, dtype=output.dtype, elements=elements
        )

    return work


def _sort(call: Call) -> Work:
    """N log2(n) comparisons for rows of n; writes sorted values and their indices.

    This is the number of comparisons that any comparison sort needs for random values (Knuth, volume 3,
    5.3.1). The model of `topk` counts none: nearly all of its comparisons have the same result, which makes
    them several times faster.
    """
    tensor = call.tensor(0)
    row = tensor.sizes[_axis(call, tensor)] if tensor.sizes else 1
    compared = tensor.count * ceil(log2(max(row, 1)))
    outputs = [Operand("i64", tensor.sizes)]
    if call.operator != "argsort":
        outputs.append(Operand(tensor.dtype, tensor.sizes))
    return least([tensor], outputs, dtype=tensor.dtype, elements=(("compare", compared),))


def _axis(call: Call, tensor: Operand) -> int:
    return call.axis("dim", len(tensor.sizes)) if "dim" in call.values else len(tensor.sizes) - 1


def _norm(call: Call) -> Work:
    """One square and one addition for each element."""
    tensor = call.tensor(0)
    dtype = call.value("dtype") or fractional(call)
    output = result(call, dtype, reduced(call, tensor.sizes))
    return least([tensor], [output], flops=2 * tensor.count, dtype=same(call))


FLOPS: dict[str, Flops] = {"sum": _sum_flops}

MODELS: dict[str, Model] = {
    **dict.fromkeys(("sum", "nansum", "prod"), _reduction("wide")),
    **dict.fromkeys(("mean", "amax", "amin"), _reduction("same")),
    **dict.fromkeys(("var", "std"), _reduction("same", flops=4)),
    **dict.fromkeys(("any", "all"), _reduction("truth", flops=0)),
    **dict.fromkeys(("argmax", "argmin"), _reduction("place")),
    "count_nonzero": _reduction("place"),
    "logsumexp": _reduction("same", flops=3, element="exp"),
    **dict.fromkeys(("norm", "linalg_vector_norm"), _norm),
    **dict.fromkeys(("max", "min"), _extreme),
    "aminmax": _both_extremes,
    **dict.fromkeys(("var_mean", "std_mean"), _mean_and_variance),
    **dict.fromkeys(("cumsum", "cumprod"), _scan),
    **dict.fromkeys(("_softmax", "_log_softmax", "softmax", "log_softmax"), _softmax),
    "_softmax_backward_data": _softmax_backward(),
    "_log_softmax_backward_data": _softmax_backward("exp"),
    **dict.fromkeys(("sort", "argsort"), _sort),
}
