"""Times looks at the Python stack in any interpreter, which needs nothing installed.

    python -m benchmarks.versions.looks MODULE.so

Prints, by depth of the stack, the nanoseconds of a look in each round as JSON. Each look is made by another
call of a function below `depth` others, as by an operator in a loop.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable

from tests.collect.frames_elsewhere import loaded

DEPTHS = (30, 900)
ROUNDS = 7
LOOKS = 20_000


def main(path: str) -> None:
    """Measure and print."""
    look: Callable[[bool], int] = loaded(path).look
    sys.setrecursionlimit(2 * DEPTHS[-1])
    gc.disable()
    print(json.dumps({depth: [below(depth, look) for _ in range(ROUNDS)] for depth in DEPTHS}))


def below(left: int, look: Callable[[bool], int]) -> float:
    """What a look costs below this many calls: with it, without it, and the difference."""
    if left > 0:
        return below(left - 1, look)
    plain_ns = timed(look, False)
    return (timed(look, True) - plain_ns) / LOOKS


def timed(look: Callable[[bool], int], wanted: bool) -> int:
    """Nanoseconds of CPU time of all looks; wanted: whether they are made."""
    begun_ns = time.thread_time_ns()
    for _ in range(LOOKS):
        called(look, wanted)
    return time.thread_time_ns() - begun_ns


def called(look: Callable[[bool], int], wanted: bool) -> None:
    """One call that looks."""
    look(wanted)


if __name__ == "__main__":
    main(sys.argv[1])
