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
from perfprobe.tables.steps import StepMark, StepTimes
from perfprobe.tables.trace import Trace

_COLUMNS = ("start_ns", "end_ns", "thread", "name", "frame", "forward_frame", "phase", "gap")


class CriticalWatch:
    """Keeps all operators of a trace but ranges, and the ranges of DataLoaders."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.operators: list[LinkedOperators] = []
        self.spans = NamedSpans(trace)

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, as `Trace.operators` yields it."""
        self.spans.add(batch)
        rows = np.flatnonzero(batch.scope != USER_SCOPE)
        self.operators.append(LinkedOperators.part({name: getattr(batch, name)[rows] for name in _COLUMNS}))

    def result(self) -> CriticalWatch:
        """Itself, because the path depends on the steps, which another pass finds (see `critical_path`)."""
        return self


def critical_path(watch: CriticalWatch, times: StepTimes) -> CriticalPath | None:
    """The path through the steady steps of the leading loop, in ns; None if nothing was recorded.

    Without steady steps it is the path through the whole recording.
    """
    trace, steps = watch.trace, times.steps
    steady = np.flatnonzero((steps.loop == 0) & (steps.mark == StepMark.STEADY))
    window = (0, LATEST_NS)
    if len(steady):
        window = int(steps.start_ns[steady].min()), int(steps.end_ns[steady].max())
    all_ = all_events(trace, watch.operators, *window)
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
    data = watch.spans.of(found.threads[leading] if found.threads else -1, NEXT)
    ends_ns = [int(chain.time_ns[-1]) for chain in found.chains]
    begins_ns = [int(chain.time_ns[0]) for chain in found.chains]
    return CriticalPath(
        rows=critical_rows(trace, all_, found, path, (leading, samples, data)),
        length_ns=path.length_ns,
        hta_ns=plain.length_ns,
        wall_ns=max(ends_ns) - min(begins_ns),
        steps=len(steady),
    )


def whole_graph(watch: CriticalWatch) -> Graph:
    """The graph of the whole recording, by the rules of HolisticTraceAnalysis."""
    all_ = all_events(watch.trace, watch.operators, 0, LATEST_NS)
    return graph(watch.trace, all_, host_chains(all_), as_hta=True)


def _leading(trace: Trace, times: StepTimes, found: Graph) -> int:
    """The chain of the leading loop's thread; without a loop the main thread's, else the longest one."""
    os_threads = trace.recording.os_threads()
    if len(times.loops) and int(os_threads[times.loops.thread[0]]) in found.threads:
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
