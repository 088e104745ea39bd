"""The ceilings of this machine: measured in fresh processes, cached, never taken from a datasheet."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import TypeAlias

from perfprobe.bench.ceilings import cache, sweep
from perfprobe.bench.ceilings.gather import Gathered, levels_of
from perfprobe.bench.ceilings.processes import rows
from perfprobe.bench.ceilings.sweep import Sweep
from perfprobe.support.errors import EnvironmentLack, InputError, PerfprobeError
from perfprobe.tables.machine import Machine

Progress: TypeAlias = Callable[[int, int, str], None]  # cases done, number of cases, what was measured last
Tell: TypeAlias = Callable[[str], None]


def _silent(*_: object) -> None:
    """Does nothing."""


def cached(device: str = "cpu", threads: Sequence[int] = (), tell: Tell = _silent) -> Machine | None:
    """Returns the cached ceilings; None if there are none for this machine and this torch.

    Args:
        threads: numbers of threads that must have been measured.
        tell: called with a line if the cache cannot be used.
    """
    try:
        key = cache.key(device)
        machine = cache.read(cache.path_of(key), key)
    except InputError as error:
        tell(str(error))
        return None
    if machine is None or not set(threads) <= {one.threads for one in machine.ceilings}:
        return None
    return machine


def measured(
    progress: Progress = _silent,
    device: str = "cpu",
    threads: Sequence[int] = (),
    tell: Tell = _silent,
    wanted: Sweep | None = None,
) -> Machine:
    """Measures the ceilings now, within a minute on two cores, and caches them.

    Args:
        threads: numbers of torch's threads. Empty means one, and as many as there are cores.
        tell: called with a line if the results cannot be cached.
        wanted: what to measure instead of everything. Such results are not cached.

    Raises:
        EnvironmentLack: there is no torch or no such device, or the measuring processes cannot run.
    """
    began_s = time.monotonic()
    plan = wanted or sweep.full(device, tuple(threads) or default_threads())
    gathered = _gathered(plan, progress)
    ceilings = gathered.ceilings()
    if not ceilings:
        raise EnvironmentLack("no ceiling could be measured", device, "; ".join(gathered.missing.values()))
    key = cache.key(device)
    machine = Machine(
        name=cache.processor() if device == "cpu" else gathered.facts["name"],
        key=key,
        torch=gathered.facts["torch"],
        measured=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        seconds=time.monotonic() - began_s,
        noise=gathered.noise(),
        contention=gathered.contention(),
        ceilings=ceilings,
        levels=levels_of(ceilings, device),
        missing=gathered.left_out(),
    )
    if wanted is None:
        _keep(machine, device, tell)
    return machine


def default_threads() -> tuple[int, ...]:
    """Returns one, and torch's default: the number of cores that this process may use."""
    return tuple(sorted({1, len({_core(number) for number in os.sched_getaffinity(0)})}))


def _core(number: int) -> str:
    """Returns a text that is equal for the processors of one core. If unknown, each counts as a core."""
    try:
        with open(
            f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list", encoding="ascii"
        ) as file:
            return file.read()
    except OSError:
        return str(number)


def _gathered(plan: Sweep, progress: Progress) -> Gathered:
    """Measures in several processes, one after the other; in fewer of them if they take long."""
    gathered = Gathered(plan.device)
    end_s = time.monotonic() + plan.seconds * plan.processes
    for process in range(plan.processes):
        if process and time.monotonic() + plan.seconds / 2 > end_s:
            why = "other programs slowed down the first ones"
            gathered.missing[f"process {process + 1} of {plan.processes}"] = why
            break
        done = 0
        for row in rows(replace(plan, first=process)):
            gathered.add(row)
            all_cases = gathered.facts.get("cases", 1)
            done += "cases" not in row and done < all_cases
            what = str(row.get("what") or "")
            progress(process * all_cases + done, plan.processes * all_cases, what)
    return gathered


def _keep(machine: Machine, device: str, tell: Tell) -> None:
    """Caches the ceilings, together with cached ones of other numbers of threads."""
    path = cache.path_of(machine.key)
    try:
        kept = cache.read(path, machine.key)
    except InputError:
        kept = None
    own = {one.threads for one in machine.ceilings}
    others = () if kept is None else tuple(one for one in kept.ceilings if one.threads not in own)
    both = (*machine.ceilings, *others)
    try:
        cache.write(replace(machine, ceilings=both, levels=levels_of(both, device)), path)
    except PerfprobeError as error:
        tell(str(error))
