"""The TensorBoard plugin's breakdown of steps."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.loop.covered import Covered
from perfprobe.analyse.loop.ranges import NEXT, PREFIXES, PROFILER
from perfprobe.analyse.peers.held import Held
from perfprobe.analyse.peers.on_gpu import OnGpu
from perfprobe.tables.columns import Int64, Rows
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.gpu_use import PluginSteps
from perfprobe.tables.peers import Role, StepRoles
from perfprobe.tables.strings import Strings

_OF_GPU = (Role.KERNEL, Role.MEMCPY, Role.MEMSET, Role.COMMUNICATION)
_NONE = (np.empty(0, np.int64), np.empty(0, np.int64))
_COLLECTIVES = ("nccl:", "gloo:")


class RoleWatch:
    """Takes operators and ranges of all threads, and keeps by role when the host was at work."""

    def __init__(self, strings: Strings) -> None:
        role = np.full(len(strings.text) + 1, Role.CPU_EXEC, np.int8)
        role[strings.marks(lambda text: text.startswith(PREFIXES[NEXT]))] = Role.DATALOADER
        role[strings.marks(lambda text: text.startswith(_COLLECTIVES))] = Role.COMMUNICATION
        role[strings.marks(lambda text: text.startswith(PREFIXES[PROFILER]))] = Role.OTHER
        self._role = role
        self._held = {kind: Held() for kind in (Role.COMMUNICATION, Role.DATALOADER, Role.CPU_EXEC)}

    def add(self, rows: LinkedOperators, outermost: Rows, ranges: Rows) -> None:
        """Add operators of one thread.

        outermost: the rows that are in no other operator. ranges: the rows of ranges, some of which have
        another role.
        """
        own = np.append(outermost, ranges)
        collective = np.flatnonzero(self._role[rows.name] == Role.COMMUNICATION)
        for at in (own, collective) if len(collective) else (own,):
            role = self._role[rows.name[at]]
            for kind, held in self._held.items():
                chosen = at[role == kind]
                if len(chosen):
                    held.add(rows.start_ns[chosen], rows.end_ns[chosen])

    def spans(self) -> dict[Role, tuple[Int64, Int64]]:
        """Starts and ends for each role."""
        return {kind: held.all() for kind, held in self._held.items()}


def roles_of(steps: PluginSteps, host: dict[Role, tuple[Int64, Int64]], gpu: OnGpu | None) -> StepRoles:
    """The time of each role in each step, in ns. Time of several roles counts for the first in `Role`.

    Args:
        host: by role, starts and ends of the host's work on any thread.
        gpu: None without a GPU.
    """
    spans = dict(host)
    if gpu is not None:
        for at, role in enumerate(_OF_GPU):
            (start_ns, end_ns), (on_start_ns, on_end_ns) = spans.get(role, _NONE), gpu.of_type(at)
            spans[role] = np.append(start_ns, on_start_ns), np.append(end_ns, on_end_ns)
        spans[Role.RUNTIME] = (gpu.api_start_ns, gpu.api_end_ns)
    start_ns = end_ns = np.empty(0, np.int64)
    had_ns = np.zeros(len(steps), np.int64)
    parts = []
    for role in Role:
        own = spans.get(role)
        if role is Role.OTHER:
            covered_ns = steps.end_ns - steps.start_ns
        elif own is None or len(own[0]) == 0:
            continue
        else:
            start_ns, end_ns = np.append(start_ns, own[0]), np.append(end_ns, own[1])
            covered_ns = Covered(start_ns, end_ns).within(steps.start_ns, steps.end_ns)
        parts.append(_rows(role, covered_ns - had_ns))
        had_ns = covered_ns
    return StepRoles.concat(parts)


def _rows(role: Role, time_ns: Int64) -> StepRoles:
    steps = np.arange(len(time_ns), dtype=np.int32)
    return StepRoles(steps, np.full(len(time_ns), role, np.int8), time_ns)
