"""What samples say a thread waited for, of threads that wait in a way known beforehand."""

from __future__ import annotations

import os
import queue
import select
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import perfprobe
from perfprobe import _core
from perfprobe.tables import storage
from perfprobe.tables.python import Look, Samples, WaitsFor
from perfprobe.tables.stacks import Frames, Stacks
from perfprobe.tables.strings import Strings

pytestmark = pytest.mark.skipif(_core.sampler_missing() is not None, reason=str(_core.sampler_missing()))

SECONDS = 0.6
READ, WRITE = os.pipe()
HERE, THERE = socket.socketpair()
ITEMS: queue.SimpleQueue[int] = queue.SimpleQueue()


def in_recv() -> None:
    HERE.recv(1)


def in_read() -> None:
    os.read(READ, 1)


def in_select() -> None:
    select.select([READ], [], [], SECONDS)


def in_poll() -> None:
    poll = select.poll()
    poll.register(READ)
    poll.poll(0)
    only_reads = select.poll()
    only_reads.register(READ, select.POLLIN)
    only_reads.poll(SECONDS * 1000)


def in_queue() -> None:
    ITEMS.get()


def in_sleep() -> None:
    time.sleep(SECONDS)


def in_sleep_by_select() -> None:
    select.select([], [], [], SECONDS)


def at_work() -> None:
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        sum(range(1000))


WANTED: dict[Callable[[], None], WaitsFor] = {
    **dict.fromkeys((in_recv, in_read, in_select, in_poll), WaitsFor.MESSAGE),
    in_queue: WaitsFor.THREAD,
    **dict.fromkeys((in_sleep, in_sleep_by_select), WaitsFor.OTHER),
}


def run() -> None:
    threads = [threading.Thread(target=each) for each in (*WANTED, at_work)]
    for thread in threads:
        thread.start()
    time.sleep(SECONDS)
    ITEMS.put(0)
    THERE.send(b"x")
    threads[list(WANTED).index(in_select)].join()
    threads[list(WANTED).index(in_poll)].join()
    os.write(WRITE, b"x")
    for thread in threads:
        thread.join()


def test_waits_are_told_apart_by_their_system_call(tmp_path: Path) -> None:
    with perfprobe.profile(tmp_path / "r.perfprobe", operators="off"):
        run()
    recording = storage.read(tmp_path / "r.perfprobe")
    samples, frames, strings = recording[Samples], recording[Frames], recording[Strings]
    samples = samples.take((samples.look == Look.READ) & (samples.looks > 0))
    frame = recording[Stacks].frame[samples.stack]
    seen: dict[str, Counter[WaitsFor]] = {}
    for function, found, time_ns in zip(
        frames.function[frame].tolist(),
        samples.waits_for.tolist(),
        (samples.end_ns - samples.start_ns).tolist(),
        strict=True,
    ):
        seen.setdefault(strings[function], Counter())[WaitsFor(found)] += time_ns
    found_most = {each: seen[each.__name__].most_common(1)[0][0] for each in WANTED}
    assert found_most == WANTED
    assert not {WaitsFor.MESSAGE, WaitsFor.THREAD} & set(seen["at_work"])
