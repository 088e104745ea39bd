"""Cases for a GPU, timed by CUDA events."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from perfprobe import native
from perfprobe.bench.ceilings.bandwidth import Pool, bandwidths
from perfprobe.bench.ceilings.case import Call, Case
from perfprobe.bench.ceilings.elements import elements
from perfprobe.bench.ceilings.products import products
from perfprobe.bench.ceilings.sweep import Sweep
from perfprobe.support.errors import EnvironmentLack

_LAUNCHES = 1000
_TRIAD_ELEMENTS = 1 << 26
_REPEATS = 10


def groups(torch: Any, sweep: Sweep) -> list[list[Case]]:
    """Returns the cases in three groups: products, launch and bandwidths, element rates."""
    device = sweep.device
    pool = Pool(torch, device, max(sweep.footprints))
    return [
        list(products(torch, device, sweep.product_dtypes, sweep.sides, 1)),
        [
            Case("launch", "f32", 1, "add out=", partial(_smallest, torch, device)),
            *bandwidths(torch, pool, sweep.footprints, 1),
        ],
        list(elements(torch, device, sweep.element_dtypes, sweep.elements, 1)),
    ]


def own(torch: Any) -> Iterator[dict[str, Any]]:
    """Yields the results of perfprobe's own kernels, which time themselves.

    Raises:
        EnvironmentLack: they were not built, or the GPU refuses.
    """
    kernels = native.cuda_kernels()
    torch.cuda.synchronize()
    moved_bytes = 12 * _TRIAD_ELEMENTS
    rate = moved_bytes / kernels.triad(_TRIAD_ELEMENTS, _REPEATS) * 1e9
    yield _row("bandwidth", rate, "perfprobe's triad", mix="triad", footprint_bytes=moved_bytes)
    operations, best_ns = kernels.multiply_add(_REPEATS)
    yield _row("isa peak", operations / best_ns * 1e9, "FFMA")
    kernels.timed_empty(_LAUNCHES)
    yield _row("launch", kernels.timed_empty(_LAUNCHES) / _LAUNCHES, "empty kernel, back to back")


def _row(kind: str, rate: float, what: str, mix: str = "", footprint_bytes: int = 0) -> dict[str, Any]:
    return {
        "kind": kind,
        "dtype": "f32",
        "threads": 1,
        "what": what,
        "mix": mix,
        "footprint_bytes": footprint_bytes,
        "rate": rate,
    }


def _smallest(torch: Any, device: str) -> Call:
    tensor = torch.ones(1, device=device)
    return partial(torch.add, tensor, tensor, out=torch.empty(1, device=device))


def refusal(torch: Any, device: str) -> EnvironmentLack | None:
    """Returns why this device cannot be measured; None if it can."""
    what = "this device cannot be measured"
    if not torch.cuda.is_available():
        return EnvironmentLack(what, f"{device}: this torch sees no GPU", "see `perfprobe doctor`")
    if torch.device(device).index is not None and torch.device(device).index >= torch.cuda.device_count():
        return EnvironmentLack(what, f"{device}: there are {torch.cuda.device_count()} GPUs", "name another")
    return None


def memory_bytes(torch: Any, device: str) -> int:
    """Returns the free memory of the GPU."""
    return int(torch.cuda.mem_get_info(device)[0])
