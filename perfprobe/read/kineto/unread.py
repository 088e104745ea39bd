"""Counts the work of devices that is in a trace and not read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from perfprobe.read.kineto.event import FIRST_TEXT, Events

# How categories of Kineto's events begin (libkineto/src/ActivityType.cpp), and what they are of.
_CATEGORIES = {"mtia": "MTIA", "hpu": "Gaudi", "glow": "Glow", "privateuse1": "another device"}
# How torch_npu calls the rows of the device, whose events have no category.
_ASCEND, _PROCESSES = "Ascend", ("Ascend Hardware", "Communication", "HCCL")


class UnreadDevices:
    """Sees all events of a trace."""

    def __init__(self) -> None:
        self._processes: set[int] = set()  # their numbers
        self._spans: Counter[int] = Counter()  # without a category, by process

    def add(self, events: Events, spans: Events) -> None:
        """Takes some events, and which of them have a duration."""
        named = events.take(events.equals("ph", "M") & events.equals("name", "process_name"))
        for process, name in zip(
            named.codes("pid").tolist(), named.codes("thread_name").tolist(), strict=True
        ):
            if process > FIRST_TEXT and str(named.value(name)).startswith(_PROCESSES):
                self._processes.add(process)
        bare = spans.take(~spans.has("cat"))
        pid = bare.codes("pid")
        known, count = np.unique(pid[pid > FIRST_TEXT], return_counts=True)
        self._spans.update(dict(zip(known.tolist(), count.tolist(), strict=True)))

    def meta(self, skipped: Mapping[str, int]) -> dict[str, Any]:
        """The meta value, if there is any such work. skipped: number of events by category."""
        found: Counter[str] = Counter()
        for category, count in skipped.items():
            maker = next(
                (name for begin, name in _CATEGORIES.items() if category.lower().startswith(begin)), None
            )
            if maker is not None:
                found[maker] += count
        found[_ASCEND] = sum(self._spans[process] for process in self._processes)
        return (
            {"unread": {name: count for name, count in found.items() if count}} if any(found.values()) else {}
        )
