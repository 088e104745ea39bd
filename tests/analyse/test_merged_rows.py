"""Rows grouped by fewer keys, and rows in focus, compared with plain recursion over the calls."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perfprobe.analyse import grouping
from perfprobe.merge import link
from perfprobe.support import view
from perfprobe.support.errors import UsageError
from perfprobe.tables.findings import Hotspots
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace
from tests.analyse.test_hotspots import random_operators
from tests.build import Op, Program, op
from tests.found import hotspots

ENGINE = "/env/site-packages/torch/autograd/graph.py:841 _engine_run_backward"


def test_every_group_has_a_test() -> None:
    assert tuple(grouping.GROUPS) == view.GROUPS


def made() -> tuple[Program, list[Op]]:
    program = Program()
    stacks = [program.stack(f"a.py:{line} f") for line in (1, 2)]
    operators = random_operators(random.Random(5), stacks, [-1, program.signature("f32[2]")])
    program.run(*operators)
    return program, operators


def texts(trace: Trace, found: Hotspots) -> dict[tuple[Any, ...], tuple[int, int, int]]:
    rows = found.rows
    strings = trace.recording[Strings]
    keys = [
        (
            strings[name] if name >= 0 else None,
            trace.signature(signature),
            (trace.line(frame) or [0, None])[1],
        )
        for name, signature, frame in zip(
            rows.name.tolist(), rows.signature.tolist(), rows.frame.tolist(), strict=True
        )
    ]
    sums = zip(rows.calls.tolist(), rows.self_ns.tolist(), rows.total_ns.tolist(), strict=True)
    return dict(zip(keys, sums, strict=True))


KEYS: dict[str, Callable[[Any, Any, Any], tuple[Any, ...]]] = {
    "op": lambda name, _, __: (name, None, None),
    "signature": lambda name, signature, _: (name, signature, None),
    "line": lambda _, __, line: (None, None, line),
    "row": lambda name, signature, line: (name, signature, line),
}


@pytest.mark.parametrize("focus", [None, r"^a$", r"f32", r"a\.py:2 "])
@pytest.mark.parametrize("group", KEYS)
def test_nested_calls_of_a_group_count_once(tmp_path: Path, group: str, focus: str | None) -> None:
    program, operators = made()
    wanted: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0, 0])

    def visit(item: Op, around: tuple[tuple[Any, ...], ...]) -> None:
        signature = "f32[2]" if item.fields["signature"] >= 0 else None
        line = item.fields["stack"] + 1
        meant = focus is None or any(
            re.search(focus, text) for text in (item.name, signature or "", f"a.py:{line} in f")
        )
        key = KEYS[group](item.name, signature, line)
        if meant:
            duration_ns = item.end_ns - item.start_ns
            wanted[key][0] += 1
            wanted[key][1] += duration_ns - sum(child.end_ns - child.start_ns for child in item.inside)
            wanted[key][2] += 0 if key in around else duration_ns
        for child in item.inside:
            visit(child, (*around, key) if meant else around)

    for item in operators:
        visit(item, ())
    trace = link(program.recording(tmp_path))
    found = hotspots(trace, group=group, focus=focus)
    assert texts(trace, found) == {key: tuple(sums) for key, sums in wanted.items()}
    assert found.totals.self_ns == hotspots(trace).totals.self_ns
    assert found.whole_rows == len(hotspots(trace, group=group).rows)
    assert found.ungrouped.self_ns.sum() == found.rows.self_ns.sum()
    assert sorted(found.ungrouped.calls) == sorted(hotspots(trace, focus=focus).rows.calls)


def layers() -> Program:
    program = Program()
    program.thread(1)
    above = program.module("layers", "ModuleList", program.module("", "Net"))
    stacks = [
        program.stack("a.py:5 main", ("b.py:6 call", program.module(name, "Layer", above))) for name in "01"
    ]
    engine = program.stack("a.py:9 main", ENGINE)
    for at, stack in enumerate(stacks):
        start_ns = 1000 * at
        mm = op(
            "mm", start_ns, start_ns + 70, stack=stack, signature=program.signature("f32[2]"), sequence=at
        )
        linear = op(
            "linear", start_ns, start_ns + 100, mm, stack=stack, signature=program.signature(f"f32[{at}]")
        )
        node = {"node_sequence": at, "node_thread": 1, "stack": engine}
        program.run(linear, op("mm", start_ns + 200, start_ns + 230, **node))
    program.run(op("epoch", 5000, 5010, scope=7, stack=stacks[0]))
    return program


def test_a_line_has_its_phases_modules_and_operators(tmp_path: Path) -> None:
    found = hotspots(link(layers().recording(tmp_path)), group="line")
    row = {name: column.tolist() for name, column in found.rows.columns().items()}
    assert (row["self_ns"], row["total_ns"], row["calls"]) == ([260], [260], [6])
    assert (row["forward_ns"], row["backward_ns"], row["recompute_ns"]) == ([200], [60], [0])
    assert (row["operators"], row["signatures"], row["lines"]) == ([2], [4], [1])
    assert found.module(int(found.rows.module[0])) == "layers.*"
    assert [part[1:] for part in found.parts_of(found.rows, 0)] == [
        ("layers.0", 3, 130),
        ("layers.1", 3, 130),
    ]
    assert found.ranges.total_ns.tolist() == [10]
    assert found.module(int(found.ranges.module[0])) == "layers.0"


def test_rows_can_be_modules(tmp_path: Path) -> None:
    found = hotspots(link(layers().recording(tmp_path)), group="module")
    assert [found.module(module) for module in found.rows.module.tolist()] == ["layers.0", "layers.1"]
    assert found.rows.backward_ns.tolist() == [30, 30]


def test_focus_searches_modules_phases_and_forward_lines(tmp_path: Path) -> None:
    trace = link(layers().recording(tmp_path))
    for focus, rows, ranges in (
        (r"layers\.0", 3, 1),
        ("backward", 1, 0),
        ("b.py:6 in call", 4, 1),
        ("nothing", 0, 0),
        ("epoch", 0, 1),
    ):
        found = hotspots(trace, focus=focus)
        assert (len(found.rows), len(found.ranges)) == (rows, ranges)
        assert (found.whole_rows, found.whole_ranges) == (4, 1)


@pytest.mark.parametrize(
    ("focus", "rows"),
    [("^mm$", 1), ("^aten::mm$", 1), (r"^add\.Tensor$", 1), ("^fwd$", 1), ("^bwd$", 0), ("^(oth|fwd)$", 2)],
)
def test_focus_finds_texts_as_narrow_tables_show_them(tmp_path: Path, focus: str, rows: int) -> None:
    program = Program()
    program.thread(1)
    inside = program.stack(("/p/a.py:1 f", program.module("", "Net")))
    overload = program.string("Tensor")
    program.run(op("aten::mm", 0, 10, stack=inside), op("aten::add", 10, 20, overload=overload))
    assert len(hotspots(link(program.recording(tmp_path)), focus=focus).rows) == rows


def test_focus_with_no_operators(tmp_path: Path) -> None:
    found = hotspots(link(Program().recording(tmp_path)), focus="mm", work=True)
    assert (len(found.rows), found.whole_rows) == (0, 0)


@pytest.mark.parametrize("focus", ["(", "a{99999999999999999999}", "*", r"\g"])
def test_an_invalid_regular_expression_is_refused(tmp_path: Path, focus: str) -> None:
    with pytest.raises(UsageError, match="not a regular expression"):
        hotspots(link(Program().recording(tmp_path)), focus=focus)
