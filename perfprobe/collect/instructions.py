"""Samples the instruction address of all threads, to split operators by what their native code does."""

from __future__ import annotations

from perfprobe import native
from perfprobe.collect.base import KEEP_OPEN, Collector
from perfprobe.support.errors import EnvironmentLack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from perfprobe.collect.base import Facts
    from perfprobe.native import InstructionSamples

PERIOD_NS = 997_000  # of CPU time; not a round number, so that no loop of the program keeps step with it
REFUSED = "native code cannot be sampled"


class InstructionCollector(Collector):
    """The kernel samples from start to stop. The recorder's writer reads the samples at its heartbeats."""

    name = "native"

    def __init__(self, facts: Facts, *, period_ns: int = PERIOD_NS) -> None:
        self._facts = facts
        self._period_ns = period_ns
        self._samples: InstructionSamples | None = None

    def available(self) -> EnvironmentLack | None:
        """Returns why the kernel refuses it, with the command that allows it; None if it works."""
        refused: tuple[str, str] | None = native.core().instruction_samples_refused()
        return None if refused is None else EnvironmentLack(REFUSED, *refused)

    def start(self) -> None:
        """Starts sampling; what cannot be opened here is a loss."""
        samples = native.core().InstructionSamples(self._facts.recorder.capsule(), self._period_ns)
        refused = samples.start()
        if refused is None:
            self._samples = samples
        else:
            self._facts.loss(self.name, f"{REFUSED}: {refused[0]}", 1, refused[1])

    def stop(self) -> None:
        """Writes the last rows, the cost of sampling, and losses."""
        if self._samples is None:
            return
        figures = self._samples.stop()
        self._facts.meta("native", figures)
        self._say_what_is_missing(figures)

    def _say_what_is_missing(self, figures: dict[str, Any]) -> None:
        if not figures["with_kernel"]:
            reason = "native samples: time in the kernel (page faults, system calls) is not sampled"
            remedy = "sudo sysctl kernel.perf_event_paranoid=1, or CAP_PERFMON for this Python"
            self._facts.loss(self.name, reason, 1, remedy)
        if figures["lost"]:
            reason = "native samples lost: perfprobe's writer had no processor for seconds"
            self._facts.loss(self.name, reason, figures["lost"])
        if figures["ended"]:
            reason = "native samples: the program closed the events, which could not be opened again"
            self._facts.loss(self.name, reason, 1, KEEP_OPEN)
        elif figures["times_closed"]:
            reason = "native samples: the program closed the events, which were opened again"
            self._facts.loss(self.name, reason, figures["times_closed"], KEEP_OPEN)
        if figures["other_functions"]:
            reason = "native functions beyond 65,536, shown as one"
            self._facts.loss(self.name, reason, figures["other_functions"])
