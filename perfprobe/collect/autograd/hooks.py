"""Watches open ranges, the program's own profilers and forks while windows are recorded."""

from __future__ import annotations

import sys
from _thread import get_native_id
from os import getpid, register_at_fork
from types import FunctionType

from perfprobe.collect.held_signals import around, undisturbed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Called before a profiler starts to see Python, and after it ended, so that perfprobe is not in its results.
_STARTS = ("_prepare_profiler", "_run_on_profiler_start")
_ENDS = ("_run_on_profiler_stop",)


def on_main_thread() -> bool:
    """Whether the calling thread is the process's main thread."""
    return get_native_id() == getpid()


class OpenRanges:
    """The ranges (record_function) that are open on the main thread. There is one object in a process.

    A range that begins in one session of the profiler and ends in another writes into freed memory. So no
    session may begin while a range is open. The methods of record_function are replaced by functions with the
    same globals, so that TorchScript can still compile them.
    """

    def __init__(self) -> None:
        self._open: list[Any] = []
        self._wanted = False
        self._kept: tuple[Any, Any, Any] | None = None

    @property
    def count(self) -> int:
        """The number of open ranges."""
        return len(self._open)

    def watch(self, torch: Any) -> None:
        """Starts counting."""
        self._wanted = True
        if self._kept is not None:
            return
        kind = torch.autograd.profiler.record_function
        enter, leave = kind.__enter__, kind.__exit__
        begin, end = self._begin, self._end

        # Counted for as long as the range may be open: a window may be closed between any two of these steps.
        def entered(self: Any) -> Any:
            try:
                begin(self)
                return enter(self)
            except BaseException:
                end(self)
                raise

        def left(self: Any, *error: Any) -> Any:
            try:
                return leave(self, *error)
            finally:
                end(self)

        self._kept = (kind, enter, leave)
        kind.__enter__, kind.__exit__ = _alike(entered, enter), _alike(left, leave)

    def release(self) -> None:
        """Stops counting when the ranges that are open now have ended."""
        self._wanted = False
        self._unwrap()

    def end_all(self, torch: Any) -> None:
        """Ends the open ranges in torch. When the program ends them later, torch does nothing."""
        for opened in reversed(self._open):
            record = getattr(opened, "record", None)
            if record is not None:
                torch.ops.profiler._record_function_exit._RecordFunction(record)

    def _begin(self, opened: Any) -> None:
        if on_main_thread():
            self._open.append(opened)

    @undisturbed
    def _end(self, opened: Any) -> None:
        if on_main_thread():
            self._open = [other for other in self._open if other is not opened]
            self._unwrap()

    def _unwrap(self) -> None:
        if not self._open and not self._wanted and self._kept is not None:
            kind, kind.__enter__, kind.__exit__ = self._kept[0], *self._kept[1:]
            self._kept = None


OPEN_RANGES = OpenRanges()


class Guests:
    """Calls back before the program's own profiler begins and after it ended.

    Only one profiler can run on a thread, and Kineto, which it uses, has one session in a process. All of
    torch's Python profilers (torch.profiler, torch.autograd.profiler, emit_nvtx, emit_itt) call these
    functions.

    Args:
        arrives: called before a profiler begins.
        left: called with the profiler that ended.
    """

    def __init__(self, torch: Any, arrives: Callable[[], None], left: Callable[[Any], None]) -> None:
        self._module = torch.autograd.profiler
        self._arrives, self._left = arrives, left
        self._kept: dict[str, Any] = {}

    def watch(self) -> None:
        """Starts watching."""
        for name in (*_STARTS, *_ENDS):
            original = getattr(self._module, name, None)
            if original is not None:
                self._kept[name] = original
                setattr(self._module, name, self._wrapped(original, name in _STARTS))

    def release(self) -> None:
        """Stops watching."""
        for name, original in self._kept.items():
            setattr(self._module, name, original)
        self._kept.clear()

    def _wrapped(self, original: Any, starts: bool) -> Any:
        arrives, left = self._arrives, self._left

        def ended(_succeeded: bool, result: Any, *_: Any) -> Any:
            left(sys._getframe(1).f_locals.get("self"))
            return result

        return around(original, before=lambda *_: arrives()) if starts else around(original, after=ended)


class Forks:
    """Calls back around forks, for one recording at a time. The hooks themselves cannot be removed."""

    def __init__(self) -> None:
        self._registered = False
        self._before: Callable[[], None] | None = None
        self._after: Callable[[], None] | None = None

    def watch(self, before: Callable[[], None] | None, after: Callable[[], None] | None) -> None:
        """Sets what is called before a fork, and after it in the parent; None for nothing."""
        self._before, self._after = before, after
        if before is not None and not self._registered:
            self._registered = True
            register_at_fork(
                before=undisturbed(lambda: _call(self._before)),
                after_in_parent=undisturbed(lambda: _call(self._after)),
            )


FORKS = Forks()


def _call(step: Callable[[], None] | None) -> None:
    if step is not None:
        step()


def _alike(function: Any, original: Any) -> Any:
    """Returns the function with globals, name and source of the original."""
    names = original.__globals__, original.__name__
    made: Any = FunctionType(function.__code__, *names, function.__defaults__, function.__closure__)
    made.__qualname__, made.__doc__ = original.__qualname__, original.__doc__
    made.__module__, made.__annotations__ = original.__module__, dict(original.__annotations__)
    made.__wrapped__ = original
    return made
