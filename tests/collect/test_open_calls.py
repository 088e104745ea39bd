"""Calls recognised from one look at the stack to the next, compared with walks over all frames."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Coroutine, Generator, Iterator
from random import Random
from types import FrameType
from typing import Any

import pytest

from perfprobe import _core
from tests.collect.call_trees import PlannedError, grow
from tests.collect.compared import Compared, Row, plain, walked

NODES = 700

fast = pytest.mark.skipif(not _core.FAST_FRAMES, reason="this Python's frame layout is not verified")


@pytest.fixture(autouse=True)
def _tracing() -> Iterator[None]:
    """Trees switch tracing on and off; the trace function of a coverage tool is put back."""
    before = sys.gettrace()
    yield
    sys.settrace(before)


@pytest.mark.parametrize("seed", range(2))
def test_random_trees_of_calls(seed: int) -> None:
    look = Compared(_core, seed)
    grow(seed, look, NODES)
    assert look.wrong == []
    assert look.looks > NODES
    assert (look.kept > look.looks) == _core.FAST_FRAMES


def test_random_trees_on_several_threads() -> None:
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    looks = [Compared(_core, seed) for seed in range(4)]
    threads = [
        threading.Thread(target=grow, args=(seed, look, NODES // 4)) for seed, look in enumerate(looks)
    ]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval_s)
    assert [look.wrong for look in looks] == [[]] * 4
    assert all(look.looks > NODES // 4 for look in looks)


def test_random_trees_on_greenlets() -> None:
    greenlet = pytest.importorskip("greenlet").greenlet
    current = pytest.importorskip("greenlet").getcurrent
    random, compared = Random(0), Compared(_core, 0)
    alive: list[Any] = []

    def look() -> None:
        compared()
        if random.random() < 0.2 and sys.gettrace() is None:
            alive[random.randrange(len(alive))].switch()
            compared()

    def run() -> None:
        grow(random.randrange(100), look, NODES // 4)
        alive.remove(current())

    alive += [greenlet(run) for _ in range(4)]
    while alive:
        alive[0].switch()
    assert compared.wrong == []
    assert compared.looks > NODES


class TestEndedByAnException:
    """A mark may outlast its call then, in memory that the next call gets, from another line."""

    def _check(self, call: Callable[[], object]) -> None:
        self.look = Compared(_core, 0)
        ended = 0
        for _ in range(100):  # the interpreter adapts to what it often does
            try:
                call()
            except PlannedError:
                ended += 1
        try:
            call()
        except PlannedError:
            ended += 1
        try:
            call()
        except PlannedError:
            ended += 1
        sys.settrace(None)
        assert ended == 102
        assert self.look.wrong == []
        assert self.look.looks == 102

    def _fail(self) -> int:
        self.look()
        raise PlannedError

    def test_a_function(self) -> None:
        self._check(lambda: self._fail())

    def test_a_function_called_by_c(self) -> None:
        self._check(lambda: list(map(lambda _: self._fail(), [0])))

    def test_a_property_whose_value_is_called(self) -> None:
        class View:
            value = property(lambda _: self._fail())

        view: Any = View()
        self._check(lambda: view.value())

    def test_a_constructor(self) -> None:
        class Made:
            def __init__(_) -> None:  # noqa: N805
                self._fail()

        def first() -> None:
            Made()

        def second() -> None:
            Made()

        self._check(lambda: first() if self.look.looks % 2 else second())

    def test_a_subscript(self) -> None:
        class View:
            def __getitem__(_, index: int) -> int:  # noqa: N805
                return self._fail()

        self._check(lambda: View()[0])

    def test_a_generator_that_was_made_by_the_caller(self) -> None:
        def items() -> Iterator[int]:
            yield self._fail()

        def exhaust(items: Iterator[int]) -> None:
            for _ in items:
                pass

        self._check(lambda: exhaust(items()))

    def test_a_coroutine_that_was_made_by_the_caller(self) -> None:
        async def inner() -> None:
            self._fail()

        async def outer(awaited: Coroutine[None, None, None]) -> None:
            await awaited

        self._check(lambda: outer(inner()).send(None))

    def test_a_line_whose_trace_function_raises(self) -> None:
        def victim() -> None:
            pass

        def trace(frame: FrameType, event: str, argument: object) -> Any:
            if frame.f_code is victim.__code__ and event == "line":
                self._fail()
            return trace

        def call() -> None:
            sys.settrace(trace)
            victim()

        self._check(call)


class TestWhatIsRead:
    """Only what changed is read: the number of frames read again does not depend on the depth."""

    @fast
    @pytest.mark.parametrize("depth", [10, 900])
    def test_in_a_loop(self, depth: int) -> None:
        def descend(left: int) -> list[int]:
            if left > 0:
                return descend(left - 1)
            return [self._unread() for _ in range(3)]

        # `_unread` and the line of its caller, `listcomp` or not. In 3.10 the caller's mark stays.
        assert descend(depth)[1:] == ([1, 1] if sys.version_info < (3, 11) else [2, 2])

    @fast
    @pytest.mark.parametrize("depth", [10, 900])
    def test_in_a_recursion(self, depth: int) -> None:
        found: list[int] = []

        def descend(left: int) -> None:
            found.append(self._unread())
            if left > 0:
                descend(left - 1)
            found.append(self._unread())

        descend(depth)
        assert max(found[1:]) <= 4

    @fast
    def test_in_calls_through_c(self) -> None:
        found: list[int] = []

        def descend(left: int) -> None:
            found.append(self._unread())
            if left > 0:
                list(map(descend, [left - 1]))

        descend(200)
        assert max(found[1:]) <= 4

    def _unread(self) -> int:
        rows, kept = _core.stack_kept()
        return len(rows) - kept


class TestByThePublicFunctions:
    """As on a Python whose layout of frames is not known: nothing is recognised."""

    @pytest.fixture(autouse=True)
    def _misfit(self) -> Generator[None, None, None]:
        before = _core.frames_misfit()
        _core.set_frames_misfit("a test")
        yield
        _core.set_frames_misfit(before)

    def test_random_trees_of_calls(self) -> None:
        look = Compared(_core, 0)
        grow(0, look, NODES // 4)
        assert look.wrong == []
        assert (look.looks > NODES // 4, look.kept) == (True, 0)

    def test_a_deep_stack_is_cut(self) -> None:
        rows, expected = _at(_core.FRAMES_OF_CUT)
        assert (len(rows), rows[-1]) == (_core.FRAMES_OF_CUT + 1, None)
        assert plain(rows) == expected[: _core.FRAMES_OF_CUT]


class TestTooDeep:
    """Of a stack that is too deep, the innermost frames are kept, and their number is known."""

    @pytest.fixture(autouse=True)
    def _limit(self) -> Generator[None, None, None]:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(2 * _core.DEEPEST_READ + 4000)
        yield
        sys.setrecursionlimit(before)

    def test_the_deepest_stack_that_is_whole(self) -> None:
        here = len(_walked_here())
        rows, expected = _at(_core.DEEPEST_READ - here - 1)
        assert len(rows) == _core.DEEPEST_READ
        assert plain(rows) == expected

    def test_one_that_is_cut(self) -> None:
        rows, expected = _at(_core.DEEPEST_READ)
        assert len(rows) == _core.FRAMES_OF_CUT + 1
        assert rows[-1] is None
        assert plain(rows) == expected[: _core.FRAMES_OF_CUT]

    def test_further_and_further_and_back(self) -> None:
        def descend(left: int) -> None:
            if left % 1000 == 0:
                check()
            if left > 0:
                descend(left - 1)
            if left % 1000 == 0:
                check()

        def check() -> None:
            rows, expected = _core.stack_kept()[0], _walked_here()
            is_cut = len(expected) > _core.DEEPEST_READ
            assert (rows[-1] is None) == is_cut
            assert plain(rows) == (expected[: _core.FRAMES_OF_CUT] if is_cut else expected)

        descend(_core.DEEPEST_READ + 3000)


def _at(depth: int) -> tuple[list[Row], list[tuple[str, str, int]]]:
    if depth > 0:
        return _at(depth - 1)
    return _core.stack_kept()[0], _walked_here()


def _walked_here() -> list[tuple[str, str, int]]:
    return walked(1)


def test_a_forked_child_goes_on() -> None:
    def descend(left: int) -> bool:
        _core.stack_kept()
        if left > 0:
            return descend(left - 1)
        child = os.fork()
        if child == 0:
            rows, expected = _core.stack_kept()[0], _walked_here()
            os._exit(0 if plain(rows) == expected else 1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    assert descend(50)
