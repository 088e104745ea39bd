"""A program of known parts: prints when each began and ended, and its CPU time, as JSON.

    python benchmarks/native/known_parts.py LIBRARY SECONDS

LIBRARY: known_parts.c, compiled with `cc -O2 -fopenmp -shared -fPIC`.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
from collections.abc import Callable

import torch


def main() -> None:
    """Run each part until it has used the given seconds of CPU time."""
    library, time_ns = ctypes.CDLL(sys.argv[1]), ctypes.c_int64(int(float(sys.argv[2]) * 1e9))
    library.wait_for.restype = ctypes.c_int64
    torch.set_num_threads(1)
    left, right, result = (torch.randn(1024, 1024) for _ in range(3))
    copies = [torch.ones(1 << 21, dtype=torch.uint8) for _ in range(2)]
    torch.mm(left, right, out=result)

    def multiply() -> None:
        end_ns = time.thread_time_ns() + time_ns.value
        while time.thread_time_ns() < end_ns:
            torch.mm(left, right, out=result)

    def copy() -> None:
        to, source = (ctypes.c_void_p(tensor.data_ptr()) for tensor in copies)
        library.copy_for(time_ns, to, source, ctypes.c_int64(1 << 21))

    parts: dict[str, Callable[[], int | None]] = {
        "loop": lambda: library.loop_for(time_ns),
        "multiply": multiply,
        "copy": copy,
        "allocate": lambda: library.allocate_for(time_ns),
        "wait": lambda: library.wait_for(time_ns),
    }
    found = {name: timed(part, is_wait=name == "wait") for name, part in parts.items()}
    print(json.dumps(found))


def timed(part: Callable[[], int | None], *, is_wait: bool) -> dict[str, int]:
    """Start, end and CPU time of a part: of the calling thread; for a wait, of the waiting thread."""
    start_ns, before_ns = time.monotonic_ns(), time.thread_time_ns()
    waited_ns = part()
    cpu_ns = time.thread_time_ns() - before_ns
    return {
        "start_ns": start_ns,
        "end_ns": time.monotonic_ns(),
        "cpu_ns": int(waited_ns or 0) if is_wait else cpu_ns,
    }


main()
