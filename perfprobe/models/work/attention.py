"""Fused attention, which writes neither scores nor weights to memory."""

from __future__ import annotations

from math import prod

from perfprobe.models.work.call import Call, Flops, Model, Work, least
from perfprobe.models.work.touched import Operand, require


def _flops(first: int, key_products: int, value_products: int) -> Flops:
    """Counts fused attention on q [B,H,Sq,D], k [B,H',Sk,D], v [B,H',Sk,Dv].

    This is 2BH * pairs * (products of D and Dv). Forward multiplies q by k, and the weights by v. Backward
    repeats the first product (flash attention keeps no weights), and has two products for the gradients of q
    and k and two over Dv for those of v and the weights (Dao et al. 2022, "FlashAttention", algorithm 4).
    Softmax is not counted.
    """

    def count(call: Call) -> int:
        query, key, value = call.sizes[first : first + 3]
        require(len(query) == len(key) == len(value) == 4 and query[3] == key[3])
        require(query[0] == key[0] and key[:3] == value[:3])
        depth = key_products * query[3] + value_products * value[3]
        return 2 * query[0] * query[1] * _pairs(query[2], key[2], call.value("is_causal")) * depth

    return count


def _pairs(queries: int, keys: int, causal: str | None) -> int:
    """Returns the number of pairs of query and key: with a causal mask, query i sees keys 0 to i."""
    require(causal in ("True", "False"))
    if causal == "False":
        return queries * keys
    short = min(queries, keys)
    return short * (short + 1) // 2 + (queries - short) * keys


def _exps(call: Call, first: int) -> int:
    """Returns one exp for each pair that is not masked."""
    query, key = call.sizes[first : first + 2]
    return prod(query[:2]) * _pairs(query[2], key[2], call.value("is_causal"))


def _forward(call: Call) -> Work:
    """Reads q, k, v and the mask; writes the output and a logsumexp in f32 for each query."""
    query, key, value = (call.tensor(slot) for slot in range(3))
    flops = _flops(0, 1, 1)(call)
    output = Operand(query.dtype, (*query.sizes[:3], value.sizes[3]))
    sums = Operand("f32" if query.dtype != "f64" else "f64", query.sizes[:3])
    return least(
        [query, key, value, call.given(3)],
        [output, sums],
        flops=flops,
        dtype=query.dtype,
        is_product=True,
        elements=(("exp", _exps(call, 0)),),
    )


def _backward(call: Call) -> Work:
    """Reads the gradient, q, k, v, output and logsumexp; writes gradients of q, k and v."""
    tensors = [call.tensor(slot) for slot in range(6)]
    mask = call.given(6)
    writes = [Operand(tensor.dtype, tensor.sizes) for tensor in tensors[1:4]]
    return least(
        [*tensors, mask],
        writes,
        flops=_flops(1, 3, 2)(call),
        dtype=tensors[1].dtype,
        is_product=True,
        elements=(("exp", _exps(call, 1)),),
    )


_FUSED = (
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention",
)
_FUSED_BACKWARD = tuple(f"{name}_backward" for name in _FUSED)

FLOPS: dict[str, Flops] = {
    **dict.fromkeys(_FUSED, _flops(0, 1, 1)),
    **dict.fromkeys(_FUSED_BACKWARD, _flops(1, 3, 2)),
}

MODELS: dict[str, Model] = {
    **dict.fromkeys((*_FUSED, "scaled_dot_product_attention"), _forward),
    **dict.fromkeys(_FUSED_BACKWARD, _backward),
}
