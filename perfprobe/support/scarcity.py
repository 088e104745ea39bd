"""Says when memory, address space or threads run out: errors of the system do not say of what."""

from __future__ import annotations

import errno
import os

from perfprobe.support.errors import EnvironmentLack

_MORE_MEMORY = "raise the limit (`ulimit -v`, or that of the container), or let the program use less"
_MORE_THREADS = "raise the limit (`ulimit -u`, or the container's limit of PIDs)"
_REMEDIES = {errno.ENOMEM: _MORE_MEMORY, errno.EAGAIN: _MORE_THREADS}
_REASONS = {errno.ENOMEM: "out of memory or address space", errno.EAGAIN: "no more threads are allowed"}
# What glibc says of a library for which there is no room. If the kernel refuses it, a reason follows.
_UNMAPPED = ("failed to map segment from shared object", "Cannot allocate memory")
_MB = 1 << 20
REPORT_BYTES = 128 * _MB  # address space of numpy and of a report on a short recording


def scarcity(error: BaseException) -> tuple[str, str] | None:
    """Returns what ran out, and the remedy, if that is why this error was raised; else None."""
    is_memory = isinstance(error, MemoryError) or str(error).endswith(_UNMAPPED)
    number = errno.ENOMEM if is_memory else getattr(error, "errno", None)
    if number not in _REMEDIES:
        return None
    said = getattr(error, "strerror", None)
    is_ours = said is not None and said != os.strerror(number)
    return str(said) if is_ours else _REASONS[number], _REMEDIES[number]


def require_address_space(needed_bytes: int, what: str) -> None:
    """Raises EnvironmentLack if a limit leaves this process less. what: what is not possible then.

    Libraries need it when they are imported, and then end the process with messages of their own.
    """
    try:
        from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit
    except ImportError:  # Windows has no such limits
        return
    limit_bytes = getrlimit(RLIMIT_AS)[0]
    if limit_bytes == RLIM_INFINITY:
        return
    with open("/proc/self/statm", "rb") as file:
        left_bytes = limit_bytes - int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    if left_bytes < needed_bytes:
        left, needed = max(left_bytes, 0) // _MB, needed_bytes // _MB
        where = f"out of address space: {left} MiB are left, about {needed} MiB are needed"
        raise EnvironmentLack(what, where, "raise the limit: `ulimit -v`")
