"""Notices that the program starts a profiler of torch for the GPU, which then gets no GPU records."""

from __future__ import annotations

import sys

from perfprobe.collect.held_signals import around
from perfprobe.collect.imports import ImportWatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from perfprobe.collect.base import Facts

# Opt-in, and not part of torch's public interface: it uses CUPTI's newer functions, which exclude ours.
MONITOR = "torch.profiler._cupti_monitor"


class ProfilerWatch:
    """Wraps the functions with which torch's profilers start, without changing what they do."""

    def __init__(self, facts: Facts, torch: Any) -> None:
        self._facts = facts
        self._module = torch.autograd.profiler
        self._gpu = getattr(torch.autograd.ProfilerActivity, "CUDA", None)
        self._original = getattr(self._module, "_prepare_profiler", None)
        self._hook: Any = None
        self._until = _until(str(getattr(torch, "__version__", "")))
        self._said: set[str] = set()
        self._monitor_watch = ImportWatch(MONITOR, self._watch_monitor)

    def start(self) -> None:
        """Starts watching, as far as this torch has these functions."""
        self._monitor_watch.start()
        original = self._original
        if original is None:
            return
        self._hook = self._module._prepare_profiler = around(original, before=self._notice)

    def stop(self) -> None:
        """Stops watching, unless someone else has wrapped the function since."""
        self._monitor_watch.stop()
        if self._hook is not None and self._module._prepare_profiler is self._hook:
            self._module._prepare_profiler = self._original
        self._hook = None

    def _watch_monitor(self, monitor: ModuleType) -> None:
        original = getattr(monitor, "start_collection", None)
        if original is not None:
            reason = f"{MONITOR} gets no GPU records: it was started while perfprobe holds CUPTI"
            said = around(original, before=lambda *_: self._say(reason))
            monitor.start_collection = said  # type: ignore[attr-defined]

    def _notice(self, _config: Any, activities: Any, *_: Any) -> None:
        if self._gpu in activities:
            self._say(
                "the program's own torch.profiler gets no GPU records: it was started while perfprobe holds "
                f"CUPTI, and gets {self._until}"
            )

    def _say(self, reason: str) -> None:
        if reason in self._said:
            return
        self._said.add(reason)
        self._facts.tell(f"{reason}; --gpu off leaves CUPTI to it")
        self._facts.loss("gpu", reason, 1, "--gpu off leaves CUPTI to it")


def monitor_runs() -> bool:
    """Returns whether torch's monitor holds CUPTI."""
    get_monitor = getattr(sys.modules.get(MONITOR), "get_monitor", None)
    return callable(get_monitor) and get_monitor() is not None


def _until(version: str) -> str:
    """Returns for how long it gets none. Kineto of torch 2.11 was seen never to try CUPTI again."""
    if version.startswith("2.11."):
        return "none until the process ends"
    return "perhaps none until the process ends"
