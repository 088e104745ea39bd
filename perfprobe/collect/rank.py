"""Notes this process's rank when the program makes its process group: not every launcher sets RANK."""

from __future__ import annotations

from perfprobe.collect.base import Collector
from perfprobe.collect.imports import ImportWatch
from perfprobe.collect.wrapped import WrappedFunctions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from perfprobe.collect.base import Facts

_MODULE = "torch.distributed.distributed_c10d"
_MADE = "_update_default_pg"  # called with the group of all ranks, and with None when that is destroyed


class RankCollector(Collector):
    """Writes the meta value `rank`, unless the environment said it already."""

    name = "rank"

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._watch = ImportWatch(_MODULE, self._wrap)
        self._wrapped = WrappedFunctions()

    def start(self) -> None:
        """Waits for torch.distributed."""
        self._watch.start()

    def stop(self) -> None:
        """Restores the function."""
        self._watch.stop()
        self._wrapped.restore()

    def _wrap(self, module: ModuleType) -> None:
        self._wrapped.wrap(module, _MADE, self._note)

    def _note(self, group: object = None, *_: object) -> None:
        rank, size = (getattr(group, name, None) for name in ("rank", "size"))
        if rank is not None and size is not None and not self._facts.known("rank"):
            self._facts.meta("rank", {"rank": int(rank()), "world_size": int(size())})
