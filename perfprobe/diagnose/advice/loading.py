"""Changes of a DataLoader: workers, more of them, fewer starts."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from perfprobe.diagnose.advice.known import IDLE, Known, change
from perfprobe.models.user_code import assigned
from perfprobe.tables.advice import Change, Check, Untold
from perfprobe.tables.diagnoses import Cause
from perfprobe.tables.judgements import LoaderRemedy, LoaderVerdicts
from perfprobe.tables.workers import WorkerFindings

_WAITS = 0.05  # of the steps: data loading that is worth a change
_STARTS = 0.03
_QUEUED_PPM = 500_000  # finished batches in the queue: workers are then not what is waited for
_LEAST_NS = 500_000  # of a batch: to receive one from a worker takes 300 us of the main thread, measured
_NUMBERS = (1, 2, 4, 8)
_RANGE = "enumerate(DataLoader)"
_ALONE = "#_SingleProcess"
_MAKER = "DataLoader"


def workers(known: Known) -> Iterator[Change | Untold]:
    """Workers for a loader that has none, if a processor is idle."""
    share = known.share(Cause.DATA)
    ranges = known.ranges(_RANGE)
    is_alone = len(ranges) > 0 and _ALONE in known.name(int(ranges.name[0]))
    is_alone = is_alone and int(ranges.usual_ns[0]) >= _LEAST_NS
    if share < _WAITS or not is_alone or _shares_no_items(known, int(ranges.frame[0])):
        return
    free = known.free_cores
    if free is None and not (known.gpu is not None and known.findings.trace.recording.is_trace):
        yield Untold(rule="workers", needs="perfprobe run")
        return
    numbers = _numbers(share, len(_NUMBERS) if free is None else free)
    if free == 0 and known.free_if_alone:
        yield Untold(rule="workers", needs=IDLE)
    elif numbers:
        yield _loader("workers", known, int(ranges.frame[0]), share, "num_workers", numbers)


def _numbers(share: float, free: float) -> list[int]:
    """Numbers of workers to try: as many as hide the loading, if there are processors for them."""
    enough = ceil(share / max(1 - share, 0.1))
    return [each for each in _NUMBERS if each <= min(max(enough, 2), ceil(free))]


def _shares_no_items(known: Known, frame: int) -> bool:
    """Whether each worker would give all items, because the dataset is a stream that knows of none."""
    line = known.line(frame)
    if line is None:
        return False
    is_stream = known.code.mentions(line.file, "IterableDataset")
    return is_stream and not known.code.mentions(line.file, "get_worker_info")


def with_workers(known: Known) -> Iterator[Change | Untold]:
    """What helps steps that wait for workers, by the verdict on the loader that they wait for longest."""
    found, verdicts = known.findings.get(WorkerFindings), known.findings.get(LoaderVerdicts)
    if found is None or verdicts is None or len(found.loaders) == 0:
        return
    rows = found.loaders
    at = int(rows.waited_ns.argmax())
    waited_ns, remedy = int(rows.waited_ns[at]), verdicts.found[at].remedy
    ranges = known.ranges(_RANGE)
    frame = int(ranges.frame[0]) if len(ranges) else -1
    share = known.share(Cause.DATA)
    if waited_ns <= 0:
        return
    if verdicts.found[at].mostly_starts or remedy is LoaderRemedy.PERSISTENT:
        start_share = _start_share(known, int(rows.start_wait_ns[at]))
        if start_share >= _STARTS:
            yield _loader("persistent-workers", known, frame, start_share, "persistent_workers", [True])
    elif remedy is LoaderRemedy.RECEIVING and share >= _WAITS:
        yield _loader("receiving", known, frame, share, "num_workers", [0])
    elif remedy is LoaderRemedy.WORKER and rows.queued_ppm[at] < _QUEUED_PPM:
        gain = share * min(int(rows.most_gain_ns[at]) / waited_ns, 1)
        number = int(rows.workers[at])
        if gain >= _WAITS and number > 0:
            yield _loader("more-workers", known, frame, gain, "num_workers", [number + 1])


def _start_share(known: Known, start_ns: int) -> float:
    """Of all steps: only the first one of each epoch waits for workers that start."""
    steps = known.times.steps.take(known.times.steps.loop == 0)
    return start_ns / max(int((steps.end_ns - steps.start_ns).sum()), 1)


_TRIES = {"num_workers": "workers={}", "persistent_workers": "persistent-workers"}


def _loader(rule: str, known: Known, frame: int, share: float, name: str, values: list[int]) -> Change:
    """A change of an argument of the DataLoader that a line loops over."""
    made = known.code.made_for(known.line(frame), _MAKER)
    what = f"{name}={values[-1]}"
    return change(
        rule,
        share,
        Check.SAME_BITS,
        what,
        f"{_MAKER}(..., {what})" if made is None else assigned(made, **{name: str(values[-1])}),
        frame=frame,
        line=None if made is None else made.line,
        tries=tuple(_TRIES[name].format(value) for value in values),
    )
