"""The whole page: its own files joined in a fixed order, and what it knows of a recording.

Nothing from a recording is written as HTML: all of it is in one compressed text, which the script shows as
text. The policy names the one script and the one style sheet by their hashes, so nothing else can run.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from typing import Any

from perfprobe.report import shorten
from perfprobe.report.page import blocks, course
from perfprobe.report.page.flame import flames
from perfprobe.report.page.packed import Packed, shown
from perfprobe.report.page.places import Places
from perfprobe.report.page.source import BARS, sources
from perfprobe.report.page.stretches import stretches
from perfprobe.report.page.timeline import KINDS as RECT_KINDS
from perfprobe.report.page.timeline import Timeline
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.ranking import sort_of
from perfprobe.report.section.listed import KINDS as SECTION_KINDS
from perfprobe.report.section.listed import chosen, kinds_of, peers
from perfprobe.report.section.program import program
from perfprobe.report.section.screen.found import Find, screened
from perfprobe.report.section.screen.screen import screen
from perfprobe.support.view import View
from perfprobe.tables.findings import Findings, HotLines, Hotspots
from perfprobe.tables.memory import MemoryUse
from perfprobe.tables.python import CallStructure
from perfprobe.tables.spent import RunSpent
from perfprobe.tables.steps import StepTimes

SCRIPTS = (
    "data.js",
    "words.js",
    "nodes.js",
    "selection.js",
    "tables.js",
    "screen.js",
    "rects.js",
    "lanes.js",
    "sums.js",
    "laned.js",
    "sandwich.js",
    "timeline.js",
    "flame.js",
    "source.js",
    "course.js",
    "callgraph.js",
    "main.js",
)
KINDS = (*SECTION_KINDS, StepTimes, CallStructure, Hotspots, HotLines, MemoryUse, RunSpent)
TOP = 100  # rows of a table, unless the reader asks for another number
FORMAT = 1
_LONGEST_TITLE = 120
_IMPORT = re.compile(r"^import (\{[^}]*\}) from \"\./(\w+)\.js\";$", re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|class|const) (\w+)", re.MULTILINE)

Picture = Callable[[], bytes]  # the call graph as SVG; raises EnvironmentLack, InputError or UsageError


def pieces(
    find: Find, recording: Any, view: View, spent: Sequence[type], picture: Picture
) -> Iterator[bytes]:
    """The page in pieces.

    Args:
        spent: what has the time by stack.
        picture: draws the call graph.
    """
    yield from joined(*known(find, recording, view, spent, picture))


def joined(packed: Packed, head: dict[str, Any]) -> Iterator[bytes]:
    """The page that shows this, in pieces."""
    before, after = frame()
    yield before.encode()
    for text in packed.texts(head):
        yield text.encode()
    yield after.encode()


def known(
    find: Find, recording: Any, view: View, spent: Sequence[type], picture: Picture
) -> tuple[Packed, dict[str, Any]]:
    """What the page shows: columns of numbers, and the head that refers to them."""
    kinds = (*kinds_of(peers(view.view)), *KINDS, *spent)
    found = find(view, kinds, work=view.columns != "short")
    packed, places = Packed(), Places()
    times = found.get(StepTimes)
    timeline = Timeline(found.trace, times, places, stretches(found.trace, times))
    has_screen = not (recording.is_profile or recording.is_kept or recording.is_benchmark)
    head: dict[str, Any] = {
        "format": FORMAT,
        "title": shown(shorten.without_folders(program(found.trace)), _LONGEST_TITLE),
        "versions": [],
        "screen": blocks.shown(screen(screened(find, view))) if has_screen else [],
        "sections": _sections(found, view),
        "timeline": {"stretches": timeline.packed(packed), "kinds": RECT_KINDS},
        "flames": flames(found, packed, places),
        "sources": sources(found, places),
        "bars": BARS,
        "steps": course.steps(found, packed),
        "memory": course.memory(found, packed),
        "callgraph": _callgraph(picture),
    }
    head["timeline"] |= {"names": timeline.names.all(), "inputs": timeline.inputs.all()}
    head["places"] = places.all()
    return packed, head


def _sections(found: Findings, view: View) -> list[dict[str, Any]]:
    """The tables of every section that has something to show."""
    top = TOP if view.top is None else view.top
    choice = Choice(top, sort_of(found, view.sort), view.columns, view.sort, view.view is not None)
    sections = []
    for section in chosen(view.view):
        if all(kind in found for kind in section.requires):
            made = blocks.shown(section.blocks(found, choice), section)
            if made:
                sections.append({"name": section.name, "means": section.means, "blocks": made})
    return sections


def _callgraph(picture: Picture) -> dict[str, str]:
    """The picture, or why there is none."""
    from perfprobe.support.errors import PerfprobeError

    try:
        return {"svg": picture().decode()}
    except PerfprobeError as error:
        return {"missing": shown(str(error))}


def script() -> str:
    """The page's modules as one script: each in a function that returns what it exports."""
    return "\n".join(_module(name, _file(name)) for name in SCRIPTS)


def _module(name: str, text: str) -> str:
    text = _IMPORT.sub(r"const \1 = of_\2;", text)
    exports = ", ".join(match[2] for match in _EXPORT.finditer(text))
    text = _EXPORT.sub(r"\1 \2", text)
    if not exports:  # the last one, which runs the others
        return text
    return f"const of_{name.removesuffix('.js')} = (() => {{\n{text}return {{ {exports} }};\n}})();"


def frame() -> tuple[str, str]:
    """The page before and after its data."""
    style, code = _file("page.css"), script()
    policy = (
        f"default-src 'none'; script-src '{_hash(code)}'; style-src '{_hash(style)}'; "
        "img-src blob:; base-uri 'none'; form-action 'none'"
    )
    before, after = _file("page.html").replace("@POLICY@", policy).replace("@STYLE@", style).split("@DATA@")
    return before, after.replace("@SCRIPT@", code)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _file(name: str) -> str:
    return resources.files("perfprobe.report.page").joinpath(name).read_text("utf-8")
