"""Stacks copied by the sampler from running threads, compared with the interpreter's for waiting threads."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from perfprobe import _core
from perfprobe.tables.python import Look
from tests.collect.sampled import QUICK_NS, Place, Sampled, sampling

pytestmark = pytest.mark.skipif(_core.sampler_missing() is not None, reason=str(_core.sampler_missing()))

Park = Callable[[], object]


def plain(park: Park) -> None:
    park()


def deep(park: Park, depth: int = 300) -> None:
    if depth:
        deep(park, depth - 1)
    else:
        park()


def wide(park: Park, depth: int = 150, *values: int) -> None:
    """Frames with hundreds of values, so that the frame stack needs many chunks."""
    if depth:
        wide(park, depth - 1, *range(200))
    else:
        park()


def generators(park: Park) -> None:
    def inner() -> Generator[Any, None, None]:
        yield from (park() for _ in range(1))

    def outer() -> Generator[Any, None, None]:
        yield from inner()

    list(outer())


def comprehension(park: Park) -> None:
    _ = {key: [park() for _ in range(1)] for key in range(1)}


def coroutines(park: Park) -> None:
    async def inner() -> None:
        await asyncio.sleep(0)
        park()

    async def outer() -> None:
        await asyncio.gather(inner())

    asyncio.run(outer())


def decorated(park: Park) -> None:
    def twice(function: Callable[[], object]) -> Callable[[], object]:
        @functools.wraps(function)
        def wrapper() -> object:
            return function()

        return wrapper

    @twice
    def inside() -> object:
        return park()

    inside()


def lambdas_from_c(park: Park) -> None:
    sorted([0], key=lambda _: max([0], key=lambda _: len(str(park()))))


def handlers(park: Park) -> None:
    with contextlib.suppress(KeyError):
        try:
            raise ValueError
        except ValueError:
            try:
                raise KeyError
            finally:  # in the middle of unwinding
                with contextlib.suppress(RuntimeError):
                    park()


class Method:
    def __init__(self, park: Park) -> None:
        self.value = park()

    @classmethod
    def make(cls, park: Park) -> Method:
        return cls(park)


def executed(park: Park) -> None:
    source = "def größe_名():\n\n    return (\n        park())\n\ngröße_名()"
    exec(compile(source, "ordner/dätei_文.py", "exec"), {"park": park})


def many_lines(park: Park) -> None:
    source = "def f():\n" + "\n" * 70_000 + "    x = 1\n" * 3000 + "    park()\nf()"
    exec(compile(source, "long.py", "exec"), {"park": park})


PARKED: list[Callable[[Park], object]] = [
    plain,
    deep,
    wide,
    generators,
    comprehension,
    coroutines,
    decorated,
    lambdas_from_c,
    handlers,
]
PARKED += [Method.make, executed, many_lines]


def parked(folder: Path, run: Callable[[Park], object]) -> tuple[list[Place], list[Place]]:
    """The stack of a thread that waits inside `run`: sampled, and from the interpreter."""
    waits, ends = threading.Event(), threading.Event()

    def park() -> None:
        waits.set()
        ends.wait()

    thread = threading.Thread(target=run, args=(park,))
    with sampling(folder) as result:
        thread.start()
        waits.wait()
        while True:  # until it has reached the place where it waits
            seen = expected(thread)
            time.sleep(0.01)
            if seen == expected(thread) and seen[0][1].endswith("wait"):
                break
        sampled = result()
        assert seen == expected(thread)
        ends.set()
        thread.join()
    assert thread.native_id is not None
    (sample,) = sampled.of_thread(thread.native_id)
    return sampled.stack(sample), seen


def expected(thread: threading.Thread) -> list[Place]:
    assert thread.ident is not None
    walked = traceback.walk_stack(sys._current_frames()[thread.ident])
    return [(frame.f_code.co_filename, frame.f_code.co_qualname, line) for frame, line in walked]


@pytest.mark.parametrize("run", PARKED)
def test_a_waiting_thread_has_the_stack_of_its_wait(tmp_path: Path, run: Callable[[Park], object]) -> None:
    seen, right = parked(tmp_path, run)
    assert seen == right


@pytest.fixture
def deep_recursion() -> Iterator[None]:
    """Room for 18,000 frames: from 3.11 on, pure Python calls use no C stack."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(limit)


@pytest.mark.usefixtures("deep_recursion")
def test_a_deep_stack_is_complete(tmp_path: Path) -> None:
    seen, right = parked(tmp_path, functools.partial(deep, depth=5000))
    assert len(seen) > 5000
    assert seen == right


@pytest.mark.usefixtures("deep_recursion")
def test_a_too_deep_stack_loses_its_outer_frames(tmp_path: Path) -> None:
    seen, right = parked(tmp_path, functools.partial(deep, depth=17_000))
    assert len(seen) == 16_384
    assert seen == right[:16_384]


def test_deleted_code_keeps_its_name(tmp_path: Path) -> None:
    """Code objects of one size that reuse the same address: each keeps its own name and line."""
    names = [f"made_{number:02}" for number in range(40)]
    with sampling(tmp_path, QUICK_NS) as result:
        for number, name in enumerate(names):
            source = "\n" * number + f"def {name}():\n    sleep(0.02)\n{name}()"
            namespace: dict[str, Any] = {"sleep": time.sleep}
            exec(compile(source, "<made>", "exec"), namespace)
            namespace.clear()  # deletes the function and its code
        sampled = result()
    innermost = [sampled.stack(sample)[0] for sample in sampled.read()]
    made = [(function, line) for file, function, line in innermost if file == "<made>" and function in names]
    assert len(set(made)) > len(names) // 2
    first_lines = {name: number + 1 for number, name in enumerate(names)}
    assert [place for place in made if place[1] - first_lines[place[0]] not in (0, 1)] == []


def test_times_have_no_gaps_and_waiting_is_one_row(tmp_path: Path) -> None:
    with sampling(tmp_path, QUICK_NS) as result:
        time.sleep(0.3)
        sampled = result()
    rows = list(sampled.of_thread(threading.get_native_id()))
    samples = sampled.samples
    assert samples.start_ns[rows[0]] == sampled.figures["started_ns"]
    assert [int(samples.start_ns[row]) for row in rows[1:]] == [int(samples.end_ns[row]) for row in rows[:-1]]
    longest = max(rows, key=lambda row: int(samples.looks[row]))
    assert samples.looks[longest] > 10
    assert sampled.stack(longest)[0][1] == "test_times_have_no_gaps_and_waiting_is_one_row"
    assert (samples.cpu_ns[rows] >= 0).all()
    assert samples.cpu_ns[longest] < samples.end_ns[longest] - samples.start_ns[longest]


def test_time_before_the_start_is_not_counted(tmp_path: Path) -> None:
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        with sampling(tmp_path, QUICK_NS) as result:
            time.sleep(0.1)
            sampled = result()
    finally:
        end.set()
        thread.join()
    rows = list(sampled.of_thread(thread.native_id or 0))
    assert len(rows) > 0
    assert sampled.samples.start_ns[rows].min() == sampled.figures["started_ns"]
    assert sampled.samples.cpu_ns[rows[0]] == -1  # its CPU clock was not read at the start


def spin(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        sum(range(50))


def much() -> None:
    spin(0.6)


def little() -> None:
    spin(0.2)


def test_shares_agree_with_the_programs_clock(tmp_path: Path) -> None:
    with sampling(tmp_path, QUICK_NS) as result:
        for _ in range(2):
            much()
            little()
        sampled = result()
    times = {"much": 0, "little": 0}
    for sample in sampled.read():
        for _, function, _ in sampled.stack(sample):
            if function in times:
                times[function] += int(sampled.samples.end_ns[sample] - sampled.samples.start_ns[sample])
    assert 0.6 < times["much"] / sum(times.values()) < 0.9


def steps(depth: int) -> Generator[int, None, None]:
    if depth:
        yield from steps(depth - 1)
    yield depth


def test_stacks_do_not_end_in_a_generator(tmp_path: Path) -> None:
    def work() -> None:
        end = time.perf_counter() + 0.5
        while time.perf_counter() < end:
            sum(steps(5))
            sum(value for value in range(2))

    thread = threading.Thread(target=work)
    with sampling(tmp_path, QUICK_NS) as result:
        thread.start()
        thread.join()
        sampled = result()
    assert thread.native_id is not None
    stacks = [sampled.stack(sample) for sample in sampled.of_thread(thread.native_id)]
    assert {stack[-1][1] for stack in stacks if stack} == {"Thread._bootstrap"}
    assert sampled.figures["failed_looks"] < sampled.figures["looks"] / 10


def churn(until: float) -> None:
    while time.perf_counter() < until:
        sum(steps(20))
        sorted(range(50), key=lambda value: -value)
        space: dict[str, Any] = {}
        exec("def f(x):\n    return [y + 1 for y in range(x)]\nf(9)", space)
        del space
        gc.collect(0)


def test_short_lived_threads_cause_no_fault(tmp_path: Path) -> None:
    until = time.perf_counter() + 0.8
    with sampling(tmp_path, QUICK_NS // 5) as result:
        steady = threading.Thread(target=churn, args=(until,))
        steady.start()
        while time.perf_counter() < until:
            brief = [threading.Thread(target=churn, args=(0,)) for _ in range(4)]
            for thread in brief:
                thread.start()
            churn(0)
            for thread in brief:
                thread.join()
        steady.join()
        sampled = result()
    assert sampled.figures["failed_looks"] < sampled.figures["looks"] / 10
    functions = {sampled.stack(sample)[0][1] for sample in sampled.read()}
    assert functions & {"churn", "churn.<locals>.steps", "churn.<locals>.<lambda>"}
    known = {"READ", "NO_PYTHON", "FAILED"}
    assert {Look(look).name for look in sampled.samples.look} <= known


def test_the_result_can_be_read_twice(tmp_path: Path) -> None:
    with sampling(tmp_path) as result:
        first: Sampled = result()
        assert result().figures == first.figures


def test_every_thread_is_sampled_from_the_start(tmp_path: Path) -> None:
    ends = threading.Event()
    waiting = [threading.Thread(target=ends.wait) for _ in range(3)]
    for thread in waiting:
        thread.start()
    with sampling(tmp_path, QUICK_NS) as result:
        time.sleep(0.05)
        sampled = result()
    ends.set()
    for thread in waiting:
        thread.join()
        assert thread.native_id is not None
        first = next(sampled.of_thread(thread.native_id))
        assert sampled.samples.start_ns[first] == sampled.figures["started_ns"]
        assert sampled.samples.cpu_ns[first] == -1
