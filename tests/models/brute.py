"""What tensors take up in memory, by looking at every address."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch


def addresses(tensor: torch.Tensor) -> torch.Tensor:
    """Of every element, in elements from the start of the tensor."""
    span = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    places = torch.arange(max(span, 1))
    return places.as_strided(tensor.shape, tensor.stride()).reshape(-1)


def distinct_bytes(tensor: torch.Tensor) -> int:
    """All elements that differ in their address."""
    return len(addresses(tensor).unique()) * tensor.element_size()


def line_bytes(tensor: torch.Tensor) -> int:
    """All lines of 64 bytes, of a tensor that starts with one."""
    return len((addresses(tensor) * tensor.element_size() // 64).unique()) * 64


def tensors(value: Any) -> Iterable[torch.Tensor]:
    """All tensors of nested lists, in their order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors(item)
