"""The workers of each DataLoader together, and how long the main process waited for them.

What one more worker could save has an upper bound. Let n workers exist for L ns, and be busy for B ns in
total, while the main process waited for W ns. With a processor each, n + 1 workers need at least
B / (n + 1) ns, and the main process needs its own L - W ns. So at most min(W, L - B / (n + 1)) is saved. Time
spent waiting while workers were being started is in neither L nor W: more workers do not start sooner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.grouping import sort_by_keys
from perfprobe.analyse.worker_samples import FEWEST_LOOKS, Parts, pinned_ns
from perfprobe.tables.columns import TEXT, Int64, Rows
from perfprobe.tables.recording import Recording
from perfprobe.tables.trace import Line, Trace
from perfprobe.tables.workers import ChildKind, Loaders, LoaderWaits, WorkerFindings, Workers

_SUMS = ("batches", "dataset_ns", "collate_ns", "put_ns", "send_ns", "waiting_ns", "cpu_ns")


def worker_findings(
    trace: Trace, workers: Workers, waits: LoaderWaits | None, parts: Mapping[int, Parts]
) -> WorkerFindings | None:
    """All children, and a row for each DataLoader; None if there are no children.

    Args:
        waits: None if the main process's operators were not recorded.
        parts: by process, what samples show of the workers that were recorded in detail.
    """
    if len(workers) == 0:
        return None
    is_loader = np.flatnonzero((workers.kind == ChildKind.LOADER) & (workers.processes == 1))
    spans = _Spans(workers.take(is_loader))
    groups = [workers.take(is_loader[rows]) for rows in _groups(workers.take(is_loader))]
    of_groups = [_Spans(group) for group in groups]
    found = [_loader(trace, group, waits, parts) for group in groups]
    for row, own in zip(found, of_groups, strict=True):
        row["shares_waits"] = any(own.meets(other) for other in of_groups if other is not own)
    found.sort(key=lambda row: -row["busy_ns"])
    loaders = Loaders(**{name: _column(name, [row[name] for row in found]) for name in Loaders.dtypes})
    return WorkerFindings(
        workers, loaders, _cores_used(trace, workers.take(is_loader), spans), _cores(trace.recording)
    )


class _Spans:
    """The time in which at least one of some workers existed: disjoint intervals, in order."""

    def __init__(self, workers: Workers, until: str = "last_ns") -> None:
        start_ns, end_ns = workers.forked_ns, getattr(workers, until)
        known = (start_ns >= 0) & (end_ns > start_ns)
        order = np.argsort(start_ns[known], kind="stable")
        start_ns, end_ns = start_ns[known][order], np.maximum.accumulate(end_ns[known][order])
        first = np.append(True, start_ns[1:] > end_ns[:-1])[: len(start_ns)]
        self.start_ns = start_ns[first]
        self.end_ns = (
            end_ns[np.append(np.flatnonzero(first)[1:] - 1, len(end_ns) - 1)] if len(end_ns) else end_ns
        )

    @property
    def total_ns(self) -> int:
        """The total length of the intervals, in ns."""
        return int((self.end_ns - self.start_ns).sum())

    def meets(self, other: _Spans) -> bool:
        """Whether they overlap."""
        return self.common_ns(other.start_ns, other.end_ns) > 0

    def common_ns(self, start_ns: Int64, end_ns: Int64) -> int:
        """Returns how long these intervals are within it, in total."""
        if len(self.start_ns) == 0:
            return 0
        return int((self._before(end_ns) - self._before(start_ns)).sum())

    def _before(self, time_ns: Int64) -> Int64:
        """Returns how much of it had passed at each time."""
        lengths = np.append(0, np.cumsum(self.end_ns - self.start_ns))
        place = np.searchsorted(self.start_ns, time_ns, side="right") - 1
        inside = np.minimum(time_ns, self.end_ns[place]) - self.start_ns[place]
        return np.where(place < 0, 0, lengths[place] + inside)


def _groups(workers: Workers) -> list[Rows]:
    """The rows of each DataLoader: those with the same type of dataset, start method, number of workers."""
    if len(workers) == 0:
        return []
    _, name = np.unique(workers.name.astype(str), return_inverse=True)
    order, first = sort_by_keys([name.reshape(-1).astype(np.int32), workers.method, workers.workers])
    return [np.sort(rows) for rows in np.split(order, first[1:])]


def _loader(
    trace: Trace, workers: Workers, waits: LoaderWaits | None, parts: Mapping[int, Parts]
) -> dict[str, Any]:
    sums = {name: int(np.maximum(getattr(workers, name), 0).sum()) for name in _SUMS}
    busy_ns = sums["dataset_ns"] + sums["collate_ns"] + sums["put_ns"]
    ready = (workers.ready_ns >= 0) & (workers.forked_ns >= 0)
    start_up_ns = (workers.ready_ns - workers.forked_ns)[ready]
    looks = int(workers.queued_looks.sum())
    spans = _Spans(workers)
    number = int(workers.workers[0])
    waited = _waited(spans, workers, waits)
    return {
        **{"name": workers.name[0], "method": workers.method[0], "workers": number},
        "processes": len(workers),
        "incomplete": int((workers.ended < workers.processes).sum()),
        "detailed": int((workers.detail > 0).sum()),
        "start_up_ns": int(start_up_ns.mean()) if len(start_up_ns) else -1,
        "lived_ns": int(np.maximum(workers.last_ns - workers.ready_ns, 0)[ready].sum()),
        "span_ns": spans.total_ns,
        "busy_ns": busy_ns,
        **sums,
        **_in_dataset(sums["dataset_ns"], workers, parts),
        "queued_ppm": int(workers.queued.sum()) * 1_000_000 // looks if looks else -1,
        "queued_most": int(workers.queued_most.max()) if looks else -1,
        **waited,
        "pinning_ns": pinned_ns(trace, spans.start_ns, spans.end_ns),
        "most_gain_ns": _most_gain_ns(waited, spans.total_ns, busy_ns, number),
        "grown_bytes": _grown_bytes(workers),
    }


def _grown_bytes(workers: Workers) -> int:
    """By how much a worker's own memory grew on average; -1 if it was not read."""
    known = (workers.private_first_bytes >= 0) & (workers.private_bytes >= 0)
    grown = (workers.private_bytes - workers.private_first_bytes)[known]
    return int(np.maximum(grown, 0).mean()) if len(grown) else -1


def _waited(spans: _Spans, workers: Workers, waits: LoaderWaits | None) -> dict[str, int]:
    if waits is None:
        return {"waited_ns": -1, "start_wait_ns": -1}
    starting = _Spans(workers, "ready_ns")
    return {
        "waited_ns": spans.common_ns(waits.start_ns, waits.end_ns),
        "start_wait_ns": starting.common_ns(waits.start_ns, waits.end_ns),
    }


def _most_gain_ns(waited: Mapping[str, int], span_ns: int, busy_ns: int, number: int) -> int:
    if waited["waited_ns"] < 0 or number < 1:
        return -1
    start_ns = waited["start_wait_ns"]
    return max(min(waited["waited_ns"] - start_ns, span_ns - start_ns - busy_ns // (number + 1)), 0)


def _in_dataset(dataset_ns: int, workers: Workers, parts: Mapping[int, Parts]) -> dict[str, Any]:
    """Returns where the dataset's time goes, by the samples of workers recorded in detail.

    -1 and empty texts if there are fewer than FEWEST_LOOKS samples.
    """
    found = [parts[process] for process in workers.process.tolist() if process in parts]
    if sum(part.looks for part in found) < FEWEST_LOOKS:
        return {"transform_ns": -1, "file": "", "line": -1, "function": "", "line_ns": -1}
    scale = dataset_ns / max(sum(part.dataset_ns for part in found), 1)
    lines_ns: Counter[Line] = Counter()
    for part in found:
        lines_ns.update(part.lines_ns)
    (line, line_ns) = lines_ns.most_common(1)[0] if lines_ns else (Line("", -1, ""), -1)
    return {
        "transform_ns": round(scale * sum(part.transform_ns for part in found)),
        **line._asdict(),
        "line_ns": round(scale * line_ns) if line_ns >= 0 else -1,
    }


def _cores_used(trace: Trace, workers: Workers, spans: _Spans) -> float | None:
    """Cores used by the workers while they existed, plus the mean that this process used over the run."""
    own_ns, start_ns, end_ns = trace.cpu_ns, trace.start_ns, trace.end_ns
    if own_ns is None or start_ns is None or end_ns is None or end_ns <= start_ns or spans.total_ns == 0:
        return None
    return own_ns / (end_ns - start_ns) + int(np.maximum(workers.cpu_ns, 0).sum()) / spans.total_ns


def _cores(recording: Recording) -> float | None:
    """Returns the number of cores that the program may use: the smaller of mask and cgroup limit."""
    found = [recording.number("host", name) for name in ("cores_allowed", "cgroup_cores")]
    return min((float(number) for number in found if number is not None), default=None)


def _column(name: str, values: Sequence[object]) -> npt.NDArray[Any]:
    dtype = Loaders.dtypes[name]
    return np.array([*values, None], TEXT)[:-1].astype(dtype)
