"""The pass that finds the critical path."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.critical.events import all_events
from perfprobe.analyse.critical.graph import Graph, graph, host_chains, path_of, with_threads
from perfprobe.analyse.critical.handoffs import gaps_of
from perfprobe.analyse.critical.summed import critical_rows
from perfprobe.analyse.idle.layers import HostSpans, of_samples
from perfprobe.analyse.loop.covered import Covered
from perfprobe.analyse.loop.ranges import NEXT, NamedSpans
from perfprobe.analyse.loop.regions import regions
from perfprobe.analyse.loop.timeline import LATEST_NS
from perfprobe.analyse.sampled import in_program
from perfprobe.models.waiting import stood_still
from perfprobe.tables.columns import Mask
from perfprobe.tables.critical import CriticalPath
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.steps import StepMark, Steps, StepTimes
from perfprobe.tables.trace import Trace

_COLUMNS = ("start_ns", "end_ns", "thread", "name", "frame", "forward_frame", "phase", "no_line")


MOST_OPERATORS = 500_000  # of the path: it takes 400 bytes for each


class CriticalWatch:
    """Keeps operators, but no ranges, and the ranges of DataLoaders; then finds the path.

    Only operators in the steady steps of the leading loop are kept; without such steps all are. If there are
    more than `most`, only those that began first are.

    Args:
        times: the steps; None for the whole recording.
    """

    def __init__(self, trace: Trace, times: StepTimes | None, most: int = MOST_OPERATORS) -> None:
        self.trace, self._times, self._most = trace, times, most
        self.operators: list[LinkedOperators] = []
        self.spans = NamedSpans(trace)
        self._steady = _steady(times)
        self.first_ns, self._last_ns = 0, LATEST_NS
        if len(self._steady):
            self.first_ns, self._last_ns = int(self._steady.start_ns.min()), int(self._steady.end_ns.max())
        self._until_ns = self._last_ns  # earlier, if there are too many operators
        self._kept = self._seen = 0

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, as `Trace.operators` yields it."""
        self.spans.add(batch)
        is_inside = (batch.start_ns >= self.first_ns) & (batch.start_ns < self._last_ns)
        is_seen = is_inside & (batch.scope != USER_SCOPE)
        self._seen += int(np.count_nonzero(is_seen))
        rows = np.flatnonzero(is_seen & (batch.start_ns < self._until_ns))
        self.operators.append(LinkedOperators.part({name: getattr(batch, name)[rows] for name in _COLUMNS}))
        self._kept += len(rows)
        if self._kept > 2 * self._most:
            self._leave_out_latest()

    def result(self) -> CriticalPath | None:
        """The path; None if nothing was recorded."""
        if self._kept > self._most:
            self._leave_out_latest()
        whole = self._steady.take(self._steady.end_ns <= self._until_ns)
        if len(whole):
            self._keep_until(int(whole.end_ns.max()))
        window = self.first_ns, self._until_ns
        counted = len(whole), len(self._steady), self._seen - self._kept
        return _critical_path(self.trace, self.operators, self.spans, self._times, window, counted)

    def _leave_out_latest(self) -> None:
        start_ns = np.concatenate([each.start_ns for each in self.operators])
        self._keep_until(int(np.partition(start_ns, self._most)[self._most]))

    def _keep_until(self, until_ns: int) -> None:
        self._until_ns = until_ns
        self.operators = [each.take(each.start_ns < until_ns) for each in self.operators]
        self._kept = sum(map(len, self.operators))


def _steady(times: StepTimes | None) -> Steps:
    """The steady steps of the leading loop."""
    if times is None:
        return Steps.empty()
    return times.steps.take((times.steps.loop == 0) & (times.steps.mark == StepMark.STEADY))


def _critical_path(
    trace: Trace,
    operators: list[LinkedOperators],
    spans: NamedSpans,
    times: StepTimes | None,
    window: tuple[int, int],
    counted: tuple[int, int, int],
) -> CriticalPath | None:
    all_ = all_events(trace, operators, *window)
    host = host_chains(all_)
    plain = path_of(graph(trace, all_, host, as_hta=True))
    if plain is None:
        return None
    found = graph(trace, all_, host, as_hta=False)
    leading = _leading(trace, times, found)
    samples, still = _python(trace, found, leading)
    found, _ = with_threads(found, all_, leading, still)
    path = path_of(found)
    assert path is not None
    data = spans.of(found.threads[leading] if found.threads else -1, NEXT)
    ends_ns = [int(chain.time_ns[-1]) for chain in found.chains]
    begins_ns = [int(chain.time_ns[0]) for chain in found.chains]
    steps, steady_steps, left_out = counted
    return CriticalPath(
        rows=critical_rows(trace, all_, found, path, (leading, samples, data)),
        length_ns=path.length_ns,
        hta_ns=plain.length_ns,
        wall_ns=max(ends_ns) - min(begins_ns),
        steps=steps,
        steady_steps=steady_steps,
        left_out=left_out,
    )


def whole_graph(watch: CriticalWatch) -> Graph:
    """The graph of the whole recording, by the rules of HolisticTraceAnalysis."""
    all_ = all_events(watch.trace, watch.operators, 0, LATEST_NS)
    return graph(watch.trace, all_, host_chains(all_), as_hta=True)


def _leading(trace: Trace, times: StepTimes | None, found: Graph) -> int:
    """The chain of the leading loop's thread; without a loop the main thread's, else the longest one."""
    os_threads = trace.recording.os_threads()
    if times is not None and len(times.loops) and int(os_threads[times.loops.thread[0]]) in found.threads:
        return found.threads.index(int(os_threads[times.loops.thread[0]]))
    main = set(os_threads[:-1][trace.recording.main_thread()[:-1]].tolist())
    for at, thread in enumerate(found.threads):
        if thread in main:
            return at
    return max(range(len(found.threads)), key=lambda at: int(found.chains[at].reached_ns[-1]), default=0)


def _python(trace: Trace, found: Graph, leading: int) -> tuple[HostSpans, Mask]:
    """The samples of the leading thread, and for each of its gaps whether it mostly stood still in it.

    Without samples every gap counts as standing still, because it may have.
    """
    chain, thread = found.chains[leading], found.threads[leading] if found.threads else -1
    gaps = gaps_of(chain)
    rows = in_program(trace.recording)
    rows = rows.take(trace.recording.os_threads()[rows.thread] == thread)
    if len(rows) == 0:
        return HostSpans.empty(), np.ones(len(gaps), np.bool_)
    still = stood_still(trace.recording, rows.cpu_ns, rows.end_ns - rows.start_ns)
    start_ns, end_ns = chain.time_ns[gaps], chain.time_ns[gaps + 1]
    ran = rows.take(~still)
    ran_ns = Covered(ran.start_ns, ran.end_ns).within(start_ns, end_ns)
    return of_samples(trace, regions(trace), thread), np.asarray(2 * ran_ns < end_ns - start_ns)
