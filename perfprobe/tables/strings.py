"""Text by id: every name, file and signature of a recording is stored once."""

from __future__ import annotations

from dataclasses import dataclass

from perfprobe.tables.columns import Table, Text


@dataclass(frozen=True)
class Strings(Table):
    """text: row = string id. An id of -1 reads as ""."""

    text: Text

    def __getitem__(self, string: int) -> str:
        return str(self.text[string]) if string >= 0 else ""
