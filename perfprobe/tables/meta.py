"""Facts about a recording as a whole, and its end."""

from __future__ import annotations

from perfprobe.tables.columns import Int64, Table, Text, column


class Meta(Table, name="meta"):
    """Facts of any shape by key. Of equal keys the last one counts."""

    key: Text = column("what the fact is about, such as `host`, `program`, `gpu`")
    value: Text = column("JSON, nested at most 16 deep")


class End(Table, name="end"):
    """The last block, present if the writer closed the recording."""

    time_ns: Int64 = column("when it was closed")
