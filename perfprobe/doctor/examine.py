"""Checks every part. Child processes work while this process checks the rest."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from perfprobe import __version__
from perfprobe.collect.base import fault
from perfprobe.doctor import gpu as of_gpu
from perfprobe.doctor import installation, kernel, machine
from perfprobe.doctor.child import answers, probe
from perfprobe.doctor.part import LACK, NOTE, OK, Part
from perfprobe.doctor.trial import Trial

SCHEMA = 1
_LIMIT_S = 60.0  # for probes that import torch, perhaps from a cold disk or a network folder
_READING_LIMIT_S = 4.0
_DRIVER_LIMIT_S = 10.0
_ORDER = (
    "python",
    "perfprobe",
    "environment",
    "pip",
    "torch",
    "compiler",
    "recorder",
    "observer",
    "frames",
    "clock",
    "native code",
    "counters",
    "torch.profiler",
    "reading",
    "folder",
    "newest recording",
    "gpu",
    "cupti",
    "nvtx",
    "itt",
    "cuda kernels",
    "ceilings",
    "roofline",
    "call graph",
    "terminal",
    "trial",
)


def examine(width: int, *, color: bool) -> list[Part]:
    """Returns all parts, in the order in which to fix them."""
    here = _folder()
    trial = Trial(_LIMIT_S)
    children = [
        probe("torch", limit_s=_LIMIT_S),
        probe("gpu", limit_s=_DRIVER_LIMIT_S),
        probe("reading", here, limit_s=_READING_LIMIT_S),
    ]
    alone = {
        "python": installation.python,
        "perfprobe": installation.perfprobe,
        "pip": installation.pip,
        "environment": installation.environment,
        "recorder": installation.recorder,
        "frames": installation.frames,
        "clock": machine.clock,
        "native code": kernel.native_code,
        "counters": kernel.counters,
        "folder": lambda: machine.folder(here),
        "nvtx": lambda: of_gpu.ranges("nvtx"),
        "itt": lambda: of_gpu.ranges("itt"),
        "cuda kernels": of_gpu.cuda_kernels,
        "ceilings": machine.ceilings,
        "roofline": machine.roofline,
        "call graph": machine.call_graph,
        "terminal": lambda: machine.terminal(width, color=color),
    }
    parts = {name: _examined(name, check) for name, check in alone.items()}
    torch, gpu, reading = map(answers, children)
    asked = {
        "torch": lambda: installation.torch(torch),
        "observer": lambda: installation.observer(torch),
        "torch.profiler": lambda: installation.profiler(torch),
        "reading": lambda: installation.reading(reading),
        "newest recording": lambda: installation.newest(reading),
        "gpu": lambda: of_gpu.gpu(gpu),
        "cupti": lambda: of_gpu.cupti(torch, gpu),
        "trial": trial.part,
    }
    parts.update({name: _examined(name, check) for name, check in asked.items()})
    needed = LACK in (parts["recorder"].state, parts["observer"].state)
    parts["compiler"] = _examined("compiler", lambda: machine.compiler(needed=needed))
    return [parts[name] for name in _ORDER]


def _examined(name: str, check: Callable[[], Part]) -> Part:
    """Returns one part. A check that fails must not hide the others."""
    try:
        return check()
    except Exception as error:
        return Part(name, NOTE, "could not be examined", f"internal error in perfprobe: {fault(error)}")


def works(parts: list[Part]) -> bool:
    """Whether operators are recorded and reported."""
    found = {part.part: part.state for part in parts}
    return found["trial"] == OK and LACK not in (found["torch"], found["reading"])


def document(parts: list[Part]) -> dict[str, Any]:
    """Returns all parts, ready for json.dumps."""
    system = os.uname()
    meta = {
        "perfprobe": __version__,
        "python": platform.python_version(),
        "host": system.nodename,
        "kernel": f"{system.sysname} {system.release} {system.machine}",
        "works": works(parts),
    }
    return {"schema": SCHEMA, "meta": meta, "parts": [asdict(part) for part in parts]}


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "."
