"""Records how long Python's garbage collections took, as ranges of the interpreter.

`gc.callbacks` is the interpreter's list for this. perfprobe's callback is the first, so that the program's
own callbacks are not part of a collection. If the program empties the list, only this recording ends.
"""

from __future__ import annotations

import gc

from perfprobe import native
from perfprobe.collect.base import Collector


class GarbageCollections(Collector):
    """Records garbage collections as ranges, so it must start after the collector of ranges."""

    name = "garbage collections"

    def start(self) -> None:
        """Starts receiving collections."""
        gc.callbacks.insert(0, native.core().garbage_collected)

    def stop(self) -> None:
        """Stops receiving collections."""
        callback = native.core().garbage_collected
        if callback in gc.callbacks:
            gc.callbacks.remove(callback)
