"""Named ranges, compared with a slow twin that checks every moment."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from perfprobe.analyse.named_ranges import named_ranges
from perfprobe.merge import link
from perfprobe.tables.ranges import RangeKind, RangeSource
from perfprobe.tables.strings import Strings
from tests.build import Program

FREE, MARK = int(RangeKind.FREE), int(RangeKind.MARK)


def rows_of(folder: Path, program: Program, end_ns: int | None = 1_000) -> dict[str, dict[str, Any]]:
    """The rows by name, in their order."""
    program.end_ns = end_ns
    trace = link(program.recording(folder))
    found = named_ranges(trace)
    assert found is not None
    columns = {name: column.tolist() for name, column in found.columns().items()}
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return {trace.recording[Strings][row["name"]]: row for row in rows}


def test_without_ranges_there_is_no_table(tmp_path: Path) -> None:
    assert named_ranges(link(Program().recording(tmp_path))) is None


def test_nested_ranges_of_one_name_count_once(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.named_range("outer", 0, 100)
    program.named_range("outer", 10, 40)
    program.named_range("outer", 200, 250)
    row = rows_of(tmp_path, program)["outer"]
    assert (row["ranges"], row["total_ns"], row["mean_ns"], row["longest_ns"]) == (3, 150, 60, 100)
    assert (row["median_ns"], row["p95_ns"], row["open"], row["thread"]) == (50, 100, 0, 0)


def test_threads_add_up_and_free_ranges_do_not(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.thread(2)
    for name, kind in (("nested", 0), ("free", FREE)):
        program.named_range(name, 0, 100, kind=kind)
        program.named_range(name, 50, 150, kind=kind, thread=1)
    rows = rows_of(tmp_path, program)
    assert (rows["nested"]["total_ns"], rows["free"]["total_ns"]) == (200, 150)
    assert (rows["nested"]["thread"], rows["free"]["mean_ns"]) == (-1, 100)
    assert list(rows) == ["nested", "free"]


def test_ranges_of_alternating_tasks_are_one_row(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    own = int(RangeSource.PERFPROBE)
    program.named_range("task", 0, 100, source=own, kind=FREE)
    program.named_range("task", 10, 120, source=own)
    program.named_range("other", 0, 50, source=own)
    program.named_range("nvtx", 0, 100, kind=FREE)
    program.named_range("nvtx", 10, 120)
    program.end_ns = 1_000
    found = named_ranges(link(program.recording(tmp_path)))
    assert found is not None
    strings = link(program.recording(tmp_path)).recording[Strings]
    kinds = [(strings[name], kind) for name, kind in zip(found.name, found.kind, strict=True)]
    assert sorted(kinds) == [("nvtx", 0), ("nvtx", FREE), ("other", 0), ("task", FREE)]
    task = [name for name, _ in kinds].index("task")
    assert (found.ranges[task], found.total_ns[task]) == (2, 120)


def test_open_ranges_end_with_the_recording_and_marks_have_no_time(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.named_range("open", 400, -1)
    program.named_range("mark", 10, 10, kind=MARK)
    program.named_range("mark", 20, -1, kind=MARK)
    rows = rows_of(tmp_path, program)
    assert (rows["open"]["open"], rows["open"]["total_ns"]) == (1, 600)
    assert (rows["mark"]["ranges"], rows["mark"]["open"], rows["mark"]["total_ns"]) == (2, 0, -1)
    assert (rows["mark"]["mean_ns"], rows["mark"]["median_ns"], rows["mark"]["longest_ns"]) == (-1, -1, -1)


def test_open_ranges_have_no_time_if_the_end_is_unknown(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.named_range("a", 400, -1)
    program.named_range("b", 400, -1)
    program.named_range("b", 400, 500)
    rows = rows_of(tmp_path, program, end_ns=None)
    assert (rows["a"]["total_ns"], rows["a"]["p95_ns"]) == (-1, -1)
    assert (rows["b"]["total_ns"], rows["b"]["mean_ns"], rows["b"]["median_ns"]) == (100, 100, 100)


def test_one_name_of_two_domains_or_sources_is_two_rows(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.named_range("load", 0, 10)
    program.named_range("load", 0, 10, domain="mine")
    program.named_range("load", 0, 10, source=int(RangeSource.PERFPROBE))
    found = named_ranges(link(program.recording(tmp_path)))
    assert found is not None
    assert len(found) == 3


def covered(ranges: Sequence[tuple[int, int, int, int]], name: int) -> int:
    """Nanoseconds in which a range of this name was open, summed over threads."""
    return sum(
        any(start <= at < end for start, end, of, on in ranges if of == name and on == thread)
        for thread in {on for *_, on in ranges}
        for at in range(200)
    )


@pytest.mark.parametrize("seed", range(6))
def test_against_a_slow_twin(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    program = Program()
    threads = [program.thread(at) for at in range(1, 4)]
    given = []
    for _ in range(60):
        start = rng.randrange(150)
        end, name, thread = start + rng.randrange(50), rng.randrange(5), rng.choice(threads)
        given.append((start, end, name, thread))
        program.named_range(f"r{name}", start, end, thread=thread)
    rows = rows_of(tmp_path, program)
    for name in {name for _, _, name, _ in given}:
        durations = sorted(end - start for start, end, of, _ in given if of == name)
        row = rows[f"r{name}"]
        assert row["total_ns"] == covered(given, name)
        assert row["ranges"] == len(durations)
        assert row["mean_ns"] == sum(durations) // len(durations)
        assert row["longest_ns"] == durations[-1]
        assert row["median_ns"] == durations[-(-len(durations) // 2) - 1]
