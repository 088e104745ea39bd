"""One session of torch's autograd profiler, through the functions that `torch.profiler` uses.

They do not change the global state that `torch.profiler.profile` sets, and return the same raw results.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import partial
from time import monotonic_ns, thread_time_ns, time_ns

from perfprobe import native
from perfprobe.support.errors import EnvironmentLack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

EDGE_NS = 2_000  # an operator that ends so close to its session's end was cut off: stopping takes longer
_LOG_LEVEL = "KINETO_LOG_LEVEL"
_QUIET = "99"
_WAIT_NS = 2_000_000_000


def refusal(*, gpu_client: bool) -> EnvironmentLack | None:
    """Returns why Kineto, the profiler's engine, must not be used here; None if it may.

    Args:
        gpu_client: whether our own CUPTI client records the GPU. CUPTI serves one client in a process, so
            Kineto would take over its records or get none.
    """
    if not gpu_client:
        return None
    where = "Kineto, its engine, and perfprobe's own recording of the GPU cannot share CUPTI"
    return EnvironmentLack("the autograd profiler cannot be used", where, "leave out --operators, or the GPU")


def has_gpu_driver(root: str = "/") -> bool:
    """Whether there is an NVIDIA driver with a device.

    This looks at files and does not call cuInit. cuInit would fix the visible devices before the program
    chooses them, and a child forked later could not use the GPU.
    """
    devices = any(
        os.path.exists(f"{root}/{path}")
        for path in ("dev/nvidia0", "dev/dxg", "proc/driver/nvidia/gpus", "dev/nvidiactl")
    )
    if not devices:
        return False
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


class Raw:
    """The raw results of a session, and its start and end on both clocks.

    Kineto's times are ns of the Unix epoch. Both clocks are read as a pair at start and end; `to_monotonic`
    interpolates between the pairs.

    Attributes:
        error_ns: the largest error of a pair.
        with_stacks: whether Python's calls were seen throughout.
        last_unix_ns: when perfprobe began to wait for GPUs in order to end the session.
    """

    def __init__(
        self,
        results: Any,
        start: tuple[int, int, int],
        stop: tuple[int, int, int],
        *,
        with_stacks: bool,
        last_unix_ns: int | None = None,
    ) -> None:
        self.results = results
        self.with_stacks = with_stacks
        self.last_unix_ns = stop[1] if last_unix_ns is None else last_unix_ns
        self.start_ns, self.stop_ns = start[0], stop[0]
        self.unix_stop_ns = stop[1]
        self._unix_start_ns = start[1]
        self._offset_ns = start[0] - start[1]
        self._drift = ((stop[0] - stop[1]) - self._offset_ns) / max(stop[1] - start[1], 1)
        self.error_ns = max(start[2], stop[2])

    def to_monotonic(self, unix_ns: int) -> int:
        """Converts a time of Kineto to CLOCK_MONOTONIC."""
        return unix_ns + self._offset_ns + int((unix_ns - self._unix_start_ns) * self._drift)


def clocks() -> tuple[int, int, int]:
    """Returns CLOCK_MONOTONIC, Unix time, and how far apart the two readings may be, all in ns."""
    best = None
    for _ in range(5):
        before_ns = monotonic_ns()
        unix_ns = time_ns()
        after_ns = monotonic_ns()
        found = ((before_ns + after_ns) // 2, unix_ns, (after_ns - before_ns) // 2 + 1)
        best = found if best is None or found[2] < best[2] else best
    assert best is not None
    return best


class Kineto:
    """Starts and stops sessions. Both must happen on the same thread.

    Args:
        gpu: whether to record GPUs too.
    """

    def __init__(self, torch: ModuleType | Any, *, with_stack: bool, memory: bool, gpu: bool = False) -> None:
        self._torch = torch
        self._autograd, self._profiler = torch._C._autograd, torch._C._profiler
        self._with_stack, self._memory = with_stack, memory
        kinds = self._profiler.ProfilerActivity
        self._activities = {kinds.CPU}
        # After a session of only the CPU, the program's own profiler could never record the GPU.
        if torch.version.cuda is not None and has_gpu_driver():
            self._activities.add(kinds.CUDA)
        self.reads_gpu = gpu and kinds.CUDA in self._activities
        self._start = (0, 0, 0)
        self._stacks = False
        self._begun: list[Any] = []  # of a session: what starting returned, the profile function, two clocks

    @property
    def running(self) -> bool:
        """Whether our session is running."""
        return bool(self._begun)

    @property
    def begun_ns(self) -> tuple[int, int]:
        """When the session began: CLOCK_MONOTONIC, and the CPU time of its thread."""
        return self._begun[2], self._begun[3]

    def is_taken(self) -> bool:
        """Whether someone else's session is running on this thread."""
        return not self.running and bool(self._autograd._profiler_enabled())

    def prepare(self) -> Callable[[], None]:
        """Prepares a session. The returned function begins it, and runs no Python."""
        # Stacks need the interpreter's profile hook, which the program may use.
        self._stacks = self._with_stack and sys.getprofile() is None
        config = self._config()
        quiet = _LOG_LEVEL not in os.environ
        if quiet:  # otherwise it writes two lines to standard error for every session
            os.environ[_LOG_LEVEL] = _QUIET
        try:
            self._autograd._prepare_profiler(config, self._activities)
            native.core().end_forked_children_early()
        finally:
            if quiet:
                os.environ.pop(_LOG_LEVEL, None)
        self._start = clocks()
        begin = partial(self._autograd._enable_profiler, config, self._activities)
        others = (partial(sys.getprofile), partial(monotonic_ns), partial(thread_time_ns))
        # A session that fails to begin adds nothing to the list.
        return partial(self._begun.extend, map(partial.__call__, (begin, *others)))

    def stop(self) -> Raw:
        """Ends the session; returns its raw results."""
        last_unix_ns = time_ns() if self.reads_gpu else None
        if self.reads_gpu and not _is_capturing(self._torch):  # waiting would break the capture
            self._await_gpus()
        start, stop = self._start, clocks()
        hook, first_hook = sys.getprofile(), self._begun[1]
        self._begun.clear()
        with_stacks = self._stacks and hook is not None and hook is first_hook
        if with_stacks:
            # Kineto reads returns only up to the latest call. Functions that returned later would run until
            # the end of the session, and so would hold operators of their callers.
            native.core().report_calls()
        results = self._autograd._disable_profiler()
        if self._stacks and not with_stacks:
            _give_back(hook)
        return Raw(results, start, stop, with_stacks=with_stacks, last_unix_ns=last_unix_ns)

    def _await_gpus(self) -> None:
        """What still runs when a session ends is lost. A kernel may never end."""
        if self._torch.cuda.is_initialized():
            native.core().await_gpus(_WAIT_NS)

    def _config(self) -> Any:
        profiler = self._profiler
        try:
            more = {"expose_kineto_event_metadata": True} if self.reads_gpu else {}
            experimental = profiler._ExperimentalConfig(capture_overload_names=True, **more)
        except TypeError:  # before torch 2.10
            experimental = profiler._ExperimentalConfig(capture_overload_names=True)
        return profiler.ProfilerConfig(
            profiler.ProfilerState.KINETO, True, self._memory, self._stacks, False, False, experimental
        )


def _is_capturing(torch: Any) -> bool:
    """Whether this thread is capturing a CUDA graph."""
    return torch.cuda.is_initialized() and bool(torch.cuda.is_current_stream_capturing())


def _give_back(hook: Any) -> None:
    """Restores the profile function that the program set meanwhile and the profiler removed."""
    if hook is None or sys.getprofile() is not None:
        return
    enable = getattr(hook, "enable", None)  # of cProfile, which cannot be called as a function
    if enable is not None:
        enable()
    else:
        sys.setprofile(hook)
