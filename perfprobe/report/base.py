"""What sections of the text report share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from rich.console import RenderableType

from perfprobe.tables.findings import Findings


@dataclass(frozen=True)
class Layout:
    """How to print. width in cells; top: rows of a table, 0 for all; sort: one of `ranking.SORTS`."""

    width: int
    top: int
    sort: str


Build: TypeAlias = Callable[[Findings, Layout], Iterable[RenderableType]]


@dataclass(frozen=True)
class Section:
    """A part of the report. requires: fields of Findings without which it is left out; build: draws it."""

    name: str
    requires: tuple[str, ...]
    build: Build
