"""Callables that run perfprobe's code on the program's main thread without being ended by a signal.

Python runs a signal's handler between any two bytecodes of the main thread. What the handler raises, such as
KeyboardInterrupt, would end perfprobe's function half-way and could get lost there. So signals are held while
perfprobe's code runs. Their handlers run afterwards, at the next place where Python looks for signals, which
is in the program: these callables have no frame. See csrc/python/held_signals.h.
"""

from __future__ import annotations

from perfprobe import native
from perfprobe.support.errors import EnvironmentLack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, TypeVar

    _Function = TypeVar("_Function", bound=Callable[..., Any])

# Kept, because the program may remove the module from sys.modules.
_core: ModuleType | None
try:
    _core = native.core()
except EnvironmentLack:
    _core = None  # nothing is recorded without it


def undisturbed(function: _Function) -> _Function:
    """Returns the function, which then runs while signals are held."""
    if _core is None:
        return function
    made: _Function = _core.undisturbed(function)
    return made


def entering(enter: _Function, leave: Callable[..., object]) -> _Function:
    """The same for the `__enter__` of a context manager. `leave` is its `__exit__`.

    From Python 3.14 on, a signal may end the `with` statement between the two: `leave` is called then.
    """
    if _core is None:
        return enter
    made: _Function = _core.entering(enter, leave)
    return made


def around(
    function: _Function,
    *,
    before: Callable[..., object] | None = None,
    after: Callable[..., object] | None = None,
) -> _Function:
    """Returns a callable for a function of the program or its libraries, with a step of ours around it.

    Args:
        before: called with the positional arguments, while signals are held.
        after: called with whether the function succeeded, its result and the positional arguments, while
            signals are held. What it returns is the result, unless the function raised.
    """
    made: _Function = (_core or native.core()).around(function, before, after)
    return made


def drop() -> list[int]:
    """Forgets the signals that have arrived, as the program has ended; returns their numbers."""
    return [] if _core is None else list(_core.drop_signals())
