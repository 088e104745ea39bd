"""Runs one call repeatedly, to be examined with another tool. Needs only torch, not perfprobe.

Operands are built and the call is warmed up before a window opens. The window has blocks of hot calls, with a
range around each block. Between blocks, outside of ranges, the clocks are read, and operands that the call
changes are restored. The source of this module is part of every script that is written; benchmarks run their
cases with it too.
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from statistics import median
from typing import Any

from perfprobe.bench.emit.window import Refused, Window, say, window_for
from perfprobe.bench.head_start import HeadStart
from perfprobe.bench.rebuild.operands import Operands, function

LEAST_ROTATED_BYTES = 64 << 20  # of all copies of the operands: more than caches hold
MOST_COPIES = 1024
WARM_BYTES = 256 << 10  # of warm operands that are written: with more copies they are restored less often
BLOCK_S = 0.1
TIMED_BLOCKS, TIMED_MS = 5, 1  # for timing with CUDA events
MOST_TIMED_CALLS = 200  # more launches would fill the queue, and the host would wait
FAULTS = (AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError)  # of torch, of data


@dataclass
class Tally:
    """Sums over finished blocks. cpu_ns: of all threads of the process."""

    calls: int = 0
    wall_ns: int = 0
    cpu_ns: int = 0


def run(
    call: dict[str, Any],
    name: str,
    threads: int,
    device: str = "cpu",
    *,
    description: str = "",
    words: Sequence[str] | None = None,
) -> int:
    """Runs a call as the command line says; returns the exit code.

    Args:
        call: from `CallRecipe.plain()`, as `operands.Operands` takes it.
        name: name of the ranges.
        threads: size of torch's thread pool without --threads.
        words: the command line; None for sys.argv.
    """
    chosen = _options(threads, description, words)
    print(f"pid {os.getpid()}", flush=True)
    try:
        _run(call, name, device, chosen)
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    except Refused as refusal:
        say(str(refusal))
        return 1
    return 0


def _options(threads: int, description: str, words: Sequence[str] | None) -> argparse.Namespace:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=description.replace("%(", "% ("), formatter_class=raw)
    long = parser.add_mutually_exclusive_group()
    long.add_argument("--seconds", type=_positive(float), default=5.0, help="how long calls are hot (5)")
    long.add_argument("--once", action="store_true", help="one warm-up call, then one hot call: for ncu")
    sets = parser.add_mutually_exclusive_group()
    sets.add_argument(
        "--copies", type=_positive(int), help="sets of operands used in turn (default: more than caches hold)"
    )
    sets.add_argument(
        "--warm", action="store_true", help="the same operands each time: they stay in the caches"
    )
    parser.add_argument(
        "--threads", type=_positive(int), default=threads, help=f"threads of torch's pool ({threads})"
    )
    parser.add_argument("--wait", action="store_true", help="wait before the hot calls, for a tool to attach")
    parser.add_argument(
        "--perf-control",
        metavar="CTL[,ACK]",
        help="switch `perf stat -D -1 --control fifo:CTL,ACK` on and off",
    )
    return parser.parse_args(words)


def _positive(kind: type[int] | type[float]) -> Callable[[str], float]:
    def number(text: str) -> float:
        value = kind(text)
        if not 0 < value < 1e9:
            raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
        return value

    number.__name__ = kind.__name__
    return number


def _run(call: dict[str, Any], name: str, device: str, chosen: argparse.Namespace) -> None:
    import torch

    if device != "cpu" and not torch.cuda.is_available():
        raise Refused(f"the call is on {device}, and this torch ({torch.__version__}) finds no GPU")
    if device != "cpu":
        torch.cuda.set_device(device)
    torch.set_num_threads(chosen.threads)
    sets = _sets(torch, call, device, chosen)
    print(f"{name}: {chosen.threads} threads, {len(sets)} sets of operands", flush=True)
    window = window_for(torch, name, device, chosen.perf_control)
    try:
        loop = _Loop(torch, function(torch, call), sets, _writes(call), device)
        calls = loop.warm_up(chosen.once, chosen.seconds)
        on_device = None if device == "cpu" or chosen.once else loop.on_device(calls)
    except FAULTS as error:
        raise Refused(f"torch {torch.__version__} rejects this call: {_first_line(error)}") from error
    if chosen.wait:
        _wait()
    _print(loop.hot(window, calls, 0.0 if chosen.once else chosen.seconds))
    if device != "cpu":
        print(f"device us/call {on_device or 'not measured: one call cannot be timed'}", flush=True)


def _sets(torch: Any, call: dict[str, Any], device: str, chosen: argparse.Namespace) -> list[Operands]:
    """Makes the sets of operands: as many as --copies says, else more than the caches hold."""
    sets = []
    try:
        sets.append(Operands(torch, call, 0))
        count = chosen.copies or _copies(torch, call, max(1, _storage_bytes(torch, sets[0])), device, chosen)
        sets += [Operands(torch, call, seed) for seed in range(1, count)]
    except FAULTS as error:
        what = f"set {len(sets) + 1} of the operands cannot be made"
        raise Refused(f"{what}: {_first_line(error)}; try --copies 1") from error
    return sets


def _copies(
    torch: Any, call: dict[str, Any], each_bytes: int, device: str, chosen: argparse.Namespace
) -> int:
    if chosen.warm:
        return max(1, min(MOST_COPIES, WARM_BYTES // each_bytes)) if _writes(call) else 1
    if chosen.once:
        return 2
    l2_bytes = _cpu_l2_bytes() * int(torch.get_num_threads())
    if device != "cpu":
        l2_bytes = int(torch.cuda.get_device_properties(device).L2_cache_size)
    return max(2, min(MOST_COPIES, -(-max(LEAST_ROTATED_BYTES, 2 * l2_bytes) // each_bytes)))


def _cpu_l2_bytes() -> int:
    try:
        return max(0, os.sysconf("SC_LEVEL2_CACHE_SIZE"))
    except (OSError, ValueError):  # not every Python has this name
        return 0


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _storage_bytes(torch: Any, operands: Operands) -> int:
    """Returns the size of all tensors of a set."""
    tensors = [
        one for one in _flat([*operands.args, *operands.kwargs.values()]) if isinstance(one, torch.Tensor)
    ]
    return sum(one.untyped_storage().nbytes() for one in tensors)


def _writes(call: dict[str, Any]) -> bool:
    given = _flat([*call["arguments"], *call["keywords"].values()])
    return any("tensor" in one and one["tensor"]["written"] for one in given if isinstance(one, dict))


def _flat(items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        if isinstance(item, (list, tuple)):
            yield from _flat(item)
        else:
            yield item


class _Loop:
    """Runs the call on its sets of operands in turn."""

    def __init__(self, torch: Any, called: Any, sets: list[Operands], writes: bool, device: str) -> None:
        self._torch, self._called, self._sets, self._writes = torch, called, sets, writes
        self._device = None if device == "cpu" else device
        self._turn = cycle([(one.args, one.kwargs) for one in sets])

    def warm_up(self, once: bool, seconds: float) -> int:
        """Runs all that is timed later once, restores the operands, and returns the calls of a block."""
        if once:
            self._block(1)
            self._restore()
            return 1
        calls, wanted_ns = len(self._sets), 1e9 * min(BLOCK_S, seconds / 4)
        self._block(calls)  # work that only the first calls do
        self._restore()
        while True:
            took_ns = self._block(calls).wall_ns
            self._restore()
            if self._writes or took_ns > wanted_ns / 2 or calls >= 1 << 20:
                break
            calls *= 2
        # A call that writes uses each set once per block.
        return calls if self._writes else max(1, int(calls * wanted_ns / max(1, took_ns)))

    def hot(self, window: Window, calls: int, seconds: float) -> Tally:
        """Runs blocks until the time is over, at least one.

        Args:
            calls: calls of a block.
        """
        all_blocks, until_ns = Tally(), time.perf_counter_ns() + int(seconds * 1e9)
        _each(window.opens)
        try:
            while True:
                block = self._block(calls, window)
                all_blocks.calls += block.calls
                all_blocks.wall_ns += block.wall_ns
                all_blocks.cpu_ns += block.cpu_ns
                if time.perf_counter_ns() >= until_ns:
                    return all_blocks
                self._restore()
        finally:
            _each(reversed(window.closes))

    def _block(self, calls: int, window: Window | None = None) -> Tally:
        called = self._called
        self._synchronize()
        _each(window.begins if window else ())
        cpu_ns, wall_ns = time.process_time_ns(), time.perf_counter_ns()
        try:
            for args, kwargs in islice(self._turn, calls):
                called(*args, **kwargs)
            self._synchronize()
            wall_ns, cpu_ns = time.perf_counter_ns() - wall_ns, time.process_time_ns() - cpu_ns
        finally:
            _each(reversed(window.ends) if window else ())
        return Tally(calls, wall_ns, cpu_ns)

    def on_device(self, calls: int) -> str:
        """Returns us per call between CUDA events, in short blocks without ranges.

        The window's blocks are not timed this way: no head start is as long as they are, and tools would see
        its kernel.

        Args:
            calls: calls of a block of the window.
        """
        span, starved = HeadStart(self._torch.cuda), 0
        found: list[float] = []
        part = calls if self._writes else calls * TIMED_MS // int(BLOCK_S * 1e3)
        count = min(MOST_TIMED_CALLS, max(1, part))
        while len(found) < TIMED_BLOCKS and starved < span.TRIES:
            self._synchronize()
            chosen = list(islice(self._turn, count))
            span.begin()
            for args, kwargs in chosen:
                self._called(*args, **kwargs)
            span.end()
            device_us = span.device_ns() / count / 1e3
            self._restore()
            if span.starved:
                starved += 1
            else:
                found.append(device_us)
        if not found:
            return f"{device_us:.3f} at most: the GPU waited for the host between the calls"
        return f"{median(found):.3f}"

    def _synchronize(self) -> None:
        if self._device is not None:
            self._torch.cuda.synchronize(self._device)

    def _restore(self) -> None:
        for one in self._sets if self._writes else ():
            one.restore()
        self._synchronize()


def _each(actions: Any) -> None:
    for action in actions:
        action()


def _print(tally: Tally) -> None:
    print(f"calls {tally.calls}")
    print(f"wall us/call {tally.wall_ns / tally.calls / 1e3:.3f}")
    print(f"cpu us/call {tally.cpu_ns / tally.calls / 1e3:.3f}")
    sys.stdout.flush()


def _wait() -> None:
    """Waits for Enter or SIGUSR1; only for SIGUSR1 if standard input is closed or at its end."""
    came: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: came.append(number))
    enter = "press Enter, or " if sys.stdin is not None and sys.stdin.isatty() else ""
    say(f"waiting: attach to pid {os.getpid()}, then {enter}`kill -USR1 {os.getpid()}`")
    inputs = [0]
    while not came:
        try:
            ready = select.select(inputs, [], [], 0.2)[0]
            if ready and os.read(0, 1):
                break
            inputs = [] if ready else inputs
        except OSError:  # standard input is closed
            inputs = []
    signal.signal(signal.SIGUSR1, before)
