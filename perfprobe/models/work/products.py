"""Matrix products. A multiply-add is two operations. A bias is read, but its additions are not counted."""

from __future__ import annotations

from math import prod

from perfprobe.models.work.call import Call, Flops, Model, Sizes, Work, broadcast, least, result
from perfprobe.models.work.touched import Operand, require

_WIDE_RESULT = {"_int_mm": "i32", "_scaled_mm": "bf16"}


def product_flops(first: int) -> Flops:
    """2BMNK for matrices [M,K] [K,N] or batches [B,M,K] [B,K,N]. first: position of the first matrix."""

    def count(call: Call) -> int:
        left, right = call.sizes[first], call.sizes[first + 1]
        require(len(left) == len(right) in (2, 3) and left[-1] == right[-2] and left[:-2] == right[:-2])
        return 2 * prod(left) * right[-1]

    return count


def _matrix_vector(call: Call) -> int:
    """`addmv`: bias [M], matrix [M,K], vector [K]: 2MK."""
    matrix, vector = call.sizes[1], call.sizes[2]
    require(len(matrix) == 2 and matrix[1:] == vector)
    return 2 * prod(matrix)


def _dot(call: Call) -> int:
    """Vectors [K] [K]: 2K."""
    left, right = call.sizes[:2]
    require(len(left) == 1 and left == right)
    return 2 * left[0]


def _product(first: int) -> Model:
    """Reads both factors and the addend, writes the result, all once.

    This is the bound of a product with all operands in a cache. The addend is not read if beta is 0
    (https://docs.pytorch.org/docs/stable/generated/torch.addmm.html). In place, it is updated.
    """

    def work(call: Call) -> Work:
        left, right = call.tensors[first], call.tensors[first + 1]
        sizes = (*left.sizes[:-1], right.sizes[-1])
        return _made(call, call.tensors, first, sizes, product_flops(first)(call))

    return work


def _made(call: Call, tensors: list[Operand], first: int, sizes: Sizes, flops: int) -> Work:
    """Returns a product. Tensors before `first` are added to it; tensors after it are scales and biases."""
    dtype = tensors[first].dtype
    added = [] if call.value("beta") == "0" else tensors[:first]
    factors = tensors[first:]
    if call.in_place and first:
        require(tensors[0].sizes == sizes)
        writes = [] if added else tensors[:1]
        return least(factors, writes, added, flops=flops, dtype=dtype, is_product=True)
    made = call.value("out_dtype") or _WIDE_RESULT.get(call.operator, dtype)
    output = result(call, made, sizes)
    return least([*added, *factors], [output], flops=flops, dtype=dtype, is_product=True)


def _addmv(call: Call) -> Work:
    """A product of a matrix and one column."""
    return _made(call, call.tensors, 1, call.sizes[1][:1], _matrix_vector(call))


def _mv(call: Call) -> Work:
    """[M,K] [K]: 2MK."""
    matrix, vector = call.sizes
    require(len(matrix) == 2 and matrix[1:] == vector)
    return _made(call, call.tensors, 0, matrix[:1], 2 * prod(matrix))


def _inner(call: Call) -> Work:
    """`dot`, `vdot`: writes one number."""
    return _made(call, call.tensors, 0, (), _dot(call))


def _addbmm(call: Call) -> Work:
    """[M,N] + the sum of B products [M,K] [K,N]: 2BMNK."""
    left, right = call.sizes[1:3]
    return _made(call, call.tensors, 1, (left[1], right[2]), product_flops(1)(call))


def _linear(call: Call) -> Work:
    """[...,K] [N,K] and a bias [N]: 2 * ... * KN (see torch.nn.functional.linear)."""
    image, weight, *_ = call.sizes
    require(len(weight) == 2 and image[-1:] == weight[1:])
    return _made(call, call.tensors, 0, (*image[:-1], weight[0]), 2 * prod(image) * weight[0])


def _matmul(call: Call) -> Work:
    """Batches are broadcast, vectors are one row or one column (see torch.matmul): 2BMNK."""
    left, right = call.sizes[:2]
    require(bool(left) and bool(right))
    rows, columns = left[-2:-1], right[-1:] if len(right) > 1 else ()
    depth = left[-1]
    require(depth == (right[-2] if len(right) > 1 else right[0]))
    batch = broadcast([left[:-2], right[:-2]]) if left[:-2] or right[:-2] else ()
    sizes = (*batch, *rows, *columns)
    return _made(call, call.tensors, 0, sizes, 2 * prod(sizes) * depth)


FLOPS: dict[str, Flops] = {
    **dict.fromkeys(("mm", "bmm", "_int_mm", "_scaled_mm"), product_flops(0)),
    **dict.fromkeys(("addmm", "baddbmm", "_addmm_activation"), product_flops(1)),
    "addmv": _matrix_vector,
    "dot": _dot,
}

MODELS: dict[str, Model] = {
    **dict.fromkeys(("mm", "bmm", "_int_mm", "_scaled_mm"), _product(0)),
    **dict.fromkeys(("addmm", "baddbmm", "_addmm_activation"), _product(1)),
    "addmv": _addmv,
    "mv": _mv,
    **dict.fromkeys(("dot", "vdot", "inner"), _inner),
    "addbmm": _addbmm,
    "linear": _linear,
    "matmul": _matmul,
}
