"""Other arguments for DataLoaders."""

from __future__ import annotations

import sys

from perfprobe.collect.tries.change import arguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from perfprobe.collect.tries.change import Change

_OF_WORKERS = ("prefetch_factor", "persistent_workers", "worker_init_fn", "multiprocessing_context")


def workers(torch: Any, change: Change) -> None:
    """Another number of workers."""
    number, endless = int(change.value), torch.utils.data.IterableDataset

    def more(dataset: object, given: dict[str, Any]) -> bool:
        if isinstance(dataset, endless) or given.get("num_workers", 0) == number:
            return False
        given["num_workers"] = number
        for name in _OF_WORKERS if number == 0 else ():
            given.pop(name, None)
        return True

    _with_others(torch, change, more)


def persistent_workers(torch: Any, change: Change) -> None:
    """Workers that live on."""
    _set(torch, change, "persistent_workers", True)


def prefetch(torch: Any, change: Change) -> None:
    """More batches ahead."""
    _set(torch, change, "prefetch_factor", int(change.value))


def worker_threads(torch: Any, change: Change) -> None:
    """Another number of threads in workers, where torch's is 1."""

    def begin(_: object, given: dict[str, Any]) -> bool:
        given["worker_init_fn"] = WorkerThreads(int(change.value), given.get("worker_init_fn"))
        return True

    _with_others(torch, change, _if_it_has_workers(begin))


class WorkerThreads:
    """Sets the number of threads in a worker, before and after the program's own function."""

    def __init__(self, number: int, own: Callable[[int], object] | None) -> None:
        self._number, self._own = number, own

    def __call__(self, worker: int) -> None:
        """Called in the worker."""
        if self._own is not None:
            self._own(worker)
        sys.modules["torch"].set_num_threads(self._number)


def _set(torch: Any, change: Change, name: str, value: object) -> None:
    def other(_: object, given: dict[str, Any]) -> bool:
        is_other = bool(given.get(name) != value)
        given[name] = value
        return is_other

    _with_others(torch, change, _if_it_has_workers(other))


def _if_it_has_workers(alter: Callable[..., bool]) -> Callable[..., bool]:
    return lambda dataset, given: given.get("num_workers", 0) > 0 and alter(dataset, given)


def _with_others(torch: Any, change: Change, alter: Callable[..., bool]) -> None:
    """alter: is called with the dataset and the other arguments by name, and says whether it changed them."""
    kind = torch.utils.data.DataLoader
    original = kind.__init__
    names = arguments(original)[2:]

    def made(self: Any, dataset: object, *plain: object, **given: Any) -> None:
        given.update(zip(names, plain))  # noqa: B905 (torch refuses more)
        if alter(dataset, given):
            change.applied()
        original(self, dataset, *plain[len(names) :], **given)

    change.replace(kind, "__init__", made)
