"""What the machine can do at the same moment: kernels, torch's or our own, that each do one thing.

A call's `Work` decides which references are timed beside it. The dispatch time of a reference is subtracted,
because it shows what the limit alone allows. A reference has the call's bytes, its mix of reads and writes
and its threads, and uses the same caches. Operands that rotate in the call rotate in the reference. Results
that a call allocates anew are allocated in the reference too, in the same memory. Partly used cache lines
only have a reference if a gather reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from perfprobe.bench import allocator
from perfprobe.bench.arena import Arena, set_floats
from perfprobe.bench.ceilings.products import CONVOLUTION, CONVOLVED
from perfprobe.bench.clocks import Clock
from perfprobe.bench.element_references import ElementReferences
from perfprobe.bench.gather_reference import Gathering, GatherReferences
from perfprobe.bench.reference import Floors, Reference
from perfprobe.bench.subjects import Arguments, Subject
from perfprobe.models.dtypes import torch_name
from perfprobe.models.work import Work

_FLOAT_BYTES = 4
_COLUMNS = 1024
_GEMM_SIZES = (256, 512, 1024, 2048)
_LONGEST_GEMM_NS = 30e6
_NEARLY_BEST = 0.95
_DTYPES = ("f16", "bf16", "f32", "f64")


@dataclass(frozen=True)
class _Product:
    """A product with known FLOPs."""

    words: str
    flops: int
    subject: Subject


@dataclass(frozen=True)
class _Traffic:
    """A kind of memory traffic.

    Attributes:
        buffers: the number of float tensors.
        has_output: whether the first one is only written.
    """

    function: str
    words: str
    buffers: int
    floats: int  # floats moved for each float of a buffer
    has_output: bool = False


_READ = (_Traffic("sum", "sum", 1, 1), _Traffic("mm", "mm of a row", 1, 1))
_WRITE = (_Traffic("fill_", "fill_", 1, 1, True),)
_COPY = (_Traffic("copy_", "copy_", 2, 2, True),)
_TRIAD = (_Traffic("add", "add(out=)", 3, 3, True),)
_SCALE = (_Traffic("mul_", "mul_ in place", 1, 2),)
_UPDATE = (_Traffic("add_", "add_ in place", 2, 3),)


def traffic(work: Work) -> tuple[_Traffic, ...]:
    """Returns the kinds with the share of writes nearest to the call's; in-place ones for in-place calls."""
    moved = work.read_bytes + work.write_bytes
    written = work.write_bytes / moved if moved else 0.0
    if work.in_place and written >= 0.2:
        return _SCALE if written > 5 / 12 else _UPDATE
    for share, found in ((1 / 6, _READ), (5 / 12, _TRIAD), (3 / 4, _COPY)):
        if written < share:
            return found
    return _WRITE


def _count(kind: _Traffic, work: Work) -> int:
    """Returns the floats of a buffer for which this traffic moves as many bytes as the work."""
    return max(1, (work.read_bytes + work.write_bytes) // (kind.floats * _FLOAT_BYTES))


class References:
    """The references of one process.

    Args:
        rotated_bytes: size of all memory that is rotated through.
    """

    def __init__(self, torch: Any, clock: Clock, device: str, rotated_bytes: int) -> None:
        self._torch, self._device = torch, device
        self._rotated = rotated_bytes // _FLOAT_BYTES
        self._floors = Floors(torch, clock)
        self._elements = ElementReferences(torch, device, rotated_bytes // 4, self._floors)
        self._gathers = GatherReferences(torch, self._floors)
        self._gemms: dict[tuple[str, int], list[_Product]] = {}

    def arena(self, work: Work | None) -> Arena:
        """Returns memory for the references of this work. Take it in parts while the operands are made."""
        sets = [set_floats(_count(kind, work), kind.buffers) for kind in traffic(work)] if work else []
        return Arena(self._torch, self._device, self._rotated, max(sets, default=1))

    def of(
        self,
        work: Work,
        threads: int,
        rotates_outputs: bool,
        arena: Arena,
        gathering: Gathering | None = None,
    ) -> list[Reference]:
        """Returns the references that limit this work.

        Args:
            rotates_outputs: whether the call writes into its operands.
            gathering: the call, if it gathers.
        """
        found: list[Reference] = []
        if gathering is not None and work.gathered_runs and self._device == "cpu":
            found += self._gathers.of(work, gathering, threads)
        if work.read_bytes + work.write_bytes and not found:
            found += [self._memory(kind, work, threads, rotates_outputs, arena) for kind in traffic(work)]
        if work.is_product and work.flops:
            found += self._gemm(work, threads)
        for kind, count in work.elements:
            found += self._elements.of(kind, count, work.dtype, threads) if count else []
        return found

    def rotation(self, work: Work | None, arena: Arena) -> Callable[[], object]:
        """Returns a function that touches as much memory as a rotation, with the work's mix of traffic.

        The caches are then as they are between such calls. This includes modified lines, because writing them
        back slows down the next calls.
        """
        kind = traffic(work)[0] if work else _UPDATE[0]
        function, buffers = self._function(kind.function), arena.whole(kind.buffers)
        return lambda: function(*buffers)

    def _memory(
        self, kind: _Traffic, work: Work, threads: int, rotates_outputs: bool, arena: Arena
    ) -> Reference:
        count = _count(kind, work)
        is_new = kind.has_output and not rotates_outputs
        # Large outputs would be mapped anew; page faults do not limit memory bandwidth.
        allocates = is_new and count * _FLOAT_BYTES < allocator.MAPPED_BYTES
        made = self._made(kind, allocates)
        function, sets = self._calls(kind, count, made, is_new, arena)
        subject = Subject(f"memory {kind.words}", function, sets, threads)
        scale = (work.read_bytes + work.write_bytes) / (kind.floats * _FLOAT_BYTES * count)
        one = Arguments([self._torch.ones(1, device=self._device)] * kind.buffers)
        floor_ns = self._floors.of(f"{kind.function} {allocates}", made, one)
        return Reference("memory", kind.words, scale, floor_ns, subject)

    def _calls(
        self, kind: _Traffic, count: int, made: Callable[..., object], is_new: bool, arena: Arena
    ) -> tuple[Callable[..., object], list[Arguments]]:
        torch = self._torch
        if kind.function == "mm" and count >= 64 * _COLUMNS:  # MKL reads faster in mm than torch in sum
            rows = count // _COLUMNS
            row, out = (torch.ones(1, size, device=self._device) for size in (rows, _COLUMNS))
            matrices = [views[0].view(rows, -1) for views in arena.views(rows * _COLUMNS, 1)]
            return (lambda matrix: torch.mm(row, matrix, out=out)), [Arguments((m,)) for m in matrices]
        sets = arena.views(count, kind.buffers)
        if is_new:
            sets = [[sets[0][0], *views[1:]] for views in sets]
        return made, [Arguments(views) for views in sets]

    def _made(self, kind: _Traffic, allocates: bool) -> Callable[..., object]:
        """Returns the function. allocates: it allocates its output like a call, in the same memory."""
        function, empty_like = self._function(kind.function), self._torch.empty_like
        return (lambda out, *rest: function(empty_like(out), *rest)) if allocates else function

    def _function(self, name: str) -> Callable[..., object]:
        tensor, torch = self._torch.Tensor, self._torch
        functions: dict[str, Callable[..., object]] = {
            "sum": torch.sum,
            "mm": torch.sum,  # too few values for a matrix
            "fill_": lambda out: tensor.fill_(out, 0.0),
            "copy_": tensor.copy_,
            "add": lambda out, left, right: torch.add(left, right, out=out),
            "mul_": lambda out: tensor.mul_(out, 1.0),  # multiplying by 1 keeps the values
            "add_": tensor.add_,
        }
        return functions[name]

    def _gemm(self, work: Work, threads: int) -> list[Reference]:
        """Returns the products with the most FLOP/s."""
        key = (work.dtype, threads)
        if key not in self._gemms:
            self._gemms[key] = self._best_gemms(work.dtype, threads)
        return [
            Reference("gemm", one.words, work.flops / one.flops, 0.0, one.subject) for one in self._gemms[key]
        ]

    def _best_gemms(self, dtype: str, threads: int) -> list[_Product]:
        """Returns the best, and a short one that is nearly as good: the first timing may be disturbed."""
        tried: list[tuple[float, _Product]] = []
        best = 0.0
        for product in self._products(dtype, threads):
            if product.flops <= best * _LONGEST_GEMM_NS or not tried:
                rate = product.flops / self._floors.median_ns(product.subject)
                tried.append((rate, product))
                best = max(best, rate)
        first = [product for rate, product in tried if rate >= _NEARLY_BEST * best][:1]
        return first + [product for rate, product in tried if rate == best and product not in first]

    def _products(self, dtype: str, threads: int) -> Iterator[_Product]:
        if dtype not in _DTYPES:
            return
        made = getattr(self._torch, torch_name(dtype))
        if self._device == "cpu" and dtype in CONVOLVED:
            yield self._convolution(made, threads)
        for size in _GEMM_SIZES:
            yield self._square(size, made, threads)

    def _square(self, size: int, dtype: Any, threads: int) -> _Product:
        left, right, out = (self._torch.ones(size, size, dtype=dtype, device=self._device) for _ in range(3))
        subject = Subject(f"gemm {size}", self._torch.mm, [Arguments((left, right), {"out": out})], threads)
        return _Product(f"mm {size}x{size}x{size}", 2 * size**3, subject)

    def _convolution(self, dtype: Any, threads: int) -> _Product:
        call = Arguments(CONVOLUTION.operands(self._torch, dtype))
        subject = Subject("gemm convolution", self._torch.nn.functional.conv2d, [call], threads)
        return _Product(CONVOLUTION.words, CONVOLUTION.flops, subject)
