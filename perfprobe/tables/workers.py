"""Child processes that `multiprocessing` started: what each did, and DataLoader's workers in total."""

from __future__ import annotations

from enum import IntEnum

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Table, Text, column


class ChildKind(IntEnum):
    """The task of a child process."""

    UNKNOWN = 0  # it ended before it was known, or the row stands for several
    PROCESS = 1
    LOADER = 2  # a worker of torch's DataLoader
    POOL = 3
    EXECUTOR = 4  # of concurrent.futures.ProcessPoolExecutor


class StartMethod(IntEnum):
    """How a child was started."""

    UNKNOWN = 0
    FORK = 1
    SPAWN = 2


class Workers(Table):
    """Child processes, as each recorded itself. Times are on the recording's clock.

    The parts of its time are those of a DataLoader's worker, -1 for others. If a child is killed, its current
    part is not counted. One row may stand for several processes: all beyond the limit of rows.
    """

    processes: Int32 = column("number of processes: 1, except in the row of all beyond the limit")
    ended: Int32 = column(
        "number of those that ended normally; others were killed or terminated, or left by os._exit"
    )
    process: Int32 = column("its PID, -1 for several, and if it was killed too early")
    parent: Int32 = column("PID of the process that started it, -1 for several")
    kind: Int8 = column("a `ChildKind`")
    method: Int8 = column("a `StartMethod`")
    detail: Int8 = column("1 if it also has its own recording")
    name: Text = column("type of the dataset; for others the function or class that ran")
    worker: Int32 = column("its number in its DataLoader, -1 for others")
    workers: Int32 = column("number of workers that its DataLoader has at a time, -1 for others")
    forked_ns: Int64 = column("when its parent started it", optional=True)
    started_ns: Int64 = column("when it began to run the program's part", optional=True)
    ready_ns: Int64 = column("when it first requested indices", optional=True)
    last_ns: Int64 = column("when it was last seen", optional=True)
    cpu_ns: Int64 = column("CPU time until then", combine=Combine.SUM, optional=True)
    batches: Int64 = column("number of batches it made", combine=Combine.SUM, optional=True)
    waiting_ns: Int64 = column("time waiting for the indices of a batch", combine=Combine.SUM, optional=True)
    dataset_ns: Int64 = column(
        "time in the dataset, including decoding and transforms", combine=Combine.SUM, optional=True
    )
    collate_ns: Int64 = column("time in the collate function", combine=Combine.SUM, optional=True)
    put_ns: Int64 = column("time handing batches to the queue's thread", combine=Combine.SUM, optional=True)
    send_ns: Int64 = column(
        "time of that thread: pickling, shared memory, the pipe", combine=Combine.SUM, optional=True
    )
    queued: Int64 = column("sum, over batches put, of the finished batches in the queue")
    queued_most: Int32 = column("the most finished batches in the queue", combine=Combine.MOST, optional=True)
    queued_looks: Int64 = column("number of batches put for which the queue was read", combine=Combine.SUM)
    private_first_bytes: Int64 = column(
        "memory that only it has, and no other process shares, after its first batch", optional=True
    )
    private_bytes: Int64 = column(
        "the same when it was last read, which is after the first, second, fourth, eighth... batch",
        optional=True,
    )


class Loaders(Table):
    """DataLoader's workers by dataset, start method and number, most time first.

    Sums are over their workers in all epochs. `busy_ns` is a worker's time for a batch: dataset, collation
    and handing over.
    """

    name: Text = column("type of the dataset")
    method: Int8 = column("a `StartMethod`")
    workers: Int32 = column("number of workers at a time, -1 if not known")
    processes: Int32 = column("number of workers in total")
    incomplete: Int32 = column("number of workers that did not end normally")
    detailed: Int32 = column("number of workers with their own recordings")
    start_up_ns: Int64 = column(
        "mean time of a worker from its start until it requests indices", optional=True
    )
    lived_ns: Int64 = column("time from then until they were last seen", combine=Combine.SUM)
    span_ns: Int64 = column("time in which at least one worker existed")
    busy_ns: Int64 = column("time for batches", combine=Combine.SUM)
    batches: Int64 = column("number of batches they made", combine=Combine.SUM)
    dataset_ns: Int64 = column("time in the dataset", combine=Combine.SUM)
    transform_ns: Int64 = column(
        "the part of dataset_ns in decoding and transforms, by samples of workers with recordings",
        combine=Combine.SUM,
        optional=True,
    )
    file: Text = column("file of the user's line with most of the dataset's time, by the same samples")
    line: Int32 = column("number of that line, -1 if none was seen")
    function: Text = column("function of that line")
    line_ns: Int64 = column("the part of dataset_ns at that line", combine=Combine.SUM, optional=True)
    collate_ns: Int64 = column("time in the collate function", combine=Combine.SUM)
    put_ns: Int64 = column("time handing batches to the queue's thread", combine=Combine.SUM)
    send_ns: Int64 = column("time of that thread, which runs in the background", combine=Combine.SUM)
    waiting_ns: Int64 = column("time waiting for the indices of a batch", combine=Combine.SUM)
    cpu_ns: Int64 = column("CPU time", combine=Combine.SUM)
    queued_ppm: Int64 = column(
        "mean number of finished batches in the queue when one more was put", unit="millionths", optional=True
    )
    queued_most: Int32 = column("the most finished batches in the queue", combine=Combine.MOST, optional=True)
    waited_ns: Int64 = column(
        "time in which the main process waited for batches while the workers existed", optional=True
    )
    shares_waits: Int8 = column(
        "1 if another loader's workers existed at the same time: the waiting is for both"
    )
    start_wait_ns: Int64 = column("the part of waited_ns in which a worker was being started", optional=True)
    pinning_ns: Int64 = column(
        "time of the main process's thread that pins batches, by samples", optional=True
    )
    most_gain_ns: Int64 = column("the most that one more worker could save", optional=True)
    grown_bytes: Int64 = column(
        "how much the memory grew that only a worker has, from its first batch on: mean", optional=True
    )


@frozen
class WorkerFindings:
    """All children, and DataLoader's workers in total.

    Attributes:
        cores_used: cores used by this process and the workers while these existed; None if not known.
        cores: number of cores that this process may use.
    """

    workers: Workers
    loaders: Loaders
    cores_used: float | None
    cores: float | None

    @property
    def made_batches(self) -> bool:
        """Whether workers made any batch."""
        return bool((self.loaders.batches > 0).any())


class LoaderWaits(Table):
    """Calls of `next` of a DataLoader with workers, in the main process, in the order of their ends."""

    start_ns: Int64 = column("when it began")
    end_ns: Int64 = column("when it ended")
