"""Records what runs on NVIDIA GPUs, with CUPTI, from the moment the program initialises CUDA."""

from __future__ import annotations

import os
from os import getpid

from perfprobe import native
from perfprobe.collect.base import Collector
from perfprobe.collect.held_signals import around
from perfprobe.collect.imports import ImportWatch
from perfprobe.collect.outside import nsight

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from perfprobe.collect.base import Facts
    from perfprobe.collect.options import Options
    from perfprobe.collect.profiler_watch import ProfilerWatch
    from perfprobe.native import GpuSession

# Names of the values of `tables.gpu.CopyKind`, from 0.
COPIES = (
    "unknown",
    "host_to_device",
    "device_to_host",
    "host_to_array",
    "array_to_host",
    "array_to_array",
    "array_to_device",
    "device_to_array",
    "device_to_device",
    "host_to_host",
    "peer_to_peer",
)
_STATES = "clocks, power and temperature of GPUs"
# Figures of the session that are losses if they are not 0: reason and remedy.
_LOSSES = {
    "dropped_records": ("GPU records dropped: CUPTI was out of memory", ""),
    "untimed": ("kernels, copies and calls without a time: CUPTI gave none, or they still ran", ""),
    "refused_buffers": (
        "buffers refused to CUPTI: the records for them are missing",
        "start fewer threads that use the GPU",
    ),
    "lent_buffers": (
        "buffers that CUPTI did not return within 200 ms of the end: their records are missing",
        "report this with the version of CUPTI",
    ),
    "malformed": ("GPU records that could not be read", "report this with the version of CUPTI"),
    "beyond_limits": ("GPU records beyond the limits of names, launches and threads", ""),
    "unread_names": ("kernels with unreadable names", ""),
    "unresumed": (
        "windows of steps in which CUPTI refused kinds of records that it had allowed before",
        "report this with the version of CUPTI",
    ),
    "refused_states": (f"{_STATES}: readings that NVML refused", ""),
    "slow_states": (f"{_STATES}: readings of over 50 ms, each followed by a pause of 10 s", ""),
}
# Likewise for clocks. The remedy is that of the known fault of this version of CUPTI.
_CLOCK_LOSSES = {
    "shifted": "GPU times converted from CUPTI's own clock: accurate to a few us",
    "foreign_times": "GPU times in an unknown clock: left out",
}
_CLOCK_FAULT = "clock"


class GpuCollector(Collector):
    """Starts a session with CUPTI when the program's torch initialises CUDA, before there is a context.

    CUPTI needs an initialised driver. Initialising it earlier would fix the visible devices, and a child
    forked afterwards could not use the GPU. What CUPTI leaves in the process slows down launches, also after
    the recording has ended: this affects times that the program itself measures then.

    Args:
        hand_on_ids: with exact linking, called with the port that takes the ids of operators.
        begun: called when a GPU is recorded.
        profiler_reads_gpu: returns whether the autograd profiler records it; None if that is not used.
    """

    name = "gpu"

    def __init__(
        self,
        facts: Facts,
        options: Options,
        hand_on_ids: Callable[[object], None],
        begun: Callable[[], None] = lambda: None,
        profiler_reads_gpu: Callable[[], bool | None] = lambda: None,
    ) -> None:
        self._facts = facts
        self._options = options
        self._hand_on_ids = hand_on_ids
        self._begun = begun
        self._profiler_reads_gpu = profiler_reads_gpu
        self._process = getpid()
        self._watch = ImportWatch("torch", self._torch_ready)
        self._torch: Any = None
        self._initialise: Any = None  # torch's own, while it is replaced
        self._hook: Any = None
        self._session: GpuSession | None = None
        self._profilers: ProfilerWatch | None = None
        self._said = False
        self._is_profilers = False  # the autograd profiler records the GPU

    def start(self) -> None:
        """Waits for torch; starts at once if torch has initialised CUDA already."""
        self._watch.start()

    def stop(self) -> None:
        """Waits a while for the GPUs, fetches the last records, and writes losses."""
        self._watch.stop()
        if self._profilers is not None:
            self._profilers.stop()
        self._unhook()
        if self._session is not None:
            figures = self._session.stop()
            self._facts.extend(self.name, **figures, counters=self.counters())
            self._say_what_is_missing(figures)
            if figures["state_lack"] is not None:
                reason, remedy = figures["state_lack"]
                self._facts.loss(self.name, f"{_STATES} were not read: {reason}", 1, remedy)
        elif self._is_profilers:
            self._facts.guarded(self.name, self._name_devices)
        elif not self._said:
            missing = "initialised CUDA through torch" if self._torch is not None else "imported torch"
            self._report_missing(f"the program never {missing}", "", is_expected=True)

    def counters(self) -> dict[str, Any] | None:
        """Returns the counts of `perfprobe.gpu_counters`; None if no GPU is recorded."""
        if self._session is None or getpid() != self._process:
            return None
        totals = self._session.totals()
        copies = dict(zip(COPIES, map(_moved, totals["copies"]), strict=True))
        calls, _, ns = totals["kernels"]
        return {"kernels": {"calls": calls, "ns": ns}, "copies": copies, "fills": _moved(totals["fills"])}

    def _torch_ready(self, torch: ModuleType) -> None:
        if getpid() == self._process:
            self._torch = torch
            self._facts.guarded(self.name, self._prepare)

    def _prepare(self) -> None:
        torch, tool = self._torch, nsight()
        if tool is not None:
            self._report_missing(f"{tool} holds CUPTI exclusively", "run without it, or read its own report")
        elif native.core().is_gpu_driver_assumed():
            self._begin()
        elif getattr(torch.version, "hip", None) is not None:
            reason = "this torch is a build for AMD's GPUs, which are not recorded"
            self._report_missing(reason, "", is_expected=True)
        elif torch.version.cuda is None or not hasattr(torch._C, "_cuda_init"):
            remedy = "install a build of torch with CUDA"
            self._report_missing("this torch is a build without CUDA", remedy, is_expected=True)
        elif torch.cuda.is_initialized():
            self._begin()
        else:
            self._hook_initialisation()

    def _hook_initialisation(self) -> None:
        place, original = self._torch._C, self._torch._C._cuda_init

        self._initialise = original
        self._hook = place._cuda_init = around(original, before=self._initialising)

    def _initialising(self) -> None:
        self._unhook()
        if getpid() == self._process:
            self._facts.guarded(self.name, self._begin)

    def _unhook(self) -> None:
        if self._hook is not None and self._torch._C._cuda_init is self._hook:
            self._torch._C._cuda_init = self._initialise
        self._hook = None

    def _begin(self) -> None:
        by_profiler = self._profiler_reads_gpu()
        if by_profiler is not None:
            # Otherwise one of the two would silently get no records.
            self._leave_to_profiler(by_profiler)
            return
        major = str(self._torch.version.cuda or "0").split(".")[0]
        packages = os.path.dirname(os.path.dirname(os.path.abspath(self._torch.__file__)))
        recorder = self._facts.recorder.capsule()
        exact = self._options.gpu_links == "exact"
        graphs = self._options.gpu_graphs
        session = native.core().GpuSession(recorder, int(major), [packages], exact, graphs)
        refusal = session.start()
        facts = {name: value for name, value in session.facts().items() if value not in ("", 0, [])}
        self._facts.extend(self.name, **facts)
        if refusal is not None:
            self._report_refusal(*refusal, is_expected=not facts.get("devices"))
            return
        self._session = session
        if exact:
            self._hand_on_ids(session.external_ids())
        self._begun()
        for missing in facts.get("lacks", []):
            self._facts.loss(self.name, f"not recorded: {missing}")
        from perfprobe.collect.profiler_watch import ProfilerWatch  # only if there is a GPU

        self._profilers = ProfilerWatch(self._facts, self._torch)
        self._profilers.start()
        if os.environ.get("TEARDOWN_CUPTI") == "1":
            reason = "TEARDOWN_CUPTI=1 lets torch.profiler end CUPTI for the whole process"
            self._facts.tell(f"{reason}: records of the GPU may stop")
            self._facts.loss(self.name, reason, 1, "unset TEARDOWN_CUPTI")

    def _leave_to_profiler(self, reads_gpu: bool) -> None:
        """Leaves the GPU to the autograd profiler, whose engine Kineto holds CUPTI."""
        if not reads_gpu:
            self._report_missing("the autograd profiler holds CUPTI exclusively", "record with the observer")
            return
        self._is_profilers = True
        self._facts.extend(self.name, source="the autograd profiler")
        if self._options.gpu_links == "exact":
            reason = "exact links: the autograd profiler records the GPU, kernels are linked by time"
            self._facts.loss(self.name, reason, 1, "record with the observer")
        self._begun()

    def _name_devices(self) -> None:
        cuda = self._torch.cuda
        if cuda.is_initialized():
            names = [cuda.get_device_name(device) for device in range(cuda.device_count())]
            self._facts.extend(self.name, devices=[{"name": name} for name in names])

    def _report_refusal(self, reason: str, remedy: str, *, is_expected: bool) -> None:
        from perfprobe.collect.profiler_watch import MONITOR, monitor_runs  # only if there is a GPU

        if monitor_runs():
            reason, remedy = f"{reason}; {MONITOR} is running", f"do not start {MONITOR}, or use --gpu off"
        self._report_missing(reason, remedy, is_expected=is_expected)

    def _report_missing(self, reason: str, remedy: str, *, is_expected: bool = False) -> None:
        """Says that nothing is recorded. is_expected: only say so if the GPU was asked for."""
        self._said = True
        self._facts.extend(self.name, lack=reason)
        if is_expected and self._options.gpu == "auto":
            return
        self._facts.tell(f"no GPU is recorded: {reason}" + (f"; {remedy}" if remedy else ""))
        self._facts.loss(self.name, f"no GPU was recorded: {reason}", 1, remedy)

    def _say_what_is_missing(self, figures: dict[str, Any]) -> None:
        for name, (reason, remedy) in _LOSSES.items():
            if figures[name] and (name != "lent_buffers" or figures["context"]):
                self._facts.loss(self.name, reason, figures[name], remedy)
        faults: Any = self._facts.known(self.name).get("faults") or {}
        remedy = faults.get(_CLOCK_FAULT) or "report this with the version of CUPTI"
        for name, reason in _CLOCK_LOSSES.items():
            if figures[name]:
                self._facts.loss(self.name, reason, figures[name], remedy)
        self._say_if_times_are_converted()
        if figures["unfinished"]:
            reason = "work that still ran on the GPU 2 s after the program had ended"
            self._facts.tell(f"not recorded: {reason}")
            self._facts.loss(self.name, reason, 1, "end the program after torch.cuda.synchronize()")
        elif figures["broken"]:
            self._facts.loss(self.name, "the recording of the GPU ended early: out of memory")
        elif figures["context"] and not figures["canary"]:
            reason = "incomplete: another client of CUPTI took over, or no records came for 2 s"
            self._facts.tell(f"the recording of the GPU is {reason}")
            self._facts.loss(self.name, reason, 1, "run without the other profiler")

    def _say_if_times_are_converted(self) -> None:
        refusal = self._facts.known(self.name).get("clock_refusal")
        if refusal:
            reason = f"all GPU times are converted from CUPTI's own clock: {refusal}"
            self._facts.loss(self.name, reason, 1, "use another version of CUDA")


def _moved(total: tuple[int, int, int]) -> dict[str, int]:
    return dict(zip(("calls", "bytes", "ns"), total, strict=True))
