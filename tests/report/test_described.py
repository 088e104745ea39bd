"""A table of findings that describes itself becomes a section of the report and of JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfprobe.analyse import analysis
from perfprobe.analyse import findings as passes
from perfprobe.merge import link
from perfprobe.report.render import json, text
from perfprobe.report.render.columns import fit
from perfprobe.report.section import listed
from perfprobe.report.section.described import described, explained
from perfprobe.report.section.heads import columns, heads_of
from perfprobe.tables.columns import Int32, Int64, Table, column
from perfprobe.tables.events import Signatures
from perfprobe.tables.stacks import Frames
from perfprobe.tables.strings import Strings
from tests.found import find
from tests.report.test_text import training
from tests.snapshots import Snapshot


class Longest(Table, name="longest_calls"):
    """The longest call of each operator."""

    name: Int32 = column("the operator", Strings)
    signature: Int32 = column("its inputs", Signatures)
    frame: Int32 = column("its line", Frames)
    longest_ns: Int64 = column("how long it took")
    held_bytes: Int64 = column("what it allocated", optional=True)
    calls: Int64 = column("how many there are")


def longest(trace: Any, _: object) -> Longest:
    name = [trace.recording[Strings].text.tolist().index(text) for text in ("aten::bmm", "aten::add_")]
    return Longest(
        name=np.array(name, np.int32),
        signature=np.array([0, -1], np.int32),
        frame=np.array([0, -1], np.int32),
        longest_ns=np.array([600_000, 10_000]),
        held_bytes=np.array([2048, -1]),
        calls=np.array([1_234, 1]),
    )


def test_text_and_json_have_the_tables_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: Snapshot
) -> None:
    section = described("longest-calls")
    monkeypatch.setitem(passes.PASSES, Longest, passes.Pass(longest))
    monkeypatch.setitem(analysis._NAMED, "longest_calls", Longest)
    for module in (listed, json):
        monkeypatch.setattr(module, "SECTIONS", (section,))
    found = find(link(training().recording(tmp_path)), *section.requires)

    snapshot(text.render(found))
    assert json.document(found)["tables"] == {
        "longest_calls": [
            {
                "name": "aten::bmm",
                "signature": "f32[64,128] f32[64,128]{1,64}",
                "frame": {"file": "/p/train.py", "line": 20, "function": "main"},
                "longest_ns": 600_000,
                "held_bytes": 2048,
                "calls": 1_234,
            },
            {
                "name": "aten::add_",
                "signature": None,
                "frame": None,
                "longest_ns": 10_000,
                "held_bytes": None,
                "calls": 1,
            },
        ]
    }


def test_the_meanings_are_those_of_the_table(snapshot: Snapshot) -> None:
    section = explained(described("longest-calls"), Longest)
    meanings = {**dict.fromkeys(section.titles, section.means), **section.columns(), **section.json}
    snapshot("\n".join(f"{name}: {meaning}" for name, meaning in meanings.items()))


def test_each_shown_table_has_a_view() -> None:
    assert [section.table for section in listed.SECTIONS if section.table] == [
        kind.table_name for kind in passes.SHOWN
    ]


@pytest.mark.parametrize("width", [40, 80])
def test_the_last_columns_are_dropped_where_there_is_no_room(width: int) -> None:
    rows: Any = [dict.fromkeys(Longest.described, None) | {"calls": 10**15, "longest_ns": 1, "held_bytes": 1}]
    shown = [placed.column.title for placed in fit(columns(heads_of(Longest), rows), width)]
    assert shown == ["name", "signature", "line", "longest", "held", "calls"][: 6 if width == 80 else 5]
