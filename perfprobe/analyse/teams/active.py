"""How many threads ran at a time, compared with the processors that the process may use."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int8, Int64
from perfprobe.tables.processors import Processors
from perfprobe.tables.recording import Recording
from perfprobe.tables.teams import ActiveThreads, ThreadActivity, Utilisation, UtilisationTimes

_MILLION = 1_000_000
# Limits of the classes, as in VTune (2024): running threads; then shares of the allowed processors.
_IDLE, _POOR, _OK = 0.5, 0.5, 0.85
_WANTED = 0.15  # oversubscribed: threads want at least this share more than the allowed processors


def activity(recording: Recording) -> ThreadActivity:
    """The activity between each two ticks of the sampler, ordered by time."""
    rows = recording[ThreadActivity]
    rows = rows.take(rows.end_ns > rows.start_ns)
    return rows.take(np.argsort(rows.start_ns, kind="stable"))


def active_threads(recording: Recording, found: Processors) -> ActiveThreads:
    """A row for each interval between two ticks; between two readings if the sampler did not run."""
    rows = activity(recording)
    if len(rows) == 0:
        return _of_readings(found)
    time_ns = rows.end_ns - rows.start_ns
    active_ppm = (rows.callers_ns + rows.helpers_ns) * _MILLION // time_ns
    return ActiveThreads(
        start_ns=rows.start_ns,
        end_ns=rows.end_ns,
        active_ppm=active_ppm,
        helpers_ppm=rows.helpers_ns * _MILLION // time_ns,
        utilisation=_classes(rows.start_ns, rows.end_ns, active_ppm, found),
    )


def _of_readings(found: Processors) -> ActiveThreads:
    windows = found.windows
    windows = windows.take(windows.end_ns > windows.start_ns)
    time_ns = windows.end_ns - windows.start_ns
    active_ppm = windows.run_ns * _MILLION // time_ns
    return ActiveThreads(
        start_ns=windows.start_ns,
        end_ns=windows.end_ns,
        active_ppm=active_ppm,
        helpers_ppm=np.full(len(windows), -1, np.int64),
        utilisation=_classes(windows.start_ns, windows.end_ns, active_ppm, found),
    )


def _classes(start_ns: Int64, end_ns: Int64, active_ppm: Int64, found: Processors) -> Int8:
    """The `Utilisation` of each interval; OK for all if the allowed processors are not known."""
    allowed = found.allowed_cores
    if allowed is None:
        return np.full(len(active_ppm), Utilisation.OK, np.int8)
    active = active_ppm / _MILLION
    part = active / allowed
    classes = np.full(len(active), Utilisation.IDEAL, np.int8)
    classes[part <= _OK] = Utilisation.OK
    classes[part <= _POOR] = Utilisation.POOR
    wanted = found.windows.between("own_ns", start_ns, end_ns) / (end_ns - start_ns)
    classes[(wanted >= _WANTED * allowed) & (active + wanted >= (1 + _WANTED) * allowed)] = Utilisation.OVER
    classes[active < _IDLE] = Utilisation.IDLE
    return classes


def utilisation_times(active: ActiveThreads) -> UtilisationTimes:
    """The time in ns of each `Utilisation`."""
    time_ns = active.end_ns - active.start_ns
    kinds = np.array(list(Utilisation), np.int8)
    sums = [int(time_ns[active.utilisation == kind].sum()) for kind in kinds.tolist()]
    return UtilisationTimes(utilisation=kinds, time_ns=np.array(sums, np.int64))
