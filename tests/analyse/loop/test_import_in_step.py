"""An import counts once, where it happened: in the step that imported, or in start-up before the first."""

from __future__ import annotations

from pathlib import Path

from perfprobe.report.rows.diagnosed import account_rows
from perfprobe.report.rows.steps import StepFindings
from perfprobe.report.section.screen.screen import screen_rows
from perfprobe.tables.findings import Findings
from perfprobe.tables.ranges import RangeSource
from perfprobe.tables.steps import StepTimes
from tests.build import Program, op
from tests.report.test_screen import ENGINE, found
from tests.snapshots import Snapshot

MS = 1_000_000
STEPS, FIRST, EACH, GAP, LATE = 8, 300, 20, 80, 3  # the import is in the step with this number; ms
MAIN, FIND = "/p/train.py:{}/1 <module>", "<frozen importlib._bootstrap>:1176 _find_and_load"
BODIES = {name: f"/env/site-packages/{name}/__init__.py:1 <module>" for name in ("early", "late")}
COLLECTED = 2  # ms, in the middle of the import


def program() -> Program:
    """8 steps of 100 ms with 20 ms of operators; in the rest sleep, or once an import of 80 ms."""
    stop = {"monotonic_ns": (FIRST + STEPS * (EACH + GAP)) * MS, "cpu_ns": 0}
    made = Program(
        start={"monotonic_ns": 0, "cpu_ns": 0},
        stop=stop,
        program={"argv": ["train.py"], "pid": 1001},
        roots={"site": ["/env/site-packages"], "script": "/p"},
        sampler={"ticks": 40},
    )
    made.thread(1)
    net = made.module("", "Net")
    forward = made.stack(MAIN.format(20), ("/p/net.py:9 forward", net))
    backward = {"stack": made.stack(MAIN.format(21), ENGINE), "node_thread": 1}
    update = made.stack(MAIN.format(22))
    made.sample(0, FIRST * MS, MAIN.format(1), FIND, BODIES["early"], looks=60, cpu_ns=FIRST * MS)
    for number in range(STEPS):
        at = (FIRST + number * (EACH + GAP)) * MS
        made.run(
            op("aten::mm", at, at + 9 * MS, stack=forward, sequence=number),
            op("MmBackward0", at + 9 * MS, at + 18 * MS, **backward, node_sequence=number),
            op("Optimizer.step#SGD.step", at + 18 * MS, at + 20 * MS, stack=update, scope=7),
        )
        begin = at + EACH * MS
        if number + 1 != LATE:
            continue  # no sample shows it
        half = begin + GAP // 2 * MS
        for start, end in ((begin, half), (half, begin + GAP * MS)):
            made.sample(start, end, MAIN.format(23), FIND, BODIES["late"], looks=8, cpu_ns=end - start)
        for start in (begin + 30 * MS, half + 20 * MS):
            source = int(RangeSource.PYTHON)
            made.named_range("garbage collection 2", start, start + COLLECTED * MS, source=source)
    return made


def imports_of(findings: Findings) -> dict[int, int]:
    rows = StepFindings(findings).steps
    found = {row.step: (row.phases or {}).get("import") for row in rows}
    return {step: time_ns for step, time_ns in found.items() if step is not None and time_ns is not None}


def test_an_import_is_in_its_step_and_in_no_other(tmp_path: Path) -> None:
    findings = found(program(), tmp_path)
    assert imports_of(findings) == {LATE: (GAP - 2 * COLLECTED) * MS}
    times = findings[StepTimes]
    assert times.start_up_ns == FIRST * MS
    assert times.start_up.time_ns.tolist() == [FIRST * MS]


def test_the_account_has_it_once(tmp_path: Path) -> None:
    findings = found(program(), tmp_path)
    rows = account_rows(findings)
    (row,) = (row for row in rows if row.kind == "import")
    assert (row.time_ns, row.steps, row.line and row.line.line) == ((GAP - 2 * COLLECTED) * MS, 1, 23)
    loops = findings[StepTimes].loops
    assert sum(row.time_ns for row in rows) == int(loops.total_ns[0])


def test_only_imports_before_the_first_step_are_said_to_be_of_start_up(
    tmp_path: Path, snapshot: Snapshot
) -> None:
    rows = screen_rows(found(program(), tmp_path))
    snapshot("\n".join(row.text for row in rows if "start-up" in row.text))
