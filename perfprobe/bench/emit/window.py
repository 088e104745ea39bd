"""Tells tools about a script's hot calls: NVTX ranges, ITT tasks, and a window for VTune, Nsight and perf.

Uses only the standard library and torch: its source is part of every script that is written.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

DOMAIN = b"perfprobe"


class Refused(Exception):
    """Says in one line why a script cannot run."""


@dataclass
class Window:
    """Functions to call once around all hot blocks (`opens`, `closes`) and around each (`begins`, `ends`)."""

    opens: list[Callable[[], object]] = field(default_factory=list)
    closes: list[Callable[[], object]] = field(default_factory=list)
    begins: list[Callable[[], object]] = field(default_factory=list)
    ends: list[Callable[[], object]] = field(default_factory=list)


def say(text: str) -> None:
    """Prints a line to standard error."""
    print(text, file=sys.stderr, flush=True)


def window_for(torch: Any, name: str, device: str, perf_control: str | None) -> Window:
    """Returns a window for all tools that can be reached. Prints which are, and why others are not."""
    window = Window()
    if device != "cpu":
        window.opens.append(torch.cuda.profiler.start)
        window.closes.append(torch.cuda.profiler.stop)
    say(f"ITT: {_add_itt(window, torch, name)}")
    say(f"NVTX: {_add_nvtx(window, torch, name)}")
    if perf_control:
        _add_perf(window, perf_control)
    return window


def _add_nvtx(window: Window, torch: Any, name: str) -> str:
    if torch.version.cuda or torch.version.hip:
        window.begins.append(lambda: torch.cuda.nvtx.range_push(name))
        window.ends.append(torch.cuda.nvtx.range_pop)
        return "ranges by torch.cuda.nvtx"
    try:
        import nvtx  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return "none: this torch is built without CUDA, and the package nvtx is not installed"
    window.begins.append(lambda: nvtx.push_range(name))
    window.ends.append(nvtx.pop_range)
    return "ranges by the package nvtx"


class _IttId(ctypes.Structure):
    _fields_ = (("d1", ctypes.c_uint64), ("d2", ctypes.c_uint64), ("d3", ctypes.c_uint64))


_ITT = {
    "domain_create": ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p),
    "string_handle_create": ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p),
    "task_begin": ctypes.CFUNCTYPE(None, ctypes.c_void_p, _IttId, _IttId, ctypes.c_void_p),
    "task_end": ctypes.CFUNCTYPE(None, ctypes.c_void_p),
    "resume": ctypes.CFUNCTYPE(None),
    "pause": ctypes.CFUNCTYPE(None),
}


def _add_itt(window: Window, torch: Any, name: str) -> str:
    """Adds tasks and resume/pause, with the functions that a listener gave torch, else those it exports.

    torch keeps the functions in variables of libtorch_cpu.so, named as in Intel's ittnotify.h 3. They are
    null if no tool listens.
    """
    found = _itt_of_torch(torch)
    source = "torch's own client"
    if found is None:
        found, source = _itt_of_listener(), "the listener's own functions"
    kind = {key: _ITT[key](address) for key, address in found.items() if address}
    domain = kind["domain_create"](DOMAIN) if set(_ITT) - {"resume", "pause"} <= set(kind) else None
    if not domain:
        return "none: no tool listens (INTEL_LIBITTNOTIFY64 names a listener, before torch is imported)"
    is_on, none = ctypes.c_int.from_address(domain), _IttId()  # a listener may switch off its domains
    handle = kind["string_handle_create"](name.encode())
    window.begins.append(lambda: is_on.value and kind["task_begin"](domain, none, none, handle))
    window.ends.append(lambda: is_on.value and kind["task_end"](domain))
    if not {"resume", "pause"} <= set(kind):
        return f"tasks by {source}; the listener cannot resume and pause"
    window.opens.append(kind["resume"])
    window.closes.append(kind["pause"])
    return f"tasks, resume and pause by {source}"


def _itt_of_torch(torch: Any) -> dict[str, int | None] | None:
    try:
        library = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"))
        return {key: ctypes.c_void_p.in_dll(library, f"__itt_{key}_ptr__3_0").value for key in _ITT}
    except (OSError, ValueError):
        return None


def _itt_of_listener() -> dict[str, int | None]:
    try:
        library = ctypes.CDLL(os.environ["INTEL_LIBITTNOTIFY64"])
    except (KeyError, OSError):
        return {}
    offered = {key: getattr(library, f"__itt_{key}", None) for key in _ITT}
    return {key: ctypes.cast(one, ctypes.c_void_p).value for key, one in offered.items() if one}


def _add_perf(window: Window, fifos: str) -> None:
    """Adds commands to perf, which reads the first fifo and confirms each command in the second."""
    control, _, acknowledge = fifos.partition(",")
    try:
        to_perf = os.open(control, os.O_WRONLY | os.O_NONBLOCK)
        from_perf = os.open(acknowledge, os.O_RDWR) if acknowledge else None
    except OSError as error:
        raise Refused(f"perf does not listen to {control}: {error.strerror}") from error

    def tell(word: bytes) -> None:
        os.write(to_perf, word)
        if from_perf is not None:
            os.read(from_perf, 16)

    window.begins.insert(0, lambda: tell(b"enable\n"))
    window.ends.insert(0, lambda: tell(b"disable\n"))
