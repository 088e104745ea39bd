"""The report as a document: what it has of a recording."""

from __future__ import annotations

import shlex

from perfprobe.report.render import json
from perfprobe.report.render.brief_json import brief
from perfprobe.report.render.json import Document
from perfprobe.report.section.listed import PEER_SECTIONS, SECTIONS, kinds_of
from perfprobe.report.section.screen.found import Find, screened
from perfprobe.support.view import View
from perfprobe.tables.recording import Recording


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
