"""Where the loop's thread stood still for lack of a processor, while operators are read.

The thread's own readings, or where there are none its samples, say how long it waited between two of them. In
that time, operators and ranges waited by as much as they took longer than the shortest calls like them. The
rest of the waiting was between them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from perfprobe.analyse.grouping import first_of_each, sort_by_keys
from perfprobe.analyse.sampled import in_program
from perfprobe.models.waiting import wait_readings
from perfprobe.tables.columns import Int8, Int32, Int64, Mask, Table, column
from perfprobe.tables.events import LinkedOperators, Signatures
from perfprobe.tables.intervals import overlaps
from perfprobe.tables.recording import Recording
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.stacks import Frames, Modules
from perfprobe.tables.strings import Strings

_LEAST_NS = 200_000  # of a wait, and of an operator that may have one
_SHORTEST = 0.1  # this part of equal calls is taken as undisturbed
_ALIKE = ("is_range", "phase", "frame", "module", "name", "signature")
_NO_FRAME, _FRAME_BITS = -2, 32  # -1 is the frame of an operator without a line
_MOST_SUSPECTS = 1_048_576  # with more, only longer operators are kept


class Stretches(NamedTuple):
    """How long the thread waited in stretches of time, which are in order.

    kind: equal for those that end between operators of the same two lines.
    """

    start_ns: Int64
    end_ns: Int64
    wait_ns: Int64
    kind: Int64


class Suspects(Table):
    """Suspects: operators and ranges that may have waited in a stretch."""

    stretch: Int64 = column("its number")
    phase: Int8 = column("a `StepPhase`")
    frame: Int32 = column("the user's line, the first frame on it", Frames)
    module: Int32 = column("the nn.Module", Modules)
    name: Int32 = column("the operator", Strings)
    signature: Int32 = column("its inputs", Signatures)
    is_range: Mask = column("whether it is a range, such as that of an optimizer's step")
    call_ns: Int64 = column("time in the call itself")
    time_ns: Int64 = column("the part of it in the stretch")


class Waits(Table):
    """How long the thread waited in operators or ranges, by phase, line and module."""

    phase: Int8 = column("a `StepPhase`")
    frame: Int32 = column("the user's line, the first frame on it", Frames)
    module: Int32 = column("the nn.Module", Modules)
    is_range: Mask = column("whether in ranges")
    time_ns: Int64 = column("how long")


class Stood(NamedTuple):
    """How long the thread waited in operators and ranges, and between them.

    between: waiting between operators, by stretch of time. is_known: whether waiting was recorded.
    """

    waits: Waits
    between: Stretches
    is_known: bool


class StoodStill:
    """Takes the operators of a thread batch by batch. thread: the system's number."""

    def __init__(self, recording: Recording, thread: int) -> None:
        self._stretches = _readings(recording, thread) or _looks(recording, thread)
        count = len(self._stretches.end_ns)
        self._covered_ns = np.zeros(count, np.int64)
        self._before, self._behind = np.full((2, count + 1), _NO_FRAME)  # lines of operators at the ends
        self._parts: list[Suspects] = []
        self._held, self._least_ns = 0, _LEAST_NS
        self._short = np.zeros(len(recording[Strings]), np.int64)  # calls below least_ns, by name

    def add(self, rows: LinkedOperators, phase: Int8, frame: Int32, chosen: Mask) -> None:
        """More operators of the thread, with their phases and lines. chosen: those in steps that count."""
        self._note_ends(rows.start_ns, frame)
        kept, found = np.flatnonzero(chosen), self._stretches
        stretch, at, common_ns = overlaps(
            found.start_ns, found.end_ns, rows.start_ns[kept], rows.end_ns[kept]
        )
        at = kept[at]
        time_ns = np.maximum(np.minimum(rows.self_ns[at], common_ns), 0)
        np.add.at(self._covered_ns, stretch, time_ns)
        large = time_ns >= self._least_ns
        np.add.at(self._short, rows.name[at[~large]], 1)
        at = at[large]
        self._parts.append(
            Suspects(
                stretch=stretch[large],
                phase=phase[at],
                frame=frame[at],
                **{name: getattr(rows, name)[at] for name in ("module", "name", "signature")},
                is_range=rows.scope[at] == USER_SCOPE,
                call_ns=rows.self_ns[at],
                time_ns=time_ns[large],
            )
        )
        self._held += len(at)
        if self._held > _MOST_SUSPECTS:
            self._thin()

    def _note_ends(self, start_ns: Int64, frame: Int32) -> None:
        """Notes for each stretch which operator was the first and the last to begin in it."""
        stretch = np.searchsorted(self._stretches.end_ns, start_ns)
        first = first_of_each(stretch)
        last = np.append(first[1:], len(stretch)) - 1
        self._before[stretch[last]] = frame[last]
        unknown = self._behind[stretch[first]] == _NO_FRAME
        self._behind[stretch[first[unknown]]] = frame[first[unknown]]

    def _kinds(self) -> Int64:
        """The kind of each stretch."""
        before, behind = filled(self._before), filled(self._behind[::-1])[::-1]
        return (before[:-1] << _FRAME_BITS) + behind[1:]

    def _thin(self) -> None:
        suspects = Suspects.concat(self._parts)
        while len(suspects) > _MOST_SUSPECTS // 2:
            self._least_ns *= 2
            large = suspects.time_ns >= self._least_ns
            np.add.at(self._short, suspects.name[~large], 1)
            suspects = suspects.take(large)
        self._parts, self._held = [suspects], len(suspects)

    def result(self) -> Stood:
        """The waits."""
        suspects, found = Suspects.concat(self._parts), self._stretches
        count = len(found.wait_ns)
        between_ns = np.maximum(found.end_ns - found.start_ns - self._covered_ns, 0)
        most_ns = np.minimum(np.maximum(suspects.call_ns - self._shortest(suspects), 0), suspects.time_ns)
        late_ns = most_ns * (suspects.time_ns / np.maximum(suspects.call_ns, 1))
        sums_ns = np.bincount(suspects.stretch, late_ns, count)
        late_ns *= np.minimum(found.wait_ns / np.maximum(sums_ns, 1), 1)[suspects.stretch]
        left_ns = np.maximum(found.wait_ns - sums_ns, 0)
        room_ns = most_ns - late_ns
        rooms_ns = np.bincount(suspects.stretch, room_ns, count) + between_ns
        part = np.minimum(left_ns / np.maximum(rooms_ns, 1), 1)
        late_ns += room_ns * part[suspects.stretch]
        of_between_ns = between_ns * part
        left_ns = np.maximum(left_ns - rooms_ns, 0)
        room_ns = suspects.time_ns - late_ns
        rooms_ns = np.maximum(np.bincount(suspects.stretch, room_ns, count), 1)
        late_ns += room_ns * np.minimum(left_ns / rooms_ns, 1)[suspects.stretch]
        between = found._replace(wait_ns=of_between_ns.astype(np.int64), kind=self._kinds())
        return Stood(_summed(suspects, late_ns.astype(np.int64)), between, count > 0)

    def _shortest(self, suspects: Suspects) -> Int64:
        """For each call how long the shortest calls with the same operator, inputs and line take.

        0 if many calls of the operator are too short to be kept.
        """
        if len(suspects) == 0:
            return suspects.call_ns
        keys = [getattr(suspects, name) for name in _ALIKE]
        by_length = np.argsort(suspects.call_ns, kind="stable")
        order, first = sort_by_keys([key[by_length] for key in keys])
        order = by_length[order]
        count = np.diff(np.append(first, len(order)))
        found = np.empty_like(suspects.call_ns)
        found[order] = np.repeat(suspects.call_ns[order][first + (count * _SHORTEST).astype(np.int64)], count)
        long = np.bincount(suspects.name, minlength=len(self._short))
        return np.where(self._short > _SHORTEST * (self._short + long), 0, 1)[suspects.name] * found


def _readings(recording: Recording, thread: int) -> Stretches | None:
    """What the thread read itself; None if nothing."""
    rows = wait_readings(recording, thread)
    return (
        Stretches(rows.start_ns, rows.end_ns, rows.wait_ns, np.zeros_like(rows.end_ns)) if len(rows) else None
    )


def _looks(recording: Recording, thread: int) -> Stretches:
    """What samples say of the thread."""
    samples = in_program(recording)
    samples = samples.take(recording.os_threads()[samples.thread] == thread)
    samples = samples.take(samples.wait_ns >= 0)
    samples = samples.take(np.argsort(samples.end_ns, kind="stable"))
    return Stretches(samples.start_ns, samples.end_ns, samples.wait_ns, np.zeros_like(samples.end_ns))


def filled(frames: Int64) -> Int64:
    """The frames with each unknown one replaced by the last known one before it."""
    known = np.maximum.accumulate(np.where(frames != _NO_FRAME, np.arange(len(frames)), 0))
    return np.asarray(frames[known])


def _summed(suspects: Suspects, waited_ns: Int64) -> Waits:
    """The waits of suspects, added up by phase, line and module."""
    if len(suspects) == 0:
        return Waits.empty()
    names = ("phase", "frame", "module", "is_range")
    order, first = sort_by_keys([getattr(suspects, name) for name in names])
    keys = {name: getattr(suspects, name)[order[first]] for name in names}
    return Waits(**keys, time_ns=np.add.reduceat(waited_ns[order], first))
