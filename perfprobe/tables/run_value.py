"""What one run is worth when it is compared with others."""

from __future__ import annotations

from enum import Enum

from perfprobe.support.frozen import frozen


class Measure(Enum):
    """What a step is measured by."""

    WALL = "wall"
    CPU = "cpu"  # of the loop's thread
    OWN = "own"  # wall, without waiting for a processor if that is known


@frozen(kw_only=True)
class RunValue:
    """The steps of the leading loop that count, start-up and memory. -1: not measured.

    Attributes:
        steps: how many there are.
        wall_ns, cpu_ns, own_ns: of a step, the mean; see `Measure`. The medians beside them.
        samples: in a step, the mean.
        start_up_ns: from the program's start to its first step.
        whole_ns: from the program's start to its end.
        threads: torch's number of threads at the end.
        resident_bytes: the most memory of the process at a step's end.
        tensor_bytes: the most memory of tensors on the CPU.
        device_bytes: the most memory of tensors on GPUs, of the fullest one.
    """

    steps: int
    wall_ns: float = -1
    wall_median_ns: float = -1
    cpu_ns: float = -1
    cpu_median_ns: float = -1
    own_ns: float = -1
    own_median_ns: float = -1
    samples: float = -1
    start_up_ns: int = -1
    whole_ns: int = -1
    threads: int = -1
    resident_bytes: int = -1
    tensor_bytes: int = -1
    device_bytes: int = -1

    def step_ns(self, measure: Measure) -> float | None:
        """The mean step by this measure; None if it was not measured."""
        found: float = getattr(self, f"{measure.value}_ns")
        return found if found > 0 else None
