"""Splits the CPU time of operators, and of code outside of them, by what native code did.

A sample belongs to the innermost operator of its own thread. Threads without operators or Python of their own
are taken as members of teams: their samples belong to the operator that ran at that time on another thread,
and to none if several threads ran operators.
"""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.at_moments import AtMoments, Moments
from perfprobe.analyse.grouping import first_of_each, group_by_keys
from perfprobe.analyse.teams.inventory import python_threads
from perfprobe.models.native_parts import part_of
from perfprobe.models.readings import changes, own_threads
from perfprobe.tables.columns import Int8, Mask, Rows, among, distinct
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.native_code import (
    NativeFunctions,
    NativeMode,
    NativePart,
    NativePlace,
    NativeSamples,
    NativeSplit,
    NativeTimes,
)
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

_IDENTITY = ("name", "signature", "frame", "phase")
_KEYS = ("place", *_IDENTITY, "function", "kind", "is_helper")


class NativeWatch(AtMoments):
    """Takes the operators of a trace batch by batch."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        recording = trace.recording
        self._thread_of = recording.os_threads()
        self._samples = _of_program(recording)
        samples = self._samples
        self._thread = self._thread_of[samples.thread]
        self._may_help = ~(python_threads(recording) | recording.main_thread())[samples.thread]
        self._moments: dict[int, Moments] = {}
        self._found = {name: np.full(len(samples), -1, NativeTimes.dtypes[name]) for name in _IDENTITY}
        self._is_own = np.zeros(len(samples), np.bool_)  # in an operator of its own thread
        self._others = np.zeros(len(samples), np.int32)  # number of other threads in an operator then
        self._asked = -1

    def add(self, batch: LinkedOperators) -> None:
        """Takes the next batch, as `Trace.operators` yields it."""
        if len(self._samples) == 0:
            return
        first = first_of_each(batch.thread)
        for start, end in zip(first.tolist(), np.append(first[1:], len(batch)).tolist(), strict=True):
            rows = batch if end - start == len(batch) else batch.take(slice(start, end))
            self._asked = int(self._thread_of[rows.thread[0]])
            if self._asked not in self._moments:
                self._moments[self._asked] = self._begin(int(rows.start_ns.min()))
            self.find(self._moments[self._asked], rows)

    def _begin(self, first_ns: int) -> Moments:
        """The samples to find in a thread's operators: its own, and those of threads that may work for it."""
        since = int(np.searchsorted(self._samples.time_ns, first_ns))
        here = (self._thread == self._asked) | self._may_help
        here[:since] = False
        rows = np.flatnonzero(here)
        return Moments(rows, self._samples.time_ns[rows])

    def take(self, batch: LinkedOperators, place: Rows, rows: Rows) -> None:
        """Notes the operators of samples. An operator of the sample's own thread takes precedence."""
        is_own = self._thread[rows] == self._asked
        self._is_own[rows[is_own]] = True
        self._others[rows[~is_own]] += 1
        chosen = is_own | ~self._is_own[rows]
        for name, column in self._found.items():
            column[rows[chosen]] = getattr(batch, name)[place[chosen]]

    def result(self) -> NativeSplit | None:
        """Returns the split; None if nothing was sampled."""
        recording, samples = self._trace.recording, self._samples
        if len(samples) == 0:
            return None
        is_caller = among(self._thread, np.array(list(self._moments), np.int64))
        is_helper = self._may_help & ~is_caller
        keys = {"place": self._places(is_helper), **self._found}
        for name in _IDENTITY:
            keys[name] = np.where(keys["place"] == NativePlace.OPERATOR, keys[name], -1)
        keys["function"], keys["kind"] = samples.function, parts(recording, samples)
        keys["is_helper"] = is_helper.astype(np.int8)
        order, first = group_by_keys([keys[name] for name in _KEYS])
        columns = {name: keys[name][order[first]].astype(NativeTimes.dtypes[name]) for name in _KEYS}
        cpu_ns = np.add.reduceat(samples.cpu_ns[order], first)
        times = NativeTimes(
            **columns, cpu_ns=cpu_ns, looks=np.diff(np.append(first, len(order))).astype(np.int64)
        )
        return NativeSplit(
            times=times.take(np.argsort(-cpu_ns, kind="stable")),
            period_ns=int(recording.number("native", "period_ns") or samples.cpu_ns[0]),
            with_kernel=recording.fact("native", "with_kernel") is not False,
            cpu_ns=int(samples.cpu_ns.sum()),
            process_cpu_ns=_clock_ns(recording),
            cost_ns=_whole(recording.number("native", "cpu_ns")),
        )

    def _places(self, is_helper: Mask) -> Int8:
        """The `NativePlace` of each sample."""
        places = np.full(len(is_helper), NativePlace.OUTSIDE, np.int8)
        places[self._is_own | (is_helper & (self._others == 1))] = NativePlace.OPERATOR
        places[is_helper & (self._others > 1)] = NativePlace.SEVERAL
        return places


def parts(recording: Recording, samples: NativeSamples) -> Int8:
    """Returns the `NativePart` of each sample."""
    functions, strings = recording[NativeFunctions], recording[Strings]
    known: dict[tuple[int, int], int] = {}
    code = (samples.function.astype(np.int64) << 8) + samples.mode
    kinds = distinct(code)
    for kind in kinds.tolist():
        function, mode = kind >> 8, kind & 255
        if function < 0 or mode not in tuple(NativeMode):
            known[function, mode] = NativePart.OTHER
            continue
        name = int(functions.name[function])
        text = strings[name] if name >= 0 else ""
        library = strings[int(functions.library[function])]
        known[function, mode] = part_of(library, text, NativeMode(mode))
    by_kind = np.array([known[int(kind >> 8), int(kind & 255)] for kind in kinds.tolist()], np.int8)
    return by_kind[np.searchsorted(kinds, code)]


def _of_program(recording: Recording) -> NativeSamples:
    """The samples while the program ran, without perfprobe's own threads, ordered by time."""
    samples = recording[NativeSamples]
    start, stop = (recording.number(moment, "monotonic_ns") for moment in ("start", "stop"))
    inside = np.ones(len(samples), np.bool_)
    if start is not None:
        inside &= samples.time_ns >= int(start)
    if stop is not None:
        inside &= samples.time_ns <= int(stop)
    inside &= ~own_threads(recording)[samples.thread]
    chosen = samples.take(inside)
    return chosen.take(np.argsort(chosen.time_ns, kind="stable"))


def _clock_ns(recording: Recording) -> int | None:
    """CPU time of the program's threads by their clocks; None if these were not read."""
    found = changes(recording)
    return None if found is None else int(found.run_ns[~found.is_perfprobe].sum())


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
