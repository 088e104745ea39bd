"""What collectives send: from their own inputs, or from the operator around them that describes it."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from perfprobe.models.message import NO_MESSAGE, Message, message_of
from perfprobe.tables.columns import Int64, Text
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.trace import Trace


class Messages:
    """Collects operators whose signature describes a message."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._rows: list[Int64] = []  # start, end, thread and signature
        self._described = lru_cache(1 << 14)(self._message)

    def add(self, rows: LinkedOperators) -> None:
        """Adds operators that describe messages."""
        if len(rows):
            columns = (rows.start_ns, rows.end_ns, rows.thread, rows.signature)
            self._rows.append(np.stack([column.astype(np.int64) for column in columns]))

    def around(self, ranges: list[Int64]) -> Int64:
        """Returns for each range the signature that describes its message, -1 if none.

        It is that of the operator around the range.

        ranges: starts, ends, threads, names and own signatures.
        """
        start_ns, _, thread, _, signature = ranges
        found = signature.copy()
        rows = np.concatenate(self._rows, axis=1) if self._rows else np.empty((4, 0), np.int64)
        for each in np.unique(rows[2]).tolist():
            own = rows[:, rows[2] == each]
            own = own[:, np.argsort(own[0], kind="stable")]
            at = np.searchsorted(own[0], start_ns, side="right") - 1
            tells = (thread == each) & (at >= 0) & (own[1][at] >= start_ns) & (own[3][at] >= 0)
            found = np.where(tells, own[3][at], found)
        return found

    def columns(self, signature: Int64) -> tuple[Int64, Text, Int64]:
        """Returns the sizes in bytes, the groups and their sizes, as `Collectives` has them."""
        messages = [self._described(row) for row in signature.tolist()]
        groups = np.array([*(message.group for message in messages), None], np.object_)[:-1]
        sizes = [[message.size_bytes, message.group_size] for message in messages]
        size_bytes, group_size = np.array(sizes, np.int64).reshape(-1, 2).T
        return size_bytes, groups, group_size

    def _message(self, signature: int) -> Message:
        text = self._trace.signature(signature)
        return NO_MESSAGE if text is None else message_of(text)
