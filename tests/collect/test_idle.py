"""While a program sleeps, perfprobe's threads sleep too, and activity in between is still seen."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from perfprobe import _core
from tests.collect.sampled import Sampled, sampling

_missing = _core.sampler_missing()
pytestmark = pytest.mark.skipif(_missing is not None, reason=str(_missing))

INTERVAL_NS = 5_000_000  # perfprobe's default sampling interval
WATCHED_S = 3


def switches(process: int) -> int:
    """How often all its threads together have gone to sleep so far, as counted by the kernel."""
    counted = 0
    for status in Path(f"/proc/{process}/task").glob("*/status"):
        found = re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status.read_text(), re.MULTILINE)
        counted += int(found[1]) if found else 0
    return counted


def switches_during(process: int, seconds: float) -> int:
    before = switches(process)
    time.sleep(seconds)
    return switches(process) - before


def test_perfprobe_rarely_wakes_while_the_program_sleeps(tmp_path: Path) -> None:
    (tmp_path / "sleep.py").write_text("import time\nprint('now', flush=True)\ntime.sleep(60)")
    words = [sys.executable, "-m", "perfprobe", "-q", "-o", "run.perfprobe", "sleep.py"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"now\n"
            time.sleep(2)
            threads = len(list(Path(f"/proc/{process.pid}/task").iterdir()))
            # The best of three windows: on a busy machine the sampler notices later that nothing runs.
            counted = min(switches_during(process.pid, WATCHED_S) for _ in range(3))
        finally:
            process.kill()
    assert threads == 3  # the program's thread, the writer, the sampler
    assert 0 < counted <= 5 * WATCHED_S


def nap(seconds: float) -> None:
    time.sleep(seconds)


def work(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(50))


def other_nap(seconds: float) -> None:
    time.sleep(seconds)


def times_of(sampled: Sampled, thread: int, *functions: str) -> dict[str, float]:
    """Seconds by samples for each of these functions, including functions that they call."""
    times = dict.fromkeys(functions, 0.0)
    for sample in sampled.of_thread(thread):
        names = {function for _, function, _ in sampled.stack(sample)}
        for function in names.intersection(functions):
            times[function] += int(sampled.samples.end_ns[sample] - sampled.samples.start_ns[sample]) / 1e9
    return times


class Clock:
    """Times of functions by the program's own clock, in seconds."""

    def __init__(self) -> None:
        self.times: dict[str, float] = {}

    def call(self, function: Callable[[float], None], seconds: float) -> None:
        """Calls it and adds the time that it took."""
        start = time.perf_counter()
        function(seconds)
        took = time.perf_counter() - start
        self.times[function.__name__] = self.times.get(function.__name__, 0.0) + took


@pytest.mark.alone
@pytest.mark.parametrize(("nap_s", "work_s", "rounds"), [(0.05, 0.02, 20), (0.4, 0.4, 2)], ids=str)
def test_shares_agree_with_the_programs_clock(
    tmp_path: Path, nap_s: float, work_s: float, rounds: int
) -> None:
    clock = Clock()
    with sampling(tmp_path, INTERVAL_NS) as result:
        for _ in range(rounds):
            clock.call(nap, nap_s)
            clock.call(work, work_s)
        sampled = result()
    found = times_of(sampled, threading.get_native_id(), "nap", "work")
    right = clock.times["work"] / sum(clock.times.values())
    assert found["work"] / sum(found.values()) == pytest.approx(right, abs=0.06)
    assert sum(found.values()) == pytest.approx(sum(clock.times.values()), rel=0.05)


@pytest.mark.alone
def test_both_of_two_consecutive_waits_are_seen(tmp_path: Path) -> None:
    clock = Clock()
    with sampling(tmp_path, INTERVAL_NS) as result:
        for _ in range(2):
            clock.call(nap, 0.5)
            clock.call(other_nap, 0.5)
        sampled = result()
    found = times_of(sampled, threading.get_native_id(), "nap", "other_nap")
    right = clock.times["nap"] / sum(clock.times.values())
    assert found["nap"] / sum(found.values()) == pytest.approx(right, abs=0.15)


@pytest.mark.alone
def test_a_thread_that_starts_during_a_rest_has_its_own_time(tmp_path: Path) -> None:
    def begin() -> None:
        start = time.monotonic_ns()
        work(0.1)
        began.append((threading.get_native_id(), start))

    began: list[tuple[int, int]] = []
    with sampling(tmp_path, INTERVAL_NS) as result:
        time.sleep(0.6)
        thread = threading.Thread(target=begin)
        thread.start()
        thread.join()
        sampled = result()
    ((number, start_ns),) = began
    first = next(sampled.of_thread(number))
    # Its time counts from its start by its CPU time, not from the previous look, which may be long ago.
    assert sampled.samples.start_ns[first] - start_ns + 5_000_000 >= 0
    assert times_of(sampled, number, "work")["work"] > 0
