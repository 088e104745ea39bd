"""What sections of the text report share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from rich.console import RenderableType

from perfprobe.tables.findings import Findings


@dataclass(frozen=True)
class Layout:
    """How to print. width in cells; top, columns: as in `text.render`; sort: one of `ranking.SORTS`."""

    width: int
    top: int | None
    sort: str
    columns: str = "short"

    def most(self, usual: int) -> int:
        """Rows of a table that has `usual` rows when nobody asks for more or fewer; 0 for all."""
        return usual if self.top is None else self.top


Build: TypeAlias = Callable[[Findings, Layout], Iterable[RenderableType]]


@dataclass(frozen=True)
class Section:
    """A part of the report.

    requires: findings without which it is left out; build: draws it; shows: findings it says more with.
    """

    name: str
    requires: tuple[type, ...]
    build: Build
    shows: tuple[type, ...] = ()
