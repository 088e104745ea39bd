"""The category of each storage, from the phase that allocated it and from its lifetime."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.memory.moments import NEVER_NS, Moments, Spans
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int8, Int64, Mask, Rows
from perfprobe.tables.memory import MemoryCategory, Storages
from perfprobe.tables.trace import Phase

_IN_BACKWARD = (Phase.BACKWARD, Phase.RECOMPUTE)


@frozen
class Lives:
    """Lifetimes of storages, cut where the category changes: a storage that outlives its step is `KEPT`."""

    start_ns: Int64
    end_ns: Int64  # `NEVER_NS` if it was not freed
    size_bytes: Int64
    category: Int8
    storage: Rows


def ends(storages: Storages) -> Int64:
    """Returns when each storage was freed, `NEVER_NS` if it was not."""
    return np.where(storages.end_ns >= 0, storages.end_ns, NEVER_NS)


def categories(storages: Storages, phase: Int8, moments: Moments) -> Int8:
    """Returns the category of each storage during the step that allocated it."""
    start_ns, end_ns = storages.start_ns, ends(storages)
    in_backward = (phase == _IN_BACKWARD[0]) | (phase == _IN_BACKWARD[1])
    in_optimizer = phase == Phase.OPTIMIZER
    in_forward = (phase == Phase.FORWARD) | (phase == Phase.COMPILE)
    elsewhere = ~(in_backward | in_optimizer | in_forward)
    meets_backward = end_ns > _next_in_step(start_ns, moments)
    found = np.full(len(storages), MemoryCategory.TEMPORARY, np.int8)
    found[in_forward & meets_backward] = MemoryCategory.ACTIVATION
    found[elsewhere & (end_ns > moments.backwards.next(start_ns))] = MemoryCategory.INPUT
    found[elsewhere & (end_ns == NEVER_NS)] = MemoryCategory.INPUT
    found[in_backward & _outlives(start_ns, end_ns, moments.backwards)] = MemoryCategory.GRADIENT
    found[in_optimizer & _outlives(start_ns, end_ns, moments.optimizers)] = MemoryCategory.OPTIMIZER
    found[storages.named > 0] = MemoryCategory.PARAMETER
    return found


def lives(storages: Storages, category: Int8, moments: Moments) -> Lives:
    """Returns lifetimes. A storage becomes `KEPT` when its step ends, an input when the next step ends."""
    end_ns = ends(storages)
    kept_ns = np.where(_can_be_kept(category), _kept_from(storages.start_ns, category, moments), NEVER_NS)
    kept = np.flatnonzero(kept_ns < end_ns)
    every = np.arange(len(storages))
    return Lives(
        start_ns=np.append(storages.start_ns, kept_ns[kept]),
        end_ns=np.append(np.minimum(end_ns, kept_ns), end_ns[kept]),
        size_bytes=np.append(storages.size_bytes, storages.size_bytes[kept]),
        category=np.append(category, np.full(len(kept), MemoryCategory.KEPT, np.int8)),
        storage=np.append(every, kept),
    )


def _can_be_kept(category: Int8) -> Mask:
    return np.asarray(
        (category == MemoryCategory.ACTIVATION)
        | (category == MemoryCategory.INPUT)
        | (category == MemoryCategory.TEMPORARY)
    )


def _kept_from(start_ns: Int64, category: Int8, moments: Moments) -> Int64:
    """Returns the end of the step that allocated each storage, for inputs of the step after that.

    `NEVER_NS` outside of steps.
    """
    step = moments.steps.around(start_ns)
    ahead = (category == MemoryCategory.INPUT).astype(np.intp)
    until = np.where(step >= 0, step + ahead, len(moments.steps.end_ns) + 1)
    step_ends = np.append(moments.steps.end_ns, [NEVER_NS, NEVER_NS])
    return np.asarray(step_ends[np.minimum(until, len(moments.steps.end_ns))])


def _next_in_step(time_ns: Int64, moments: Moments) -> Int64:
    """Returns the start of the next backward; `NEVER_NS` if that is in another step than the given time."""
    following = moments.backwards.next(time_ns)
    own = moments.steps.around(time_ns)
    return np.where((own < 0) | (moments.steps.around(following) == own), following, NEVER_NS)


def _outlives(start_ns: Int64, end_ns: Int64, parts: Spans) -> Mask:
    """Whether each outlives the part of the step that allocated it; outside of parts, whether it is kept."""
    place = parts.around(start_ns)
    until_ns = np.where(place >= 0, np.append(parts.end_ns, NEVER_NS - 1)[place], NEVER_NS - 1)
    return np.asarray(end_ns > until_ns)
