"""How many floating-point operations an operator does, from its signature alone.

A multiply-add is two, everywhere; integers count like floats; a bias is not counted. The formulas are those
of torch.utils.flop_counter and of the operators' definitions in torch's documentation, named where they
stand. The counts are what the result needs, not what a kernel happens to do: recomputation that the
operator is defined by (flash attention's backward) is in, padding is counted as if it were data.

A row counts the work of its own kernel only, so that rows can be added up: `aten::linear`, `aten::matmul`,
`aten::relu`, `aten::mv`, `aten::addbmm`, `aten::mul.Scalar` and other operators that call another one for
their work have no model, the operator they call has. What a signature cannot show: under autocast an operator
calls itself with other dtypes; where a call has a child of the same name, only the child must be counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from perfprobe.models.signature import Item, List, Scalar, Tensor, Undefined, parse

_MOST = (1 << 63) - 1  # beyond it no real call, and no int64 column

Sizes: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Call:
    """An operator's inputs. sizes: of each tensor argument that was given, in their order, without `out`."""

    overload: str
    sizes: Sequence[Sizes]
    values: dict[str, Scalar | List]

    def value(self, name: str) -> str | None:
        """The text of a plain value."""
        found = self.values.get(name)
        return found.value if isinstance(found, Scalar) else None

    def list(self, name: str) -> list[str]:
        """The texts of a list of plain values; none when there is no such list."""
        found = self.values.get(name)
        items = found.items if isinstance(found, List) else ()
        return [item.value for item in items if isinstance(item, Scalar)]


@dataclass(frozen=True)
class Work:
    """The least that one call must do.

    flops: multiply-adds count two; is_product: they are matrix products, whose limit is that of a GEMM.
    read_bytes, write_bytes: each element that must be touched once, however often a kernel comes back.
    line_bytes: all 64-byte lines that these lie in. footprint_bytes: an operand written in place counts once.
    dtype: of the arithmetic, "f32". elements: work limited by arithmetic of its own, by kind: ("exp", N).
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


class NoModel(Exception):
    """The signature is none that the formula is for."""


def flops(operator: str, signature: str) -> int | None:
    """Floating-point operations of one call.

    Args:
        operator: with its overload, as the report shows it: `aten::add.Tensor`.
        signature: the recorded text of its inputs.

    Returns:
        None where there is no formula for this operator or these inputs: complex numbers, sparse, nested or
        symbolic tensors, tensor subclasses (their operator is called again inside), the meta device.
    """
    name, _, overload = operator.removeprefix("aten::").partition(".")
    model = MODELS.get(name) or MODELS.get(name.removesuffix("_"))
    items = parse(signature) if model is not None and operator.startswith("aten::") else None
    if model is None or items is None:
        return None
    try:
        count = model(_call(overload, items))
    except (NoModel, IndexError, ValueError):
        return None
    return count if 0 <= count <= _MOST else None


def _call(overload: str, items: Sequence[Item]) -> Call:
    tensors = [item for item in items if isinstance(item, Tensor)]
    sizes = [_dense(tensor) for tensor in tensors]
    if overload.endswith(("out", "output")):
        sizes.pop()
    named = {item.name: item for item in items if not isinstance(item, Tensor | Undefined)}
    return Call(overload, sizes, named)


def _dense(tensor: Tensor) -> Sizes:
    complicated = tensor.layout != "strided" or tensor.subclass or tensor.device == "meta"
    if tensor.sizes is None or complicated or tensor.dtype in ("c32", "c64", "c128"):
        raise NoModel
    return tensor.sizes


def _require(holds: bool) -> None:
    if not holds:
        raise NoModel


def _product(first: int) -> Callable[[Call], int]:
    """Matrices [M,K] [K,N] or batches of them [B,M,K] [B,K,N], from this tensor on: 2BMNK."""

    def count(call: Call) -> int:
        left, right = call.sizes[first], call.sizes[first + 1]
        _require(len(left) == len(right) in (2, 3) and left[-1] == right[-2] and left[:-2] == right[:-2])
        return 2 * prod(left) * right[-1]

    return count


def _matrix_vector(call: Call) -> int:
    """`addmv`: bias [M], matrix [M,K], vector [K]: 2MK."""
    matrix, vector = call.sizes[1], call.sizes[2]
    _require(len(matrix) == 2 and matrix[1:] == vector)
    return 2 * prod(matrix)


def _dot(call: Call) -> int:
    """Vectors [K] [K]: 2K."""
    left, right = call.sizes[:2]
    _require(len(left) == 1 and left == right)
    return 2 * left[0]


def _convolution(call: Call) -> int:
    """Each output point of each image takes the whole weight once: 2 * N * prod(out) * prod(weight).

    The weight is [channels out, channels in / groups, kernel...], so groups need no term of their own. The
    output's size is that of torch.nn.Conv2d's documentation.
    """
    image, weight = call.sizes[:2]
    dimensions = len(weight) - 2
    _require(len(image) == len(weight) and dimensions >= 1)
    stride, padding, dilation = (
        _per_dimension(call, name, dimensions) for name in ("stride", "padding", "dilation")
    )
    _require(all(step > 0 for step in stride))
    out = [
        (image[2 + i] + 2 * padding[i] - dilation[i] * (weight[2 + i] - 1) - 1) // stride[i] + 1
        for i in range(dimensions)
    ]
    _require(all(points >= 0 for points in out))
    return 2 * image[0] * prod(out) * prod(weight)


def _per_dimension(call: Call, name: str, dimensions: int) -> list[int]:
    """A convolution's setting for every dimension; kernels without dilation do not name it."""
    given = [int(text) for text in call.list(name)]
    if not given and name == "dilation":
        return [1] * dimensions
    _require(len(given) in (1, dimensions))
    return given * dimensions if len(given) == 1 else given


def _transposed_convolution(call: Call) -> int:
    """Each input point takes the whole weight once: 2 * N * prod(in) * prod(weight).

    Counted at `_convolution`, which on a CPU calls oneDNN for it directly; ordinary convolutions are counted
    at the kernels that it calls.
    """
    image, weight = call.sizes[:2]
    _require(call.value("transposed") == "True" and len(image) == len(weight) > 2)
    return 2 * image[0] * prod(image[2:]) * prod(weight)


def _convolution_backward(call: Call) -> int:
    """As much as forward for each of the gradients of input and weight that is asked for."""
    gradient, image, weight = call.sizes[:3]
    transposed, mask = call.value("transposed"), call.list("output_mask")
    _require(len(mask) == 3 and transposed in ("True", "False"))
    _require(len(gradient) == len(image) == len(weight) > 2)
    points = prod((image if transposed == "True" else gradient)[2:])
    return mask[:2].count("True") * 2 * image[0] * points * prod(weight)


def _attention(first: int, key_products: int, value_products: int) -> Callable[[Call], int]:
    """Fused attention on q [B,H,Sq,D], k [B,H',Sk,D], v [B,H',Sk,Dv]: 2BH * pairs * (products of D and Dv).

    Forward multiplies q by k and the weights by v. Backward does the first again (flash attention keeps no
    weights) and has two products for the gradients of q and k, two over Dv for those of v and the weights
    (Dao et al. 2022, "FlashAttention", algorithm 4). Softmax is not counted.
    """

    def count(call: Call) -> int:
        query, key, value = call.sizes[first : first + 3]
        _require(len(query) == len(key) == len(value) == 4 and query[3] == key[3])
        _require(query[0] == key[0] and key[:3] == value[:3])
        depth = key_products * query[3] + value_products * value[3]
        return 2 * query[0] * query[1] * _pairs(query[2], key[2], call.value("is_causal")) * depth

    return count


def _pairs(queries: int, keys: int, causal: str | None) -> int:
    """How many keys all queries look at together: query i sees keys 0 to i when causal."""
    _require(causal in ("True", "False"))
    if causal == "False":
        return queries * keys
    short = min(queries, keys)
    return short * (short + 1) // 2 + (queries - short) * keys


def _sum(call: Call) -> int:
    """One addition for each element (`aten::sum` without a dimension calls the overload with one)."""
    _require(call.overload in ("dim_IntList", "IntList_out"))
    return prod(call.sizes[0])


def _unary(call: Call) -> int:
    """One operation for each element."""
    return prod(call.sizes[0])


def _binary(call: Call) -> int:
    """One operation for each element of the broadcast result."""
    _require(call.overload in ("", "Tensor", "out") and "rounding_mode" not in call.values)
    return prod(_broadcast(call.sizes[:2]))


def _add(call: Call) -> int:
    """self + alpha * other: a multiplication more when alpha is not 1."""
    return _binary(call) * (1 if call.value("alpha") in ("1", None) else 2)


def _broadcast(sizes: Sequence[Sizes]) -> Sizes:
    """The sizes of the result (https://docs.pytorch.org/docs/stable/notes/broadcasting.html)."""
    result: list[int] = []
    for place in range(1, 1 + max(map(len, sizes))):
        extents = {shape[-place] for shape in sizes if place <= len(shape)} - {1}
        _require(len(extents) <= 1)
        result.append(extents.pop() if extents else 1)
    return tuple(result)


# Elementwise operators are only those that are one operation of IEEE 754; what exp or tanh cost is no FLOP.
MODELS: dict[str, Callable[[Call], int]] = {
    **dict.fromkeys(("mm", "bmm", "_int_mm", "_scaled_mm"), _product(0)),
    **dict.fromkeys(("addmm", "baddbmm", "_addmm_activation"), _product(1)),
    "addmv": _matrix_vector,
    "dot": _dot,
    **dict.fromkeys(
        (
            "mkldnn_convolution",
            "_slow_conv2d_forward",
            "slow_conv3d_forward",
            "slow_conv_dilated2d",
            "slow_conv_dilated3d",
            "_nnpack_spatial_convolution",
            "cudnn_convolution",
            "_conv_depthwise2d",
            "conv_depthwise3d",
        ),
        _convolution,
    ),
    "_convolution": _transposed_convolution,
    "convolution_backward": _convolution_backward,
    **dict.fromkeys(
        (
            "_scaled_dot_product_flash_attention_for_cpu",
            "_scaled_dot_product_flash_attention",
            "_scaled_dot_product_efficient_attention",
            "_scaled_dot_product_cudnn_attention",
        ),
        _attention(0, 1, 1),
    ),
    **dict.fromkeys(
        (
            "_scaled_dot_product_flash_attention_for_cpu_backward",
            "_scaled_dot_product_flash_attention_backward",
            "_scaled_dot_product_efficient_attention_backward",
            "_scaled_dot_product_cudnn_attention_backward",
        ),
        _attention(1, 3, 2),
    ),
    "sum": _sum,
    **dict.fromkeys(("sqrt", "neg", "reciprocal"), _unary),
    **dict.fromkeys(("add", "sub"), _add),
    **dict.fromkeys(("mul", "div", "maximum", "minimum", "clamp_min", "clamp_max"), _binary),
}
