"""What a thread was doing between operators, as samples show it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from perfprobe.analyse.grouping import sort_by_keys, sums_by
from perfprobe.analyse.sampled import in_program
from perfprobe.models.waiting import stood_still
from perfprobe.tables.between import Activities, Doing
from perfprobe.tables.columns import Int32, Int64, Mask, Rows
from perfprobe.tables.python import ImportStacks, Look, PythonCode
from perfprobe.tables.threads import each_thread
from perfprobe.tables.trace import Trace


@dataclass
class _Thread:
    """The samples of a thread, ordered by time. rows: their rows. is_between: which are between operators.

    before, after: the stacks of the operators around those, -1 for the others.
    """

    rows: Rows
    time_ns: Int64
    before: Int32 = field(init=False)
    after: Int32 = field(init=False)
    is_between: Mask = field(init=False)

    def __post_init__(self) -> None:
        self.before, self.after = (np.full(len(self.rows), -1, np.int32) for _ in range(2))
        self.is_between = np.zeros(len(self.rows), np.bool_)


class SampledIntervals:
    """Finds the samples in the intervals between operators, which it is given thread by thread."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._samples = in_program(trace.recording)
        self._thread_of = trace.recording.os_threads()
        samples = self._samples
        time_ns = np.where(samples.looks > 0, samples.end_ns, samples.start_ns)
        by_time = np.argsort(time_ns, kind="stable")
        by_time = by_time[(samples.look[by_time] == Look.READ) & (samples.stack[by_time] >= 0)]
        parts = each_thread(self._thread_of[samples.thread[by_time]])
        self._threads = {key: _Thread(by_time[own], time_ns[by_time[own]]) for key, own in parts}

    def add(self, thread: int, start_ns: Int64, end_ns: Int64, before: Int32, after: Int32) -> None:
        """Add intervals of a thread, ordered by time. before, after: the stacks of the operators around."""
        found = self._threads.get(int(self._thread_of[thread]))
        if found is None or len(start_ns) == 0:
            return
        first, last = np.searchsorted(found.time_ns, [start_ns[0], end_ns[-1]], side="right")
        time_ns = found.time_ns[first:last]
        at = np.minimum(np.searchsorted(end_ns, time_ns), len(end_ns) - 1)
        inside = (start_ns[at] <= time_ns) & (time_ns <= end_ns[at])
        place = np.arange(first, last)[inside]
        found.before[place], found.after[place] = before[at[inside]], after[at[inside]]
        found.is_between[place] = True

    def between(self, thread: int) -> tuple[Int32, Int32, Rows]:
        """The samples between operators of a thread: stacks before, stacks after, and rows of samples."""
        found = self._threads.get(int(self._thread_of[thread]))
        if found is None:
            none = np.empty(0, np.int32)
            return none, none, np.empty(0, np.intp)
        here = found.is_between
        return found.before[here], found.after[here], found.rows[here]

    def outside(self, thread: int, first_ns: int, last_ns: int) -> tuple[Rows, Rows]:
        """The rows of samples of a thread before its first operator, and of those after its last one."""
        found = self._threads.get(int(self._thread_of[thread]))
        if found is None:
            return np.empty(0, np.intp), np.empty(0, np.intp)
        return found.rows[found.time_ns < first_ns], found.rows[found.time_ns > last_ns]

    def activities(self, samples: Rows, group: Rows, groups: int) -> Activities:
        """Returns what each group of samples shows for most of its time.

        Args:
            samples: rows of samples.
            group: the group of each of them, from 0 to groups - 1.
            groups: how many groups there are.
        """
        if self._trace.python is None or len(samples) == 0:
            return Activities.none(groups)
        stack = self._samples.stack[samples]
        looks, sample_ns = self._samples.looks[samples].astype(np.int64), self._time_ns(samples)
        imported = self._trace.python.imports
        doing, key = self._doing(samples, imported, self._trace.python)
        order, first = sort_by_keys([group, doing, key])
        time_ns = np.add.reduceat(sample_ns[order], first)
        of_group = group[order[first]]
        longest = np.lexsort((-time_ns, of_group))
        longest = longest[np.append(True, np.diff(of_group[longest]) > 0)]
        found = Activities.none(groups).columns()
        columns = {name: column.copy() for name, column in found.items()}
        chosen = order[first[longest]]
        columns["doing"][group[chosen]] = doing[chosen]
        is_import = doing[chosen] == Doing.IMPORT
        columns["stack"][group[chosen]] = np.where(is_import, key[chosen], stack[chosen])
        columns["body"][group[chosen]] = np.where(is_import, imported.body[stack[chosen]], -1)
        columns["doing_ns"][group[chosen]] = time_ns[longest]
        columns["sampled_ns"] = sums_by(group, sample_ns, groups)
        columns["looks"] = sums_by(group, looks, groups)
        return Activities(**columns)

    def _time_ns(self, samples: Rows) -> Int64:
        return self._samples.end_ns[samples] - self._samples.start_ns[samples]

    def _doing(self, samples: Rows, imported: ImportStacks, python: PythonCode) -> tuple[Int32, Int32]:
        """Returns what each sample shows, and of which import (a stack) or in which function (a row of
        `Code`).
        """
        stack = self._samples.stack[samples]
        cpu_ns, time_ns = self._samples.cpu_ns[samples], self._time_ns(samples)
        waits = stood_still(self._trace.recording, cpu_ns, time_ns)
        importing = imported.importer[stack] >= 0
        doing = np.where(importing, Doing.IMPORT, np.where(waits, Doing.WAIT, Doing.RUN))
        key = np.where(importing, imported.importer[stack], python.of_stack[stack])
        return doing.astype(np.int32), key.astype(np.int32)
