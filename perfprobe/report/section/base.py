"""Still to go: sections that draw themselves in a width."""

from __future__ import annotations

from dataclasses import dataclass

from perfprobe.report.rows.choice import Choice


@dataclass(frozen=True)
class Layout(Choice):
    """A choice, and the width in cells."""

    width: int = 200
