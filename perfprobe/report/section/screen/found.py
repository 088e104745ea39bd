"""The findings for the first screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from perfprobe.report.section.screen import screen
from perfprobe.support.view import View
from perfprobe.tables.findings import Findings


class Find(Protocol):
    """Makes findings: `Results.findings`."""

    def __call__(self, view: View, kinds: Iterable[type | str], *, work: bool = False) -> Findings:
        """Those of the kinds that were recorded, as the view groups and selects rows."""


def screened(find: Find, view: View) -> Findings:
    """The findings for the first screen, which depend on no option except `source`."""
    plain = View(source=view.source)
    found = find(plain, screen.KINDS)
    return find(plain, (*screen.KINDS, *screen.STEP_KINDS)) if screen.has_steps(found) else found
