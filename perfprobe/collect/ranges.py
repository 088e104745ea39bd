"""Records the ranges that the program and its libraries set through NVTX, ITT and `perfprobe.range`."""

from __future__ import annotations

import os
import sys
from os import environ, putenv, unsetenv

from perfprobe import native
from perfprobe.collect.base import Collector
from perfprobe.support import install
from perfprobe.support.errors import EnvironmentLack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from perfprobe.collect.base import Facts
    from perfprobe.native import RangeLog

# The variable with which each library looks for a listener, once, at its first call.
_VARIABLES = {"NVTX": "NVTX_INJECTION64_PATH", "ITT": "INTEL_LIBITTNOTIFY64"}

_MISSING = {
    "open": "ranges that were still open at the end, or on a thread that ended",
    "unmatched": "ends of ranges that had begun before recording, on another thread, or never",
    "too_many": "ranges beyond 4,096 open on one thread, or 65,536 start/end ranges in all",
    "beyond": "ranges beyond 1,000,000 of one domain",
    "lost": "ranges dropped: out of memory",
    "other": "ranges beyond 65,536 different names, shown as (other)",
}
_REMEDIES = {
    "open": "end each range on the thread it began on",
    "beyond": "record a shorter part of the program",
    "other": "give ranges one name, without a number that changes",
}
_TORCH_CAME_BEFORE = "ITT ranges of torch and oneDNN: torch looks for a listener once, when it is imported"
_NVTX_CAME_BEFORE = "NVTX ranges of the package nvtx, if any: it looks for a listener once, when first used"
_FROM_THE_START = "record with `python -m perfprobe`, or start the recording earlier"


class RangeCollector(Collector):
    """The listener that NVTX and ITT find when the program's libraries make their first call.

    They find it in the C environment. The program's `os.environ` stays as under plain python. Processes that
    the program starts inherit the two variables, but the library that they load does nothing.

    Args:
        is_found: whether libraries found it in the process that this one was forked from, and so here.
    """

    name = "ranges"

    def __init__(self, facts: Facts, *, is_found: bool = False) -> None:
        self._facts = facts
        self._is_found = is_found
        self._log: RangeLog | None = None
        self._ours: list[str] = []
        self._had_nvtx = False

    def available(self) -> EnvironmentLack | None:
        """Returns why there are no ranges: the library for NVTX and ITT is missing. None if it exists."""
        path = native.injection()
        if os.path.isfile(path):
            return None
        return EnvironmentLack("ranges cannot be recorded", f"{path} is missing", install.rebuild())

    def start(self) -> None:
        """Starts recording; libraries find the listener from now on."""
        path = native.injection()
        # A forked child loads nothing and does not change the environment: threads that it does not have may
        # have held the locks.
        self._log = native.core().RangeLog(self._facts.recorder.capsule(), "" if self._is_found else path)
        self._log.start()
        if self._is_found:
            return
        for interface, variable in _VARIABLES.items():
            self._be_found(interface, variable, path)
        self._had_nvtx = "nvtx" in sys.modules
        if _VARIABLES["ITT"] in self._ours and "torch" in sys.modules and not self._was_found_by("libtorch"):
            self._facts.loss(self.name, _TORCH_CAME_BEFORE, 1, _FROM_THE_START)

    def stop(self) -> None:
        """Writes the last rows, which libraries set ranges, and losses."""
        if self._log is None:
            return
        for variable in self._ours:
            if variable not in environ:  # otherwise the program has set its own
                unsetenv(variable)
        if _VARIABLES["NVTX"] in self._ours and self._had_nvtx and not self._was_found_by("/nvtx/"):
            self._facts.loss(self.name, _NVTX_CAME_BEFORE, 1, _FROM_THE_START)
        figures = self._log.stop()
        self._facts.meta("ranges", {**figures, "clients": self._log.clients})
        for what, reason in _MISSING.items():
            if figures[what]:
                self._facts.loss(self.name, reason, figures[what], _REMEDIES.get(what, ""))

    def _be_found(self, interface: str, variable: str, path: str) -> None:
        given = environ.get(variable)
        if given == path:  # inherited from a recorded process that started this one
            del environ[variable]
        elif given is not None:
            reason = f"{interface} ranges: they go to another tool, {variable} is {given}"
            self._facts.loss(self.name, reason, 1, f"record without that tool, or unset {variable}")
            return
        putenv(variable, path)
        self._ours.append(variable)

    def _was_found_by(self, part: str) -> bool:
        """Whether a library with this in its path calls the listener, now or since an earlier recording."""
        return self._log is not None and any(part in library for _, library in self._log.clients)
