import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfprobe.analyse import gather, grouping
from perfprobe.analyse.modules import pattern
from perfprobe.merge import link
from perfprobe.tables import storage
from perfprobe.tables.findings import Hotspots
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace
from tests.build import Op, Program, op
from tests.found import hotspots

ENGINE = "/env/site-packages/torch/autograd/graph.py:841 _engine_run_backward"


def found_rows(trace: Trace, found: Hotspots) -> list[dict[str, Any]]:
    """The rows with names instead of ids."""
    rows = []
    for at in range(len(found.rows)):
        row = {name: column[at].item() for name, column in found.rows.columns().items()}
        line = trace.line(row["frame"])
        names = {
            "operator": trace.recording[Strings][row["name"]],
            "signature": trace.signature(row["signature"]),
            "line": line and line.line,
        }
        rows.append({**row, **names})
    return rows


def run(recording: Recording) -> tuple[list[dict[str, Any]], Hotspots]:
    trace = link(recording)
    found = hotspots(trace)
    return found_rows(trace, found), found


def test_by_hand(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    small, large = program.signature("f32[2]"), program.signature("f32[9]")
    same_text = program.signature("f32[2]", 7)  # differs only in requires_grad
    stack = program.stack("a.py:5 f")
    elsewhere = program.stack("a.py:1 main", "a.py:5 f")  # the same line reached through another call
    engine = program.stack("a.py:9 main", ENGINE)
    program.run(
        op("mm", 0, 100, op("copy", 10, 30, stack=stack), stack=stack, signature=small, sequence=0),
        op("mm", 100, 150, stack=elsewhere, signature=same_text),
        op("mm", 200, 220, stack=stack, signature=large),
        op("back", 300, 307, stack=engine, node_sequence=0, node_thread=1),
        op("mm", 400, 401, stack=engine, signature=small, node_sequence=0, node_thread=1),
    )
    rows, found = run(program.recording(tmp_path))
    brief = [
        tuple(row[key] for key in ("operator", "signature", "line", "phase", "calls", "self_ns", "total_ns"))
        for row in rows
    ]
    assert brief == [
        ("mm", "f32[2]", 5, 0, 2, 130, 150),
        ("copy", None, 5, 0, 1, 20, 20),
        ("mm", "f32[9]", 5, 0, 1, 20, 20),
        ("back", None, 5, 2, 1, 7, 7),
        ("mm", "f32[2]", 5, 2, 1, 1, 1),
    ]
    assert found.totals.operators == 6
    assert found.totals.self_ns == 178
    assert found.totals.backward_ns == 8
    assert found.totals.linked_ns == 8
    assert found.totals.last_end_ns == 401
    assert found.rows.mean_ns.tolist() == [75, 20, 20, 7, 1]
    assert all(row["cpu_ns"] == -1 for row in rows)


def test_layers_share_a_row_and_reasons_keep_rows_apart(tmp_path: Path) -> None:
    program = Program()
    layers = program.module("layers", "ModuleList", program.module("", "Net"))
    linears = [program.module("fc", "Linear", program.module(name, "Block", layers)) for name in "01"]
    stacks = [program.stack("a.py:5 f", ("b.py:6 call", linear)) for linear in linears]
    program.run(*(op("mm", at, at + 5, stack=stacks[at % 2]) for at in range(0, 100, 5)))
    program.run(op("mm", 200, 201, node_thread=0), op("mm", 202, 203, node_thread=1))
    rows, found = run(program.recording(tmp_path))
    assert [row["calls"] for row in rows] == [20, 1, 1]
    assert [found.module(row["module"]) for row in rows] == ["layers.*.fc", None, None]
    parts = [[part[1:] for part in found.parts_of(found.rows, at)] for at in range(3)]
    assert parts == [[("layers.0.fc", 10, 50), ("layers.1.fc", 10, 50)], [], []]


def test_a_row_lists_its_modules_by_time(tmp_path: Path) -> None:
    program = Program()
    net = program.module("", "Net")
    layers = [program.module(name, "Layer", net) for name in "abc"]
    stacks = [program.stack("a.py:5 f", ("b.py:6 call", layer)) for layer in layers]
    program.run(*(op("mm", at, at + 1 + at % 3, stack=stacks[at % 3]) for at in range(10, 100, 10)))
    program.run(op("add", 200, 290, stack=stacks[0]), op("epoch", 500, 600, scope=7, stack=stacks[1]))
    rows, found = run(program.recording(tmp_path))
    parts = {row["operator"]: [p[1:] for p in found.parts_of(found.rows, at)] for at, row in enumerate(rows)}
    assert parts == {
        "add": [("a", 1, 90)],
        "mm": [("c", 3, 9), ("b", 3, 6), ("a", 3, 3)],
    }
    for at, row in enumerate(rows):
        entries = found.parts_of(found.rows, at)
        assert sum(entry.calls for entry in entries) == row["calls"]
        assert sum(entry.self_ns for entry in entries) == row["self_ns"]
    assert [part.module for part in found.parts_of(found.ranges, 0)] == ["b"]


@pytest.mark.parametrize(
    ("paths", "common"),
    [
        (["layers.0.attn", "layers.1.attn"], "layers.*.attn"),
        (["a.0.x", "a.1.y"], "a.*.*"),
        (["Net", "fc"], "*"),
        (["Net", "layers.fc"], "*"),
        (["encoder", "encoder.fc"], "encoder.*"),
        (["encoder.a.fc", "encoder.b.c.fc"], "encoder.*.fc"),
        (["a.fc", "b.c.fc"], "*.fc"),
        (["only"], "only"),
    ],
)
def test_the_common_part_of_module_paths(paths: list[str], common: str) -> None:
    assert pattern(paths) == common


def test_nested_calls_of_a_row_count_once_in_total_time(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.thread(2)
    program.run(
        op("a", 0, 100, op("a", 10, 40, op("b", 12, 15, op("a", 13, 14))), op("a", 50, 60)),
        op("a", 200, 210),
    )
    program.run(op("a", 0, 90), thread=1)  # at the same time but on another thread: not nested
    rows, found = run(program.recording(tmp_path))
    a, b = rows
    assert (a["calls"], a["self_ns"], a["total_ns"]) == (6, 100 + 10 + 90 - 3 + 1, 100 + 10 + 90)
    assert (b["calls"], b["self_ns"], b["total_ns"]) == (1, 2, 3)
    assert found.totals.self_ns == 200
    assert found.totals.busiest_ns == 110
    assert found.totals.threads == 2


def test_cpu_time_is_summed_over_measured_calls(tmp_path: Path) -> None:
    program = Program()
    program.run(op("a", 0, 10, op("b", 2, 3), cpu_ns=7), op("a", 20, 30, cpu_ns=2), op("c", 40, 41))
    rows, found = run(program.recording(tmp_path))
    assert {row["operator"]: row["cpu_ns"] for row in rows} == {"a": 9, "b": -1, "c": -1}
    assert (found.totals.outermost_cpu_ns, found.totals.outermost_ns) == (9, 20)


def test_nested_calls_of_a_row_count_once_in_cpu_time(tmp_path: Path) -> None:
    program = Program(recording={"cpu_time": "all"})
    inner = op("mm", 30, 40, cpu_ns=8)
    program.run(op("a", 0, 100, op("a", 20, 50, inner, cpu_ns=20), cpu_ns=70))
    program.run(op("a", 200, 220, cpu_ns=5))
    rows, found = run(program.recording(tmp_path))
    assert {row["operator"]: (row["cpu_ns"], row["cpu_self_ns"]) for row in rows} == {
        "a": (75, 50 + 12 + 5),
        "mm": (8, 8),
    }
    totals = found.totals
    assert (totals.outermost_cpu_ns, totals.outermost_ns, totals.cpu_timed) == (75, 120, 4)


def test_cpu_time_that_was_not_measured_is_not_zero(tmp_path: Path) -> None:
    program = Program()
    program.run(op("a", 0, 10))
    _, found = run(program.recording(tmp_path))
    assert (found.totals.outermost_cpu_ns, found.totals.outermost_ns) == (None, None)


def test_ranges_are_separate_rows_and_not_operator_time(tmp_path: Path) -> None:
    program = Program()
    program.run(op("epoch", 0, 1000, op("mm", 10, 30), scope=7))
    rows, found = run(program.recording(tmp_path))
    assert [(row["operator"], row["self_ns"]) for row in rows] == [("mm", 20)]
    assert found.ranges.self_ns.tolist() == [980]
    assert found.ranges.total_ns.tolist() == [1000]
    assert found.totals.self_ns == 20


def test_without_operators_there_are_no_rows(tmp_path: Path) -> None:
    rows, found = run(Program().recording(tmp_path))
    assert rows == []
    assert found.totals.last_end_ns is None
    assert found.totals.operators == 0


def slow_hotspots(operators: list[Op]) -> dict[tuple[Any, ...], tuple[int, int, int]]:
    """Calls, self and total time for each (name, signature, stack), by plain recursion."""
    sums: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0, 0])

    def visit(item: Op, around: tuple[tuple[Any, ...], ...]) -> None:
        key = (item.name, item.fields["signature"], item.fields["stack"])
        duration_ns = item.end_ns - item.start_ns
        sums[key][0] += 1
        sums[key][1] += duration_ns - sum(child.end_ns - child.start_ns for child in item.inside)
        sums[key][2] += 0 if key in around else duration_ns
        for child in item.inside:
            visit(child, (*around, key))

    for item in operators:
        visit(item, ())
    return {key: (calls, self_ns, total_ns) for key, (calls, self_ns, total_ns) in sums.items()}


def random_operators(rng: random.Random, stacks: list[int], signatures: list[int]) -> list[Op]:
    def make(start_ns: int, depth: int) -> Op:
        at, inside = start_ns + 1, []
        for _ in range(rng.randrange(4) if depth < 5 else 0):
            inside.append(make(at, depth + 1))
            at = inside[-1].end_ns + 1
        fields = {"stack": rng.choice(stacks), "signature": rng.choice(signatures)}
        return op(rng.choice("ab"), start_ns, at + rng.randrange(1, 50), *inside, **fields)

    operators, at = [], 0
    for _ in range(40):
        operators.append(make(at, 0))
        at = operators[-1].end_ns + 1
    return operators


@pytest.mark.parametrize("batch_rows", [1, 20, 100_000])
def test_sums_equal_those_by_recursion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch_rows: int
) -> None:
    monkeypatch.setattr(storage, "BATCH_ROWS", batch_rows)
    monkeypatch.setattr(gather, "MOST_GROUPS", 10)
    rng = random.Random(3)
    program = Program()
    stacks = [program.stack(f"a.py:{line} f") for line in (1, 2)]
    signatures = [-1, program.signature("f32[2]")]
    operators = random_operators(rng, stacks, signatures)
    program.run(*operators)
    rows, _ = run(program.recording(tmp_path, 50))
    wanted = slow_hotspots(operators)
    found = {
        (row["operator"], row["signature"], row["line"]): (row["calls"], row["self_ns"], row["total_ns"])
        for row in rows
    }
    texts = {-1: None, signatures[1]: "f32[2]"}
    named = {(name, texts[sig], stacks.index(stack) + 1): sums for (name, sig, stack), sums in wanted.items()}
    assert {key: row[:2] for key, row in found.items()} == {key: row[:2] for key, row in named.items()}
    if batch_rows > len(
        program.operators
    ):  # a nested call may count twice if the end of a batch cuts the tree
        assert found == named


@pytest.mark.parametrize("largest", [2**62, 100])
def test_codes_distinguish_all_keys(monkeypatch: pytest.MonkeyPatch, largest: int) -> None:
    monkeypatch.setattr(grouping, "_LARGEST_CODE", largest)
    rng = np.random.default_rng(0)
    keys = [rng.integers(-1, size, 500).astype(np.int32) for size in (1, 3, 40, 5)]
    order, first = grouping.sort_by_keys(keys)
    rows = [tuple(key[row] for key in keys) for row in order.tolist()]
    groups = [rows[start:stop] for start, stop in zip(first, [*first[1:], len(rows)], strict=True)]
    assert all(len(set(group)) == 1 for group in groups)
    assert len({group[0] for group in groups}) == len(groups)
    starts = set(first.tolist())
    assert all(at in starts or order[at] > order[at - 1] for at in range(len(order)))
