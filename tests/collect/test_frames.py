"""Python frames read by the native code, compared with the interpreter's traceback module."""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from collections.abc import Callable, Generator
from typing import Any

import pytest

from perfprobe import _core

Row = tuple[str, str, int, int]
Reader = Callable[[], list[Row]]

READERS = [
    pytest.param(_core.stack_public, id="public"),
    pytest.param(
        _core.stack_fast,
        id="fast",
        marks=pytest.mark.skipif(not _core.FAST_FRAMES, reason="this Python's frame layout is not verified"),
    ),
]


def _expected() -> list[tuple[str, str, int]]:
    """File, unqualified function name and line of every frame, innermost first, without this function."""
    walked = traceback.walk_stack(sys._getframe(1))
    return [(frame.f_code.co_filename, frame.f_code.co_name, line) for frame, line in walked]


def _both(read: Reader) -> tuple[list[Row], list[tuple[str, str, int]]]:
    return read(), _expected()


def _check(rows: list[Row], expected: list[tuple[str, str, int]]) -> None:
    seen = [(file, function.rsplit(".", 1)[-1], line) for file, function, _, line in rows]
    assert seen == expected


@pytest.mark.parametrize("read", READERS)
class TestStack:
    def test_frames_of_plain_calls(self, read: Reader) -> None:
        _check(*_both(read))

    def test_frames_of_recursion(self, read: Reader) -> None:
        def recurse(depth: int) -> Any:
            return recurse(depth - 1) if depth else _both(read)

        rows, expected = recurse(60)
        _check(rows, expected)
        assert sum(function.endswith("recurse") for _, function, _, _ in rows) == 61

    def test_frames_of_generators_and_comprehensions(self, read: Reader) -> None:
        def steps() -> Generator[Any, None, None]:
            yield _both(read)
            yield from [_both(read) for _ in range(1)]

        for rows, expected in steps():
            _check(rows, expected)

    def test_frames_of_coroutines(self, read: Reader) -> None:
        async def inner() -> Any:
            await asyncio.sleep(0)
            return _both(read)

        async def outer() -> Any:
            return await inner()

        _check(*asyncio.run(outer()))

    def test_frames_of_executed_text_and_lambdas(self, read: Reader) -> None:
        space: dict[str, Any] = {"both": lambda: _both(read)}
        exec(compile("result = (\n  both())", "<made up>", "exec"), space)
        _check(*space["result"])

    def test_frames_of_calls_from_c(self, read: Reader) -> None:
        (result,) = map(lambda _: _both(read), [0])  # with the C function in between
        _check(*result)

        def key(_: int) -> int:
            _check(*_both(read))
            return 0

        assert sorted([0], key=key) == [0]

    def test_frames_of_another_thread(self, read: Reader) -> None:
        results: list[Any] = []
        thread = threading.Thread(target=lambda: results.append(_both(read)))
        thread.start()
        thread.join()
        _check(*results[0])

    def test_the_first_line_is_that_of_the_function(self, read: Reader) -> None:
        rows = read()
        assert rows[0][2] == TestStack.test_the_first_line_is_that_of_the_function.__code__.co_firstlineno
