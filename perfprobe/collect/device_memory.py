"""Reads what torch's allocator for GPUs holds when steps end."""

from __future__ import annotations

from os import getpid

from perfprobe import native
from perfprobe.collect.base import Collector
from perfprobe.collect.imports import ImportWatch
from perfprobe.support.errors import EnvironmentLack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from perfprobe.collect.base import Facts

_UNSEEN = "GPU memory that torch's allocator does not manage: CUDA's contexts, NCCL, other libraries"


class DeviceMemoryCollector(Collector):
    """Writes the table `device_memory`. It starts when the program's `import torch` has finished.

    Readings copy what the allocator counts anyway. They do not wait for a device and do not call its driver.
    With a build of torch for CPUs alone nothing is registered.
    """

    name = "memory"

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._process = getpid()
        self._watch = ImportWatch("torch", self._torch_ready)
        self._log: native.DeviceMemoryLog | None = None
        self._torch: Any = None
        self._observer: Any = None
        self._missing: EnvironmentLack | None = None

    def start(self) -> None:
        """Waits for torch; starts at once if it is imported already."""
        self._watch.start()

    def stop(self) -> None:
        """Reads once more. Writes the capacity of the devices that were used, and losses."""
        self._watch.stop()
        readings, fault = 0, ""
        if self._log is not None:
            readings = self._log.stop()
            self._observer.unwatch_device_memory()
            fault = self._observer.device_memory_fault()
        if self._torch is None or not self._torch.cuda.is_initialized():
            return
        if readings:
            self._facts.meta("device_memory", {"devices": devices(self._torch.cuda)})
            self._facts.loss(self.name, _UNSEEN, -1, "nothing to do: `nvidia-smi` shows it")
        if self._missing is not None:
            self._facts.loss(self.name, f"GPU memory: {self._missing.where}", 1, self._missing.remedy)
        elif fault or not readings:
            reason = fault or "torch's allocator for GPUs was not used"
            remedy = "record with torch's own allocator for GPUs" if fault else ""
            self._facts.loss(self.name, f"GPU memory cannot be read: {reason}", 1, remedy)

    def _torch_ready(self, torch: ModuleType) -> None:
        if getpid() == self._process and _may_have_gpus(torch):
            self._torch = torch
            self._facts.guarded(self.name, self._begin)

    def _begin(self) -> None:
        try:
            observer: Any = native.observer(self._torch)
        except EnvironmentLack as missing:
            self._missing = missing
            return
        log = native.core().DeviceMemoryLog(self._facts.recorder.capsule())
        log.start()
        observer.watch_device_memory(log.capsule())
        self._log, self._observer = log, observer


def devices(cuda: Any) -> list[dict[str, Any]]:
    """Returns name and capacity of each device, from what torch read when it initialised CUDA."""
    found = [cuda.get_device_properties(device) for device in range(cuda.device_count())]
    return [{"name": str(each.name), "memory_bytes": int(each.total_memory)} for each in found]


def _may_have_gpus(torch: Any) -> bool:
    builds = (torch.version.cuda, getattr(torch.version, "hip", None))
    return any(each is not None for each in builds) or native.core().is_gpu_driver_assumed()
