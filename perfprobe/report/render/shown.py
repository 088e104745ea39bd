"""What a report shows: the sections that were asked for, or what fits the recording if none was."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from perfprobe.report.render.text import first_screen, render
from perfprobe.report.section.screen.found import Find, screened
from perfprobe.support.view import View
from perfprobe.tables.findings import Findings
from perfprobe.tables.recording import Recording


class _Choice(NamedTuple):
    """One thing to show. fits: whether it is shown; text: draws it, from width and color."""

    fits: Callable[[Recording, View], bool]
    text: Callable[[Find, View, int, bool], str]


# Sections are imported where they are drawn: the first screen needs a fifth of them.


def _asked(find: Find, view: View, width: int, color: bool) -> str:
    from perfprobe.report.section.listed import KINDS, kinds_of, peers

    kinds = kinds_of(peers(view.view)) or KINDS
    return _tables(find(view, kinds, work=view.columns != "short"), view, view.view, width, color)


def _section(name: str) -> Callable[[Find, View, int, bool], str]:
    """Draws one section as if it had been asked for."""

    def text(find: Find, view: View, width: int, color: bool) -> str:
        from perfprobe.report.section.listed import chosen, kinds_of

        return _tables(find(view, kinds_of(chosen(name))), view, name, width, color)

    return text


def _brief(find: Find, view: View, width: int, color: bool) -> str:
    del width, color
    from perfprobe.report.render import markdown

    return markdown.brief(screened(find, view))


def _tables(found: Findings, view: View, name: str | None, width: int, color: bool) -> str:
    return render(
        found, width=width, top=view.top, sort=view.sort, columns=view.columns, color=color, view=name
    )


# The first that fits is shown.
_CHOICES = (
    _Choice(lambda recording, view: recording.is_profile or not view.is_screen, _asked),
    _Choice(lambda recording, view: recording.is_benchmark and not view.brief, _section("benchmark")),
    _Choice(lambda recording, view: recording.is_kept, _section("slow-steps")),
    _Choice(lambda recording, view: view.brief, _brief),
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
