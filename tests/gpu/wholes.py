"""The machine, its ceilings, the cost of recording, and the tools as a whole."""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from perfprobe.tables.events import Threads
from perfprobe.tables.gpu import Kernels
from perfprobe.tables.strings import Strings
from tests.gpu import machine, process, recorded
from tests.gpu.child import Room, expect

_PACKAGES = ("numpy", "rich", "gprof2dot", "graphviz", "nvtx", "ittapi", "pytest", "triton")


def environment(room: Room) -> None:
    """What this machine is, and which packages are missing."""
    import torch

    from perfprobe import native

    query = "name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,mig.mode.current,persistence_mode"
    smi = shutil.which("nvidia-smi")
    said = subprocess.run(
        [smi or "true", f"--query-gpu={query}", "--format=csv"],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    room.note(
        gpus=said.stdout.strip() if smi else "no nvidia-smi here",
        system=f"{platform.platform()}, {os.cpu_count()} processors",
        python=sys.version.split()[0],
        torch=f"{torch.__version__}, CUDA {torch.version.cuda}",
        not_installed=[name for name in _PACKAGES if importlib.util.find_spec(name) is None],
        tools={
            tool: shutil.which(tool) for tool in ("nvcc", "ncu", "nsys", "dot", "cmake", "compute-sanitizer")
        },
        devices=native.cuda_kernels().device_count(),
    )
    expect(torch.cuda.is_available(), "torch sees no GPU")


def ceilings(room: Room) -> None:
    """The triad and the multiply-adds give numbers that are possible for a GPU."""
    from perfprobe import native

    kernels = native.cuda_kernels()
    elements = 1 << 26
    moved = 12 * elements / kernels.triad(elements, 20)
    operations, best_ns = kernels.multiply_add(10)
    room.note(triad=f"{moved:.0f} GB/s", multiply_add=f"{operations / best_ns / 1000:.1f} TFLOP/s (32 bit)")
    expect(100 < moved < 20_000, f"a triad of {moved:.0f} GB/s")
    expect(
        1 < operations / best_ns / 1000 < 500, f"multiply-adds at {operations / best_ns / 1000:.1f} TFLOP/s"
    )


def machine_ceilings(room: Room) -> None:
    """`perfprobe machine` measures the GPU by events: nothing is faster than a GPU can be."""
    words = [sys.executable, "-m", "perfprobe", "machine", "--device", "cuda:0", "--again", "--json"]
    home = {"XDG_CACHE_HOME": str(room.folder)}
    ended = process.run(words, 110, room.folder, home)
    print(ended.output, flush=True)
    expect(ended.status == 0, f"machine {ended.how()}: {ended.last_line()}")
    start = ended.output.find("{")
    found = json.loads(ended.output[start : ended.output.rfind("}") + 1])
    rates: dict[str, list[float]] = {}
    for row in found["tables"]["ceilings"]:
        rates.setdefault(f"{row['kind']} {row['dtype']}", []).append(row["rate"])
    room.note(
        **{name: f"{min(all_):.3g} - {max(all_):.3g}" for name, all_ in rates.items()},
        levels=found["tables"]["levels"],
        missing=found["missing"],
        meta=found["meta"],
    )
    for name, least, most in _GPU_LIMITS:
        reached = rates.get(name, [0.0])
        expect(least < max(reached) < most, f"{name}: {max(reached):.3g}")


# In FLOP/s, bytes/s and ns: wide enough for any data-centre GPU, too narrow for a wrong unit or clock.
_GPU_LIMITS = (
    ("gemm f32", 5e12, 4e14),
    ("gemm bf16", 5e13, 5e15),
    ("bandwidth f32", 5e11, 5e13),
    ("launch f32", 5e2, 1e5),
)


def doctor(room: Room) -> None:
    """`perfprobe doctor` ends by itself, says what it found of the GPU, and lacks nothing to record it."""
    ended = process.run([sys.executable, "-m", "perfprobe", "doctor", "--json"], 50, room.folder)
    print(ended.output, flush=True)
    expect(ended.status in (0, 4), f"doctor {ended.how()}: {ended.last_line()}")
    start = ended.output.find("{")
    parts = json.loads(ended.output[start : ended.output.rfind("}") + 1])["parts"]
    room.note(
        **{part["part"]: f"{part['state']}: {part.get('what', '')} {part.get('why', '')}" for part in parts}
    )
    states = {part["part"]: part["state"] for part in parts}
    expect(states["cupti"] != "lack", "doctor says that GPUs cannot be recorded: cupti")


def report(room: Room) -> None:
    """A report of a recording with kernels names them, their operators and their lines."""
    seen = recorded.record(room, "lines")
    line = f"programs.py:{seen.truth['marks']['MATMUL']}"
    again = [sys.executable, "-m", "perfprobe", "report", "--full", room.folder / "lines.perfprobe"]
    ended = process.run(again, 50, room.folder, {"COLUMNS": "200"})
    print(ended.output, flush=True)
    room.note(status=ended.how(), lines=len(ended.output.splitlines()))
    expect(ended.status == 0, f"report {ended.how()}: {ended.last_line()}")
    for text in ("aten::mm", line, "GPU"):
        expect(text in ended.output, f"the report does not say {text!r}")


def overhead(room: Room) -> None:
    """The cost of recording in a launch-bound loop, compared with torch.profiler."""
    path = room.out / "overhead.json"
    words = [sys.executable, "-u", "-m", "benchmarks.overhead", "--part", "gpu", "--rounds", "2"]
    ended = process.run([*words, "--scale", "0.2", "--json", path], 170, room.folder)
    print(ended.output, flush=True)
    expect(ended.status == 0, f"the benchmark {ended.how()}: {ended.last_line()}")
    room.note(table=[line for line in ended.output.splitlines() if line.startswith("|")])


def fixtures(room: Room) -> None:
    """CUPTI's buffers unchanged, and the truth about the programs: for tests without a GPU."""
    known: dict[str, Any] = {}
    for name in ["spins"] if machine.has_standin() else ["spins", "lines", "moves"]:
        path = room.out / f"{name}.cupti"
        seen = recorded.record(room, name, environment={"PERFPROBE_CUPTI_FIXTURE": str(path)})
        expect(path.exists(), f"{path.name} was not written")
        content = path.read_bytes()
        room.note(**{path.name: f"{len(content)} bytes, {content.count(b'BUFR')} buffers"})
        expect(content.startswith(b"PPCUPTI1") and b"BUFR" in content, f"{path.name} holds no buffer")
        known[name] = {"truth": seen.truth, "sha256": hashlib.sha256(content).hexdigest(), **rows_of(seen)}
        (room.out / "truth.json").write_text(json.dumps(known, default=str), encoding="utf-8")


def rows_of(seen: recorded.Seen) -> dict[str, Any]:
    """The decoded recording, and the operators of the same run: [name, start, end, thread]."""
    strings, os_thread = seen.recording[Strings], seen.recording[Threads].os_thread
    kernels = seen.recording[Kernels]
    decoded = zip(
        kernels.name, kernels.start_ns, kernels.end_ns, kernels.stream, kernels.correlation, strict=True
    )
    operators = [
        [strings[name], int(start), int(end), int(os_thread[thread]) if thread >= 0 else -1]
        for batch in seen.recording.operators()
        for name, start, end, thread in zip(
            batch.name, batch.start_ns, batch.end_ns, batch.thread, strict=True
        )
    ]
    return {
        "session": seen.recording.fact("gpu"),
        "machine": {key: seen.recording.fact(key) for key in ("torch", "python", "gpus", "cpu")},
        "kernels": [[strings[name], *map(int, rest)] for name, *rest in decoded],
        "operators": operators,
    }


_EVENTS = {  # perf_event_open: (type, config) in linux/perf_event.h
    "cycles": (0, 0),
    "instructions": (0, 1),
    "cache-misses": (0, 3),
    "task-clock": (1, 1),
    "context-switches": (1, 3),
}


class _EventAttributes(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("config", ctypes.c_uint64),
        ("sample", ctypes.c_uint64 * 3),
        ("flags", ctypes.c_uint64),
        ("rest", ctypes.c_uint64 * 8),
    )


def perf_events(room: Room) -> None:
    """Which hardware and software counters of the processor are readable here. Never fails."""
    opened = {name: open_event(*event) for name, event in _EVENTS.items()}
    room.note(paranoid=_text("/proc/sys/kernel/perf_event_paranoid"), **opened)


def open_event(kind: int, config: int) -> str:
    """'ok', or the name of the error."""
    attributes = _EventAttributes(type=kind, size=112, config=config, flags=1 | 1 << 5 | 1 << 6)
    libc: Any = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(298, ctypes.byref(attributes), 0, -1, -1, 0)  # perf_event_open on x86-64
    if descriptor < 0:
        return os.strerror(ctypes.get_errno())
    os.close(descriptor)
    return "ok"


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        return str(error)
