"""Decides when the profiler runs: in windows, because its raw results take 5 to 7 KB an event until read.

The main thread closes a window, reads it and opens the next, between two bytecodes of the program's Python.
It only does so while no function of torch runs and no range is open on that thread. The next window begins
when no Python of perfprobe runs any more, so that its profile function only sees the program's frames.
"""

from __future__ import annotations

from os import O_RDONLY, close, sysconf
from os import open as open_file
from os import read as read_file
from time import monotonic_ns, thread_time_ns

from perfprobe import native
from perfprobe.collect.autograd.hooks import OPEN_RANGES, on_main_thread
from perfprobe.collect.autograd.kineto import EDGE_NS, clocks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from perfprobe.collect.autograd.kineto import Kineto, Raw
    from perfprobe.collect.base import Facts

SOURCE = "autograd"
TARGET_EVENTS = 4_000  # about 60 MB, with what reading them takes
FIRST_NS = 10_000_000  # while the rate is not known: this many operators of 2.5 us
SHORTEST_NS = 5_000_000
LONGEST_NS = 1_000_000_000  # the most that a kill can lose
RETRY_NS = 2_000_000
POLL_NS = 5_000_000  # between checks of a window's memory: the rate of operators may rise a hundredfold
MOST_GROWTH_BYTES = 32 << 20  # of the process; allocations of the program itself only make windows shorter
NEVER_NS = 1 << 60
MOST_VAIN = 3  # windows in a row that did not open before it gives up
OVERDUE = 4  # after this many lengths of a window, an open range no longer delays its end


class Absence:
    """The reasons why no window was open for a while."""

    GUEST = "the program's own torch.profiler ran"
    FORK = "the process forked"
    RANGE = "a range stayed open for many windows, and a window can only begin outside of ranges"
    OTHER = "a range that cannot be watched was left open"


class Windows:
    """Opens and closes windows.

    Args:
        read: reads a window's results. Returns the number of events, and whether something was open on the
            main thread at the end.
    """

    def __init__(
        self, facts: Facts, torch: Any, kineto: Kineto, read: Callable[[Raw], tuple[int, bool]]
    ) -> None:
        self._recorder, self._kineto, self._read = facts.recorder, kineto, read
        self._facts, self._torch = facts, torch
        self._core = native.core()
        self._length_ns = FIRST_NS
        self._opened_bytes = 0
        self._away = self._paused = False
        self._ended = False
        self._stuck = False
        self._vain = 0
        self._begin: Callable[[], None] | None = None
        self._absent_since_ns: int | None = None
        self._reason = ""
        self.count = 0
        self.reading_ns = 0
        self.absences: dict[str, list[int]] = {}  # by reason: how often, and ns in total

    def stop(self) -> bool:
        """Closes the last window. Returns False on another thread, which cannot close it."""
        self._ended = True
        if not self._kineto.running:
            self._note_absence()
            return True
        if not on_main_thread():
            return False
        self._close()
        return True

    def start(self) -> None:
        """Opens the first window. The recorder's alarm opens the others."""
        begin = self.tick()
        if begin is not None:
            self._ended = not self._facts.guarded(SOURCE, begin)

    def tick(self) -> Callable[[], None] | None:
        """Closes a window that is due; returns a function that opens the next, to be called right afterwards.

        A fault of perfprobe ends the recording of windows and is a loss. An interrupt meanwhile is passed on
        to the program.
        """
        self._begin = None
        if not self._ended:
            self._ended = not self._facts.guarded(SOURCE, self._step_and_wait)
        return self._begin

    def _step_and_wait(self) -> None:
        delay_ns: int | None = RETRY_NS
        try:
            delay_ns = self._step()
        finally:
            if delay_ns is not None:
                self._recorder.call_later(delay_ns, self.tick)

    def guest_arrives(self) -> None:
        """Call this before the program's own profiler begins."""
        if not on_main_thread():
            return
        self._away = True
        if self._kineto.running:
            OPEN_RANGES.end_all(self._torch)  # these ranges must not end within the guest's session
        self._leave(Absence.GUEST)
        # Its results include Python calls, which must not be perfprobe's.
        OPEN_RANGES.release()
        self._recorder.call_later(NEVER_NS, int)

    def guest_left(self, guest: Any) -> None:
        """Call this after it ended. If it left a range open, no window can be opened any more."""
        if on_main_thread() and not self._ended:
            if _left_open(guest):
                self._stuck, self._reason = True, Absence.OTHER
            else:
                self._come_back()

    def before_fork(self) -> None:
        """Closes the window, because a child would record into memory that is never read."""
        if on_main_thread() and not self._ended and not self._core.torch_on_stack():
            self._away = True
            self._leave(Absence.FORK)

    def after_fork(self) -> None:
        """Opens a window again in the parent."""
        if on_main_thread() and not self._ended:
            self._come_back()

    def pause(self) -> None:
        """Closes the window. Its profile function did not see the calls of the frames that end now."""
        if on_main_thread() and not self._ended and not self._away:
            self._away = self._paused = True
            if OPEN_RANGES.count:
                self._leave(Absence.RANGE)
            elif self._kineto.running:
                self._close()

    def go_on(self) -> None:
        """Opens a window again, which sees the frames from here on."""
        if self._paused:
            self._paused = False
            self._come_back()

    def _come_back(self) -> None:
        self._away = False
        self._recorder.call_later(0, self.tick)

    def _step(self) -> int | None:
        """Decides what to do now; returns the delay until the next decision, None to wait for an event."""
        if self._away or self._kineto.is_taken():
            return None
        if self._kineto.running:
            begun_ns, begun_cpu_ns = self._kineto.begun_ns
            open_ns = monotonic_ns() - begun_ns
            left_ns = self._length_ns - (thread_time_ns() - begun_cpu_ns)
            grown = _resident_bytes() - self._opened_bytes > MOST_GROWTH_BYTES
            if left_ns > 0 and open_ns < LONGEST_NS and not grown:
                return min(left_ns, POLL_NS)
            if self._core.torch_on_stack():
                return RETRY_NS
            if OPEN_RANGES.count:
                if grown or left_ns < -OVERDUE * self._length_ns or open_ns > OVERDUE * LONGEST_NS:
                    self._leave(Absence.RANGE)
                return RETRY_NS
            self._close()
        if self._stuck:
            return None
        can_open = on_main_thread() and not OPEN_RANGES.count and not self._core.torch_on_stack()
        return self._open() if can_open else RETRY_NS

    def _open(self) -> int:
        if self._vain == MOST_VAIN:
            raise RuntimeError("torch's profiler does not start")
        self._vain += 1  # until it has run
        self._note_absence()
        OPEN_RANGES.watch(self._torch)
        self._begin = self._kineto.prepare()
        self._opened_bytes = _resident_bytes()
        return min(self._length_ns, POLL_NS)

    def _close(self) -> None:
        began_ns = monotonic_ns()
        used_ns = thread_time_ns() - self._kineto.begun_ns[1]
        raw = self._kineto.stop()
        self._vain = 0
        events, left_open = self._read(raw)
        self.count += 1
        self._adapt(events, used_ns)
        # Something that is not counted is open. It must not end in another session.
        if left_open and not OPEN_RANGES.count and not self._ended and not self._absent_since_ns:
            self._stuck = True
            self._begin_absence(Absence.OTHER)
        self.reading_ns += monotonic_ns() - began_ns

    def _leave(self, reason: str) -> None:
        """Closes the window before it is full."""
        if self._kineto.running:
            self._begin_absence(reason)
            self._close()

    def _adapt(self, events: int, length_ns: int) -> None:
        """Chooses the next window's length for `TARGET_EVENTS`, at most twice as long as this one.

        It is measured in CPU time of the main thread, because on a busy machine the rate of operators in wall
        time varies.
        """
        wanted_ns = length_ns * TARGET_EVENTS // max(events, 1)
        longest_ns = min(2 * max(length_ns, SHORTEST_NS), LONGEST_NS)
        self._length_ns = min(max(wanted_ns, SHORTEST_NS), longest_ns)

    def _begin_absence(self, reason: str) -> None:
        self._absent_since_ns, self._reason = monotonic_ns(), reason

    def _note_absence(self) -> None:
        if self._absent_since_ns is not None:
            entry = self.absences.setdefault(self._reason, [0, 0])
            entry[0] += 1
            entry[1] += monotonic_ns() - self._absent_since_ns
            self._absent_since_ns = None


def _left_open(guest: Any) -> bool:
    """Whether operators or ranges were open when this profiler of the program ended."""
    results = getattr(guest, "kineto_results", None)
    if results is None:
        return False
    monotonic_ns, unix_ns, _ = clocks()
    limit_ns = guest.profiling_end_time_ns - monotonic_ns + unix_ns - EDGE_NS
    waiting = list(results.experimental_event_tree())
    while waiting:
        event = waiting.pop()
        if event.start_time_ns <= event.end_time_ns <= limit_ns:
            continue
        if event.tag.name == "TorchOp":
            return True
        waiting += event.children
    return False


def _resident_bytes() -> int:
    """Returns the memory of this process; 0 if it cannot be read."""
    try:
        file = open_file("/proc/self/statm", O_RDONLY)
    except OSError:
        return 0
    try:
        return int(read_file(file, 64).split()[1]) * sysconf("SC_PAGE_SIZE")
    finally:
        close(file)
