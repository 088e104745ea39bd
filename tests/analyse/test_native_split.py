"""Native code by operator: hand-made samples, and random ones compared with a slow simple implementation."""

from __future__ import annotations

import random
from pathlib import Path

from perfprobe.merge import link
from perfprobe.report.rows.native import NativeOperatorRow, function_rows, operator_rows, part_rows
from perfprobe.report.section.listed import chosen
from perfprobe.support.view import View
from perfprobe.tables.findings import Findings
from perfprobe.tables.native_code import NativeSplit
from tests.build import Op, Program, op
from tests.found import find
from tests.snapshots import Snapshot

MAIN = 1000  # the number of thread 0, as `Program.thread` makes it
US = 1000
TORCH, C, GOMP = "/lib/libtorch_cpu.so", "/lib/libc.so.6", "/lib/libgomp.so.1"
SECOND_NS = 1_000_000_000


def program(threads: int = 4) -> Program:
    """A program whose thread 0 runs Python. Its other threads are a library's."""
    made = Program(program={"pid": MAIN}, start={"monotonic_ns": 0}, stop={"monotonic_ns": SECOND_NS})
    made.meta["native"] = {"period_ns": 1_000_000, "with_kernel": True, "cpu_ns": 5_000_000}
    for number in range(threads):
        made.thread(number, "python")
    return made


def found(made: Program, folder: Path) -> Findings:
    return find(link(made.recording(folder)), NativeSplit)


def test_a_sample_belongs_to_the_innermost_operator_of_its_thread(tmp_path: Path) -> None:
    made = program()
    stack = made.stack("train.py:3 main", "train.py:7 f")
    made.run(op("linear", 100, 500, op("mm", 200, 300, stack=stack), stack=stack))
    made.native(150, TORCH, "at::_ops::linear::call()")
    made.native(250, TORCH, "mkl_blas_sgemm")
    made.native(260, C, "memcpy")
    made.native(600, C, "qsort")
    findings = found(made, tmp_path)
    rows = {row.operator: row for row in operator_rows(findings)}
    assert {name: row.cpu_ns for name, row in rows.items()} == {"linear": 10**6, "mm": 2 * 10**6, None: 10**6}
    assert rows["mm"].parts["math_ns"] == rows["mm"].parts["copy_ns"] == 10**6
    assert rows["linear"].parts["dispatch_ns"] == 10**6
    assert rows["mm"].line is not None
    assert rows["mm"].line[:2] == ("train.py", 7)
    assert rows[None].place == "outside"
    assert rows[None].parts["other_ns"] == 10**6
    assert {row.part: row.share for row in part_rows(findings)} == dict.fromkeys(
        ("math", "copy", "dispatch", "other"), 0.25
    )


def test_members_of_a_team_work_for_the_operator_that_runs(tmp_path: Path) -> None:
    made = program()
    made.run(op("mm", 100, 500))
    made.run(op("relu", 400, 700), thread=1)
    made.native(200, GOMP, "GOMP_barrier", thread=2)
    made.native(450, GOMP, "GOMP_barrier", thread=2)  # works for either
    made.native(600, TORCH, "mkl_blas_sgemm", thread=3)
    made.native(900, GOMP, "GOMP_barrier", thread=3)
    made.native(300, TORCH, "mkl_blas_sgemm", thread=1)  # has operators of its own, but ran none then
    rows = {(row.operator, row.place): row for row in operator_rows(found(made, tmp_path))}
    assert {key: (row.cpu_ns, row.helpers_ns) for key, row in rows.items()} == {
        ("mm", "operator"): (10**6, 10**6),
        ("relu", "operator"): (10**6, 10**6),
        (None, "several"): (10**6, 10**6),
        (None, "outside"): (2 * 10**6, 10**6),
    }


def test_samples_of_perfprobe_and_from_outside_of_the_program_are_left_out(tmp_path: Path) -> None:
    made = program(0)
    made.thread(0, "python")
    made.thread(1, "perfprobe-own")
    made.native(500, C, "read", thread=1)
    made.native(2 * SECOND_NS, C, "read")
    made.native(700, C, "read", mode=1)
    findings = found(made, tmp_path)
    assert [(row.part, row.looks) for row in part_rows(findings)] == [("system", 1)]


def test_without_samples_nothing_is_found(tmp_path: Path) -> None:
    made = program()
    made.run(op("mm", 100, 500))
    assert NativeSplit not in found(made, tmp_path)
    section = next(section for section in chosen(None) if section.name == "native")
    assert section.requires == (NativeSplit,)


def test_the_section_names_parts_functions_and_missing_time(tmp_path: Path, snapshot: Snapshot) -> None:
    from perfprobe.results import Results

    made = program()
    made.meta["native"]["with_kernel"] = False
    made.run(op("mm", 100, 500))
    made.reading(0, {0: (0, 0)})
    made.reading(SECOND_NS, {0: (5_000_000, 0)})
    made.native(200, TORCH, "mkl_blas_sgemm")
    made.native(300, C, "__default_morecore..malloc")
    path = tmp_path / "made.perfprobe"
    path.write_bytes(made.encode())
    text = Results(str(path)).text(View(view="native"))
    snapshot(text)
    findings = found(made, tmp_path)
    assert [row.function for row in function_rows(findings)] == [
        "mkl_blas_sgemm",
        "__default_morecore..malloc",
    ]


def test_random_samples_agree_with_a_slow_simple_implementation(tmp_path: Path) -> None:
    generator = random.Random(7)
    made, spans = program(), dict[int, list[tuple[int, int, str]]]()
    for thread in (0, 1):
        spans[thread] = []
        at = 0
        for number in range(60):
            operator, at = nested(generator, at + generator.randrange(50), f"o{thread}.{number}", 3)
            made.run(operator, thread=thread)
            spans[thread] += listed(operator)
    expected: dict[tuple[str | None, str], int] = {}
    for _ in range(500):
        time_ns, thread = generator.randrange(12_000), generator.randrange(4)
        made.native(time_ns, C, "qsort", thread=thread)
        key = slow(spans, time_ns, thread)
        expected[key] = expected.get(key, 0) + 10**6
    rows: list[NativeOperatorRow] = operator_rows(found(made, tmp_path))
    assert {(row.operator, row.place): row.cpu_ns for row in rows} == expected


def nested(generator: random.Random, start: int, name: str, depth: int) -> tuple[Op, int]:
    """Makes an operator, with others inside it; returns when it ends."""
    inside, at = [], start + generator.randrange(1, 20)
    for number in range(generator.randrange(3) if depth else 0):
        one, at = nested(generator, at, f"{name}.{number}", depth - 1)
        inside.append(one)
        at += generator.randrange(1, 20)
    return op(name, start, at, *inside), at + 1


def listed(operator: Op) -> list[tuple[int, int, str]]:
    """All operators with their times, innermost first."""
    inner = [each for one in operator.inside for each in listed(one)]
    return [*inner, (operator.start_ns, operator.end_ns, operator.name)]


def slow(spans: dict[int, list[tuple[int, int, str]]], time_ns: int, thread: int) -> tuple[str | None, str]:
    """The operator that a sample belongs to."""
    here = {
        number: [name for start, end, name in own if start <= time_ns <= end] for number, own in spans.items()
    }
    if thread in here:
        names = here[thread]
        return (names[0], "operator") if names else (None, "outside")
    running = [names[0] for names in here.values() if names]
    if len(running) == 1:
        return running[0], "operator"
    return None, "several" if running else "outside"
