"""Where two sources of the same operators agree, and where they differ."""

from __future__ import annotations

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int32, Int64, Table, Text, column
from perfprobe.tables.strings import Strings

ONLY_OBSERVER = "only the observer"
ONLY_AUTOGRAD = "only the autograd profiler"
SIGNATURE = "signature"
NESTING = "nesting"


class Differences(Table):
    """Operators that observer and autograd profiler do not agree on, most frequent first."""

    kind: Text = column("one of the words above")
    name: Int32 = column("the operator, -1 for rows that sum over operators", Strings)
    overload: Int32 = column("the name of its overload", Strings)
    observer: Text = column("what the observer says")
    autograd: Text = column("what the autograd profiler says")
    reason: Text = column('why it is so, "" where no reason is known')
    count: Int64 = column("how many calls", combine=Combine.SUM)


@frozen
class Sources:
    """Observer and autograd profiler in one recording.

    both: calls seen by both; observer, autograd: by each; windows, reading_ns: of the profiler and the time
    the program stood still for them, None where not known; apart_ns: the median difference of a call's two
    starts, None without any; clock_error_ns: how far the profiler's clock may be off.
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
        """Calls on which they differ for no known reason."""
        return int(self.differences.count[self.differences.reason == ""].sum())
