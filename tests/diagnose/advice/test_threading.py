"""Threads: as many as processors, not because of neighbours, and not for short operators."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfprobe.tables.measurements import Counterfactual
from perfprobe.tables.teams import BusiestLine, WorkerTeams
from tests.diagnose.advice.made import (
    MS,
    NEXT_OF_WORKERS,
    Part,
    advised,
    changes,
    judged,
    processors,
    program,
    teams,
    untold,
)
from tests.report.measured import around, bmm, measured

WALL_NS = 8 * 54 * MS


@pytest.mark.parametrize(
    ("team", "own_ns", "others", "is_said"),
    [
        (32, WALL_NS // 2, 0, True),
        (32, WALL_NS // 20, 0, False),
        (2, WALL_NS // 2, 1.9, False),
        (2, 0, 0, False),
    ],
    ids=["too many", "they hardly wait", "neighbours", "as many"],
)
def test_as_many_threads_as_processors(
    tmp_path: Path, team: int, own_ns: int, others: float, is_said: bool
) -> None:
    found = advised(program(), tmp_path, teams(team, 2), processors(2, 1.9, others, own_ns, WALL_NS))
    assert ("threads" in found) is is_said
    if is_said:
        assert (found["threads"].what, found["threads"].tries) == ("OMP_NUM_THREADS=2", ("threads=2",))
        assert found["threads"].share == pytest.approx(50 / 54 * 30 / 32, abs=0.01)


@pytest.mark.parametrize(
    ("used", "others", "calls", "says"),
    [(1, 0, 1, "yes"), (1, 0, 1000, "no"), (1, 2.5, 1, "cannot tell"), (3.9, 0, 1, "no")],
    ids=["idle", "short calls", "neighbours", "in use"],
)
def test_more_threads_where_processors_are_idle(
    tmp_path: Path, used: float, others: float, calls: int, says: str
) -> None:
    made = program(Part("aten::bmm", 46, 22, calls=calls, inputs="f32[8,8] f32[8,8]"))
    made.operators = [row for row in made.operators if calls == 1 or row["name"] != made.string("aten::mm")]
    findings = judged(made, tmp_path, teams(1, 4), processors(4, used, others))
    assert ("more-threads" in changes(findings), "more-threads" in untold(findings)) == (
        says == "yes",
        says == "cannot tell",
    )


@pytest.mark.parametrize(
    ("threads", "speedup", "is_said"),
    [(2, 1.02, False), (2, 1 / 1.9, True), (1, 1.02, False), (1, 1.9, True)],
)
def test_bench_may_have_measured_that_threads_do_not_help(
    tmp_path: Path, threads: int, speedup: float, is_said: bool
) -> None:
    """Where the program has several, bench tries one; else it tries several."""
    row = bmm(counterfactuals=(Counterfactual("threads", "as it says", around(speedup)),))
    row = replace(row, wanted=replace(row.wanted, threads=threads))
    found = advised(program(), tmp_path, teams(1, 4), processors(4, 1), measured(row))
    assert ("more-threads" in found) is is_said


@pytest.mark.parametrize(
    ("callers", "own_ns", "is_said"), [(4, WALL_NS // 2, True), (1, WALL_NS // 2, False), (4, 0, False)]
)
def test_one_torch_thread_for_each_python_thread(
    tmp_path: Path, callers: int, own_ns: int, is_said: bool
) -> None:
    calling = tuple(BusiestLine(thread, 100, -1) for thread in range(callers))
    known = replace(teams(4, 4), busiest_lines=calling)
    found = advised(program(), tmp_path, known, processors(4, 3.9, 0, own_ns, WALL_NS))
    assert ("nested-threads" in found) is is_said


def test_a_team_as_large_as_the_machine_needs_no_more(tmp_path: Path) -> None:
    assert "more-threads" not in advised(program(), tmp_path, teams(4, 4), processors(4, 1))


@pytest.mark.parametrize(
    ("waited_ns", "data_ms", "threads", "is_said"),
    [(500, 40, 8, True), (100, 40, 8, False), (500, 1, 8, False), (500, 40, 1, False)],
)
def test_one_thread_in_each_worker(
    tmp_path: Path, waited_ns: int, data_ms: float, threads: int, is_said: bool
) -> None:
    known = {"threads": threads, "ran": 4, "run_ns": 1000, "waited_ns": waited_ns, "line": -1}
    columns = {name: np.array([known.get(name, 0)] * 2, dtype) for name, dtype in WorkerTeams.dtypes.items()}
    made = program(Part(NEXT_OF_WORKERS, data_ms, 20, scope=7))
    found = advised(made, tmp_path, WorkerTeams(**columns), teams(2, 2), processors(2, 1.9))
    assert ("worker-threads" in found) is is_said
    if is_said:
        assert found["worker-threads"].tries == ("worker-threads=1",)


@pytest.mark.parametrize(
    ("spun_ns", "own_ns", "is_said"),
    [(WALL_NS, WALL_NS // 10, True), (WALL_NS, 0, False), (0, WALL_NS // 10, False)],
    ids=["it takes processors away", "nobody needs them", "no spinning"],
)
def test_threads_that_wait_awake(tmp_path: Path, spun_ns: int, own_ns: int, is_said: bool) -> None:
    found = advised(program(), tmp_path, teams(2, 4, spun_ns), processors(4, 2, 0, own_ns, WALL_NS))
    assert ("wait-policy" in found) is is_said
