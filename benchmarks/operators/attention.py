"""Fused attention on a CPU, forward and backward: scores stay in the cache. `bmm`s would write them out."""

from __future__ import annotations

from benchmarks.operators.case import Case


def _forward(heads: int, length: int, width: int, causal: bool) -> str:
    x = f"f32[8,{heads},{length},{width}]"
    return f"{x} {x} {x} dropout_p=0.0 is_causal={causal} -"


def _backward(heads: int, length: int, width: int, causal: bool) -> str:
    x = f"f32[8,{heads},{length},{width}]"
    sums = f"f32[8,{heads},{length}]{{{heads * length},1,{heads}}}"
    return f"{x} {x} {x} {x} {x} {sums} dropout_p=0.0 is_causal={causal} -"


_FORWARD = "aten::_scaled_dot_product_flash_attention_for_cpu"
_BACKWARD = "aten::_scaled_dot_product_flash_attention_for_cpu_backward"

CASES = (
    Case("512", _FORWARD, _forward(8, 512, 64, False), "Blocks of queries by blocks of keys."),
    Case(
        "512 causal", _FORWARD, _forward(8, 512, 64, True), "Half of the pairs; blocks on the edge are whole."
    ),
    Case("64", _FORWARD, _forward(8, 64, 64, False), "One block a head: nothing to keep in the cache."),
    Case("heads of 8", _FORWARD, _forward(8, 512, 8, False), "Exponentials outweigh products."),
    Case(
        "one query",
        _FORWARD,
        "f32[8,8,1,64] f32[8,8,1024,64] f32[8,8,1024,64] dropout_p=0.0 is_causal=False -",
        "Decoding: keys and values are read once, for one query.",
    ),
    Case("backward", _BACKWARD, _backward(8, 512, 64, False), "Five products; scores are computed again."),
    Case("backward causal", _BACKWARD, _backward(8, 512, 64, True), "Half of the pairs."),
)

if __name__ == "__main__":
    from benchmarks.operators.alone import main

    main("attention", __doc__, CASES)
