"""Calls to emit, by hand: the operators of a training step of a small transformer and a convolution."""

from __future__ import annotations

from typing import Any

from perfprobe.bench.rebuild.recipe import Argument, CallRecipe, DtypeRecipe, TensorRecipe


def floats(*sizes: int, written: bool = False, strides: tuple[int, ...] | None = None) -> TensorRecipe:
    return TensorRecipe("float32", sizes, strides, "cpu", "uniform", {"low": 0.5, "high": 1.5}, written)


def call(operator: str, *arguments: Argument, overload: str = "", **more: Any) -> CallRecipe:
    return CallRecipe(f"aten::{operator}", overload, arguments, **more)


TARGET = floats(64, 32, written=True)
MASK = TensorRecipe("bool", (64, 32), None, "cpu", "mask", {"true": 0.25})
INDICES = TensorRecipe("int64", (4, 16), None, "cpu", "integers", {"low": 0, "below": 50})
IMAGE, WEIGHT = floats(2, 3, 16, 16), floats(4, 3, 3, 3)
GEOMETRY: tuple[Argument, ...] = ((1, 1), (1, 1), (1, 1), False, (0, 0), 1)
NORM = (floats(32, 64), floats(32, 64), (64,), floats(32, 1), floats(32, 1), floats(64), floats(64))
CPU_FLOATS: dict[str, Any] = {"dtype": DtypeRecipe("float32")}

CALLS = (
    call("bmm", floats(8, 16, 32), floats(8, 32, 16)),
    call("div", floats(64, 32), floats(64, 32, strides=(1, 64)), overload="Tensor"),
    call("copy_", TARGET, floats(64, 32)),
    call("mm", floats(64, 32), floats(32, 64)),
    call("mul", floats(64, 32), 0.5, overload="Scalar"),
    call("bernoulli_", TARGET, 0.9, overload="float"),
    call("native_layer_norm_backward", *NORM, (True, True, True), saved="layer_norm"),
    call(
        "_softmax_backward_data", floats(64, 32), floats(64, 32), -1, DtypeRecipe("float32"), saved="softmax"
    ),
    call("_softmax", floats(64, 32), -1, False),
    call("masked_fill_", TARGET, MASK, float("-inf"), overload="Scalar"),
    call("convolution", IMAGE, WEIGHT, floats(4), *GEOMETRY),
    call("convolution_backward", floats(2, 4, 16, 16), IMAGE, WEIGHT, (4,), *GEOMETRY, (True, True, True)),
    call("embedding_dense_backward", floats(4, 16, 8), INDICES, 50, -1, False),
    call("add_", TARGET, floats(64, 32), overload="Tensor", keywords={"alpha": 1}),
    call("div_", TARGET, 1.5, overload="Scalar"),
    call("sum", floats(64, 32), (-1,), False, overload="dim_IntList"),
    call("add", floats(64, 32), floats(1, 32), overload="Tensor"),
    call("empty", (64, 32), overload="memory_format", keywords=CPU_FLOATS),
    call("mul_", TARGET, 0.5, overload="Scalar"),
)
