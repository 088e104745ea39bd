"""Imports of libraries, as samples show them."""

from __future__ import annotations

from typing import NamedTuple

from perfprobe.tables.trace import Line


class Import(NamedTuple):
    """A library that was imported. module: its name, None if not known.

    by: the function whose call led to the import, None if the line itself imports it. line: of the program.
    cpu_ns: -1 if not known. own_ns: without waiting for a processor, -1 if not known.
    """

    module: str | None
    by: str | None
    line: Line | None
    time_ns: int
    cpu_ns: int
    own_ns: int
