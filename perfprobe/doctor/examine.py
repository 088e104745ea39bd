"""Looks at every part; children work while this process looks at what needs none."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict
from typing import Any

from perfprobe import __version__
from perfprobe.doctor import installation, machine
from perfprobe.doctor.child import answers, probe
from perfprobe.doctor.part import LACK, OK, Part
from perfprobe.doctor.trial import Trial

SCHEMA = 1
_LIMIT_S = 60.0  # of what imports torch: a cold disk, a network folder
_READING_LIMIT_S = 4.0
_DRIVER_LIMIT_S = 10.0


def examine(width: int, *, color: bool) -> list[Part]:
    """All parts; the last one is the trial, which decides whether the main job works."""
    here = _folder()
    trial = Trial(_LIMIT_S)
    children = {
        "torch": probe("torch", limit_s=_LIMIT_S),
        "gpu": probe("gpu", limit_s=_DRIVER_LIMIT_S),
        "reading": probe("reading", here, limit_s=_READING_LIMIT_S),
    }
    first = [installation.python(), installation.perfprobe(), installation.pip(), installation.environment()]
    recorder, frames = installation.recorder(), installation.frames()
    clock, folder, terminal = machine.clock(), machine.folder(here), machine.terminal(width, color=color)
    gpu, reading, torch = (answers(children[name]) for name in ("gpu", "reading", "torch"))
    observer = installation.observer(torch)
    needed = LACK in (recorder.state, observer.state) and installation.hidden_package() is None
    return [
        *first,
        installation.torch(torch),
        machine.compiler(needed=needed),
        recorder,
        frames,
        clock,
        observer,
        installation.profiler(torch),
        installation.reading(reading),
        folder,
        installation.newest(reading),
        machine.gpu(gpu),
        terminal,
        trial.part(),
    ]


def works(parts: list[Part]) -> bool:
    """Whether the main job works: operators are recorded and reported."""
    return parts[-1].state == OK


def document(parts: list[Part]) -> dict[str, Any]:
    """All parts, ready for json.dumps."""
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
