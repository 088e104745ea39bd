"""Where the loop's thread stood still for lack of a processor, while operators are read.

Each sample says how long the thread waited since the look before. In that time, operators and ranges waited
by as much as they took longer than the shortest calls like them. The rest of the waiting was between them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from perfprobe.analyse.grouping import sort_by_keys
from perfprobe.analyse.sampled import in_program
from perfprobe.tables.columns import Int8, Int32, Int64, Mask, Table, column
from perfprobe.tables.events import LinkedOperators, Signatures
from perfprobe.tables.python import Samples
from perfprobe.tables.recording import Recording
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.stacks import Frames, Modules
from perfprobe.tables.strings import Strings

_LEAST_NS = 200_000  # of a wait, and of an operator that may have one
_SHORTEST = 0.1  # this part of equal calls is taken as undisturbed
_ALIKE = ("is_range", "phase", "frame", "module", "name", "signature")
_MOST_PLACES = 1_048_576  # with more, only longer operators are kept


class Places(Table):
    """Operators and ranges between two looks that may have waited."""

    look: Int64 = column("the later look, its number among those with a wait")
    phase: Int8 = column("a `StepPhase`")
    frame: Int32 = column("the user's line, the first frame on it", Frames)
    module: Int32 = column("the nn.Module", Modules)
    name: Int32 = column("the operator", Strings)
    signature: Int32 = column("its inputs", Signatures)
    is_range: Mask = column("whether it is a range, such as that of an optimizer's step")
    call_ns: Int64 = column("time in the call itself")
    time_ns: Int64 = column("the part of it between the looks")


class Waits(Table):
    """How long the thread waited in operators or ranges, by phase, line and module."""

    phase: Int8 = column("a `StepPhase`")
    frame: Int32 = column("the user's line, the first frame on it", Frames)
    module: Int32 = column("the nn.Module", Modules)
    is_range: Mask = column("whether in ranges")
    time_ns: Int64 = column("how long")


class Stood(NamedTuple):
    """How long the thread waited in operators and ranges, and between them.

    between_ns: for each sample of the program, -1 if its waiting is not known. own_ns: how long it did not
    wait between them, -1 if not known.
    """

    waits: Waits
    between_ns: Int64
    own_ns: Int64


class StoodStill:
    """Takes the operators of a thread batch by batch.

    thread: the system's number. is_starved: whether it waited for a noteworthy time. Then all samples are
    examined, to know undisturbed calls; else only those with waits.
    """

    def __init__(self, recording: Recording, thread: int, *, is_starved: bool) -> None:
        samples = in_program(recording)
        self._all_ns, self._is_starved = samples.wait_ns, is_starved
        own = np.flatnonzero(recording.os_threads()[samples.thread] == thread)
        own = own[samples.wait_ns[own] >= (0 if is_starved else _LEAST_NS)]
        self._row = own[np.argsort(samples.end_ns[own], kind="stable")]
        self._looks: Samples = samples.take(self._row)
        self._covered_ns = np.zeros(len(own), np.int64)
        self._parts: list[Places] = []
        self._held, self._least_ns = 0, _LEAST_NS
        self._short = np.zeros(len(recording[Strings]), np.int64)  # calls below least_ns, by name

    def add(self, rows: LinkedOperators, phase: Int8, frame: Int32, chosen: Mask) -> None:
        """More operators of the thread, with their phases and lines. chosen: those in steps that count."""
        if len(self._looks) == 0:
            return
        first = np.searchsorted(self._looks.end_ns, rows.start_ns, "right")
        count = np.maximum(np.searchsorted(self._looks.start_ns, rows.end_ns, "left") - first, 0) * chosen
        at = np.repeat(np.arange(len(rows)), count)
        look = np.arange(len(at)) - np.repeat(np.cumsum(count) - count - first, count)
        begin_ns = np.maximum(rows.start_ns[at], self._looks.start_ns[look])
        common_ns = np.minimum(rows.end_ns[at], self._looks.end_ns[look]) - begin_ns
        time_ns = np.maximum(np.minimum(rows.self_ns[at], common_ns), 0)
        np.add.at(self._covered_ns, look, time_ns)
        large = time_ns >= self._least_ns
        np.add.at(self._short, rows.name[at[~large]], 1)
        at = at[large]
        self._parts.append(
            Places(
                look=look[large],
                phase=phase[at],
                frame=frame[at],
                **{name: getattr(rows, name)[at] for name in ("module", "name", "signature")},
                is_range=rows.scope[at] == USER_SCOPE,
                call_ns=rows.self_ns[at],
                time_ns=time_ns[large],
            )
        )
        self._held += len(at)
        if self._held > _MOST_PLACES:
            self._thin()

    def _thin(self) -> None:
        places = Places.concat(self._parts)
        while len(places) > _MOST_PLACES // 2:
            self._least_ns *= 2
            large = places.time_ns >= self._least_ns
            np.add.at(self._short, places.name[~large], 1)
            places = places.take(large)
        self._parts, self._held = [places], len(places)

    def result(self) -> Stood:
        """The waits."""
        places, looks = Places.concat(self._parts), self._looks
        between_ns = np.maximum(looks.end_ns - looks.start_ns - self._covered_ns, 0)
        most_ns = np.minimum(np.maximum(places.call_ns - self._shortest(places), 0), places.time_ns)
        late_ns = most_ns * (places.time_ns / np.maximum(places.call_ns, 1))
        sums_ns = np.bincount(places.look, late_ns, len(looks))
        late_ns *= np.minimum(looks.wait_ns / np.maximum(sums_ns, 1), 1)[places.look]
        left_ns = np.maximum(looks.wait_ns - sums_ns, 0)
        room_ns = most_ns - late_ns
        rooms_ns = np.bincount(places.look, room_ns, len(looks)) + between_ns
        part = np.minimum(left_ns / np.maximum(rooms_ns, 1), 1)
        late_ns += room_ns * part[places.look]
        of_between_ns = between_ns * part
        left_ns = np.maximum(left_ns - rooms_ns, 0)
        room_ns = places.time_ns - late_ns
        rooms_ns = np.maximum(np.bincount(places.look, room_ns, len(looks)), 1)
        late_ns += room_ns * np.minimum(left_ns / rooms_ns, 1)[places.look]
        of_all_ns, own_ns = np.minimum(self._all_ns, 0), np.full(len(self._all_ns), -1)
        of_all_ns[self._row] = of_between_ns.astype(np.int64)
        if self._is_starved:
            own_ns[self._row] = (between_ns - of_between_ns).astype(np.int64)
        return Stood(_summed(places, late_ns.astype(np.int64)), of_all_ns, own_ns)

    def _shortest(self, places: Places) -> Int64:
        """For each call how long the shortest calls with the same operator, inputs and line take.

        0 if many calls of the operator are too short to be kept.
        """
        if len(places) == 0:
            return places.call_ns
        keys = [getattr(places, name) for name in _ALIKE]
        by_length = np.argsort(places.call_ns, kind="stable")
        order, first = sort_by_keys([key[by_length] for key in keys])
        order = by_length[order]
        count = np.diff(np.append(first, len(order)))
        found = np.empty_like(places.call_ns)
        found[order] = np.repeat(places.call_ns[order][first + (count * _SHORTEST).astype(np.int64)], count)
        long = np.bincount(places.name, minlength=len(self._short))
        return np.where(self._short > _SHORTEST * (self._short + long), 0, 1)[places.name] * found


def _summed(places: Places, waited_ns: Int64) -> Waits:
    """The waits of places, added up by phase, line and module."""
    if len(places) == 0:
        return Waits.empty()
    names = ("phase", "frame", "module", "is_range")
    order, first = sort_by_keys([getattr(places, name) for name in names])
    keys = {name: getattr(places, name)[order[first]] for name in names}
    return Waits(**keys, time_ns=np.add.reduceat(waited_ns[order], first))
