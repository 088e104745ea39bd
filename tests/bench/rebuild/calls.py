"""Rebuilds calls in this process with torch's own schemas."""

from __future__ import annotations

from typing import Any

import torch

from perfprobe.bench.rebuild.rebuilt import Rebuilt
from perfprobe.bench.rebuild.recipes import recipe
from perfprobe.bench.rebuild.schema import schemas
from perfprobe.tables.measurements import Wanted


def rebuilt(operator: str, signature: str, example: str = "", values: str = "", **limits: int) -> Rebuilt:
    wanted = Wanted(operator, signature, example, values)
    return Rebuilt(recipe(wanted, schemas(operator, torch), **limits), torch, **limits)


def tensors_in(results: Any) -> list[torch.Tensor]:
    """The tensors, with lists flattened."""
    if isinstance(results, (list, tuple)):
        return [tensor for result in results for tensor in tensors_in(result)]
    return [results] if isinstance(results, torch.Tensor) else []
