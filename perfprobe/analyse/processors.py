"""How long threads waited for a processor between readings of the counters, and who used it."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.grouping import sums_by
from perfprobe.models.readings import Changes, changes
from perfprobe.tables.columns import Int64, Mask
from perfprobe.tables.processors import (
    Lack,
    Processors,
    ProcessorTimes,
    ProcessorWindows,
    ThreadTimes,
    ThreadWaits,
)
from perfprobe.tables.recording import Recording
from perfprobe.tables.trace import Trace

_FILES = {
    "waiting": ("wait_ns", "/proc/self/task/*/schedstat"),
    "machine": ("busy_ns", "/proc/stat"),
    "pressure": ("pressure_ns", "/proc/pressure/cpu"),
    "quota": ("throttled_ns", "cpu.stat of the cgroup"),
}
_MACHINE_SUMS = ("children_cpu_ns", "stolen_ns", "pressure_ns", "throttled_ns")
_NO_PRESSURE = 0.001  # with less pressure, as a share of the window, no process waited because of others


def processors(trace: Trace) -> Processors | None:
    """All results of the readings, in ns; None if fewer than two were recorded."""
    recording = trace.recording
    found = changes(recording)
    if found is None:
        return None
    quota = recording.number("host", "cgroup_cores")
    windows = _windows(recording, found, quota)
    return _together(recording, found, windows, None if quota is None else float(quota))


def _windows(recording: Recording, found: Changes, quota: float | None) -> ProcessorWindows:
    readings = recording[ProcessorTimes]
    readings = readings.take(np.argsort(readings.time_ns, kind="stable"))
    count = len(readings) - 1

    def sums(chosen: Mask, column: Int64) -> Int64:
        kept = chosen & (found.reading > 0) & (found.reading <= count)
        return sums_by(found.reading[kept] - 1, np.maximum(column[kept], 0), count)

    of_program = ~found.is_perfprobe
    machine = {name: _since(getattr(readings, name)) for name in _MACHINE_SUMS}
    process_ns = _since(readings.process_cpu_ns)
    # Sums of the processors that the program may use: other ones, and so no difference, if these change.
    # Libraries move a thread to each processor in turn to learn what it is.
    same = readings.processors[1:] == readings.processors[:-1]
    busy_ns = np.where(same, _since(readings.busy_ns), -1)
    machine["stolen_ns"] = np.where(same, machine["stolen_ns"], -1)
    others_ns = np.maximum(busy_ns - process_ns - np.maximum(machine["children_cpu_ns"], 0), 0)
    made = {
        "start_ns": readings.time_ns[:-1],
        "end_ns": readings.time_ns[1:],
        "run_ns": sums(of_program, found.run_ns),
        "perfprobe_ns": sums(~of_program, found.run_ns),
        "process_cpu_ns": process_ns,
        "waited_ns": sums(of_program, found.wait_ns),
        "main_run_ns": sums(found.is_main, found.run_ns),
        "main_waited_ns": sums(found.is_main, found.wait_ns),
        "others_cpu_ns": np.where(busy_ns < 0, -1, others_ns),
        "processors": readings.processors[1:],
        **machine,
    }
    unknown = np.full(count, -1, np.int64)
    made |= dict.fromkeys(("own_ns", "others_ns", "unknown_ns"), unknown)
    if not bool((recording[ThreadTimes].wait_ns >= 0).any()):
        return ProcessorWindows(**{**made, "waited_ns": unknown, "main_waited_ns": unknown})
    most_own_ns = _most_own_waiting(found, made)
    return ProcessorWindows(**{**made, **_kinds(made, most_own_ns, quota)})


def _since(sums_ns: Int64) -> Int64:
    """The differences between consecutive readings, -1 if one of the two is not known."""
    known = (sums_ns[1:] >= 0) & (sums_ns[:-1] >= 0)
    return np.where(known, np.maximum(np.diff(sums_ns), 0), -1)


def _most_own_waiting(found: Changes, made: dict[str, Int64]) -> Int64:
    """Returns how long threads can have waited at most because of their own program, in each window.

    A thread waits for other threads and child processes at most as long as these ran, and for the quota at
    most as long as the program was throttled.
    """
    count = len(made["process_cpu_ns"])
    known = (np.maximum(made[name], 0) for name in ("process_cpu_ns", "children_cpu_ns", "throttled_ns"))
    all_ns = sum(known, np.zeros(count, np.int64))
    kept = ~found.is_perfprobe & (found.reading > 0) & (found.reading <= count)
    window = found.reading[kept] - 1
    others_ns = np.maximum(all_ns[window] - found.run_ns[kept], 0)
    return sums_by(window, np.minimum(np.maximum(found.wait_ns[kept], 0), others_ns), count)


def _kinds(made: dict[str, Int64], most_own_ns: Int64, quota: float | None) -> dict[str, Int64]:
    """Divide waiting by who used the processors, in this order:

    1. The program itself, for certain: the time it wanted to run beyond the cores that it may use.
    2. Neighbours, by their share u of the processors: work takes 1 / (1 - u) times as long.
    3. The program's other threads, at most as long as they ran.
    4. Neighbours, at most as long as they ran.

    The rest has no known cause. Without readings of the whole machine only the first is known.
    """
    wall_ns, waited_ns = made["end_ns"] - made["start_ns"], made["waited_ns"]
    cores = np.maximum(made["processors"], 1)
    allowed = cores if quota is None else np.minimum(cores, quota)
    wanted_ns = made["run_ns"] + waited_ns + made["perfprobe_ns"] + np.maximum(made["children_cpu_ns"], 0)
    has_cores = made["processors"] > 0
    least_ns = np.where(has_cores, np.clip(wanted_ns - allowed * wall_ns, 0, most_own_ns), 0)
    used_ns = np.maximum(made["others_cpu_ns"], 0)
    used_ns[(made["pressure_ns"] >= 0) & (made["pressure_ns"] < _NO_PRESSURE * wall_ns)] = 0
    part = np.minimum(used_ns / np.maximum(cores * wall_ns, 1), 0.99)
    stretched_ns = np.minimum(made["run_ns"] * part / (1 - part), waited_ns - least_ns)
    own_ns = least_ns + np.minimum(waited_ns - least_ns - stretched_ns, np.maximum(most_own_ns - least_ns, 0))
    more_ns = np.minimum(waited_ns - own_ns - stretched_ns, np.maximum(used_ns - stretched_ns, 0))
    known = made["others_cpu_ns"] >= 0
    own_ns = np.where(known, own_ns, least_ns).astype(np.int64)
    others_ns = np.rint(stretched_ns + more_ns).astype(np.int64)
    others_ns = np.where(known, np.minimum(others_ns, waited_ns - own_ns), -1)
    unknown_ns = waited_ns - own_ns - np.maximum(others_ns, 0)
    return {"own_ns": own_ns, "others_ns": others_ns, "unknown_ns": unknown_ns}


def _together(
    recording: Recording, found: Changes, windows: ProcessorWindows, quota: float | None
) -> Processors:
    wall_ns = int(windows.end_ns[-1] - windows.start_ns[0])
    affinity = int(windows.processors.max())
    known = [cores for cores in (float(affinity) if affinity > 0 else None, quota) if cores is not None]
    process_ns = int(windows.process_cpu_ns.sum())
    lacks = _missing_readings(recording, quota)
    missing = {one.what for one in lacks}

    def cores(name: str) -> float | None:
        time_ns = _total(getattr(windows, name))
        return None if time_ns is None else time_ns / max(wall_ns, 1)

    names = ("waited_ns", "own_ns", "others_ns", "unknown_ns", "main_waited_ns", "stolen_ns")
    return Processors(
        windows=windows,
        threads=_threads(recording, found),
        wall_ns=wall_ns,
        affinity_cores=affinity if affinity > 0 else None,
        quota_cores=quota,
        allowed_cores=min(known) if known else None,
        used_cores=process_ns / max(wall_ns, 1),
        children_cores=cores("children_cpu_ns"),
        others_cores=cores("others_cpu_ns"),
        **{name: _total(getattr(windows, name)) for name in (*names, "pressure_ns", "throttled_ns")},
        other_run_ns=max(process_ns - int(windows.run_ns.sum() + windows.perfprobe_ns.sum()), 0),
        evidence=tuple(file for what, (_, file) in _FILES.items() if what not in missing),
        lacks=lacks,
    )


def _total(column: Int64) -> int | None:
    """The sum over the windows in which the value is known, None if there are none."""
    known = column[column >= 0]
    return int(known.sum()) if len(known) else None


def _missing_readings(recording: Recording, quota: float | None) -> tuple[Lack, ...]:
    """Returns what the kernel did not provide, each with the recorded reason."""
    found = []
    for what, (name, file) in _FILES.items():
        table = recording[ThreadTimes if what == "waiting" else ProcessorTimes]
        if bool((getattr(table, name) >= 0).any()):
            continue
        why = recording.text("processors", "lacks", what)
        if what == "quota" and quota is None:
            why = "the cgroup has no quota, or none is visible"
        found.append(Lack(what, why or f"{file} has no value"))
    return tuple(found)


def _threads(recording: Recording, found: Changes) -> ThreadWaits:
    """A row for each thread, longest waiting first."""
    os_thread = recording.os_threads()[found.thread]
    _, first, row_of = np.unique(os_thread, return_index=True, return_inverse=True)
    row_of, rows = row_of.reshape(-1), len(first)
    known = sums_by(row_of, (found.wait_ns >= 0).astype(np.int64), rows) > 0
    waited_ns = sums_by(row_of, np.maximum(found.wait_ns, 0), rows)
    times_ns = recording[ProcessorTimes].time_ns
    last_ns = np.zeros(rows, np.int64)
    np.maximum.at(last_ns, row_of, np.sort(times_ns)[np.minimum(found.reading, len(times_ns) - 1)])
    made = ThreadWaits(
        thread=found.thread[first],
        run_ns=sums_by(row_of, found.run_ns, rows),
        waited_ns=np.where(known, waited_ns, -1),
        last_ns=last_ns,
        is_perfprobe=found.is_perfprobe[first],
        is_main=found.is_main[first],
    )
    return made.take(np.lexsort((-made.run_ns, -made.waited_ns)))
