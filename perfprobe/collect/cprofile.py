"""Counts the program's Python calls with the interpreter's own profiler, which cProfile uses.

It counts on threads that `threading` starts; from Python 3.12 on all threads that run Python. The tables
`functions` and `calls` are written completely each time (see `Functions.snapshot`). Meta `cprofile` says from
when to when it counted, and the estimated cost.
"""

from __future__ import annotations

import os
import sys
import time

from perfprobe import native
from perfprobe.collect import host
from perfprobe.collect.base import Collector
from perfprobe.collect.imports import ImportWatch
from perfprobe.support.errors import EnvironmentLack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from perfprobe.collect.base import Facts

# Functions of perfprobe that run what the program would run itself.
_LENDERS = ("_first_spec", "spawnv_passfds", "excepthook")
_ALL = "--python cprofile counts to the end"
_ONE = "a process can have only one of them: drop one"
_LOOPS = 400
_REPEATS = 7
_NOISE = 0.05


class CallCounter(Collector):
    """Counts calls from `begin` on, in this process.

    Args:
        facts: takes the results.
        governed: whether to stop when counting takes more than 5 % of the time, and to leave out what
            library modules do while they are imported.
    """

    name = "cprofile"

    def __init__(self, facts: Facts, *, governed: bool) -> None:
        self._facts = facts
        self._governed = governed
        self._watch = ImportWatch("threading", self._hook_threads)
        self._threading: Any = None
        self._profile: Any = None
        self._began = False

    def available(self) -> EnvironmentLack | None:
        """Returns why calls cannot be counted here; None if they can."""
        try:
            import _lsprof  # noqa: F401
        except ImportError as error:
            remedy = "use a Python that has the module, or --python sample"
            return EnvironmentLack("Python calls cannot be counted", f"no cProfile here: {error}", remedy)
        return None

    def start(self) -> None:
        """Prepares counting: slow steps are done before the program begins."""
        own = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
        self._profile = native.core().CallProfile(
            self._facts.recorder.capsule(),
            own,
            list(_LENDERS),
            _library_folders() if self._governed else [],
            self._governed,
            _costs(self._facts),
        )
        self._watch.start()

    def begin(self) -> None:
        """Starts counting."""
        try:
            self._profile.begin()
        except RuntimeError as error:
            self._facts.loss(self.name, f"Python calls were not counted: {error}", 1, _ONE)
        else:
            self._began = True

    def stop(self) -> None:
        """Ends counting and writes the counts."""
        profile = self._profile
        if not self._began:
            return
        profile.end()
        self._watch.stop()
        profile.write()
        profile.forget()
        self._say_why_it_ended()
        self._say_what_is_missing()

    def _say_why_it_ended(self) -> None:
        reasons = {
            "too costly": ("counting took more than 5 % of the time", _ALL),
            "other profiler": ("another profiler was started", _ONE),
            "tracer": ("the program set a trace function (a debugger, coverage)", _ONE),
        }
        found = reasons.get(self._profile.ending)
        if found is not None:
            counted_ms = (self._profile.ended_ns - self._profile.started_ns) / 1e6
            first = f"{counted_ms:.0f} ms" if counted_ms < 1000 else f"{counted_ms / 1000:.1f} s"
            reason = f"{found[0]}: calls are counted for the first {first} only"
            self._facts.loss(self.name, reason, 1, found[1])

    def _say_what_is_missing(self) -> None:
        if self._profile.omitted_rows:
            self._facts.loss(self.name, "functions and calls beyond 500,000", self._profile.omitted_rows, "")
        starter = native.core().thread_starter()
        if self._threading is not None and starter is not None:
            if self._threading._profile_hook is starter:
                self._threading.setprofile(None)
            else:
                reason = "threads were not counted from when the program called threading.setprofile"
                self._facts.loss(self.name, reason, 1, _ONE)

    def _hook_threads(self, threading: ModuleType) -> None:
        starter = native.core().thread_starter()
        # The program may have a module with this name.
        if starter is not None and getattr(threading, "_profile_hook", starter) is None:
            self._threading = threading
            self._threading.setprofile(starter)


def _library_folders() -> list[str]:
    roots = host.code_folders(None)
    folders = [*roots["stdlib"], *roots["site"]]  # type: ignore[misc]
    return ["<frozen ", *(os.path.join(folder, "") for folder in folders)]


def _costs(facts: Facts) -> tuple[float, float, float, float]:
    """Measures what counting costs here.

    Returns ns for each call of a Python function, ns for each call of a C function, the part of the time that
    is lost while Python runs without calls (its instructions are slower under a profile hook), and ns that
    the profiler itself took for an event of these calls.
    """
    profile = native.core().CallProfile(facts.recorder.capsule(), "", [], [], False, (0.0, 0.0, 0.0, 0.0))
    loops = (_python_calls, _c_calls, _no_calls)
    plain = [_loop_ns(loop) for loop in loops]
    try:
        profile.begin()
    except RuntimeError:
        return 0.0, 0.0, 0.0, 0.0  # the actual start will fail too, and report it
    try:
        counted = [_loop_ns(loop) for loop in loops]
    finally:
        profile.end()
        profile.forget()
    python_ns, c_ns, _ = ((after - before) / _LOOPS for before, after in zip(plain, counted, strict=True))
    slowed = 1 - plain[-1] / counted[-1]
    return max(python_ns, 0.0), max(c_ns, 0.0), slowed if slowed > _NOISE else 0.0, profile.event_ns


def _loop_ns(loop: Callable[[], None]) -> int:
    times_ns = []
    for _ in range(_REPEATS):
        before_ns = time.perf_counter_ns()
        loop()
        times_ns.append(time.perf_counter_ns() - before_ns)
    return min(times_ns)


def _nothing() -> None:
    pass


def _python_calls() -> None:
    for _ in range(_LOOPS):
        _nothing()


def _c_calls() -> None:
    call = sys.getrefcount
    for _ in range(_LOOPS):
        call(None)


def _no_calls() -> None:
    total = 0
    for number in range(_LOOPS):
        total += number & 7
        if total > _LOOPS:
            total = 0
