"""Counts of threads and operators from hand-made readings: scaled, and explained."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.merge import link
from perfprobe.models.cpi import reading
from perfprobe.report.rows.counters import (
    event_rows,
    operator_rows,
    part,
    scaled,
    thread_rows,
)
from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables.counters import CounterFindings
from perfprobe.tables.findings import Findings
from tests.build import Program, op
from tests.found import find
from tests.snapshots import Snapshot

MS = 1_000_000
TICK_NS = 5 * MS
COUNTED = {"enabled_ns": TICK_NS, "core_ns": TICK_NS, "cache_ns": TICK_NS}
REFUSED = {
    "name": "stalled-cycles-backend",
    "in_kernel": True,
    "reason": "stalled-cycles-backend is not available: this processor has no such counter",
    "remedy": "use a machine with a PMU",
}


def program() -> Program:
    made = Program(program={"pid": 1000}, start={"monotonic_ns": 0}, stop={"monotonic_ns": 100 * MS})
    events = [{"name": "cycles", "in_kernel": True, "reason": "", "remedy": ""}, REFUSED]
    made.meta["counters"] = {"events": events}
    made.thread(0, "python")
    return made


def found(made: Program, folder: Path) -> Findings:
    return find(link(made.recording(folder)), CounterFindings)


def test_an_operator_has_the_counts_between_readings_that_it_fills(tmp_path: Path) -> None:
    made = program()
    for at in range(0, 100 * MS, TICK_NS):
        inner = op("mm", at, at + TICK_NS - 100_000) if at < 50 * MS else op("mm", at, at + 2 * MS)
        made.run(op("linear", at, at + TICK_NS, inner))
        instructions = 1000 if at < 50 * MS else 10
        made.counts(at, at + TICK_NS, cycles=2000, instructions=instructions, page_faults=2, **COUNTED)
    findings = found(made, tmp_path)
    rows = {row.operator: row for row in operator_rows(findings)}
    assert list(rows) == ["mm"]  # in the second half no operator fills nine tenths
    assert (rows["mm"].looks, rows["mm"].counts["instructions"]) == (10, 10_000)
    assert (rows["mm"].cpi, rows["mm"].counts["page_faults"]) == (2.0, 20)
    [thread] = thread_rows(findings)
    assert thread.counts["instructions"] == 10_100
    assert thread.counts["context_switches"] is None
    assert thread.counts["backend_stalls"] is None


def test_two_operators_between_two_readings_have_no_counts(tmp_path: Path) -> None:
    made = program()
    for at in range(0, 50 * MS, TICK_NS):
        made.run(op("mm", at, at + 3 * MS), op("relu", at + 3 * MS, at + TICK_NS))
        made.counts(at, at + TICK_NS, page_faults=1)
    findings = found(made, tmp_path)
    assert operator_rows(findings) == []
    assert thread_rows(findings)[0].counts["page_faults"] == 10


def test_groups_that_take_turns_are_scaled(tmp_path: Path) -> None:
    made = program()
    for at in range(0, 20 * MS, TICK_NS):
        made.run(op("mm", at, at + TICK_NS))
        is_core = (at // TICK_NS) % 2 == 0
        times = {"enabled_ns": TICK_NS, "core_ns": TICK_NS if is_core else 0, "cache_ns": 0}
        counts = {"cycles": 3000, "instructions": 2000} if is_core else {}
        made.counts(at, at + TICK_NS, **times, **counts)
    row = thread_rows(found(made, tmp_path))[0]
    assert row.counts["cycles"] == 12_000  # 6000 in half of the time
    assert row.counted["core_counted"] == pytest.approx(0.5)
    assert row.counts["cache_misses"] is None
    assert row.cpi == pytest.approx(1.5)


def test_counts_are_scaled_by_the_time_in_which_they_were_taken() -> None:
    assert scaled(1000, 10, 10) == 1000
    assert scaled(1000, 40, 10) == 4000
    assert scaled(1000, 40, 0) is None  # never counted: not 0
    assert scaled(-1, 40, 10) is None
    assert part(10, 40) == 0.25
    assert part(0, 0) is None


def test_cpi_is_good_fair_or_high_by_vtunes_limits(snapshot: Snapshot) -> None:
    none = dict.fromkeys(
        (
            *("cycles", "instructions", "branches", "branch_misses", "cache_misses"),
            *("frontend_stalls", "backend_stalls"),
        )
    )
    assert reading(None, none) == ""
    assert reading(0.4, none) == "good"
    assert reading(0.8, none) == "fair"
    memory = {**none, "instructions": 1000, "cache_misses": 9}
    branches = {**none, "branches": 100, "branch_misses": 3}
    stalled = {**none, "cycles": 100, "backend_stalls": 60}
    snapshot(
        none=reading(1.5, none),
        memory=reading(2.0, memory),
        branches=reading(2.0, branches),
        stalled=reading(2.0, stalled),
    )


def test_the_section_says_what_is_not_counted_and_why(tmp_path: Path, snapshot: Snapshot) -> None:
    made = program()
    for at in range(0, 100 * MS, TICK_NS):
        made.run(op("mm", at, at + TICK_NS))
        made.counts(at, at + TICK_NS, cycles=3000, instructions=1000, page_faults=7, **COUNTED)
    path = tmp_path / "made.perfprobe"
    path.write_bytes(made.encode())
    snapshot(Results(str(path)).text(View(view="counters")))
    events = event_rows(found(made, tmp_path))
    assert [(event.event, event.is_counted) for event in events] == [
        ("cycles", True),
        ("stalled-cycles-backend", False),
    ]


def test_facts_of_a_damaged_recording_are_left_out(tmp_path: Path) -> None:
    made = program()
    made.meta["counters"] = {"events": [3, {"name": 4}, {"name": "cycles", "reason": None}]}
    made.counts(0, TICK_NS, page_faults=1)
    assert event_rows(found(made, tmp_path)) == []
    made.meta["counters"] = {"events": "none"}
    assert event_rows(found(made, tmp_path)) == []
