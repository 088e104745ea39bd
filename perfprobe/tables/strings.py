"""Text by id: every name, file and signature of a recording is stored once."""

from __future__ import annotations

from perfprobe.tables.columns import Table, Text, column


class Strings(Table, name="strings"):
    """Texts; an id of -1 reads as ""."""

    text: Text = column("the text itself")

    def __getitem__(self, string: int) -> str:
        return str(self.text[string]) if string >= 0 else ""
