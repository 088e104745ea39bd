"""`perfprobe.range` and `perfprobe.step`, which name parts of the program for recordings and other tools."""

from __future__ import annotations

from functools import wraps

from perfprobe import native
from perfprobe.support.errors import EnvironmentLack
from perfprobe.tables.scopes import STEP_MARK, STEP_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200  # flags in a code object's co_flags; see inspect


class _Unrecorded:
    """Replaces `_core.range` if `_core` is missing: the program runs, and nothing is recorded."""

    def __init__(self, name: object) -> None:
        """Checks the name: `@perfprobe.range` without a name would replace the function."""
        if not isinstance(name, str):
            raise TypeError(f"a range needs a name, as in perfprobe.range('load'), and not {name!r}")

    def __enter__(self) -> _Unrecorded:
        return self

    def __exit__(self, *error: object) -> None:
        """Does nothing."""

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function


if TYPE_CHECKING:
    from perfprobe.native import range as range  # noqa: PLC0414 (exported)
    from perfprobe.native import range_begin as _begin
    from perfprobe.native import range_end as _end

    _mark_step: Callable[[], None]
else:
    try:
        range, _begin, _end = native.core().range, native.core().range_begin, native.core().range_end
        _mark_step = native.core().mark_step
    except EnvironmentLack:
        range, _begin, _end = _Unrecorded, None, None


def step() -> range:
    """Ends a step of the program: `perfprobe.step()` is the last line of the loop's body.

    Alternatively a step is a block: `with perfprobe.step(): ...`. On a thread that uses this, no other steps
    are detected. A call takes about a microsecond.
    """
    if _begin is not None:
        _end(_begin(STEP_MARK))
        _mark_step()
    return range(STEP_NAME)


def decorated(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Returns the function with a range around each call.

    Raises:
        TypeError: it is an asynchronous generator function.
    """
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    if flags & _ASYNC_GENERATOR:
        raise TypeError("an asynchronous generator cannot be a range; put `with` into its body")
    wrap = _coroutine if flags & _COROUTINE else _generator if flags & _GENERATOR else _plain
    return wraps(function)(wrap(function, name))


def _plain(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def ranged(*args: Any, **kwargs: Any) -> Any:
        with range(name):
            return function(*args, **kwargs)

    return ranged


def _coroutine(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    async def ranged(*args: Any, **kwargs: Any) -> Any:
        with range(name):
            return await function(*args, **kwargs)

    return ranged


def _generator(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def ranged(*args: Any, **kwargs: Any) -> Any:
        with range(name):
            return (yield from function(*args, **kwargs))

    return ranged
