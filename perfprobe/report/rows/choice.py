"""Which rows of each table are shown, and in which order."""

from __future__ import annotations

from perfprobe.support.frozen import frozen


@frozen
class Choice:
    """What the user chose to see.

    top: rows of each table, 0 for all, None for the table's own choice. sort: one of `ranking.SORTS`.
    columns: one of `support.view.COLUMNS`. peer_sort: the order of other profilers' tables. is_alone: whether
    this section was requested by name.
    """

    top: int | None = None
    sort: str = "self"
    columns: str = "short"
    peer_sort: str = "self"
    is_alone: bool = False

    def most(self, usual: int) -> int:
        """Returns how many rows to show, 0 for all: `usual` unless the user requested a number."""
        return usual if self.top is None else self.top
