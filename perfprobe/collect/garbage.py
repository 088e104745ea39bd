"""Records how long Python's garbage collections took, as ranges of the interpreter.

`gc.callbacks` is the interpreter's own list for this. Ours comes first in it, so that what the program's own
callbacks do is not part of a collection; a program that empties the list ends this, and nothing else.
"""

from __future__ import annotations

import gc

from perfprobe import native
from perfprobe.collect.base import Collector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from perfprobe.support.errors import EnvironmentLack


class GarbageCollections(Collector):
    """Its rows are ranges, so it comes after the collector of ranges."""

    name = "garbage collections"

    def available(self) -> EnvironmentLack | None:
        """None: it always works."""
        return None

    def start(self) -> None:
        """Begin to receive collections."""
        gc.callbacks.insert(0, native.core().garbage_collected)

    def stop(self) -> None:
        """Stop receiving collections."""
        told = native.core().garbage_collected
        if told in gc.callbacks:
            gc.callbacks.remove(told)
