"""The benchmark that disables and enables kinds of CUPTI records, with the stand-in."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the benchmark is torch's")


def test_excluded_calls_stay_excluded(standin: Path) -> None:
    from benchmarks.overhead.gpu import KINDS
    from benchmarks.overhead.gpu_child import ROUNDS, RUNTIME, kinds_ns

    cupti = ctypes.CDLL(str(standin))
    cupti.standin_kinds.restype = ctypes.c_uint64
    get_device = (2, 17)  # in cupti_runtime_cbid.h
    for kind in KINDS.values():
        assert cupti.cuptiActivityEnable(kind) == 0
    cupti.cuptiActivityEnableRuntimeApi(get_device[1], 0)
    seen: list[tuple[int, int]] = []  # bits of the enabled kinds; whether the call is recorded

    def block() -> float:
        seen.append((cupti.standin_kinds(), cupti.standin_is_traced(*get_device)))
        return float(len(seen))

    saved = kinds_ns(cupti, {"one": block, "other": block})
    assert {traced for _, traced in seen} == {0}
    every = sum(1 << kind for kind in KINDS.values())
    assert {kinds for kinds, _ in seen} == {every, *(every - (1 << kind) for kind in KINDS.values())}
    assert not cupti.standin_kinds() >> RUNTIME & 1
    assert {loop: {name: len(times) for name, times in by.items()} for loop, by in saved.items()} == {
        loop: dict.fromkeys(KINDS, ROUNDS) for loop in ("one", "other")
    }
