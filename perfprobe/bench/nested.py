"""Which operators a call itself calls, and what part of its time they take."""

from __future__ import annotations

from collections import Counter
from typing import Any

from perfprobe.bench.subjects import Subject

_CALLS = 3
_LEAST_PART = 0.02


def nested(torch: Any, operator: str, subject: Subject) -> tuple[tuple[str, float], ...]:
    """Operators that the call calls directly, the longest first, with their part of its wall time.

    Taken by torch's profiler apart from the timed blocks, as it makes short calls longer.
    """
    name = operator.partition(".")[0]
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], acc_events=True) as profile:
        subject.run(_CALLS)
    total_us, parts_us = 0.0, Counter[str]()
    for event in profile.events():
        if event.name == name and event.cpu_parent is None:
            total_us += event.cpu_time_total
            for child in event.cpu_children:
                parts_us[child.name] += child.cpu_time_total
    if not total_us:
        return ()
    found = [(name, time_us / total_us) for name, time_us in parts_us.most_common()]
    return tuple((name, part) for name, part in found if part >= _LEAST_PART)
