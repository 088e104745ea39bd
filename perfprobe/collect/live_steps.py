"""Finds the program's steps while it runs, by the ranges that torch sets around the parts of a loop.

Torch itself sets ranges around a loader's `next`, an optimizer's step and a step of torch.profiler. A
callback that torch calls only for ranges sees them, so that operators take no longer. `perfprobe.step()`
marks steps too.
"""

from __future__ import annotations

import sys
from os import getpid, strerror

from perfprobe import native
from perfprobe.collect.base import KEEP_OPEN, Collector
from perfprobe.collect.imports import ImportWatch
from perfprobe.support.errors import EnvironmentLack
from perfprobe.support.runtime_folder import made, socket_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from perfprobe.collect.base import Facts
    from perfprobe.collect.options import Options

_NEVER = {"first": (1 << 63) - 1}
_SECOND_NS = 1_000_000_000
_LEAST_BEFORE = 1  # steps recorded before the first untraced one


class StepFinder(Collector):
    """Writes the table `live_steps`, by default too. It starts when the program's `import torch` is done."""

    name = "steps"

    def __init__(self, facts: Facts, options: Options) -> None:
        self._facts = facts
        self._options = options
        self._process = getpid()
        self._watch = ImportWatch("torch", self._torch_ready)
        self._log: native.StepLog | None = None
        self._observer: Any = None

    def start(self) -> None:
        """Waits for the import of torch. Calls of `perfprobe.step()` count from now on."""
        every = self._options.every_step_line or 0
        capsule = self._facts.recorder.capsule()
        options = self._options
        never = options.wait or (options.benchmark and not options.exit_after)
        schedule = _NEVER if never else _schedule(options)
        self._log = native.core().StepLog(capsule, schedule, every, self._options.warmup)
        if self._options.exit_after:
            self._log.exit_after()
        self._log.start()
        if self._options.wait:
            self._facts.guarded(self.name, self._listen)
        self._watch.start()

    def stop(self) -> None:
        """Writes the last steps, and losses for what was not seen."""
        self._watch.stop()
        if self._observer is not None:
            self._observer.unwatch_loop()
        if self._log is None:
            return
        figures = self._log.stop()
        figures["watched_rows"] = self._facts.recorder.watched_rows
        self._facts.meta("live_steps", figures)
        if figures["timed"]:
            self._note_timed(figures["timed"])
        if self._options.needs_steps:
            self._say_what_is_missing(figures)

    def _say_what_is_missing(self, figures: dict[str, int]) -> None:
        """Losses of what was asked for. A recording of all steps finds them in its operators too."""
        self._note_unrecorded(figures)
        if figures["socket_closed"]:
            self._note_closed(figures["socket_closed"], figures["socket_error"])
        if "torch" not in sys.modules:
            self._facts.loss(self.name, "the program never imported torch")
        if figures["foreign"]:
            reason = "loaders, optimizers and marks of steps in other threads than the loop"
            self._facts.loss(self.name, reason, figures["foreign"], "run one loop at a time")

    def _note_unrecorded(self, figures: dict[str, int]) -> None:
        outside = figures["steps"] - figures["recorded"] - figures["baseline"] - figures["timed"]
        if self._options.keep == "slow":
            self._note_unkept(figures)
        if self._options.has_windows and outside > 0:
            asked = self._options.window_option
            reason = f"operators, ranges and work of GPUs in steps outside of the windows asked for ({asked})"
            self._facts.loss(self.name, reason, outside, "nothing to do")
        short = self._options.baseline - figures["baseline"]
        if short > 0:
            reason = f"untraced steps of --baseline: missing, the program had only {figures['steps']:,} steps"
            remedy = "run more steps, or give --warmup a smaller number"
            self._facts.loss(self.name, reason, short, remedy)
        if not self._options.benchmark:
            flag = self._options.leaves_out_children
            reason = f"child processes and calls of Python functions: not recorded with {flag}"
            self._facts.loss(self.name, reason, 1, f"record again without {flag}")

    def _note_timed(self, steps: int) -> None:
        budget = self._options.budget
        reason = f"operators in steps that were only timed, as recording all would cost more than {budget}"
        self._facts.loss("operators", reason, steps, "--budget off records all steps")

    def _note_closed(self, times: int, error: int) -> None:
        then = f"which could not be opened again ({strerror(error)})" if error else "which was opened again"
        reason = f"requests of `perfprobe trigger`: the program closed the socket, {then}"
        self._facts.loss(self.name, reason, times, KEEP_OPEN)

    def _note_unkept(self, figures: dict[str, int]) -> None:
        ordinary = figures["steps"] - figures["recorded"] - figures["unkept"]
        reason = "operators of ordinary steps: only sums are kept (--keep slow)"
        self._facts.loss(self.name, reason, ordinary, "nothing to do")
        if figures["unkept"]:
            reason = "slow steps kept only as sums: rows for a day would take more than 200 MB"
            self._facts.loss(self.name, reason, figures["unkept"], "nothing to do")
        if figures["partial"]:
            reason = "slow steps larger than the buffer: only their last operators are kept"
            self._facts.loss(self.name, reason, figures["partial"], "give --buffer more")
        if figures["unlisted"]:
            reason = "steps beyond 100,000 without a row of their own: they are in step_sums"
            self._facts.loss(self.name, reason, figures["unlisted"], "nothing to do")

    def _listen(self) -> None:
        try:
            made()
            path = socket_of(self._process)
            error = self._log.listen(path) if self._log is not None else 0
            if error:
                raise EnvironmentLack("nothing can be triggered", f"{path}: {strerror(error)}")
        except EnvironmentLack as missing:
            self._facts.tell(str(missing))
            self._facts.loss(self.name, f"{missing.what}: {missing.where}", 1, missing.remedy)
        else:
            self._facts.tell(f"waits for `perfprobe trigger {self._process}`")

    def _torch_ready(self, torch: Any) -> None:
        if getpid() != self._process or self._log is None:
            return
        self._facts.extend("torch", version=str(torch.__version__))
        try:
            observer: Any = native.observer(torch)
            observer.watch_loop(self._log.capsule(), torch.optim.Optimizer)
            self._observer = observer
        except EnvironmentLack as missing:
            if not self._options.needs_steps:
                return  # the collector of operators says so
            self._facts.tell(str(missing))
            reason = f"only perfprobe.step() marks steps: {missing.where}"
            self._facts.loss(self.name, reason, 1, missing.remedy)


def _schedule(options: Options) -> dict[str, float]:
    first, end = options.window
    schedule: dict[str, float] = {"first": first, "windows": options.repeat, "most_cost": options.most_cost}
    if end is not None:
        schedule["end"] = end
    if options.duration is not None:
        schedule["duration_ns"] = round(options.duration * _SECOND_NS)
    if options.baseline:
        schedule["baseline"] = options.baseline
        schedule["baseline_first"] = max(options.warmup - first, _LEAST_BEFORE)
    if options.keep == "slow":
        schedule["keeps_slow"] = 1
    return schedule
