"""Samples the Python stacks of all threads while the program runs, to find where the time goes."""

from __future__ import annotations

import sys

from perfprobe import native
from perfprobe.collect.base import Collector
from perfprobe.support.errors import EnvironmentLack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from perfprobe.collect.base import Facts
    from perfprobe.native import Sampler

INTERVAL_NS = 5_000_000
FORKED_INTERVAL_NS = 2 * INTERVAL_NS  # enough, as many run at once, each in a loop over its samples
MOST_COST = 0.005  # of one processor; of the CPU time of a forked process, as a worker waits most of the time
_MANY_FAILED = 0.01  # of all samples; from this part on it is a loss


class SamplerCollector(Collector):
    """Runs the native sampler from start to stop. It writes rows while the program runs.

    Args:
        is_forked: whether this is a forked process, where it takes fewer samples.
    """

    name = "samples"

    def __init__(self, facts: Facts, *, is_forked: bool = False) -> None:
        self._facts = facts
        self._is_forked = is_forked
        self._sampler: Sampler | None = None

    def available(self) -> EnvironmentLack | None:
        """Returns why it cannot work (the kernel refuses, or this Python's frames are not known), or None."""
        where: str | None = native.core().sampler_missing()
        if where is None:
            return None
        return EnvironmentLack(
            "Python threads cannot be sampled", where, "use --python cprofile for times and counts"
        )

    def start(self) -> None:
        """Starts sampling."""
        interval_ns = FORKED_INTERVAL_NS if self._is_forked else INTERVAL_NS
        self._sampler = native.core().Sampler(
            self._facts.recorder.capsule(), interval_ns, MOST_COST, of_cpu_time=self._is_forked
        )
        self._sampler.start()

    def stop(self) -> None:
        """Writes the last rows, the cost of sampling, and losses."""
        if self._sampler is None:
            return
        figures = self._sampler.stop()
        self._facts.meta("sampler", figures)
        self._facts.meta("python_threads", _thread_names())
        self._say_what_is_missing(figures)

    def _say_what_is_missing(self, figures: dict[str, Any]) -> None:
        failed, looks = figures["failed_looks"], figures["looks"]
        if failed > _MANY_FAILED * looks:
            self._facts.loss(self.name, "samples that failed: the thread's frames could not be read", failed)
        if figures["cut_stacks"]:
            reason = "samples truncated: stack too deep, only the innermost frames are shown"
            self._facts.loss(self.name, reason, figures["cut_stacks"])
        if figures["other_stacks"]:
            reason = "samples beyond 65,536 different stacks, shown as one stack"
            self._facts.loss(
                self.name, reason, figures["other_stacks"], "record a shorter part of the program"
            )
        if figures["unread_threads"]:
            reason = "threads beyond 128: what they ran between samples is not in the table thread_activity"
            self._facts.loss(self.name, reason, figures["unread_threads"])
        if not figures.get("is_lock_known", True):
            reason = "waits for Python's global lock: the kernel does not name system calls of threads"
            self._facts.loss(self.name, reason, 1, "see `man 5 proc`, /proc/[pid]/syscall")
        if figures["broken"]:
            self._facts.loss(self.name, "the sampler ended early: out of memory")


def _thread_names() -> dict[str, str]:
    """Returns the program's names of its running threads, by the kernel's number."""
    # Not imported here, because plain python has it only if the program imports it.
    enumerate_threads = getattr(sys.modules.get("threading"), "enumerate", None)
    threads = enumerate_threads() if enumerate_threads is not None else []
    return {str(thread.native_id): str(thread.name) for thread in threads if thread.native_id is not None}
