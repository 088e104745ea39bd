"""A program that knows its own times: prints those of its three functions in nanoseconds, as JSON."""

import json
import sys
import time

CALLS = {"first": 6, "second": 3, "third": 1}  # in a round


def first(count: int) -> int:
    """Adds squares."""
    total = 0
    for each in range(count):
        total += each * each
    return total


def second(count: int) -> int:
    """Combines bits."""
    total = 0
    for each in range(count):
        total ^= each << 3
    return total


def third(count: int) -> str:
    """Writes numbers as texts."""
    text = ""
    for each in range(count):
        text = str(each)
    return text


def main(seconds: float) -> None:
    """Calls all of them for this long."""
    spent_ns = dict.fromkeys(CALLS, 0)
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        for function in (first, second, third):
            begun_ns = time.perf_counter_ns()
            for _ in range(CALLS[function.__name__]):
                function(20_000)
            spent_ns[function.__name__] += time.perf_counter_ns() - begun_ns
    print(json.dumps(spent_ns))


main(float(sys.argv[1]))
