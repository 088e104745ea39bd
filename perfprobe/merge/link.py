"""Makes a Trace from a Recording: names of modules, lines of stacks, forward calls of backward nodes.

There are two passes over the operators. The first finds the forward calls. The second runs whenever the
operators of the Trace are read, and links them batch by batch. If GPUs were recorded, the first pass also
finds the operators around API calls, and the second adds the GPU time of what operators launched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from perfprobe.merge.backward import ForwardCalls
from perfprobe.merge.correlate import CallsWithin
from perfprobe.merge.gpu_times import GpuTimes
from perfprobe.merge.module_paths import module_paths
from perfprobe.merge.nest import Nesting
from perfprobe.merge.origins import Origins
from perfprobe.merge.own_memory import OwnMemory
from perfprobe.merge.python import python_code
from perfprobe.merge.python_functions import PythonFunctions, own_times
from perfprobe.merge.recording_cost import RecordingCost
from perfprobe.merge.reduction import GradientReduction
from perfprobe.merge.rpc import RpcBackward
from perfprobe.merge.sources import Matching
from perfprobe.merge.tensor_memory import tensor_memory
from perfprobe.merge.uncounted import uncounted
from perfprobe.merge.user_lines import sites
from perfprobe.support.units import duration
from perfprobe.tables.columns import Int64, Rows
from perfprobe.tables.events import AutogradWindows, LinkedOperators, Losses, OperatorWindows, RecordedCall
from perfprobe.tables.gpu import GPU_EVENTS
from perfprobe.tables.memory import TensorMemory
from perfprobe.tables.recording import Recording
from perfprobe.tables.threads import thread_order
from perfprobe.tables.trace import Phase, Sites, Trace

COLUMNS = (*RecordedCall.dtypes, "sequence", "node_sequence", "node_thread")

# Filled only if the autograd profiler or a GPU was recorded too.
_BY_OTHERS = ("autograd_ns", "autograd_self_ns", "gpu_ns", "gpu_self_ns")

# A year. Longer times are damaged, and a few of them would make sums of nanoseconds overflow.
_LONGEST_NS = 366 * 86_400 * 1_000_000_000


def link(recording: Recording) -> Trace:
    """Links a recording. Raises InputError if it can no longer be read."""
    modules = module_paths(recording)
    site = sites(recording, modules.same)
    matching = Matching(recording) if len(recording[AutogradWindows]) else None
    calls_within = CallsWithin(recording) if recording.rows(*GPU_EVENTS) else None
    forward = ForwardCalls(recording, site, calls_within)
    origins = Origins(site, forward, modules.same)
    links, times = (None, None) if calls_within is None else calls_within.result(origins, forward)
    memory, lost = tensor_memory(recording)
    linker = Linker(recording, site, forward, origins, matching, times, memory)
    linker.losses = (*lost, *(() if calls_within is None else calls_within.losses))
    sources = None if matching is None else matching.sources()
    return Trace(
        recording,
        site,
        modules.texts,
        linker.stream,
        sources,
        python_code(recording),
        links,
        modules.types,
        memory=memory,
        timed_phases=forward.timed_phases,
    )


class Linker:
    """Links batches of operators. losses: what linking GPUs and memory lost."""

    losses: tuple[Losses, ...] = ()

    def __init__(
        self,
        recording: Recording,
        sites: Sites,
        calls: ForwardCalls,
        origins: Origins,
        matching: Matching | None,
        gpu_times: GpuTimes | None,
        memory: TensorMemory | None,
    ) -> None:
        self._recording = recording
        self._sites = sites
        self._calls = calls
        self._origins = origins
        self._matching = matching
        self._gpu_times = gpu_times
        self._memory = memory

    def stream(self, losses: list[Losses], with_memory: bool = True) -> Iterator[LinkedOperators]:
        """Yields all operators, linked. At the end, appends what could not be linked to `losses`.

        with_memory: whether their own allocated and freed bytes are wanted, which memory is read for.
        """
        nesting, cpu_nesting, cost = Nesting(), Nesting(), RecordingCost(self._recording)
        functions = PythonFunctions(self._recording, self._origins.compiling)
        reduction, rpc = GradientReduction(self._recording, self._sites), RpcBackward(self._recording)
        all_timed = self._recording.text("recording", "cpu_time") == "all"
        memory = None if self._memory is None or not with_memory else OwnMemory(self._memory)
        backwards = 0
        last_ns = self._recording.last_ns
        first = 0
        for batch in self._recording.operators(COLUMNS):
            order = thread_order(batch.thread)
            rows = batch if order is None else batch.take(order)
            places = np.arange(first, first + len(batch))
            first += len(batch)
            duration_ns = rows.end_ns - rows.start_ns
            last_ns = max(last_ns, int(rows.end_ns.max()))
            impossible = (duration_ns < 0) | (duration_ns > _LONGEST_NS)
            backwards += int(np.count_nonzero(impossible))
            duration_ns = np.where(impossible, 0, duration_ns)
            self_ns = nesting.self_times(rows.thread, rows.depth, rows.start_ns, duration_ns)
            cpu_self_ns = _cpu_self_times(cpu_nesting, rows) if all_timed else _not_recorded(len(rows))
            columns = self._origins.columns(rows, self._calls.is_forward(rows))
            self._calls.by_time.label_operators(rows, columns["phase"])
            reduction.label(rows, columns, self._calls.sites)
            rpc.label(rows, columns)
            columns["phase"][functions.compile_themselves(rows)] = Phase.COMPILE
            known: dict[str, Any] = dict.fromkeys(_BY_OTHERS, _not_recorded(len(rows)))
            known |= {name: getattr(rows, name) for name in RecordedCall.dtypes} | columns
            known |= {} if memory is None else memory.columns(rows)
            is_python = functions.find(rows)
            self_ns, python_ns = own_times(is_python, self_ns)
            cpu_self_ns, _ = own_times(is_python, cpu_self_ns)
            linked = LinkedOperators(
                **known,
                sequence=rows.sequence,
                self_ns=self_ns,
                python_ns=python_ns,
                cpu_self_ns=cpu_self_ns,
                recording_ns=cost.within(rows.thread, rows.depth, rows.cpu_ns),
            )
            yield self._with_figures(linked, places if order is None else places[order])
        losses += _incomplete(self._recording, last_ns)
        losses += _link_losses(self._recording, nesting, backwards)
        losses += uncounted(self._recording)
        losses += self.losses
        losses += _limited(self._recording)

    def _with_figures(self, linked: LinkedOperators, places: Rows) -> LinkedOperators:
        figures = {} if self._matching is None else self._matching.figures(places)
        if self._gpu_times is not None:
            figures |= self._gpu_times.figures(linked, places)
        return replace(linked, **figures) if figures else linked


def _not_recorded(rows: int) -> Int64:
    return np.broadcast_to(np.int64(-1), rows)


def _cpu_self_times(nesting: Nesting, rows: RecordedCall) -> Int64:
    """The CPU time of each operator without that of operators within it; -1 where it was not recorded."""
    self_ns = nesting.self_times(rows.thread, rows.depth, rows.start_ns, rows.cpu_ns)
    return np.where(rows.cpu_ns >= 0, self_ns, -1)


def _link_losses(recording: Recording, nesting: Nesting, backwards: int) -> list[Losses]:
    counts = (
        (
            "inside an operator or range that had not ended when recording stopped: counted as outermost",
            nesting.unfinished,
        ),
        ("inside an operator or range that was not recorded: counted as outermost", nesting.orphans),
        ("with an end before the start, or over a year after it: counted as 0 ns", backwards),
        *((f"column {column}: invalid references", rows) for column, rows in recording.damaged.items()),
    )
    return [Losses.one("operators", reason, count) for reason, count in counts if count]


def _limited(recording: Recording) -> list[Losses]:
    """Returns a loss if a worker's operators were recorded for a part of its time only."""
    windows = recording[OperatorWindows]
    start_ns = recording.number("start", "monotonic_ns")
    if len(windows) == 0 or start_ns is None:
        return []
    reason = (
        f"operators of this worker were recorded for {duration(windows.recorded_ns())} of "
        f"{duration(max(recording.last_ns - start_ns, 0))}, so that recording costs about 1 %: calls and "
        "times are those of that part"
    )
    remedy = "use num_workers=0: the main process then runs and records all of them"
    return [Losses.one("operators", reason, -1, remedy)]


def _incomplete(recording: Recording, last_ns: int) -> list[Losses]:
    """Returns a loss if the recording was not closed, or could not be read to its end."""
    if recording.complete:
        return []
    start_ns = recording.number("start", "monotonic_ns")
    known = start_ns is not None and last_ns >= start_ns
    until = (
        f"up to {duration(last_ns - start_ns)} after its start"
        if known and start_ns is not None
        else "in part"
    )
    counts = _counts_end(recording, start_ns)
    if recording.fact("recording", "ranges"):
        counts += "; so are named ranges that had not ended"
    if recording.stopped_at is None:
        reason = (
            f"the recording was not closed (program killed, or still running): recorded {until}, "
            f"at most the last second before the end is missing{counts}"
        )
    else:
        reason = (
            f"reading stopped: {recording.stopped_at}; what comes before is shown, recorded {until}; "
            f"if the program was killed there, at most the last second before the end is missing{counts}"
        )
    return [Losses.one("recording", reason, -1)]


def _counts_end(recording: Recording, start_ns: float | None) -> str:
    """Returns words about counts of Python calls, which are written less often than all else."""
    if recording.counts_lost:
        return "; calls of Python functions are missing: they had not been written yet"
    if recording.counts_cut_ns is None:
        return ""
    after = "" if start_ns is None else f", {duration(recording.counts_cut_ns - start_ns)} after the start"
    return f"; calls of Python functions are missing from when they were last written{after}"
