"""Notes what the program sets in torch: modes that make it slower, and its number of threads."""

from __future__ import annotations

import os
import sys
from time import monotonic_ns

from perfprobe.collect.base import Collector
from perfprobe.collect.imports import ImportWatch
from perfprobe.collect.place import place_of
from perfprobe.collect.wrapped import WrappedFunctions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from perfprobe.collect.base import Facts

PROFILER, ANOMALY, DETERMINISTIC = "torch.profiler", "anomaly mode", "deterministic algorithms"
_MOST = 1000  # times that modes are switched on; later ones are counted


class ModeCollector(Collector):
    """Wraps the functions with which torch switches these modes, without changing what they do."""

    name = "modes"

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._folder = ""  # torch's own
        self._on: dict[str, dict[str, object]] = {}  # modes that are on
        self._rows: list[dict[str, object]] = []  # all times that one was
        self._more = 0
        self._threads: dict[str, object] = {}
        self._wrapped = WrappedFunctions()
        self._watch = ImportWatch("torch", self._wrap_all)

    def start(self) -> None:
        """Waits for torch; starts at once if it is imported already."""
        self._watch.start()

    def stop(self) -> None:
        """Restores the functions, and writes the meta value `modes`."""
        self._watch.stop()
        self._wrapped.restore()
        self._write()

    def _wrap_all(self, torch: ModuleType) -> None:
        self._folder = os.path.dirname(str(torch.__file__)) + os.sep
        profiler, native = sys.modules.get("torch.autograd.profiler"), getattr(torch, "_C", None)
        # Called while the profiler is off, so that it does not show our callable among the program's.
        wrap = self._wrapped.wrap
        wrap(profiler, "_run_on_profiler_start", lambda *_: self._switch(PROFILER, True))
        wrap(profiler, "_run_on_profiler_stop", lambda *_: self._switch(PROFILER, False))
        for module, name, mode in (
            (torch, "set_anomaly_enabled", ANOMALY),
            (native, "_set_deterministic_algorithms", DETERMINISTIC),
        ):
            wrap(module, name, lambda *given, mode=mode: self._switch(mode, any(given[:1])))
        wrap(torch, "set_num_threads", self._set_threads)

    def _switch(self, mode: str, on: bool) -> None:
        if not on:
            row = self._on.pop(mode, None)
            if row is not None:
                row["until_ns"] = monotonic_ns()
        elif mode not in self._on and len(self._rows) < _MOST:
            self._on[mode] = {
                "mode": mode,
                "from_ns": monotonic_ns(),
                **place_of(sys._getframe(1), self._folder),
            }
            self._rows.append(self._on[mode])
            if len(self._rows) == 1:  # the recording of a killed program has it too
                self._write()
        elif mode not in self._on:
            self._more += 1

    def _set_threads(self, *given: object) -> None:
        """The latest call counts."""
        self._threads = {"number": given[0] if given else None, **place_of(sys._getframe(1), self._folder)}
        self._write()

    def _write(self) -> None:
        if self._rows or self._threads:
            self._facts.meta(self.name, {"rows": self._rows, "more": self._more, "threads": self._threads})
