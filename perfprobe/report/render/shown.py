"""What a report shows: the sections that were asked for, or what fits the recording if none was."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from perfprobe.report.render import json, markdown
from perfprobe.report.render.brief_json import brief
from perfprobe.report.render.json import Document
from perfprobe.report.render.text import first_screen, render
from perfprobe.report.section.listed import KINDS, PEER_SECTIONS, SECTIONS, chosen, kinds_of, peers
from perfprobe.report.section.screen import screen
from perfprobe.support.view import View
from perfprobe.tables.findings import Findings
from perfprobe.tables.recording import Recording


class Find(Protocol):
    """Makes findings: `Results.findings`."""

    def __call__(self, view: View, kinds: Iterable[type | str], *, work: bool = False) -> Findings:
        """Those of the kinds that were recorded, as the view groups and selects rows."""


class _Choice(NamedTuple):
    """One thing to show. fits: whether it is shown; text: draws it, from width and color."""

    fits: Callable[[Recording, View], bool]
    text: Callable[[Find, View, int, bool], str]


def _asked(find: Find, view: View, width: int, color: bool) -> str:
    return _tables(find(view, _kinds(view), work=view.columns != "short"), view, view.view, width, color)


def _section(name: str) -> Callable[[Find, View, int, bool], str]:
    """Draws one section as if it had been asked for."""

    def text(find: Find, view: View, width: int, color: bool) -> str:
        return _tables(find(view, kinds_of(chosen(name))), view, name, width, color)

    return text


def _tables(found: Findings, view: View, name: str | None, width: int, color: bool) -> str:
    return render(
        found, width=width, top=view.top, sort=view.sort, columns=view.columns, color=color, view=name
    )


def _kinds(view: View) -> tuple[type | str, ...]:
    return kinds_of(peers(view.view)) or KINDS


# The first that fits is shown.
_CHOICES = (
    _Choice(lambda recording, view: recording.is_profile or not view.is_screen, _asked),
    _Choice(lambda recording, view: recording.is_benchmark and not view.brief, _section("benchmark")),
    _Choice(lambda recording, view: recording.is_kept, _section("slow-steps")),
    _Choice(lambda recording, view: view.brief, lambda find, view, *_: markdown.brief(screened(find, view))),
    _Choice(
        lambda recording, view: True,
        lambda find, view, width, color: first_screen(screened(find, view), width=width, color=color),
    ),
)


def text(find: Find, recording: Recording, view: View, *, width: int, color: bool) -> str:
    """The first screen, or the part of the report that the view requests.

    Args:
        width: columns of text.
        color: whether to add escape sequences for a terminal.
    """
    choice = next(each for each in _CHOICES if each.fits(recording, view))
    return choice.text(find, view, width, color)


def screened(find: Find, view: View) -> Findings:
    """The findings for the first screen, which depend on no option except `source`."""
    plain = View(source=view.source)
    found = find(plain, screen.KINDS)
    return find(plain, (*screen.KINDS, *screen.STEP_KINDS)) if screen.has_steps(found) else found


def written(find: Find, recording: Recording, view: View, path: str) -> Document:
    """Returns the report as a document, which is written row by row; with `brief` only a part.

    path: the recording, as the next command names it.
    """
    found = find(view, kinds_of((*SECTIONS, *PEER_SECTIONS)), work=True)
    # A profile has no steps, and with --keep slow it would show slow steps only.
    has_screen = not recording.is_profile and not recording.is_kept
    seen = screened(find, view) if has_screen else None
    if not view.brief:
        return json.written(found, top=view.top, sort=view.sort, screen=seen)
    whole: Document = json.written(found, sort=view.sort, screen=seen)
    return brief(whole, f"perfprobe report {shlex.quote(path)} --json", view.top)
