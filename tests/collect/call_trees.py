"""Random trees of Python calls, in all ways in which the interpreter begins, suspends and ends calls."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager, suppress
from random import Random
from types import FrameType
from typing import Any


class PlannedError(Exception):
    """Raised and caught by the trees themselves."""


class Tree:
    """Calls `look` at many places. Seeds give different trees; one seed always gives the same.

    `look` must not raise anything: what a finalizer raises is lost. nodes: how many have further calls.
    Each method that begins with `by_` calls `node` in its own way, most of them from two lines.
    """

    def __init__(self, seed: int, look: Callable[[], None], nodes: int) -> None:
        self._random = Random(seed)
        self._look = look
        self._left = nodes
        self._held: list[Generator[None, None, None]] = []
        self._ways = [getattr(self, name) for name in sorted(dir(self)) if name.startswith("by_")]

    def node(self, left: int) -> int:
        """Looks, then makes up to three calls, and looks again. left: how many levels may follow."""
        if self._random.random() < 0.5:
            self._look()
        if left > 0 and self._left > 0:
            self._left -= 1
            for _ in range(self._random.randint(1, 3)):
                self._random.choice(self._ways)(left - 1)
        if self._random.random() < 0.5:
            self._look()
        return 0

    def by_two_lines(self, left: int) -> None:
        self.node(left)
        self.node(left)

    def by_one_line_twice(self, left: int) -> None:
        for _ in range(2):
            self.node(left)

    def by_nested_arguments(self, left: int) -> None:
        max(self.node(left), self.node(left), abs(self.node(left)))

    def by_keywords(self, left: int) -> None:
        self.node(**{"left": left})
        self.node(*(left,))

    def by_c(self, left: int) -> None:
        list(map(self.node, [left, left]))
        sorted([left, left], key=self.node)

    def by_partial(self, left: int) -> None:
        functools.partial(self.node, left)()

    def by_property(self, left: int) -> None:
        view = _View(self, left)
        view.value.bit_length()
        _ = view.value

    def by_subscript(self, left: int) -> None:
        view = _View(self, left)
        view[0]
        -view[0]

    def by_construction(self, left: int) -> None:
        _Made(self, left)

    def by_comprehension(self, left: int) -> None:
        [self.node(left) for _ in range(2)]

    def by_text(self, left: int) -> None:
        exec("node(left)\nnode(left)", {"node": self.node, "left": left})

    def by_retry(self, left: int) -> None:
        for tries in range(3):
            with suppress(PlannedError):
                self._fail(left, tries)
        try:
            self._fail(left, 0)
        except PlannedError:
            self.node(left)

    def by_finally(self, left: int) -> None:
        try:
            try:
                self.node(left)
                raise PlannedError
            finally:
                self.node(left)
        except PlannedError:
            self._look()

    def by_deep_failure(self, left: int) -> None:
        for depth in (3, 5, 3):
            try:
                self._sink(depth, left)
            except PlannedError:
                self._look()

    def by_recursion(self, left: int) -> None:
        self._descend(self._random.randint(1, 30), left)

    def by_generator(self, left: int) -> None:
        for _ in self._items(left):
            self.node(left)

    def by_argument_that_is_a_generator(self, left: int) -> None:
        items = self._items(left)
        self._exhaust(items)

    def by_delegation(self, left: int) -> None:
        for _ in self._delegated(left):
            self._look()

    def by_held_generator(self, left: int) -> None:
        self._held.append(self._items(left))
        if len(self._held) > 3:
            held = self._held.pop(self._random.randrange(len(self._held)))
            next(held, None)
            self.node(left)
            next(held, None)
            if self._random.random() < 0.5:
                held.close()
            else:
                self._throw(held)

    def by_coroutine(self, left: int) -> None:
        coroutine = self._outer(left)
        coroutine.send(None)
        self.node(left)
        try:
            coroutine.send(None)
        except StopIteration:
            self._look()

    def by_context(self, left: int) -> None:
        with self._surrounded(left):
            self.node(left)

    def by_event_loop(self, left: int) -> None:
        if self._random.random() < 0.1 and asyncio._get_running_loop() is None:
            asyncio.run(self._tasks(left))

    def by_finalizer(self, left: int) -> None:
        _Dying(self, left)
        held = _Dying(self, left)
        del held

    def by_finalizer_of_a_local(self, left: int) -> None:
        """It runs while this function returns, between this frame and that of its caller."""
        held = _Dying(self, left)
        self.node(left if held is None else 0)

    def by_failed_construction(self, left: int) -> None:
        for _ in range(2):
            with suppress(PlannedError):
                _Failing(self, left)
        try:
            _Failing(self, left)
        except PlannedError:
            self._look()

    def by_tracing(self, left: int) -> None:
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            self.node(left)
        finally:
            sys.settrace(before)
        self.node(left)

    def _trace(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "line" and self._random.random() < 0.2:
            self._look()
        return self._trace

    def _fail(self, left: int, tries: int) -> None:
        self.node(left)
        if tries < 2:
            raise PlannedError
        self.node(left)

    def _sink(self, depth: int, left: int) -> None:
        if depth == 0:
            self.node(left)
            raise PlannedError
        self._sink(depth - 1, left)

    def _descend(self, depth: int, left: int) -> None:
        if depth % 7 == 0:
            self._look()
        if depth > 0:
            self._descend(depth - 1, left)
        else:
            self.node(left)
        self._look()

    def _items(self, left: int) -> Generator[None, None, None]:
        self._look()
        yield
        self.node(left)
        try:
            yield
        except PlannedError:
            self.node(left)
        self._look()

    def _exhaust(self, items: Iterator[None]) -> None:
        for _ in items:
            self._look()

    def _delegated(self, left: int) -> Generator[None, None, None]:
        yield from self._items(left)
        self._look()
        yield from self._items(left)

    def _throw(self, held: Generator[None, None, None]) -> None:
        try:
            held.throw(PlannedError())
        except (PlannedError, StopIteration):
            self._look()

    async def _outer(self, left: int) -> None:
        self._look()
        await self._inner(left)
        self._look()

    def _inner(self, left: int) -> Coroutine[None, None, None]:
        return _suspended(self, left)

    @contextmanager
    def _surrounded(self, left: int) -> Iterator[None]:
        self.node(left)
        yield
        self._look()

    async def _tasks(self, left: int) -> None:
        await asyncio.gather(*(self._task(left) for _ in range(3)))

    async def _task(self, left: int) -> None:
        for _ in range(2):
            self.node(left)
            await asyncio.sleep(0)
            self._look()


class _Suspension:
    def __await__(self) -> Generator[None, None, None]:
        yield


async def _suspended(tree: Tree, left: int) -> None:
    tree.node(left)
    await _Suspension()
    tree.node(left)


class _View:
    def __init__(self, tree: Tree, left: int) -> None:
        self._tree, self._left = tree, left

    @property
    def value(self) -> int:
        return self._tree.node(self._left)

    def __getitem__(self, index: int) -> int:
        return self._tree.node(self._left)


class _Made:
    def __init__(self, tree: Tree, left: int) -> None:
        tree.node(left)


class _Failing:
    def __init__(self, tree: Tree, left: int) -> None:
        tree.node(left)
        raise PlannedError


class _Dying:
    def __init__(self, tree: Tree, left: int) -> None:
        self._tree, self._left = tree, left

    def __del__(self) -> None:
        self._tree.node(self._left)


def grow(seed: int, look: Callable[[], None], nodes: int) -> None:
    """Trees with this many nodes in all, or a few more."""
    for tree in range(nodes // 100):
        Tree(1000 * seed + tree, look, 100).node(7)
