"""Records operators with the chosen sources, from the moment the program has imported torch."""

from __future__ import annotations

import os
import sys
from array import array
from os import getpid
from time import thread_time_ns

from perfprobe import native
from perfprobe.collect import emit
from perfprobe.collect.base import Collector
from perfprobe.collect.compiled import CompiledKernels
from perfprobe.collect.host import environment
from perfprobe.collect.imports import ImportWatch
from perfprobe.collect.launches import KernelNames, LaunchCalls
from perfprobe.collect.torch_build import describe
from perfprobe.support.errors import EnvironmentLack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from perfprobe.collect.autograd.collector import AutogradProfiler
    from perfprobe.collect.base import Facts
    from perfprobe.collect.options import Options


_UNSEEN = (
    "not recorded: memory allocated before `import torch` ended, before the recorded block began or outside "
    "of recorded steps, and memory that torch's allocator for the CPU does not manage: scratch of MKL and "
    "oneDNN, shared memory, mapped files, numpy"
)
# Of a worker's CPU time, by the budget's estimate, which leaves out what the writer does for a row: operators
# cost twice as much. All that is recorded in a worker must stay below 2 % (benchmarks/overhead/workers.py).
_WORKER_COST = 0.0015


class OperatorCollector(Collector):
    """Starts the sources when the program's own `import torch` completes. It never imports torch itself.

    Args:
        is_forked: whether this is a forked process. Its parent's recording says how torch was built.
        is_worker: whether it is a DataLoader's worker, which may run 150,000 operators a second. Then they
            are recorded only in windows of time, so that recording costs little.
    """

    name = "operators"

    def __init__(
        self, facts: Facts, options: Options, *, is_forked: bool = False, is_worker: bool = False
    ) -> None:
        self._facts = facts
        self._options = options
        self._is_forked = is_forked
        self._is_worker = is_worker
        self._process = getpid()
        self._watch = ImportWatch("torch", self._torch_ready)
        self._torch: Any = None
        self._observer: Any = None
        self._ids: object | None = None
        self._compiled: CompiledKernels | None = None
        self._kernel_names = KernelNames()
        self._has_gpu = False
        self._launches: LaunchCalls | None = None
        self._profiler: AutogradProfiler | None = None
        self._budget: native.OperatorBudget | None = None

    def start(self) -> None:
        """Waits for torch; starts at once if it is imported already."""
        self._watch.start()

    def hand_on_ids(self, ids: object) -> None:
        """From now on sends the start of each operator, as an id, to this port (see `GpuSession`)."""
        self._ids = ids
        if self._observer is not None:
            self._observer.hand_on_ids(ids)

    def watch_gpu(self) -> None:
        """Call this when a GPU is recorded: calls that use it outside of operators are then recorded too."""
        self._has_gpu = True
        if self._observer is not None and self._launches is None:
            wrap = self._observer.recorded_method
            self._launches = LaunchCalls(self._facts, self._torch, wrap, self._kernel_names)
            self._facts.guarded(self.name, self._launches.start)

    def profiler_reads_gpu(self) -> bool | None:
        """Whether the autograd profiler records GPUs too; None if it does not record at all."""
        return None if self._profiler is None else self._profiler.reads_gpu

    def pause(self) -> None:
        """Pauses the autograd profiler, whose profile function does not know the frames that run now."""
        if self._profiler is not None:
            self._profiler.pause()

    def go_on(self) -> None:
        """Lets it go on: it knows the frames again."""
        if self._profiler is not None:
            self._profiler.go_on()

    def stop(self) -> None:
        """Stops the sources, and writes what is only known at the end."""
        self._watch.stop()
        if self._profiler is not None:
            self._facts.guarded(self.name, self._profiler.stop)
        for calls in (self._launches, self._compiled):
            if calls is not None:
                self._facts.guarded(self.name, calls.stop)
        if self._budget is not None:
            self._budget.stop()
        if self._observer is not None:
            self._observer.stop()
            self._facts.guarded(self.name, self._write_operand_reuse)
            emit.say_if_full(self._facts, self._observer)
            own_ns = self._observer.own_event_ns()
            self._facts.extend("cost", writer_cpu_ns=self._facts.recorder.writer_cpu_ns, own_ns=own_ns)
        if self._torch is not None:
            # Not earlier, because the first query fixes torch's number of threads, which the program may want
            # to set.
            threads = self._torch.get_num_threads()
            self._facts.extend(
                "torch", threads=threads, interop_threads=self._torch.get_num_interop_threads()
            )
            if not self._is_forked:
                self._facts.guarded("torch", lambda: self._facts.extend("torch", **describe(self._torch)))
        else:
            self._say_why_there_is_no_torch()

    def _write_operand_reuse(self) -> None:
        columns = self._observer.operand_reuse()
        if columns["signature"]:
            rows = {name: array("q", values) for name, values in columns.items()}
            self._facts.recorder.add_rows("operand_reuse", rows)

    def _torch_ready(self, torch: ModuleType) -> None:
        if getpid() != self._process:
            return  # a forked child that imports torch after the fork does not record
        begun_cpu_ns = thread_time_ns()
        self._torch = torch
        self._facts.guarded("torch", self._describe_torch)
        wanted = self._options.operators
        if wanted != "autograd":
            self._facts.guarded(self.name, self._start_observer)
        if wanted != "observer" or self._falls_back():
            self._facts.guarded(self.name, self._start_profiler)
        self._facts.extend("cost", torch_cpu_ns=thread_time_ns() - begun_cpu_ns)

    def _describe_torch(self) -> None:
        torch, folder = self._torch, os.path.dirname(os.path.abspath(self._torch.__file__))
        version = str(torch.__version__)
        self._facts.extend("torch", version=version, path=folder, cuda=torch.version.cuda)
        self._facts.extend("torch", hip=getattr(torch.version, "hip", None))
        self._facts.extend("torch", debug=getattr(torch.version, "debug", None))
        self._facts.extend("versions", torch=version)
        self._facts.extend("roots", torch=folder)
        self._facts.meta("environment", environment())  # the program may have changed it before this

    def _start_observer(self) -> None:
        try:
            observer: Any = native.observer(self._torch)
            module_call = self._torch.nn.Module._wrapped_call_impl.__code__
            folders = emit.folders(self._facts.known("roots"))
            self._facts.recorder.set_folders(folders)
            capsule = self._facts.recorder.capsule()
            budget = native.core().OperatorBudget(capsule, _WORKER_COST) if self._is_worker else None
            observer.start(
                capsule,
                module_call,
                self._options.cpu_timed,
                ranges=emit.listener(self._facts, self._options.emit),
                folders=folders,
                budget=None if budget is None else budget.capsule(),
            )
            if budget is not None:
                budget.start()
                self._budget = budget
        except EnvironmentLack as missing:
            self._report_missing(missing)
            return
        self._observer = observer
        observer.hand_on_ids(self._ids)
        if self._options.memory:
            self._watch_memory()
        self._facts.extend("cost", event_ns=observer.event_cost_ns(), empty_ns=observer.empty_ns())
        self._facts.extend("cost", trial_own_ns=observer.trial_own_ns())
        if self._options.cpu_timed != "off":
            self._facts.extend("cost", cpu_read_ns=observer.cpu_read_ns())
        if self._options.cpu_timed == "all":
            timed_event_ns, empty_cpu_ns = observer.timed_event_cost_ns(), observer.empty_cpu_ns()
            self._facts.extend("cost", timed_event_ns=timed_event_ns, empty_cpu_ns=empty_cpu_ns)
        self._compiled = CompiledKernels(
            self._facts, self._torch, observer.compiled_kernel, self._kernel_names
        )
        self._compiled.start()
        if self._has_gpu:
            self.watch_gpu()

    def _watch_memory(self) -> None:
        if not self._observer.watch_memory():
            reason = "memory: the program's allocator for the CPU cannot be wrapped"
            self._facts.loss("memory", reason, 1, "record memory before the program sets its own allocator")
            return
        self._facts.meta("memory", {"source": "observer"})
        self._facts.loss("memory", _UNSEEN, -1, "nothing to do: it is in the process's resident memory alone")

    def _falls_back(self) -> bool:
        """Whether the autograd profiler must replace the observer, and can."""
        return self._observer is None and _has_profiler(self._torch)

    def _report_missing(self, missing: EnvironmentLack) -> None:
        instead = "; the autograd profiler records them instead" if self._falls_back() else ""
        self._facts.tell(f"{missing}{instead}")
        self._facts.loss(
            self.name, f"{missing.what} by the observer: {missing.where}{instead}", 1, missing.remedy
        )
        if self._options.emit is not None:
            self._facts.loss(
                "emit", f"no ranges were emitted, the observer does it: {missing.where}", 1, missing.remedy
            )

    def _start_profiler(self) -> None:
        # Not earlier: it imports more of the standard library than may be loaded before the program's own
        # imports.
        from perfprobe.collect.autograd.collector import AutogradProfiler

        profiler = AutogradProfiler(
            self._facts,
            self._torch,
            beside_observer=self._observer is not None,
            memory=self._options.memory,
            gpu=self._options.gpu != "off",
        )
        self._profiler = profiler
        profiler.start()
        if self._options.cpu_timed != "off" and self._observer is None:
            self._facts.loss(self.name, "CPU time: the autograd profiler does not read it", 1, "")

    def _say_why_there_is_no_torch(self) -> None:
        reason, remedy = "the program never imported torch", ""
        if "torch" in sys.modules:
            reason = "torch was imported in a way that the import hook did not see"
            remedy = "import torch with an ordinary import statement"
        self._facts.loss(self.name, reason, 1, remedy)
        if self._options.emit is not None:
            self._facts.loss("emit", f"no ranges were emitted: {reason}", 1, remedy)


def _has_profiler(torch: Any) -> bool:
    available = getattr(getattr(getattr(torch, "_C", None), "_autograd", None), "kineto_available", None)
    return available is not None and bool(available())
