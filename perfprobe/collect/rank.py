"""Notes this process's rank when the program makes its process group: not every launcher sets RANK."""

from __future__ import annotations

from perfprobe.collect.base import Collector
from perfprobe.collect.held_signals import around
from perfprobe.collect.imports import ImportWatch

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
        self._module: ModuleType | None = None

    def start(self) -> None:
        """Waits for torch.distributed."""
        self._watch.start()

    def stop(self) -> None:
        """Restores the function."""
        self._watch.stop()
        if self._module is not None and getattr(self._module, _MADE, None) is self._ours:
            setattr(self._module, _MADE, self._original)
        self._module = None

    def _wrap(self, module: ModuleType) -> None:
        self._original = getattr(module, _MADE, None)
        if self._original is not None:
            self._ours = around(self._original, before=self._note)
            setattr(module, _MADE, self._ours)
            self._module = module

    def _note(self, group: object = None, *_: object) -> None:
        rank, size = (getattr(group, name, None) for name in ("rank", "size"))
        if rank is not None and size is not None and not self._facts.known("rank"):
            self._facts.meta("rank", {"rank": int(rank()), "world_size": int(size())})
