"""Records the task of a child process of `multiprocessing`, and the parts of a DataLoader worker's time.

Callables without a frame time these parts: waiting for indices, the fetcher (dataset and collate function),
collation, handing over a batch, and pickling and sending it, which a thread of the queue does. Only objects
of the worker process change: its queues and its copy of torch's classes.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from perfprobe.native import ChildSheet

# `ChildKind` of perfprobe/tables/workers.py.
PROCESS, LOADER, POOL, EXECUTOR = 1, 2, 3, 4
_KINDS = {"multiprocessing.pool": POOL, "concurrent.futures.process": EXECUTOR}
_WORKER = "torch.utils.data._utils.worker"
_FETCHERS = ("_MapDatasetFetcher", "_IterableDatasetFetcher")


def describe(sheet: ChildSheet, row: int, process: Any) -> bool:
    """Writes into the row what this process will do, and times the parts of a worker.

    Returns whether it is a worker of a DataLoader.

    Args:
        process: the `multiprocessing.Process` that runs here.
    """
    target: Any = getattr(process, "_target", None)
    module = getattr(target, "__module__", None)
    sheet.set(row, "kind", _KINDS.get(module, PROCESS) if isinstance(module, str) else PROCESS)
    if module != _WORKER:
        sheet.set_name(row, _cut(_name(process, target)))
        return False
    names = target.__code__.co_varnames[: target.__code__.co_argcount]
    given = dict(zip(names, process._args, strict=False))
    sheet.set_name(row, _cut(type(given["dataset"]).__name__))
    given["collate_fn"] = sheet.timed(given["collate_fn"], row, "collate_ns")
    process._args = tuple(given.values())
    _time_queues(sheet, row, given["index_queue"], given["data_queue"])
    fetch = sys.modules["torch.utils.data._utils.fetch"]
    for name in _FETCHERS:
        kind = getattr(fetch, name)
        kind.fetch = sheet.timed(vars(kind)["fetch"], row, "fetch_ns", "batches")
    for cell, name in (("worker", "worker_id"), ("workers", "num_workers"), ("kind", "")):
        sheet.set(row, cell, given[name] if name else LOADER)
    return True


def _time_queues(sheet: ChildSheet, row: int, indices: Any, batches: Any) -> None:
    indices.get = sheet.timed(indices.get, row, "waiting_ns", first="ready_ns")
    free = batches._sem._semlock._get_value
    batches.put = sheet.timed(batches.put, row, "put_ns", free=free, most_free=batches._maxsize)
    batches._writer.send_bytes = batches._send_bytes = sheet.timed(batches._writer.send_bytes, row, "send_ns")
    queues: Any = sys.modules["multiprocessing.queues"]
    pickler = queues._ForkingPickler
    own: Any = type(pickler.__name__, (pickler,), {"__module__": pickler.__module__})
    own.dumps = sheet.timed(pickler.dumps, row, "send_ns")
    queues._ForkingPickler = own


def _name(process: Any, target: Any) -> str:
    """Returns the name of the function that runs; of the class if there is none."""
    name = getattr(target, "__qualname__", None)
    return name if isinstance(name, str) else type(process).__qualname__


def _cut(name: str) -> str:
    """Truncates the name to the size of the cell, at the end of a character."""
    return name.encode(errors="backslashreplace")[:48].decode(errors="ignore")
