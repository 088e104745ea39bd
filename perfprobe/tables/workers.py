"""Child processes that `multiprocessing` started: what each did, and DataLoader's workers together."""

from __future__ import annotations

from enum import IntEnum

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Table, Text, column


class ChildKind(IntEnum):
    """The task of a child process."""

    UNKNOWN = 0  # it ended, or was killed, before it was known; or the row stands for several
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
    """Child processes, as each recorded itself; times are on the clock of the recording.

    The parts of its time are those of a DataLoader's worker, -1 of others. What it was in the middle of when
    it was killed is not counted. One row may stand for several processes: all beyond the limit of rows.
    """

    processes: Int32 = column("how many; 1, except in the row of all that are beyond the limit")
    ended: Int32 = column("how many of them came to their end; others were killed or terminated, or left")
    process: Int32 = column("its number, -1 of several, and where it was killed before it could say")
    parent: Int32 = column("that of the process that started it, -1 of several")
    kind: Int8 = column("a `ChildKind`")
    method: Int8 = column("a `StartMethod`")
    detail: Int8 = column("1 where it also has a recording of its own")
    name: Text = column("the dataset's type; of others the function or the class that ran")
    worker: Int32 = column("its number within its DataLoader, -1 of others")
    workers: Int32 = column("how many that has at a time, -1 of others")
    forked_ns: Int64 = column("when its parent began to start it", optional=True)
    started_ns: Int64 = column("when it began to run the program's part", optional=True)
    ready_ns: Int64 = column("when it first asked what to load", optional=True)
    last_ns: Int64 = column("when it was last seen", optional=True)
    cpu_ns: Int64 = column("CPU time by then", combine=Combine.SUM, optional=True)
    batches: Int64 = column("how many it made", combine=Combine.SUM, optional=True)
    waiting_ns: Int64 = column("waiting to be asked for a batch", combine=Combine.SUM, optional=True)
    dataset_ns: Int64 = column(
        "in the dataset, with decoding and transforms", combine=Combine.SUM, optional=True
    )
    collate_ns: Int64 = column("in the collate function", combine=Combine.SUM, optional=True)
    put_ns: Int64 = column("handing batches to the queue's thread", combine=Combine.SUM, optional=True)
    send_ns: Int64 = column(
        "that thread's time: pickling, shared memory, the pipe", combine=Combine.SUM, optional=True
    )
    queued: Int64 = column("finished batches that lay in the queue when one more was put, summed up")
    queued_most: Int32 = column("the most of them", combine=Combine.MOST, optional=True)
    queued_looks: Int64 = column("how often that was asked", combine=Combine.SUM)


class Loaders(Table):
    """DataLoader's workers by dataset, start method and number, most time in them first.

    Sums of their workers, of all epochs. `busy_ns` is what a worker does for a batch: dataset, collation and
    handing over.
    """

    name: Text = column("the dataset's type")
    method: Int8 = column("a `StartMethod`")
    workers: Int32 = column("how many at a time, -1 not known")
    processes: Int32 = column("how many in all")
    incomplete: Int32 = column("of them, those that did not come to their end")
    detailed: Int32 = column("of them, those with recordings of their own")
    start_up_ns: Int64 = column("from its start until it asks what to load, mean of a worker", optional=True)
    lived_ns: Int64 = column("from then to when they were last seen", combine=Combine.SUM)
    span_ns: Int64 = column("time in which at least one of them was there, from when it was started")
    busy_ns: Int64 = column("time for batches", combine=Combine.SUM)
    batches: Int64 = column("how many they made", combine=Combine.SUM)
    dataset_ns: Int64 = column("in the dataset", combine=Combine.SUM)
    transform_ns: Int64 = column(
        "of that in decoding and transforms, by samples of those recorded in detail",
        combine=Combine.SUM,
        optional=True,
    )
    file: Text = column("of the user's line that has most of the dataset's time, by the same samples")
    line: Int32 = column("its number, -1 none was seen")
    function: Text = column("its function")
    line_ns: Int64 = column("what of the dataset's time it has", combine=Combine.SUM, optional=True)
    collate_ns: Int64 = column("in the collate function", combine=Combine.SUM)
    put_ns: Int64 = column("handing batches to the queue's thread", combine=Combine.SUM)
    send_ns: Int64 = column("that thread's time, beside the others", combine=Combine.SUM)
    waiting_ns: Int64 = column("waiting to be asked for a batch", combine=Combine.SUM)
    cpu_ns: Int64 = column("CPU time", combine=Combine.SUM)
    queued_ppm: Int64 = column(
        "batches that lay finished when one more was put, mean", unit="millionths", optional=True
    )
    queued_most: Int32 = column("the most of them", combine=Combine.MOST, optional=True)
    waited_ns: Int64 = column(
        "how long the main process waited for batches while they were there", optional=True
    )
    shares_waits: Int8 = column("1 where another loader's workers were there too: it waited for both")
    start_wait_ns: Int64 = column("of that, while a worker was being started", optional=True)
    pinning_ns: Int64 = column("what the main process's thread took to pin them, by samples", optional=True)
    most_gain_ns: Int64 = column("what one more worker could save at most", optional=True)


@frozen
class Feeding:
    """All children, and DataLoader's workers together.

    cores_used: of the machine's, by this process and the workers, while these were there; None not known.
    cores: how many this process may use.
    """

    workers: Workers
    loaders: Loaders
    cores_used: float | None
    cores: float | None


class LoaderWaits(Table):
    """Calls of `next` of a DataLoader with workers, in the main process, in the order in which they ended."""

    start_ns: Int64 = column("when it began")
    end_ns: Int64 = column("when it ended")
