"""Numbers of distinct elements and lines, compared with a check of every address."""

from __future__ import annotations

import random

import pytest
import torch

from perfprobe.models.work.touched import NoModel, Operand
from tests.models import brute

DTYPES = {"u8": torch.uint8, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}


def check(tensor: torch.Tensor) -> None:
    dtype = next(name for name, kind in DTYPES.items() if kind == tensor.dtype)
    operand = Operand(dtype, tuple(tensor.shape), tuple(tensor.stride()))
    found = operand.bytes, operand.line_bytes
    assert found == (brute.distinct_bytes(tensor), brute.line_bytes(tensor)), (tensor.shape, tensor.stride())


def image() -> torch.Tensor:
    return torch.empty(3, 5, 6, 7)


VIEWS = {
    "contiguous": lambda: image(),
    "scalar": lambda: torch.empty(()),
    "empty": lambda: torch.empty(4, 0, 3),
    "transposed": lambda: torch.empty(33, 50).t(),
    "channels last": lambda: image().to(memory_format=torch.channels_last),
    "expanded": lambda: torch.empty(3, 1, 7).expand(4, 3, 5, 7),
    "all the same": lambda: torch.empty(1).expand(100),
    "every third": lambda: torch.empty(100)[::3],
    "every 20th": lambda: torch.empty(1000)[::20],
    "a column": lambda: torch.empty(40, 33)[:, 0],
    "columns of bytes": lambda: torch.empty(40, 33, dtype=torch.uint8)[:, :3],
    "a window": lambda: torch.empty(40, 40)[3:20, 5:9],
    "heads": lambda: torch.empty(2, 9, 3, 4, 5)[:, :, 1].transpose(1, 2),
    "sliding windows": lambda: torch.empty(100).unfold(0, 7, 2),
    "sliding windows apart": lambda: torch.empty(100).unfold(0, 3, 5),
    "windows of an image": lambda: torch.empty(20, 20).unfold(0, 3, 1).unfold(1, 3, 2),
    "diagonal": lambda: torch.empty(30, 30).diagonal(),
    "interleaved": lambda: torch.empty(50).as_strided((2, 3), (3, 2)),
    "overlapping unevenly": lambda: torch.empty(500).as_strided((7, 9, 5), (30, 4, 6)),
    "half precision rows": lambda: torch.empty(13, 13, dtype=torch.bfloat16)[:, :11],
}


@pytest.mark.parametrize("view", VIEWS)
def test_views(view: str) -> None:
    check(VIEWS[view]())


def test_layouts_at_random() -> None:
    draw = random.Random(5)
    for _ in range(1500):
        sizes = [draw.choice((1, 2, 3, 5, 9, 17)) for _ in range(draw.randrange(5))]
        strides = [draw.choice((0, 1, 2, 3, 8, 13, 16, 17, 64, 100, 289)) for _ in sizes]
        check(torch.empty(0, dtype=draw.choice(list(DTYPES.values()))).as_strided((0,), (1,)))
        kind = draw.choice(list(DTYPES.values()))
        span = 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
        check(torch.empty(span, dtype=kind).as_strided(sizes, strides))


def test_slices_of_dense_tensors_at_random() -> None:
    draw = random.Random(6)
    for _ in range(500):
        sizes = [draw.randrange(1, 12) for _ in range(draw.randrange(1, 5))]
        tensor = torch.empty(sizes, dtype=draw.choice(list(DTYPES.values())))
        tensor = tensor.permute(*draw.sample(range(len(sizes)), len(sizes)))
        place = draw.randrange(len(sizes))
        check(tensor.narrow(place, 0, draw.randrange(tensor.shape[place]) + 1))


def test_a_large_tensor_takes_no_time() -> None:
    operand = Operand("f32", (1 << 20, 1 << 20), (1, 1 << 20))
    assert (operand.bytes, operand.line_bytes) == (4 << 40, 4 << 40)


@pytest.mark.parametrize(
    "operand",
    [
        Operand(
            "f32", (1 << 20, 1 << 20), (7, 5)
        ),  # no rule applies, and there are too many addresses to check
        Operand("c64", (4,)),
        Operand("quint8", (4,)),
        Operand("f32", (4, 4), (1,)),
    ],
)
def test_uncountable_layouts_give_none(operand: Operand) -> None:
    with pytest.raises(NoModel):
        print(operand.bytes, operand.line_bytes)
