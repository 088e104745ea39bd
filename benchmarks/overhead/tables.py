"""Medians with their range, and tables of them in Markdown."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """The median of some measurements, their minimum and maximum."""

    median: float
    least: float
    greatest: float
    count: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Raises ValueError (statistics.StatisticsError) if there are no values."""
        ordered = sorted(values)
        return cls(statistics.median(ordered), ordered[0], ordered[-1], len(ordered))

    def text(self, digits: int) -> str:
        """A text such as '1.36 (1.30-1.40)'."""
        median, least, greatest = (
            f"{round(value, digits) + 0.0:.{digits}f}"  # no "-0"
            for value in (self.median, self.least, self.greatest)
        )
        return f"{median} ({least}-{greatest})"


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the median, by the ranks of the values (sign test, normal distribution)."""
    ordered = sorted(values)
    rank = max(0, math.floor((len(ordered) - 1.96 * math.sqrt(len(ordered))) / 2))
    return ordered[rank], ordered[-1 - rank]


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
