"""How many threads ran at a time, beside the processors that the process may use."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int8, Int64
from perfprobe.tables.processors import Processors
from perfprobe.tables.recording import Recording
from perfprobe.tables.teams import ActiveThreads, ThreadActivity, Utilisation, UtilisationTimes

_MILLION = 1_000_000
_IDLE, _POOR, _OK = 0.5, 0.5, 0.85  # threads; parts of the allowed processors (VTune, as of 2024)
_WANTED = 0.15  # of the allowed processors: so much more is wanted where threads wait for their own


def activity(recording: Recording) -> ThreadActivity:
    """The rows between ticks, in the order of time."""
    rows = recording[ThreadActivity]
    rows = rows.take(rows.end_ns > rows.start_ns)
    return rows.take(np.argsort(rows.start_ns, kind="stable"))


def active_threads(recording: Recording, found: Processors) -> ActiveThreads:
    """A row between two ticks; between two readings where the sampler did not run."""
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
    """The `Utilisation` of each; all OK where the allowed processors are not known."""
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
    """The histogram."""
    time_ns = active.end_ns - active.start_ns
    kinds = np.array(list(Utilisation), np.int8)
    sums = [int(time_ns[active.utilisation == kind].sum()) for kind in kinds.tolist()]
    return UtilisationTimes(utilisation=kinds, time_ns=np.array(sums, np.int64))
