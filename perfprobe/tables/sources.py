"""How two sources of the same operators differ."""

from __future__ import annotations

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int32, Int64, Table, Text, column
from perfprobe.tables.strings import Strings

ONLY_OBSERVER = "only the observer"
ONLY_AUTOGRAD = "only the autograd profiler"
SIGNATURE = "signature"
NESTING = "nesting"


class Differences(Table):
    """Operators for which observer and autograd profiler differ, most frequent first."""

    kind: Text = column("the kind of difference")
    name: Int32 = column("name of the operator, -1 for sums over operators", Strings)
    overload: Int32 = column("the name of its overload", Strings)
    observer: Text = column("what the observer recorded")
    autograd: Text = column("what the autograd profiler recorded")
    reason: Text = column('the reason, "" if not known')
    count: Int64 = column("number of calls", combine=Combine.SUM)


@frozen
class Sources:
    """Observer and autograd profiler in one recording.

    Attributes:
        both: calls seen by both; observer, autograd: calls seen by each.
        windows: number of windows of the profiler; reading_ns: time in which the program waited for their
            reading; None if not known.
        apart_ns: median difference between the two starts of a call; None without calls.
        clock_error_ns: largest error of the profiler's clock.
    """

    both: int
    observer: int
    autograd: int
    windows: int
    reading_ns: int | None
    clock_error_ns: int | None
    apart_ns: int | None
    differences: Differences

    @property
    def unexplained(self) -> int:
        """Calls that differ for no known reason."""
        return int(self.differences.count[self.differences.reason == ""].sum())
