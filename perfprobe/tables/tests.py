"""Tests and fixtures that a test runner called."""

from __future__ import annotations

from perfprobe.tables.columns import Combine, Int32, Int64, Table, Text, column
from perfprobe.tables.stacks import Frames


class Tests(Table, name="tests"):
    """Tests and fixtures that pytest or unittest called, most time first. Short ones may be missing."""

    __test__ = False  # pytest would take it for a class of tests

    kind: Text = column("test or fixture")
    frame: Int32 = column("the line of its function with most of its time", Frames)
    time_ns: Int64 = column("time in it by samples, parameters together", combine=Combine.SUM)
