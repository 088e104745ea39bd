"""Text by id: every name, file and signature of a recording is stored once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from perfprobe.tables.columns import Mask, Table, Text, column


class Strings(Table, name="strings"):
    """Texts. The id -1 reads as ""."""

    text: Text = column("the text")

    def __getitem__(self, string: int) -> str:
        return str(self.text[string]) if string >= 0 else ""

    def marks(self, is_meant: Callable[[str], bool]) -> Mask:
        """A mask of the texts that satisfy the condition, by id, with one more entry, False, for none."""
        return np.array([*map(is_meant, self.text.tolist()), False], np.bool_)
