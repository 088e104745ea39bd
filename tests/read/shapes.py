"""Traces of many equal or many different events: the cost of each must be in proportion to its size.

    python -m tests.read.shapes [EVENTS] [SHAPE ...]

Prints for each shape the CPU time of a report on so many events and on four times as many, and the peak of
its memory beyond that for a single event. A time that grows by the square is marked. Each report has its own
process.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

Event = dict[str, Any]

MOST_CPU_S = 60
_TOO_LONG_S = 2.0  # a shorter time is not marked
_REPORT = f"""
import re, resource, sys, time
resource.setrlimit(resource.RLIMIT_CPU, ({MOST_CPU_S}, {MOST_CPU_S}))
from perfprobe.results import Results
from perfprobe.support.errors import PerfprobeError
from perfprobe.support.view import View
try:
    said = f"{{len(Results(sys.argv[1]).text(View()))}} letters"
except PerfprobeError as error:
    said = str(error)
peak_kib = re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]
print(time.process_time(), int(peak_kib) << 10, said)
"""


class Cost(NamedTuple):
    """Of a report: CPU time, peak memory of its process, and what it says."""

    cpu_s: float
    peak_bytes: int
    said: str


def cost(path: Path) -> Cost | None:
    """The cost of a report, None if it takes longer than MOST_CPU_S."""
    # The kernel's ru_maxrss would include what this process had when it started the other one.
    command = [sys.executable, "-c", _REPORT, str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode < 0:
        return None
    assert ended.returncode == 0, ended.stderr
    cpu_s, peak_bytes, said = ended.stdout.strip().split(" ", 2)
    return Cost(float(cpu_s), int(peak_bytes), said)


def text(events: Iterable[Event]) -> bytes:
    """The trace with these events."""
    return json.dumps({"traceEvents": list(events)}).encode()


def span(
    name: str, at_us: float, length_us: float = 5, cat: str = "cpu_op", tid: int = 1, **args: Any
) -> Event:
    """An operator, if no other category is given. args: `Input_Dims` stands for `Input Dims`."""
    facts = {"args": {key.replace("_", " "): value for key, value in args.items()}} if args else {}
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": at_us, "dur": length_us, **facts}


def _python(name: str, at_us: float, length_us: float) -> Event:
    return span(name, at_us, length_us, "python_function")


def _kernel(name: str, at: int, device: int = 0, stream: int = 7) -> list[Event]:
    facts = {"device": device, "context": 1, "stream": stream, "correlation": at}
    launch = span("cudaLaunchKernel", 10 * at + 1, 1, "cuda_runtime", correlation=at)
    return [span("aten::mm", 10 * at), launch, span(name, 10 * at + 3, 5, "kernel", stream, **facts)]


def _node(at: int, thread: int, number: int, forward: int) -> list[Event]:
    backward: Event = {"Sequence_number": number, "Fwd_thread_id": forward}
    made = span("aten::mm", 10 * at, tid=thread, Sequence_number=number)
    return [made, span("MmBackward0", 1e9 + 10 * at, tid=9999, **backward)]


def _arrow(at: int, at_us: float, name: str) -> list[Event]:
    ends = [
        {"ph": phase, "cat": "fwdbwd", "name": "fwdbwd", "id": at, "pid": 1, "ts": at_us} for phase in "sf"
    ]
    return [
        span(name, at_us),
        span(name, at_us, tid=2),
        *(end | {"tid": 1 + n} for n, end in enumerate(ends)),
    ]


def _allocation(at_us: float, address: int, thread: int = 1) -> Event:
    args = {"Bytes": 512, "Addr": address, "Device Type": 0, "Device Id": -1}
    return {"ph": "i", "name": "[memory]", "pid": 1, "tid": thread, "ts": at_us, "args": args}


_ENGINE = "autograd::engine::evaluate_function: MmBackward0"
# For each shape the events number 0 to n - 1, one or more at each number.
_EACH: dict[str, Callable[[int, int], Event | list[Event]]] = {
    "equal": lambda _, n: span("aten::add", 1, 1),
    "equal without length": lambda _, n: span("aten::add", 1, 0),
    "one after the other": lambda at, n: span("aten::add", 10 * at),
    "backwards": lambda at, n: span("aten::add", 10 * (n - at)),
    "within each other": lambda at, n: span("aten::add", at, 2 * (n - at)),
    "overlapping": lambda at, n: span("aten::add", at, 1e6),
    "names": lambda at, n: span(f"aten::op{at}", 10 * at),
    "names within each other": lambda at, n: span(f"op{at}", at, 2 * (n - at)),
    "threads": lambda at, n: span("aten::add", 10 * at, tid=at),
    "signatures": lambda at, n: span("aten::add", 10 * at, Input_Dims=[[at, 4]], Input_type=["float"]),
    "call stacks": lambda at, n: span("aten::mm", 10 * at, Call_stack=f"a.py({at}): f;b.py(1): g"),
    "categories": lambda at, n: [span("x", at, cat=f"c{at}"), span("aten::mm", 1)],
    "ranges": lambda at, n: span(f"r{at}", 10 * at, cat="user_annotation"),
    "ranges within each other": lambda at, n: span("r", at, 2 * (n - at), "user_annotation"),
    "steps": lambda at, n: [
        span(f"ProfilerStep#{at}", 10 * at, 10, "user_annotation"),
        span("mm", 10 * at + 2),
    ],
    "steps at one time": lambda at, n: span(f"ProfilerStep#{at}", 1, 10, "user_annotation"),
    "functions": lambda at, n: [_python(f"a.py({at}): f", 10 * at, 9), span("aten::mm", 10 * at + 2)],
    "recursion": lambda at, n: [
        _python("a.py(1): f", 2 * at, 4 * (n - at)),
        span("aten::mm", 2 * at + 1, 0.5),
    ],
    "modules within each other": lambda at, n: [
        _python(f"nn.Module: Linear_{at}", 2 * at, 4 * (n - at)),
        span("aten::mm", 2 * at + 1, 0.5),
    ],
    "backward": lambda at, n: _node(at, 1, at, 1),
    "backward of one call": lambda at, n: _node(at, 1, 1, 1),
    "backward of many threads": lambda at, n: _node(at, at % 4000, at, at + 1),
    "numbers far apart": lambda at, n: _node(at, 1, at % 2 * 1_000_000, at // 2 + 1),
    "arrows": lambda at, n: _arrow(at, 10 * at, "aten::mm"),
    "arrows at one time": lambda at, n: _arrow(at, 1, _ENGINE),
    "kernels": lambda at, n: _kernel("gemm", at),
    "kernels' names": lambda at, n: _kernel(f"gemm{at}", at),
    "devices": lambda at, n: _kernel("gemm", at, device=at),
    "streams": lambda at, n: _kernel("gemm", at, stream=at),
    "allocations": lambda at, n: [_allocation(at, at << 12), span("aten::mm", 1, 10)],
    "allocations at one time": lambda at, n: [_allocation(1, 4096), span("aten::mm", 1, 10)],
    "allocations of many threads": lambda at, n: [
        _allocation(1, at << 12, at),
        span("aten::mm", 1, 10, tid=at),
    ],
    "generated kernels": lambda at, n: span(f"triton_poi_fused_add_{at}", 10 * at, kernel_file=f"/{at}.py"),
}
SHAPES = tuple(_EACH)


def events(shape: str, numbers: int) -> list[Event]:
    """The events of a shape."""
    found: list[Event] = []
    for at in range(numbers):
        made = _EACH[shape](at, numbers)
        found += made if isinstance(made, list) else [made]
    return found


def main() -> int:
    """Print the table; 1 if a time grows by the square."""
    numbers, bad = int((sys.argv[1:] or ["10000"])[0]), 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        path.write_bytes(text([span("aten::add", 1)]))
        base = cost(path)
        assert base is not None
        for shape in sys.argv[2:] or SHAPES:
            found = []
            for each in (numbers, 4 * numbers):
                made = events(shape, each)
                path.write_bytes(text(made))
                found.append((path.stat().st_size, cost(path)))
            (_, small), (size_bytes, large) = found
            limit_mib = 64 + (4 * size_bytes >> 20)
            if small is None or large is None:
                print(f"{shape:30} {size_bytes / 1e6:6.1f} MB  more than {MOST_CPU_S} s", flush=True)
                bad += 1
                continue
            own_s = [each.cpu_s - base.cpu_s for each in (small, large)]
            is_square = own_s[1] > _TOO_LONG_S and own_s[1] > 8 * own_s[0]
            peak_mib = (large.peak_bytes - base.peak_bytes) >> 20
            bad += is_square
            print(
                f"{shape:30} {size_bytes / 1e6:6.1f} MB {own_s[0]:6.2f} s {own_s[1]:6.2f} s"
                f"{' SQUARE' if is_square else ''} {peak_mib:5} MiB of {limit_mib}, "
                f"{(large.peak_bytes - base.peak_bytes) // len(made):6,} bytes an event: {large.said}",
                flush=True,
            )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
