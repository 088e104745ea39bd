"""The bounds of operands that are indices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from perfprobe.bench.rebuild.classes import each
from perfprobe.bench.rebuild.recipe import Argument, TensorRecipe

Arguments = Mapping[str, Argument]


def extent(argument: Argument, dimension: Argument) -> int:
    """Returns a tensor's extent along a dimension; 1 if it does not have that dimension."""
    sizes = argument.sizes if isinstance(argument, TensorRecipe) else ()
    dimension = dimension if isinstance(dimension, int) else 0
    return sizes[dimension] if -len(sizes) <= dimension < len(sizes) else 1


def _along(tensor: str, dimension: str) -> Callable[[Arguments], int]:
    return lambda arguments: extent(arguments.get(tensor), arguments.get(dimension))


def _rows(tensor: str, dimension: int = 0) -> Callable[[Arguments], int]:
    return lambda arguments: extent(arguments.get(tensor), dimension)


def _listed(sizes: str, dimension: str) -> Callable[[Arguments], int]:
    """Returns the bound for a tensor whose sizes are an argument: its extent along a dimension."""

    def bound(arguments: Arguments) -> int:
        found, at = arguments.get(sizes), arguments.get(dimension)
        if not isinstance(found, tuple) or not isinstance(at, int) or not -len(found) <= at < len(found):
            return 1
        value = found[at]
        return value if isinstance(value, int) else 1

    return bound


def _area(sizes: str) -> Callable[[Arguments], int]:
    """Returns the bound for sizes that are an argument: their product."""

    def bound(arguments: Arguments) -> int:
        found = arguments.get(sizes)
        return prod(item for item in found if isinstance(item, int)) if isinstance(found, tuple) else 1

    return bound


def _number(name: str) -> Callable[[Arguments], int]:
    def bound(arguments: Arguments) -> int:
        value = arguments.get(name)
        return value if isinstance(value, int) and value > 0 else 100

    return bound


def _elements(tensor: str, last: int | None = None) -> Callable[[Arguments], int]:
    """Returns the bound: the number of elements, or of elements in the last dimensions."""

    def bound(arguments: Arguments) -> int:
        found = arguments.get(tensor)
        return prod(found.sizes[-last if last else 0 :]) if isinstance(found, TensorRecipe) else 1

    return bound


def _classes(arguments: Arguments) -> int:
    scores = arguments.get("self", arguments.get("input"))
    return extent(scores, 0 if isinstance(scores, TensorRecipe) and len(scores.sizes) == 1 else 1)


_EMBEDDED = {"indices": _rows("weight")}
_WEIGHTED = {"indices": _number("num_weights"), "maximum_indices": _number("num_weights")}

# The integers in these operands must be below what the function returns for the other arguments.
BOUNDS: dict[str, dict[str, Callable[[Arguments], int]]] = {
    **each("embedding embedding_bag _embedding_bag _embedding_bag_forward_only", _EMBEDDED),
    **each(
        """
        embedding_dense_backward embedding_backward _embedding_bag_backward _embedding_bag_dense_backward
        """,
        _WEIGHTED,
    ),
    "_embedding_bag_per_sample_weights_backward": _EMBEDDED,
    "embedding_renorm": {"indices": _rows("self")},
    **each(
        """
        index_select index_add index_copy index_fill index_reduce gather scatter scatter_add
        scatter_reduce
        """,
        {"index": _along("self", "dim")},
    ),
    "gather_backward": {"index": _along("self", "dim")},
    "index_select_backward": {"index": _listed("self_sizes", "dim")},
    "value_selecting_reduction_backward": {"indices": _listed("sizes", "dim")},
    "cummaxmin_backward": {"indices": _along("input", "dim")},
    "take_along_dim": {"indices": _along("self", "dim")},
    **each("take put", {"index": _elements("self")}),
    **each(
        """
        nll_loss nll_loss_nd nll_loss2d nll_loss_forward nll_loss_backward nll_loss2d_forward
        nll_loss2d_backward cross_entropy_loss multi_margin_loss multi_margin_loss_backward
        """,
        {"target": _classes},
    ),
    "one_hot": {"self": _number("num_classes")},
    "max_pool2d_with_indices_backward": {"indices": _elements("self", 2)},
    "max_pool3d_with_indices_backward": {"indices": _elements("self", 3)},
    "adaptive_max_pool2d_backward": {"indices": _elements("self", 2)},
    "adaptive_max_pool3d_backward": {"indices": _elements("self", 3)},
    "fractional_max_pool2d_backward": {"indices": _elements("self", 2)},
    "fractional_max_pool3d_backward": {"indices": _elements("self", 3)},
    **each("max_unpool2d max_unpool3d", {"indices": _area("output_size")}),
    **each("_ctc_loss _ctc_loss_backward", {"targets": _rows("log_probs", 2)}),
}
