"""The memory that tensors occupy, computed from every address."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch


def addresses(tensor: torch.Tensor) -> torch.Tensor:
    """The address of every element, in elements from the tensor's start."""
    span = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    places = torch.arange(max(span, 1))
    return places.as_strided(tensor.shape, tensor.stride()).reshape(-1)


def distinct_bytes(tensor: torch.Tensor) -> int:
    """The bytes of all elements with different addresses."""
    return len(addresses(tensor).unique()) * tensor.element_size()


def line_bytes(tensor: torch.Tensor) -> int:
    """The bytes of all 64-byte lines, for a tensor that starts at one."""
    return len((addresses(tensor) * tensor.element_size() // 64).unique()) * 64


def tensors(value: Any) -> Iterable[torch.Tensor]:
    """All tensors in nested lists, in order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors(item)
