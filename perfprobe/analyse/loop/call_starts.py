"""When the calls of outermost modules began on each thread."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int32, Int64, distinct
from perfprobe.tables.module_calls import ModuleCalls
from perfprobe.tables.recording import Recording


class CallStarts:
    """The calls of a recording by the system's number of their thread."""

    def __init__(self, recording: Recording) -> None:
        calls, os_threads = recording[ModuleCalls], recording.os_threads()
        threads = os_threads[calls.thread]
        self._starts_ns: dict[int, Int64] = {
            int(thread): np.sort(calls.start_ns[threads == thread]) for thread in distinct(threads)
        }

    def are_known(self, thread: int) -> bool:
        """Whether calls of this thread were recorded."""
        return thread in self._starts_ns

    def of(self, thread: int, end_ns: Int64) -> Int32:
        """Returns the number of the call that began last before each of these operators ended, -1 for none.

        Operators in which Python runs may contain calls. end_ns: of outermost operators of the thread.
        """
        return (np.searchsorted(self._starts_ns[thread], end_ns, side="left") - 1).astype(np.int32)
