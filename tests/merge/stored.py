"""All storages of a recording at once, which perfprobe itself never has in memory."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.memory import NumberedStorages, TensorMemory


def storages_of(memory: TensorMemory) -> NumberedStorages:
    """The storages in the order of their allocations. Those that begin and those that end are the same."""
    stretches = list(memory.changes())
    begun = NumberedStorages.concat([one.begun for one in stretches])
    ended = NumberedStorages.concat([one.ended for one in stretches])
    ended = ended.take(np.argsort(ended.number))
    for name in ("number", "start_ns", "thread", "size_bytes", "stack", "storage"):
        assert np.array_equal(getattr(begun, name), getattr(ended, name)), name
    return ended
