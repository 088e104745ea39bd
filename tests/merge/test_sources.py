"""Matching of the two sources, with sequences whose matches are known because every name is unique."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from perfprobe.merge import agreement, link
from perfprobe.merge.sources import BETWEEN, DROPPED, EDGE, NOT_PROFILED
from perfprobe.tables import storage
from perfprobe.tables.events import Signatures
from perfprobe.tables.sources import NESTING, ONLY_AUTOGRAD, ONLY_OBSERVER, SIGNATURE, Sources
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace
from tests.build import Program, op
from tests.encoding import head, table_block

Row = dict[str, int]


def made(
    folder: Path, program: Program, autograd: list[Row], windows: list[tuple[int, int, int, int]]
) -> tuple[Trace, Sources]:
    """The recording of a program with these rows and windows of the autograd profiler."""
    blocks = program.blocks()
    if autograd:
        blocks.append(table_block("autograd_operators", {n: [r[n] for r in autograd] for n in autograd[0]}))
    columns = ("start_ns", "end_ns", "thread", "rows")
    blocks.append(
        table_block(
            "autograd_windows", dict(zip(columns, map(list, zip(*windows, strict=True)), strict=True))
        )
    )
    path = folder / "both.perfprobe"
    path.write_bytes(head() + b"".join(blocks))
    trace = link(storage.read(path))
    assert trace.sources is not None
    return trace, trace.sources


def shifted(program: Program, thread: int = 0, by_ns: int = 1) -> list[Row]:
    """The program's rows as seen by the profiler, on a separate thread row."""
    rows = [dict(row) for row in program.operators]
    for row in rows:
        row.update(thread=thread, start_ns=row["start_ns"] + by_ns, end_ns=row["end_ns"] + by_ns)
    return rows


def differences(sources: Sources) -> dict[tuple[str, str], int]:
    found = sources.differences
    counted: dict[tuple[str, str], int] = {}
    for kind, reason, count in zip(found.kind, found.reason, found.count.tolist(), strict=True):
        counted[kind, reason] = counted.get((kind, reason), 0) + count
    return counted


@pytest.mark.parametrize("seed", range(6))
def test_matches_are_found_if_one_side_misses_calls(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    program = Program()
    program.thread(7)
    theirs = program.thread(7, "again")
    for place in range(400):
        program.run(op(f"aten::{place}", 1000 + 10 * place, 1008 + 10 * place), thread=0)
    rows = [row for row in shifted(program, theirs) if chance.random() > 0.1]
    kept = {row["name"] for row in rows}
    for _ in range(20):
        place = chance.randrange(len(rows))
        extra = program.string(f"extra{chance.random()}")
        rows.insert(place, {**rows[place], "name": extra})
    trace, found = made(tmp_path, program, rows, [(900, 10_000, theirs, len(rows))])
    (batch,) = trace.operators()
    assert (batch.autograd_ns >= 0).tolist() == [name in kept for name in batch.name.tolist()]
    assert found.both == len(kept)
    assert differences(found) == {(ONLY_OBSERVER, ""): 400 - len(kept), (ONLY_AUTOGRAD, ""): 20}


def test_times_and_memory_are_matched_even_if_names_repeat(tmp_path: Path) -> None:
    program = Program()
    program.thread(7)
    for step in range(50):
        inner = op("aten::add", 1010 + 100 * step, 1020 + 100 * step)
        program.run(op("aten::add", 1000 + 100 * step, 1050 + 100 * step + step, inner), thread=0)
    rows = shifted(program)
    for place, row in enumerate(rows):
        row.update(allocated_bytes=place, freed_bytes=0)
    trace, found = made(tmp_path, program, rows, [(900, 10_000, 0, 100)])
    (batch,) = trace.operators()
    assert batch.autograd_ns.tolist() == (batch.end_ns - batch.start_ns).tolist()
    assert batch.autograd_self_ns.tolist() == batch.self_ns.tolist()
    assert batch.allocated_bytes.tolist() == list(range(100))
    assert (found.both, found.apart_ns, found.unexplained) == (100, 1, 0)


def test_reasons_of_differences(tmp_path: Path) -> None:
    program = Program()
    program.thread(7)
    program.thread(8)
    program.run(
        op("before", 10, 20),
        op("over the edge", 90, 190, op("first", 110, 120)),
        op("second", 200, 210),
        op("after", 400, 410),
        thread=0,
    )
    program.run(op("elsewhere", 200, 210), thread=1)
    rows = [row for row in shifted(program) if row["start_ns"] in (111, 201) and row["depth"] < 2]
    rows = rows[:2]
    rows[0]["depth"] = 0
    _, found = made(tmp_path, program, rows, [(100, 300, 0, 2)])
    assert differences(found) == {
        (ONLY_OBSERVER, BETWEEN): 2,
        (ONLY_OBSERVER, EDGE): 1,
        (ONLY_OBSERVER, NOT_PROFILED): 1,
    }
    assert found.unexplained == 0


def test_differences_without_a_reason(tmp_path: Path) -> None:
    program = Program()
    program.thread(7)
    square, long = program.signature("f32[2,2]"), program.signature("f32[4]")
    program.run(
        op("outer", 110, 190, op("inner", 120, 130, signature=square), op("other", 140, 150)), thread=0
    )
    rows = shifted(program)
    rows[0]["signature"] = long
    rows[1]["depth"] = 0
    rows.append({**rows[-1], "name": program.string("extra"), "start_ns": 200, "end_ns": 210})
    program.losses.append(("operators", "operators dropped: out of memory", 1, ""))
    _, found = made(tmp_path, program, rows, [(100, 300, 0, 4)])
    # For the profiler, a row of depth 0 also means that the previous one is not inside `outer`.
    assert differences(found) == {(SIGNATURE, ""): 1, (NESTING, ""): 2, (ONLY_AUTOGRAD, DROPPED): 1}


@pytest.mark.parametrize(
    ("observer", "autograd", "reason"),
    [
        ("f32[2] dim=1", "f32[2] dim=1", ""),
        ("f32[2] device=cpu dim=1", "f32[2] dim=1", agreement.LEFT_OUT),
        ('f32[2] approximate="tanh"', "f32[2] approximate=?", agreement.LEFT_OUT),
        ('f32[2] rounding_mode="a b"', "f32[2]", agreement.LEFT_OUT),
        ("f32[2] (-,i64[3])", "f32[2] (?)", agreement.LISTS_LEFT_OUT),
        ("f32[2] end=int", "f32[2] end=7", agreement.INTEGERS),
        ("f32[2]:subclass", "f32[2]", agreement.NOT_PLAIN),
        ("f32[2] dim=1", "f32[2] dim=2", None),
        ("f32[2] dim=1", "f32[2]", None),
        ("f32[2]", "f32[2] dim=1", None),
        ("f32[2]", "f32[3]", None),
        ("f32[2] keepdim=True", "f32[2]", None),
        ("f32[2] p=float", "f32[2]", None),
    ],
)
def test_when_signatures_agree(observer: str, autograd: str, reason: str | None) -> None:
    assert agreement.reason(observer, autograd) == reason


def test_the_recorder_takes_rows_from_python(tmp_path: Path) -> None:
    from array import array

    from perfprobe import native

    recorder = native.core().Recorder(str(tmp_path / "run.perfprobe"))
    name = recorder.intern_name("aten::add", True)
    thread = recorder.add_thread(1, 7, recorder.intern_name("main", True))
    frame = recorder.add_frame(recorder.intern_name("a.py", True), name, 1, 5)
    module = recorder.add_module(-1, name, recorder.intern_name("Net", True))
    stack = recorder.add_stack(-1, frame, module)
    signature = recorder.add_signature("f32[2] p=float", "f32[2] p=0.5", name, -1)
    assert recorder.add_signature("f32[2] p=float", "f32[2] p=0.5", name, -1) == signature
    assert recorder.add_signature("f32[2] p=float", "f32[2] p=0.5", name + 1, -1) != signature
    start_ns = [1 << 60, (1 << 60) + 5]
    columns = {"start_ns": start_ns, "end_ns": [at + 3 for at in start_ns], "thread": [thread] * 2}
    columns |= {"depth": [0, 0], "name": [name] * 2, "stack": [stack] * 2, "signature": [signature] * 2}
    recorder.add_rows("operators", {key: array("q", values) for key, values in columns.items()})
    for bad in ({}, {"depth": array("i", [1])}, {"a": array("q", [1]), "b": array("q", [1, 2])}):
        with pytest.raises(ValueError, match="operators"):
            recorder.add_rows("operators", bad)
    recorder.close()
    recording = storage.read(tmp_path / "run.perfprobe")
    (rows,) = recording.operators()
    assert rows.start_ns.tolist() == start_ns
    assert (rows.end_ns - rows.start_ns).tolist() == [3, 3]
    assert recording.operator_rows == 2
    assert np.all(rows.stack == 0)
    assert recording[Strings][recording[Signatures].example[0]] == "f32[2] p=0.5"
    assert recording[Strings][recording[Signatures].name[0]] == "aten::add"
