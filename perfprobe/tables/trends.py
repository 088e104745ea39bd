"""What changes from step to step."""

from __future__ import annotations

from perfprobe.support.frozen import frozen


@frozen
class Trend:
    """A figure that rises over the steps.

    Attributes:
        a_step: how much it rises from one step to the next; low, high: the 95 % interval.
        late: the same in the second half of the steps.
        first, last: its median in the first and in the last steps.
        steps: number of steps.
    """

    a_step: float
    low: float
    high: float
    late: float
    first: float
    last: float
    steps: int


@frozen
class Trends:
    """Of the leading loop's steps.

    Attributes:
        memory: resident memory of the process in bytes, without the first fifth of the steps.
        duration: duration of a step in ns, without waiting for a processor.
        frame: the line whose time rose most, -1 if not known; part: its part of the whole rise.
    """

    memory: Trend | None
    duration: Trend | None
    frame: int
    part: float
