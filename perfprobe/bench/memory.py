"""Finds how much memory is available without swapping."""

from __future__ import annotations

import os

_LIMITS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def free_bytes() -> int:
    """Returns the least of what the machine and the control group (container) of this process have left."""
    found = [_of_machine()]
    for limit, used in _LIMITS:
        most, now = _number(limit), _number(used)
        if most is not None and now is not None:
            found.append(most - now)
    return max(0, min(found))


def _of_machine() -> int:
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _number(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None  # no such file, or "max"
