"""Rows of operators added up by name, because one line often calls an operator with many shapes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from perfprobe.report.rows.operators import OperatorRow
from perfprobe.report.section.screen.places import operator


class Named(NamedTuple):
    """All rows of an operator. number: how many different inputs they have."""

    name: str
    time_ns: int
    number: int

    @property
    def shapes(self) -> str:
        """` in 3 shapes`, nothing for one."""
        return f" in {self.number:,} shapes" if self.number > 1 else ""


def by_name(rows: Iterable[tuple[OperatorRow, int, Iterable[object]]]) -> list[Named]:
    """Sums of these times by the name of the operator, the largest first. The last of each: its inputs."""
    sums_ns: dict[str, int] = {}
    inputs: dict[str, set[object]] = {}
    for row, time_ns, signatures in rows:
        name = operator(row)
        sums_ns[name] = sums_ns.get(name, 0) + time_ns
        inputs.setdefault(name, set()).update(signatures)
    found = (Named(name, time_ns, len(inputs[name])) for name, time_ns in sums_ns.items())
    return sorted(found, key=lambda each: -each.time_ns)
