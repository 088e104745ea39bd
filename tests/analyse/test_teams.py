"""Problems with threads, utilisation and operators' teams, on hand-made readings and ticks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfprobe.diagnose.diagnose import diagnosed
from perfprobe.merge import link
from perfprobe.report.rows.teams import problem_rows, team_rows
from perfprobe.report.section.block import Paragraph
from perfprobe.report.section.teams import verdicts
from perfprobe.tables.columns import TEXT
from perfprobe.tables.findings import Findings
from perfprobe.tables.native_code import NativeSplit
from perfprobe.tables.processors import Processors
from perfprobe.tables.teams import Teams, ThreadKind, WorkerTeams
from tests.build import Program, op
from tests.found import find
from tests.snapshots import Snapshot

MAIN = 1000  # the number of thread 0, as `Program.thread` makes it
MS = 1_000_000
SECOND_NS = 1000 * MS
TICK_NS = 5 * MS
SECONDS = 4

Times = dict[int, tuple[int, int]]


def program(times: Times, *, busy: int = 2000, team: int = 2, **meta: Any) -> Program:
    """4 seconds in which each thread ran and waited so many ms a second, on two processors of two."""
    host = {"cores": 2, "cores_allowed": 2, **meta.pop("host", {})}
    fields = meta.pop("fields", {})
    made = Program(
        program={"pid": MAIN}, start={"monotonic_ns": 0}, torch={"threads": team}, host=host, **meta
    )
    made.meta["stop"] = {"monotonic_ns": SECONDS * SECOND_NS}
    for number in range(8):
        made.thread(number, "python")
    for at in range(SECONDS + 1):
        so_far = {thread: (at * run * MS, at * wait * MS) for thread, (run, wait) in times.items()}
        reported = {"busy_ns": at * busy * MS, "pressure_ns": at * SECOND_NS, "children_cpu_ns": 0}
        of_second = {name: at * value if name.endswith("_ns") else value for name, value in fields.items()}
        made.reading(at * SECOND_NS, so_far, **{**reported, **of_second})
    return made


def run(made: Program, name: str, helpers: float, *, callers: float = 1, place: str = "train.py:7 f") -> None:
    """An operator on thread 0 for all seconds, 50 ms a call, beside so many threads."""
    stack = made.stack("train.py:3 main", place)
    for at in range(0, SECONDS * SECOND_NS, 50 * MS):
        made.run(op(name, at, at + 50 * MS, stack=stack))
    for at in range(0, SECONDS * SECOND_NS, TICK_NS):
        made.activity(at, at + TICK_NS, round(callers * TICK_NS), round(helpers * TICK_NS))


def found(made: Program, folder: Path) -> Findings:
    return find(link(made.recording(folder)), Teams, Processors)


def said(findings: Findings) -> list[tuple[str, str | None, int]]:
    """Each problem with its place and its cost in ms."""
    return [
        (
            row.problem,
            None if row.line is None else f"{row.line.file}:{row.line.line}",
            round(row.cost_ns / MS),
        )
        for row in problem_rows(findings)
    ]


HEALTHY = {0: (950, 1), 1: (940, 1)}
CROWDED = {thread: (333, 660) for thread in range(6)}


def shown(findings: Findings) -> str:
    """The verdicts above the tables."""
    return "\n".join(block.text for block in verdicts(findings) if isinstance(block, Paragraph))


def test_a_healthy_program_has_no_problem(tmp_path: Path, snapshot: Snapshot) -> None:
    made = program(HEALTHY, busy=1900)
    run(made, "aten::mm", 1)
    findings = found(made, tmp_path)
    assert said(findings) == []
    snapshot(shown(findings))
    (row,) = team_rows(findings)
    assert (row.operator, row.active, row.efficiency, row.idle_ns, row.error) == ("aten::mm", 2, 1, 0, 0)


@pytest.mark.parametrize(
    ("kind", "meta", "set_by"),
    [
        ("oversubscription", {}, ""),
        ("oversubscription", {"environment": {"OMP_NUM_THREADS": "6"}}, " (set by OMP_NUM_THREADS=6)"),
        ("affinity", {"host": {"cores": 8}}, ""),
        ("quota", {"host": {"cgroup_cores": 1.0}, "fields": {"throttled_ns": 400 * MS}}, ""),
    ],
)
def test_more_threads_than_cores(tmp_path: Path, kind: str, meta: dict[str, Any], set_by: str) -> None:
    made = program(CROWDED, team=6, **meta)
    run(made, "aten::mm", 1)
    findings = found(made, tmp_path)
    ((problem, line, cost_ms),) = said(findings)
    assert (problem, line) == (kind, "train.py:7")
    assert cost_ms == pytest.approx(SECONDS * 6 * 660, rel=0.02)  # all that they waited
    (row,) = problem_rows(findings)
    assert row.what.startswith(f"6 torch threads{set_by}")
    assert "OMP_NUM_THREADS=" in row.remedy


def test_a_team_in_each_of_several_threads(tmp_path: Path) -> None:
    """Three threads of Python with two threads each: torch's own number fits the cores."""
    made = program(CROWDED)
    stack = made.stack("pool.py:4 work")
    for thread in range(3):
        made.run(op("aten::mm", 0, SECONDS * SECOND_NS, stack=stack), thread=thread)
        made.sample(0, SECOND_NS, "pool.py:4 work", thread=thread)
    findings = found(made, tmp_path)
    (row,) = problem_rows(findings)
    assert (row.problem, row.threads, row.line is not None and row.line.line) == ("nested", 6, 4)
    kinds = findings[Teams].inventory.kind.tolist()
    assert sorted(kinds) == sorted([ThreadKind.MAIN, *[ThreadKind.PYTHON] * 2, *[ThreadKind.OPENMP] * 3])


def test_other_processes_are_not_the_programs_problem(tmp_path: Path, snapshot: Snapshot) -> None:
    made = program({0: (500, 500), 1: (500, 500)})
    run(made, "aten::mm", 0.5, callers=0.5)
    findings = found(made, tmp_path)
    ((problem, _, cost_ms),) = said(findings)
    assert (problem, cost_ms) == ("other_processes", SECONDS * 1000)
    (problem_row,) = problem_rows(findings)
    assert not problem_row.of_program
    # Its caller waited for half of the time, and its two members together all of the time.
    snapshot(problem_row.what, verdicts=shown(findings))
    (row,) = team_rows(findings)
    assert (row.active, row.idle_ns) == (1, 0)
    assert row.not_running_ns == SECONDS * SECOND_NS  # half of two threads


def test_an_operator_that_leaves_its_team_idle(tmp_path: Path) -> None:
    made = program({0: (950, 1), 1: (100, 1)}, busy=1050)
    run(made, "aten::bernoulli_", 0.1)
    ((problem, line, cost_ms),) = said(found(made, tmp_path))
    assert (problem, line, cost_ms) == ("serial", "train.py:7", SECONDS * 900)


def test_helpers_that_still_spin_do_not_hide_a_serial_operator(tmp_path: Path) -> None:
    """They spin for 10 of its 50 ms, from the parallel part before."""
    made = program({0: (950, 1), 1: (250, 1)}, busy=1200)
    stack = made.stack("train.py:7 f")
    for at in range(0, SECONDS * SECOND_NS, 50 * MS):
        made.run(op("aten::normal_", at, at + 50 * MS, stack=stack))
        for tick in range(at, at + 50 * MS, TICK_NS):
            made.activity(tick, tick + TICK_NS, TICK_NS, TICK_NS if tick < at + 10 * MS else 0)
    findings = found(made, tmp_path)
    (row,) = team_rows(findings)
    assert (row.active, row.looks) == (1, 7 * SECONDS * 20)
    ((problem, line, cost_ms),) = said(findings)
    assert (problem, line, cost_ms) == ("serial", "train.py:7", SECONDS * 1000)


def test_an_operator_is_without_what_runs_in_it(tmp_path: Path) -> None:
    """40 of 50 ms are of the inner one, which is parallel; the outer one fills two ticks a call alone."""
    made = program(HEALTHY, busy=1900)
    for at in range(0, SECONDS * SECOND_NS, 50 * MS):
        made.run(op("outer", at, at + 50 * MS, op("inner", at, at + 40 * MS)))
        for tick in range(at, at + 50 * MS, TICK_NS):
            made.activity(tick, tick + TICK_NS, TICK_NS, TICK_NS if tick < at + 40 * MS else 0)
    rows = {row.operator: row for row in team_rows(found(made, tmp_path))}
    calls = SECONDS * 20
    # Of the inner one 5 of 8 ticks, 15 ms or more after it began.
    assert (rows["inner"].active, rows["inner"].looks, rows["inner"].self_ns) == (
        2,
        5 * calls,
        40 * calls * MS,
    )
    assert (rows["outer"].active, rows["outer"].looks, rows["outer"].self_ns) == (
        1,
        2 * calls,
        10 * calls * MS,
    )


@pytest.mark.parametrize(("caller", "expected"), [(0.0, ["spinning"]), (0.9, [])])
def test_helpers_that_spin(tmp_path: Path, caller: float, expected: list[str]) -> None:
    """An operator of 50 ms in each 200; a caller that computes itself may have given helpers other work."""
    made = program({0: (250, 1), 1: (1000, 1)}, busy=1250, environment={"OMP_WAIT_POLICY": "active"})
    stack = made.stack("spin.py:5 main")
    for at in range(0, SECONDS * SECOND_NS, 200 * MS):
        made.run(op("aten::mm", at, at + 50 * MS, stack=stack))
        made.sample(at, at + 50 * MS, "spin.py:5 main")
        made.sample(at + 50 * MS, at + 200 * MS, "spin.py:6 main")
        for tick in range(at, at + 200 * MS, TICK_NS):
            made.activity(
                tick, tick + TICK_NS, round(TICK_NS * (1 if tick < at + 50 * MS else caller)), TICK_NS
            )
    findings = found(made, tmp_path)
    assert [row.problem for row in problem_rows(findings)] == expected
    if expected:
        (row,) = problem_rows(findings)
        assert (row.line is not None and row.line.line, row.threads) == (6, 1)
        assert "OMP_WAIT_POLICY=active" in row.what
        # All but the 15 ms a spinning thread of libgomp may take by itself, and the tick it ends in.
        assert row.cost_ns == SECONDS * 5 * (150 - 15) * MS


@pytest.mark.parametrize(
    ("caller", "helper", "expected"), [(0.2, 1.0, ["spinning"]), (0.2, 0.25, []), (0.9, 1.0, [])]
)
def test_helpers_that_spin_briefly(tmp_path: Path, caller: float, helper: float, expected: list[str]) -> None:
    """An operator of 1 ms every 5 ms, and no tick without it: at most 1 ms of a helper was work."""
    made = program({0: (250, 1), 1: (1000, 1)}, busy=1250)
    stack = made.stack("spin.py:5 main")
    for at in range(0, SECONDS * SECOND_NS, TICK_NS):
        made.run(op("aten::mm", at, at + MS, stack=stack))
        made.sample(at, at + TICK_NS, "spin.py:6 main")
        made.activity(at, at + TICK_NS, round(TICK_NS * caller), round(TICK_NS * helper))
    rows = problem_rows(found(made, tmp_path))
    assert [row.problem for row in rows] == expected
    if expected:
        assert rows[0].cost_ns == SECONDS * 800 * MS
        assert rows[0].line is not None
        assert rows[0].line.line == 6
        assert "OpenMP" in rows[0].what


def test_waits_for_the_global_lock(tmp_path: Path, snapshot: Snapshot) -> None:
    """Two threads take turns of half a second; a look out of ten does not find the other one waiting."""
    made = program({0: (500, 1), 1: (500, 1)}, busy=1000)
    for thread in range(2):
        for at in range(0, SECONDS * SECOND_NS, 500 * MS):
            waits = 90 if (at // (500 * MS)) % 2 == thread else 0
            place = f"pool.py:{4 + (waits > 0)} count"
            made.sample(at, at + 500 * MS, place, thread=thread, looks=100, lock_looks=waits)
    findings = found(made, tmp_path)
    ((problem, line, cost_ms),) = said(findings)
    assert (problem, line, cost_ms) == ("lock", "pool.py:5", SECONDS * 900)
    snapshot(problem_rows(findings)[0].what)
    assert findings[Teams].inventory.lock_ns.tolist() == [SECONDS * 450 * MS] * 2


@pytest.mark.parametrize(("threads", "expected"), [(4, ["workers"]), (1, [])])
def test_teams_in_workers(tmp_path: Path, threads: int, expected: list[str]) -> None:
    made = program({0: (100, 1)}, busy=2000)
    findings = found(made, tmp_path)
    row: dict[str, Any] = {"process": 7, "threads": threads, "ran": threads - 1, "run_ns": SECOND_NS}
    row |= {"waited_ns": SECOND_NS, "file": "data.py", "line": 5, "function": "get"}
    columns = {
        name: np.array([row[name], row[name], None], TEXT)[:-1].astype(dtype)
        for name, dtype in WorkerTeams.dtypes.items()
    }
    rows = problem_rows(diagnosed(findings.plus(WorkerTeams(**columns))))
    assert [(row.problem, row.line is not None and row.line.line) for row in rows if row.of_program] == [
        (problem, 5) for problem in expected
    ]


def test_without_ticks_the_readings_tell_how_many_ran(tmp_path: Path) -> None:
    findings = found(program(HEALTHY, busy=1900), tmp_path)
    teams = findings[Teams]
    assert len(teams.activity) == 0
    assert teams.active.active_ppm.tolist() == [1_890_000] * SECONDS
    assert teams.spun_ns is None
    assert team_rows(findings) == []


def test_potential_gain_is_split_by_what_openmp_spends(tmp_path: Path) -> None:
    """A team of 2. Its second member runs for half of the time and waits in OpenMP for the other half."""
    made = program({0: (900, 0), 1: (400, 0)})
    run(made, "mm", 0.5)
    gomp = "/torch/lib/libgomp.so.1"
    for at in range(100):
        made.native(at * 10 * MS, gomp, "omp_get_num_procs..omp_get_wtime", thread=1)
        made.native(at * 10 * MS + 1, gomp, "GOMP_critical_start", thread=1)
        made.native(at * 10 * MS + 2, "/torch/lib/libtorch_cpu.so", "mkl_blas_sgemm", thread=1)
    both = find(link(made.recording(tmp_path)), Teams, Processors, NativeSplit)
    [row] = team_rows(both)
    assert (row.spun_ns, row.locks_ns, row.scheduling_ns) == (100 * MS, 100 * MS, 0)
    assert row.idle_ns is not None
    assert row.gain_ns == (row.idle_ns + 200 * MS) // 2
    [without] = team_rows(found(made, tmp_path))
    assert (without.spun_ns, without.locks_ns, without.gain_ns) == (None, None, row.idle_ns // 2)
