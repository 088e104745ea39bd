"""Counts events of all threads by the kernel's perf. An event that is not permitted or missing is a loss."""

from __future__ import annotations

from perfprobe import native
from perfprobe.collect.base import KEEP_OPEN, Collector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from perfprobe.collect.base import Facts
    from perfprobe.native import PerfCounters

INTERVAL_NS = 5_000_000


class CounterCollector(Collector):
    """The recorder's writer reads the counters from start to stop."""

    name = "counters"

    def __init__(self, facts: Facts, *, interval_ns: int = INTERVAL_NS, root: str = "/") -> None:
        self._facts = facts
        self._interval_ns = interval_ns
        self._root = root
        self._counters: PerfCounters | None = None
        self._traffic_refused: tuple[str, str] | None = None

    def start(self) -> None:
        """Starts counting, and writes down what is counted and what is not."""
        core = native.core()
        counters = core.PerfCounters(self._facts.recorder.capsule(), self._interval_ns, self._root)
        self._note_events(core.counter_events_allowed())
        counters.start()
        self._counters = counters
        self._note_traffic(counters)

    def stop(self) -> None:
        """Writes the last counts, and what reading them cost."""
        if self._counters is None:
            return
        figures = self._counters.stop()
        self._note_traffic(self._counters)
        self._facts.extend("counters", **figures)
        if figures["unread_threads"]:
            reason = "threads without counters: beyond 64, or too many open files"
            self._facts.loss(self.name, reason, figures["unread_threads"], "ulimit -n 65536")
        if figures["times_closed"]:
            reason = "counts between two readings: the program closed the counters, which were opened again"
            self._facts.loss(self.name, reason, figures["times_closed"], KEEP_OPEN)

    def _note_traffic(self, counters: PerfCounters) -> None:
        """Says once why memory bandwidth is not counted. It may be refused when it is opened again."""
        refused = counters.traffic_refused()
        if refused is not None and refused != self._traffic_refused:
            self._facts.loss(self.name, f"not counted: {refused[0]}", 1, refused[1])
        self._traffic_refused = refused

    def _note_events(self, events: list[tuple[str, bool, tuple[str, str] | None]]) -> None:
        """Writes all events as facts. Events refused for the same reason are one loss."""
        facts: list[dict[str, object]] = []
        losses: dict[tuple[str, str], list[str]] = {}
        for name, user_only, refused in events:
            reason, remedy = refused or ("", "")
            facts.append({"name": name, "in_kernel": not user_only, "reason": reason, "remedy": remedy})
            if refused is not None:
                losses.setdefault((reason.removeprefix(f"{name} "), remedy), []).append(name)
        self._facts.extend("counters", events=facts)
        for (reason, remedy), names in losses.items():
            self._facts.loss(self.name, f"not counted: {', '.join(names)}: {reason}", len(names), remedy)
