"""`perfprobe.range`: gives a part of the program a name, in the recording and for tools that listen."""

from __future__ import annotations

from _thread import get_ident

from perfprobe import native
from perfprobe.support.errors import EnvironmentLack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, TypeVar

    Function = TypeVar("Function", bound=Callable[..., Any])

_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200  # of a code object's co_flags; see inspect


def _nothing(_: object) -> int:
    return 0


try:
    _begin, _end = native.core().range_begin, native.core().range_end
except EnvironmentLack:  # nothing can be recorded here; the program runs all the same
    _begin = _end = _nothing


class range:  # noqa: N801 (its public name)
    """A part of the program with a name: `with perfprobe.range("load"): ...`, or `@perfprobe.range("load")`.

    It lands in the table `ranges` of the recording that runs (and in none where none does), and in
    Nsight or VTune where one of them listens, in the domain "perfprobe". Ranges nest, end when an exception
    leaves them, and may be set on any thread; one object may be entered again and by several threads at once.
    A range belongs to the thread that it began on: one that ends on another is recorded as still open.

    As a decorator: of a function, each call is a range. Of an `async def` function or a generator function,
    the range lasts from the first step of what the call returned to its end, with whatever ran between its
    steps.

    Args:
        name: at most 1024 bytes are kept, and 65,536 different names; a name that changes with every step
            makes a row of its own each time.

    Raises:
        TypeError: the name is no string; or, as a decorator, the function is an asynchronous generator.
    """

    __slots__ = ("_name", "_open")

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"a range needs a name, as in perfprobe.range('load'), and not {name!r}")
        self._name = name
        self._open: list[tuple[int, int]] = []  # thread and token of each time it was entered

    def __enter__(self) -> range:
        self._open.append((get_ident(), _begin(self._name)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _end(self._open.pop()[1] if len(self._open) == 1 else self._take_own())

    def __call__(self, function: Function) -> Function:
        """The function, with each call as a range."""
        import functools

        flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
        if flags & _ASYNC_GENERATOR:
            raise TypeError("an asynchronous generator cannot be a range; put `with` into its body")
        wrap = _coroutine if flags & _COROUTINE else _generator if flags & _GENERATOR else _plain
        return functools.wraps(function)(wrap(function, self._name))  # type: ignore[return-value]

    def _take_own(self) -> int:
        """The newest token of this thread; of any where it has none."""
        own = get_ident()
        for entry in reversed(self._open):
            if entry[0] == own:
                self._open.remove(entry)
                return entry[1]
        return self._open.pop()[1]


def _plain(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def ranged(*args: Any, **kwargs: Any) -> Any:
        token = _begin(name)
        try:
            return function(*args, **kwargs)
        finally:
            _end(token)

    return ranged


def _coroutine(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    async def ranged(*args: Any, **kwargs: Any) -> Any:
        token = _begin(name)
        try:
            return await function(*args, **kwargs)
        finally:
            _end(token)

    return ranged


def _generator(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def ranged(*args: Any, **kwargs: Any) -> Any:
        token = _begin(name)
        try:
            return (yield from function(*args, **kwargs))
        finally:
            _end(token)

    return ranged
