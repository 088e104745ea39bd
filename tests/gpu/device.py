"""The device on which programs launch kernels: the GPU, or the stand-in for libcupti."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import torch

from perfprobe import native
from tests.gpu import machine


class StandinKernels:
    """Like `native.CudaKernels`. "Runs" kernels by making up their records."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(os.environ["PERFPROBE_CUPTI"])

    def empty(self, launches: int, stream: int = 7) -> None:
        for _ in range(launches):
            self._launch(b"perfprobe_empty", 1000, stream)

    def timed_empty(self, launches: int, stream: int = 7) -> float:
        begin_ns = time.perf_counter_ns()
        self.empty(launches, stream)
        self._library.standin_synchronize(stream)
        return float(time.perf_counter_ns() - begin_ns)

    def spin(
        self, duration_ns: int, launches: int, stream: int = 7
    ) -> tuple[float, list[tuple[int, int, int]]]:
        for _ in range(launches):
            self._launch(b"perfprobe_spin", duration_ns, stream)
        self._library.standin_synchronize(stream)
        at_ns = [number * duration_ns for number in range(launches + 1)]
        return float(at_ns[-1]), [(at_ns[number], at_ns[number + 1], 0) for number in range(launches)]

    def behind(self, duration_ns: int) -> None:
        """Launches a kernel without waiting for it."""
        self._launch(b"perfprobe_spin", duration_ns, 7)

    def copying_to_pageable(self) -> Callable[[], object]:
        """Copies 4 KiB from the device (`MemoryKind` 3) to pageable memory (1), and returns at its end.

        Not a Python function, so that the line is the caller's.
        """
        sizes = (ctypes.c_uint64(4096), ctypes.c_uint64(10_000))
        return partial(self._library.standin_copy, 2, 3, 1, 0, *sizes, 7)

    def _launch(self, name: bytes, duration_ns: int, stream: int) -> None:
        self._library.standin_launch(name, ctypes.c_uint64(duration_ns), ctypes.c_uint32(stream))

    def wait(self) -> None:
        """Waits for all work on the stream."""
        self._library.standin_synchronize(7)


Kernels: TypeAlias = native.CudaKernels | StandinKernels


def started() -> Kernels:
    """The kernels after they and the GPU were used once, so that set-up costs are over."""
    if machine.has_standin():
        standin = StandinKernels()
        standin.spin(1000, 1)
        return standin
    torch.cuda.init()
    kernels = native.cuda_kernels()
    kernels.spin(1000, 1)
    torch.cuda.synchronize()
    return kernels


def wait(kernels: Kernels) -> None:
    """Waits for all launched work."""
    if isinstance(kernels, StandinKernels):
        kernels.wait()
    else:
        torch.cuda.synchronize()
