"""When to stop, which blocks to leave out, and how to combine blocks of several processes.

The numbers come from a study of 56 operators with 5 processes on a busy machine. With them CPU times of
different processes agree within 10 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from statistics import median

from perfprobe.tables.measurements import Estimate

BLOCK_NS = 150_000  # CPU time of a block
# Threads fall asleep between blocks, and waking them takes as long as several short calls. In a program they
# sleep less, because the next call follows immediately.
BLOCK_OF_THREADS_NS = 1_000_000
MOST_CALLS = 1000
FEWEST_BLOCKS = 9
MOST_BLOCKS = 200
QUIET = 0.02
_LATE = ((1.0, 5), (3.0, 3))  # after this multiple of the case's seconds, this many blocks are enough
_IMPROVING = 0.9  # continue only if the last FEWEST_BLOCKS blocks reduced the noise to this part
CONTENDED = 1.03
_MORE_FOR_RATIOS = 0.5
SLOW_CLOCK = 0.85
MORE_PROCESSES = 0.20


def calls_of_a_block(call_ns: float, threads: int = 1) -> int:
    """Returns how many calls take the time of a block, from 1 to MOST_CALLS."""
    block_ns = BLOCK_NS if threads == 1 else BLOCK_OF_THREADS_NS
    return max(1, min(MOST_CALLS, ceil(block_ns / max(call_ns, 1.0))))


def noise(values: Sequence[float]) -> float:
    """Returns the relative error of the median: MAD / median / sqrt(n)."""
    middle = float(median(values))
    if middle <= 0:
        return 0.0
    return float(median(abs(value - middle) for value in values) / middle / len(values) ** 0.5)


def enough(values: Sequence[float], spent_s: float, seconds: float) -> bool:
    """Whether to stop.

    Args:
        values: times of a call, block by block.
        spent_s: CPU time that the case has taken in this process.
        seconds: CPU time that it should take.
    """
    count = len(values)
    if any(spent_s >= part * seconds and count >= fewest for part, fewest in _LATE):
        return True
    if count < FEWEST_BLOCKS:
        return False
    now = noise(values)
    if now < QUIET or count >= MOST_BLOCKS:
        return True
    return count >= 2 * FEWEST_BLOCKS and now > _IMPROVING * noise(values[:-FEWEST_BLOCKS])


def paired_enough(ratios: Sequence[Sequence[float]], spent_s: float, seconds: float) -> bool:
    """Whether ratios of two subjects, from blocks of the same rounds, are known well enough.

    On a busy machine a block with one call of a third of a millisecond is off by 15 %; the median of 25
    rounds is within 5 %.

    Args:
        spent_s: CPU time of the rounds for these ratios alone.
        seconds: CPU time of a case. The ratios may take half of it in addition.
    """
    if spent_s >= _MORE_FOR_RATIOS * seconds or any(len(of) >= MOST_BLOCKS for of in ratios):
        return True
    return all(noise(of) < QUIET for of in ratios)


def at_full_clock(canaries_ns: Sequence[float]) -> list[bool]:
    """Returns for each block whether the processor ran at 85 % or more of its usual speed before it."""
    usual_ns = median(canaries_ns)
    return [ns * SLOW_CLOCK <= usual_ns for ns in canaries_ns]


def fed(starved: Sequence[bool]) -> list[bool]:
    """Returns for each block whether it counts. Starved blocks only count if all are starved."""
    return [all(starved) or not each for each in starved]


def uncontended(wall_ns: Sequence[float], cpu_ns: Sequence[float]) -> bool:
    """Whether no block lost time to other programs, so that wall time is as good as CPU time."""
    return all(wall < CONTENDED * cpu for wall, cpu in zip(wall_ns, cpu_ns, strict=True))


def estimate(of_processes: Sequence[float]) -> Estimate | None:
    """Returns median, lowest and highest of the processes' results; None if there are none."""
    if not of_processes:
        return None
    return Estimate(median(of_processes), min(of_processes), max(of_processes))


def spread(found: Estimate) -> float:
    """Returns the difference between processes as a part of the median."""
    return (found.high - found.low) / found.value if found.value > 0 else 0.0
