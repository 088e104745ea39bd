"""Limits of element arithmetic: our own kernels, or torch's if there is no own one or it is as fast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

from perfprobe.bench import own_kernels
from perfprobe.bench.reference import Floors, Reference
from perfprobe.bench.subjects import Arguments, Subject
from perfprobe.models.dtypes import torch_name

_L2_BYTES = 256 << 10  # of one thread; input and output of this size both fit any L2 cache
_DTYPES = ("f16", "bf16", "f32", "f64")
_ROW = 256
_AS_FAST = 1.25  # times the fastest one's time; which is fastest beside the call is only known there
_VALUES = object()  # a placeholder for the same values again
# Overloads of aten that time the kinds of `models.work.ELEMENT_KINDS`, with the arguments after the values.
# Of alternatives the fastest counts: torch.exp and torch.erf use MKL, which fused operators do not.
_ELEMENTS: dict[str, tuple[tuple[str, tuple[object, ...]], ...]] = {
    "exp": (("exp.out", ()), ("sigmoid.out", ()), ("_softmax.out", (-1, False))),
    "sigmoid": (("sigmoid.out", ()),),
    "log": (("log.out", ()), ("log1p.out", ())),
    "tanh": (("tanh.out", ()),),
    "sin": (("sin.out", ()),),
    "sqrt": (("sqrt.out", ()), ("rsqrt.out", ())),
    "erf": (("erf.out", ()), ("gelu.out", ())),
    "compare": (("sort.default", ()),),
    "div": (("div.out", (_VALUES,)),),
    "pow": (("pow.Tensor_Scalar_out", (2.5,)),),
    "rng": (("uniform_.default", ()),),
}


@dataclass(frozen=True)
class _Way:
    """One way to compute a kind of elements. made: makes the arguments from values."""

    name: str
    words: str
    function: Callable[..., object]
    made: Callable[[Any], Arguments]
    dtype: str

    def subject(self, values: Any) -> Subject:
        """Returns a call on all values, by one thread."""
        return Subject(f"element {self.words}", self.function, [self.made(values)], 1)


class ElementReferences:
    """The element references of one process.

    Args:
        most_bytes: size of the values on a GPU. On the CPU they fit a thread's L2 cache.
    """

    def __init__(self, torch: Any, device: str, most_bytes: int, floors: Floors) -> None:
        self._torch, self._device, self._floors = torch, device, floors
        self._most_bytes = _L2_BYTES if device == "cpu" else most_bytes
        self._chosen: dict[tuple[str, str], list[_Way]] = {}

    def of(self, kind: str, count: int, dtype: str, threads: int) -> list[Reference]:
        """The limits for this many elements of a kind; empty for an unknown kind."""
        if kind not in _ELEMENTS:
            return []
        key = (kind, dtype if dtype in _DTYPES else "f32")
        if key not in self._chosen:
            self._chosen[key] = self._fast(list(self._ways(*key)), kind)
        return [self._reference(way, kind, count, threads) for way in self._chosen[key]]

    def _ways(self, kind: str, dtype: str) -> Sequence[_Way]:
        """Returns all ways to compute it, our own kernel first."""
        found = []
        arithmetic = own_kernels.WIDENED.get(dtype, dtype)
        name = own_kernels.element_kernels().get((kind, arithmetic))
        if name is not None and self._device == "cpu":
            words = kind if arithmetic == dtype else f"{kind} in {arithmetic}"
            found.append(_Way(name, words, own_kernels.element_call(name), self._own, arithmetic))
        for overload, more in _ELEMENTS[kind]:
            operator, _, variant = overload.partition(".")
            function = getattr(getattr(self._torch.ops.aten, operator), variant)
            made = self._torchs(more, "out" in variant)
            found.append(_Way(overload, own_kernels.words(operator), function, made, dtype))
        return found

    def _own(self, values: Any) -> Arguments:
        left, out = values.flatten(), self._torch.empty(values.numel(), dtype=values.dtype)
        return Arguments((left.numpy(), left.numpy(), out.numpy()))

    def _torchs(self, more: Sequence[object], has_output: bool) -> Callable[[Any], Arguments]:
        def made(values: Any) -> Arguments:
            rest = [values if one is _VALUES else one for one in more]
            kwargs = {"out": self._torch.empty_like(values)} if has_output else {}
            return Arguments((values, *rest), kwargs)

        return made

    def _fast(self, ways: list[_Way], kind: str) -> list[_Way]:
        """Returns the ways that may be the fastest."""
        if len(ways) < 2:
            return ways
        subjects = [way.subject(self._values(way, kind, 1 << 62)) for way in ways]
        times_ns = self._floors.medians_ns(subjects)
        # Per element, because a narrower dtype has more elements in the same bytes.
        counts = [self._most(way) for way in ways]
        rates = [count / ns for count, ns in zip(counts, times_ns, strict=True)]
        return [way for way, rate in zip(ways, rates, strict=True) if rate * _AS_FAST >= max(rates)]

    def _most(self, way: _Way) -> int:
        return self._most_bytes // int(getattr(self._torch, torch_name(way.dtype)).itemsize)

    def _values(self, way: _Way, kind: str, count: int) -> Any:
        """Returns values from 0.5 to 1.5, `count` or as many as fit.

        They are rows for a softmax, and one row for a sort.
        """
        size = max(1, min(count, self._most(way)))
        made = getattr(self._torch, torch_name(way.dtype))
        values = self._torch.rand(size, device=self._device).add_(0.5).to(made)
        if size >= _ROW:
            size -= size % _ROW
            values = values[:size].view(-1, _ROW if kind != "compare" else size)
        return values

    def _reference(self, way: _Way, kind: str, count: int, threads: int) -> Reference:
        # The work of sorting N elements is N log2(N), here with the N of one thread's part of the cache.
        steps = log2(self._most(way)) if kind == "compare" else 1.0
        values = self._values(way, kind, round(count / steps))
        # Several threads would spend most of so short a call waking up. So one thread is timed and scaled.
        at_once = threads if self._device == "cpu" else 1
        scale = count / (values.numel() * steps * at_once)
        one = way.made(values.flatten()[:1])
        floor_ns = self._floors.of(f"{way.name} {way.dtype}", way.function, one)
        return Reference("element", way.words, scale, floor_ns, way.subject(values), part=kind)
