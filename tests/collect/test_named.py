"""`perfprobe.range` as a context manager and as a decorator."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator
from pathlib import Path

import pytest

import perfprobe
from tests.collect import ranged
from tests.collect.runs import finish, start

WITHOUT_RECORDER = """
import sys
sys.modules["perfprobe._core"] = None
import perfprobe

@perfprobe.range("half")
def half(number):
    return number / 2

with perfprobe.range("load"):
    print(half(3))
try:
    perfprobe.range(int)
except TypeError as error:
    print(error)
"""


def recorded(path: Path, run: Callable[[], object]) -> list[tuple[str, str, bool]]:
    """Name, kind, and whether it ended, of each range of perfprobe, in the order in which they began."""
    with perfprobe.profile(path / "run.perfprobe", python="off", operators="off"):
        run()
    rows = ranged.rows(path / "run.perfprobe")
    return [(row.name, row.kind, row.end_ns is not None) for row in rows if row.source == "PERFPROBE"]


def test_an_exception_ends_a_range(tmp_path: Path) -> None:
    @perfprobe.range("fails")
    def fails() -> None:
        raise ValueError("of the program")

    def run() -> None:
        with pytest.raises(ValueError, match="of the program"), perfprobe.range("outer"):
            fails()
        with perfprobe.range("after"):
            pass

    assert recorded(tmp_path, run) == [
        ("outer", "NESTED", True),
        ("fails", "NESTED", True),
        ("after", "NESTED", True),
    ]


def test_one_object_can_be_nested(tmp_path: Path) -> None:
    again = perfprobe.range("again")

    def run() -> None:
        with again, again:
            pass

    assert recorded(tmp_path, run) == [("again", "NESTED", True)] * 2


def test_a_decorated_function_keeps_its_attributes(tmp_path: Path) -> None:
    @perfprobe.range("half")
    def half(number: int, *, of: int = 2) -> float:
        """Divides."""
        return number / of

    assert (half.__name__, half.__doc__) == ("half", "Divides.")
    assert recorded(tmp_path, lambda: [half(3), half(number=3, of=4)]) == [("half", "NESTED", True)] * 2
    assert half(3) == 1.5


def test_a_generators_range_lasts_until_it_ends(tmp_path: Path) -> None:
    @perfprobe.range("numbers")
    def numbers() -> Generator[int, int, None]:
        received = yield 1
        yield received

    def run() -> None:
        generator = numbers()
        with perfprobe.range("first"):
            assert next(generator) == 1
        assert generator.send(5) == 5
        generator.close()

    assert recorded(tmp_path, run) == [("first", "FREE", True), ("numbers", "NESTED", True)]


def test_ranges_of_overlapping_coroutines(tmp_path: Path) -> None:
    @perfprobe.range("coroutine")
    async def wait(mine: asyncio.Event, other: asyncio.Event) -> None:
        other.set()
        await mine.wait()

    async def both() -> None:
        first, second, third = asyncio.Event(), asyncio.Event(), asyncio.Event()
        one = asyncio.create_task(wait(first, second))
        await second.wait()
        two = asyncio.create_task(wait(third, first))
        await one
        third.set()
        await two

    rows = recorded(tmp_path, lambda: asyncio.run(both()))
    assert rows == [("coroutine", "FREE", True), ("coroutine", "NESTED", True)]


def test_invalid_ranges_are_refused() -> None:
    with pytest.raises(TypeError, match="needs a name"):
        perfprobe.range(len)  # type: ignore[arg-type]

    async def endless() -> AsyncIterator[int]:
        yield 1

    with pytest.raises(TypeError, match="asynchronous generator"):
        perfprobe.range("x")(endless)


@pytest.mark.parametrize("name", ["", "größe \U0001f600", "nul\0inside", "\udc80", "x" * 5000])
def test_unusual_names_are_recorded(name: str, tmp_path: Path) -> None:
    def run() -> None:
        with perfprobe.range(name):
            pass

    ((kept, *_),) = recorded(tmp_path, run)
    assert kept == {"nul\0inside": "nul", "\udc80": "?"}.get(name, name[:1024])


def test_without_the_recorder_the_program_runs(tmp_path: Path) -> None:
    outcome = finish(start(["-c", WITHOUT_RECORDER], tmp_path))
    assert (outcome.status, outcome.err) == (0, b"")
    assert outcome.out == b"1.5\na range needs a name, as in perfprobe.range('load'), and not <class 'int'>\n"


def test_without_a_recording_ranges_do_nothing() -> None:
    with perfprobe.range("unheard") as entered:
        assert isinstance(entered, perfprobe.range)


def test_a_range_around_the_beginning_or_the_end_of_a_recording(tmp_path: Path) -> None:
    around = perfprobe.range("around the end")
    with perfprobe.range("around the beginning"):
        block = perfprobe.profile(tmp_path / "run.perfprobe", python="off", operators="off")
        block.__enter__()
        with perfprobe.range("inside"):
            pass
    around.__enter__()
    block.__exit__(None, None, None)
    around.__exit__(None, None, None)
    rows = ranged.rows(tmp_path / "run.perfprobe")
    assert [(row.name, row.end_ns is None) for row in rows] == [("inside", False), ("around the end", True)]
