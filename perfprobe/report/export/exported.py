"""What an export yields."""

from __future__ import annotations

from typing import NamedTuple


class Exported(NamedTuple):
    """data: the content of the file; notes: what one must know to read it, a line each."""

    data: bytes
    notes: list[str]
