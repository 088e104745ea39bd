"""The page of a comparison: its lines and tables, and both versions beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from perfprobe.report.page import blocks
from perfprobe.report.page.difference import KINDS, difference
from perfprobe.report.page.document import FORMAT, joined
from perfprobe.report.page.flame import ALL_KINDS, Weight, packed_tree, tree_of, weights
from perfprobe.report.page.packed import Packed, Texts, shown
from perfprobe.report.page.places import Places
from perfprobe.report.page.source import BARS
from perfprobe.report.page.stretches import stretches
from perfprobe.report.page.timeline import KINDS as RECT_KINDS
from perfprobe.report.page.timeline import Timeline
from perfprobe.report.section.block import Block
from perfprobe.support.errors import InputError
from perfprobe.tables.findings import Findings
from perfprobe.tables.steps import StepTimes

_LONGEST_NAME = 40


class Version(NamedTuple):
    """A version and one of its runs."""

    name: str
    found: Findings


def pieces(
    screen: Iterable[Block], tables: Sequence[Sequence[Block]], versions: Sequence[Version]
) -> Iterator[bytes]:
    """The page in pieces. versions: the earlier one, and the later one."""
    return joined(*known(screen, tables, versions))


def known(
    screen: Iterable[Block], tables: Sequence[Sequence[Block]], versions: Sequence[Version]
) -> tuple[Packed, dict[str, Any]]:
    """What the page shows."""
    packed, places = Packed(), Places()
    sides = zip("AB", versions, strict=True)
    names = [f"{side} {shown(one.name.removesuffix('.perfprobe'), _LONGEST_NAME)}" for side, one in sides]
    sections = [
        {"name": f"part-{number}", "means": "", "blocks": blocks.shown(page)}
        for number, page in enumerate(tables)
    ]
    head = {
        "format": FORMAT,
        "title": " → ".join(names),
        "versions": names,
        "screen": blocks.shown(screen),
        "sections": sections,
        "timeline": _timeline(versions, names, packed, places),
        "flames": _flames(versions, names, packed, places),
        "sources": [],
        "bars": BARS,
        "steps": None,
        "memory": None,
        "callgraph": {},
    }
    head["places"] = places.all()
    return packed, head


def _timeline(
    versions: Sequence[Version], names: Sequence[str], packed: Packed, places: Places
) -> dict[str, Any]:
    """The median step of each version."""
    texts, found = (Texts(), Texts()), []
    for version, name in zip(versions, names, strict=True):
        times = version.found.get(StepTimes)
        median = stretches(version.found.trace, times)[:1]
        (made,) = Timeline(version.found.trace, times, places, median, texts).packed(packed)
        found.append({**made, "what": f"{name} {made['what']}"})
    return {"stretches": found, "kinds": RECT_KINDS, "names": texts[0].all(), "inputs": texts[1].all()}


def _flames(
    versions: Sequence[Version], names: Sequence[str], packed: Packed, places: Places
) -> dict[str, Any]:
    """How the time of a step differs, and the time of each version."""
    texts = Texts()
    try:
        made = [tree_of(each.found, weight) for each in versions for weight in _first(each.found)]
    except InputError:
        made = []
    trees = []
    if len(made) == len(versions):
        trees = [difference(made[0], made[1], texts, packed, places)]
        for each, name in zip(made, names, strict=True):
            tree = packed_tree(each, texts, packed, places)
            trees.append(tree and {**tree, "what": f"{name}: {tree['what']}"})
    return {
        "trees": [tree for tree in trees if tree],
        "names": texts.all(),
        "kinds": [*ALL_KINDS, *KINDS],
        "missing": "Python functions with times were not recorded in both versions.",
    }


def _first(found: Findings) -> list[Weight]:
    return list(weights(found))[:1]
