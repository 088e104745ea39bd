"""Changes that were put on a program from outside."""

from __future__ import annotations

from perfprobe.tables.columns import Int64, Table, Text, column


class Tries(Table, name="tries"):
    """Changes that `perfprobe run --try` put on the program, and how often each was applied."""

    word: Text = column("the change, as it was typed")
    times: Int64 = column(
        "how often it was applied: to a loader, an optimizer, a call of a model; 0: not tried"
    )
    place: Text = column("the program's line where it was applied first")
