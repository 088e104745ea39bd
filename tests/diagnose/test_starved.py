"""A run without steps on a busy machine: the scheduler's sums of the main thread come first."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.report.section.screen.screen import screen_rows
from perfprobe.tables.diagnoses import Cause, Diagnoses
from perfprobe.tables.judgements import HeldUpTeam, Starved
from tests.build import Program, op
from tests.report.test_screen import found
from tests.report.test_text import META
from tests.snapshots import Snapshot

MS = 1_000_000
WHOLE_MS = 1000


def script(main_waits_ms: int, other_waits_ms: int = 0, neighbours_ms: int = 0) -> Program:
    """A second in which the main thread ran a single operator, and waited for a processor."""
    stop = {"monotonic_ns": WHOLE_MS * MS, "cpu_ns": 100 * MS}
    program = Program(**META | {"stop": stop, "program": {"argv": ["script.py"], "pid": 1001}})
    program.thread(1)
    program.thread(2)
    program.run(op("aten::mm", 10 * MS, 90 * MS, stack=program.stack("/p/script.py:3 main")))
    for part in (0, 1):
        threads = {0: (100 * part * MS, main_waits_ms * part * MS), 1: (0, other_waits_ms * part * MS)}
        program.reading(WHOLE_MS * part * MS, threads, busy_ns=(100 + neighbours_ms) * part * MS)
    return program


@pytest.mark.parametrize("waits_ms", [200, 700])
def test_what_the_main_thread_got_comes_first(tmp_path: Path, waits_ms: int, snapshot: Snapshot) -> None:
    findings = found(script(waits_ms, neighbours_ms=1500), tmp_path)
    starved = findings[Starved]
    assert starved.share == pytest.approx(1 - waits_ms / WHOLE_MS)
    assert (starved.by_others, starved.of_run) == (True, True)
    rows = screen_rows(findings)
    assert [row.label for row in rows[1:3]] == ["MACHINE", "STEPS"]
    snapshot(rows[1].text)


@pytest.mark.parametrize(("main_ms", "other_ms"), [(199, 0), (0, 900)])
def test_a_thread_beside_does_not_make_it_starved(tmp_path: Path, main_ms: int, other_ms: int) -> None:
    findings = found(script(main_ms, other_ms), tmp_path)
    assert findings.get(Starved) is None
    assert "MACHINE" not in [row.label for row in screen_rows(findings)]


def test_shares_of_a_run_without_steps_are_of_its_own_time(tmp_path: Path) -> None:
    """Two functions: one ran for 100 ms in 700, the other for 300 in 300. Own time is 400 ms."""
    program = script(600, neighbours_ms=1500)
    for at in range(WHOLE_MS // 10):
        is_first = at < 70
        function, wait_ns = ("8 crowded", 600 * MS // 70) if is_first else ("18 alone", 0)
        begin, end = at * 10 * MS, (at + 1) * 10 * MS
        frames = ("/p/script.py:30 main", f"/p/script.py:{function}")
        program.sample(begin, end, *frames, cpu_ns=10 * MS - wait_ns, wait_ns=wait_ns)
    findings = found(program, tmp_path)
    (first,) = (each for each in findings[Diagnoses].found if each.cause is Cause.PYTHON)
    line = findings.trace.line(first.frame)
    assert line is not None
    assert line.line == 18
    assert first.share == pytest.approx(0.75, abs=0.01)


def test_times_of_imports_are_own_times_too(tmp_path: Path) -> None:
    """An import took 700 ms, of which it waited 600. It is 100 ms = 25 % of 400."""
    program = script(600, neighbours_ms=1500)
    loader = "/lib/python3.11/importlib/_bootstrap.py:1 _find_and_load"
    for at in range(70):
        begin, end = at * 10 * MS, (at + 1) * 10 * MS
        frames = ("/p/script.py:1 <module>", loader, "/env/site-packages/torch/__init__.py:5 <module>")
        program.sample(begin, end, *frames, cpu_ns=1428571, wait_ns=600 * MS // 70)
    (row,) = (row for row in screen_rows(found(program, tmp_path)) if row.label == "IMPORTS")
    assert row.share == pytest.approx(0.25, abs=0.01)
    assert "100 ms" in row.text


def beside_a_team(
    waits_ms: tuple[int, int], *, member_runs_ms: int = 300, neighbours_ms: int = 1400
) -> Program:
    """A second of a main thread and a thread without a name of its own; each runs for 300 ms by default."""
    stop = {"monotonic_ns": WHOLE_MS * MS, "cpu_ns": 600 * MS}
    program = Program(
        **META | {"stop": stop, "program": {"argv": ["script.py"], "pid": 1001}, "torch": {"threads": 2}}
    )
    for number in (1, 2):
        program.thread(number, "python")
    program.run(op("aten::mm", 10 * MS, 90 * MS, stack=program.stack("/p/script.py:3 main")))
    runs_ms = 300, member_runs_ms
    for part in (0, 1):
        times = zip(runs_ms, waits_ms, strict=True)
        threads = {at: (run * part * MS, wait * part * MS) for at, (run, wait) in enumerate(times)}
        program.reading(WHOLE_MS * part * MS, threads, busy_ns=(sum(runs_ms) + neighbours_ms) * part * MS)
    return program


@pytest.mark.parametrize("main_waits_ms", [100, 600])
def test_a_team_that_others_hold_up_is_said(tmp_path: Path, main_waits_ms: int, snapshot: Snapshot) -> None:
    """The others use 1.4 of two processors: one thread has room beside them."""
    findings = found(beside_a_team((main_waits_ms, 600)), tmp_path)
    assert findings[HeldUpTeam] == HeldUpTeam(threads=2, free=1)
    snapshot("\n".join(row.text for row in screen_rows(findings)[1:3]))


@pytest.mark.parametrize(("number", "is_said"), [(2, True), (4, False)])
def test_a_program_that_sets_its_threads_is_told_where(tmp_path: Path, number: int, is_said: bool) -> None:
    """A variable would do nothing. A number that torch no longer has was set before another one."""
    place = {"number": number, "file": "/p/script.py", "line": 7, "function": "main"}
    program = beside_a_team((100, 600))
    program.meta["modes"] = {"rows": [], "more": 0, "threads": place}
    (row,) = (row for row in screen_rows(found(program, tmp_path)) if "threads wait" in row.text)
    assert ("at script.py:7" in row.text, "OMP_NUM_THREADS=1" in row.text) == (is_said, not is_said)


@pytest.mark.parametrize(
    ("member_waits_ms", "member_runs_ms", "neighbours_ms"),
    [(150, 300, 1400), (600, 20, 1400), (600, 300, 0)],
    ids=["waits little", "does not share the work", "no other process"],
)
def test_a_team_that_others_do_not_hold_up(
    tmp_path: Path, member_waits_ms: int, member_runs_ms: int, neighbours_ms: int
) -> None:
    program = beside_a_team(
        (100, member_waits_ms), member_runs_ms=member_runs_ms, neighbours_ms=neighbours_ms
    )
    assert found(program, tmp_path).get(HeldUpTeam) is None
