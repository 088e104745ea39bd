"""Notices that the program starts torch's profiler for the GPU, which then gets no GPU records."""

from __future__ import annotations

from perfprobe.collect.held_signals import around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from perfprobe.collect.base import Facts


class ProfilerWatch:
    """Wraps the function with which `torch.profiler` prepares a session, without changing what it does."""

    def __init__(self, facts: Facts, torch: Any) -> None:
        self._facts = facts
        self._module = torch.autograd.profiler
        self._gpu = getattr(torch.autograd.ProfilerActivity, "CUDA", None)
        self._original = getattr(self._module, "_prepare_profiler", None)
        self._hook: Any = None
        self._until = _until(str(getattr(torch, "__version__", "")))
        self._said = False

    def start(self) -> None:
        """Starts watching; does nothing if this torch has no such function."""
        original = self._original
        if original is None:
            return
        self._hook = self._module._prepare_profiler = around(original, before=self._notice)

    def stop(self) -> None:
        """Stops watching, unless someone else has wrapped the function since."""
        if self._hook is not None and self._module._prepare_profiler is self._hook:
            self._module._prepare_profiler = self._original
        self._hook = None

    def _notice(self, _config: Any, activities: Any, *_: Any) -> None:
        if self._said or self._gpu not in activities:
            return
        self._said = True
        reason = (
            "the program's own torch.profiler gets no GPU records: it was started while perfprobe holds "
            f"CUPTI, and gets {self._until}"
        )
        self._facts.tell(f"{reason}; --gpu off leaves CUPTI to it")
        self._facts.loss("gpu", reason, 1, "--gpu off leaves CUPTI to it")


def _until(version: str) -> str:
    """Returns for how long it gets none. Kineto of torch 2.11 was seen never to try CUPTI again."""
    if version.startswith("2.11."):
        return "none until the process ends"
    return "perhaps none until the process ends"
