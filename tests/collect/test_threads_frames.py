"""Frames of other threads as the sampler reads them, and as Python does at the same moment."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from perfprobe import _core
from tests.collect.call_trees import grow

pytestmark = pytest.mark.skipif(_core.sampler_missing() is not None, reason=str(_core.sampler_missing()))

LEAST = 300  # stacks to compare


@pytest.fixture(autouse=True)
def _often() -> Iterator[None]:
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval_s)


def compare(run: Callable[[], object]) -> Counter[str]:
    """Compares the stacks of three threads that run this, again and again. None may differ."""
    found: Counter[str] = Counter()
    while found["equal"] < LEAST:
        threads = [threading.Thread(target=run, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            for sampled, frames in _core.stacks_of_threads():
                # An instruction without a line, of a cleanup, is on the first one.
                public = [
                    (file, function, first, line if line >= 0 else first)
                    for file, function, first, line in frames
                ]
                assert sampled == public
                found["equal"] += 1
                found["deep"] += len(public) > 20
                found.update(function for _, function, _, _ in public)
    return found


def test_random_trees_of_calls() -> None:
    seeds = iter(range(10_000))
    found = compare(lambda: grow(next(seeds), lambda: None, 400))
    assert found["deep"] > LEAST / 20
    assert len([name for name in found if name.startswith("Tree.by_")]) > 10


def test_deep_stacks_and_back() -> None:
    """10,000 calls, so in many chunks of the stack of frames."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(12_000)

    def descend(left: int) -> int:
        return 1 + descend(left - 1) if left > 0 else 0

    def run() -> None:
        for _ in range(20):
            descend(10_000)

    try:
        found = compare(run)
    finally:
        sys.setrecursionlimit(limit)
    assert found["deep"] > LEAST / 20


def test_constructors_without_a_frame_of_their_own() -> None:
    """From 3.13 on the interpreter puts a frame of its own around an `__init__`, which nothing shows."""

    class Made:
        def __init__(self, left: int) -> None:
            self.inner = Made(left - 1) if left > 0 else None

    def run() -> None:
        for _ in range(300):
            Made(30)

    found = compare(run)
    names = [name for name in found if name.endswith("__init__")]
    assert names != []
    assert "__init__" not in names
