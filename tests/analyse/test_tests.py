"""Tests and fixtures of pytest and unittest: from hand-made samples, and in a real run."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.merge import link
from perfprobe.report.section.screen.screen import screen_rows
from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables.tests import Tests
from tests.build import Program
from tests.collect.runs import perfprobe
from tests.found import find
from tests.report.test_screen import found
from tests.report.test_text import META
from tests.snapshots import Snapshot

MS = 1_000_000
SITE = "/env/site-packages"
TEST = f"{SITE}/_pytest/python.py:157 pytest_pyfunc_call"
FIXTURE = f"{SITE}/_pytest/fixtures.py:900 call_fixture_func"
CASE = "/usr/lib/python3.12/unittest/case.py:589 TestCase._callTestMethod"


def sampled(*rows: tuple[int, tuple[str, ...]]) -> Program:
    """A program with these samples one after another. rows: how many ms, and the frames, outermost first."""
    whole_ns = sum(row[0] for row in rows) * MS
    meta = {"start": {"monotonic_ns": 0, "cpu_ns": 0}, "stop": {"monotonic_ns": whole_ns, "cpu_ns": whole_ns}}
    program, at = Program(**{**META, **meta}), 0
    program.thread(1)
    for time_ms, frames in rows:
        program.sample(at, at + time_ms * MS, *frames, cpu_ns=time_ms * MS)
        at += time_ms * MS
    return program


def test_each_test_has_its_time_and_its_longest_line(tmp_path: Path, snapshot: Snapshot) -> None:
    program = sampled(
        (30, ("/p/runner.py:3 <module>",)),
        (10, (TEST, "/p/test_a.py:5 test_one")),
        (20, (TEST, "/p/test_a.py:6 test_one", "/p/model.py:9 forward")),
        (5, (CASE, "/p/test_b.py:8 Case.test_two")),
        (7, (FIXTURE, "/p/conftest.py:4 net")),
    )
    rows = find(link(program.recording(tmp_path)), Tests)[Tests]
    trace = link(program.recording(tmp_path))
    lines = [trace.line(frame) for frame in rows.frame.tolist()]
    assert [(line.function, line.line) for line in lines if line] == [
        ("test_one", 6),
        ("net", 4),
        ("Case.test_two", 8),
    ]
    assert rows.kind.tolist() == ["test", "fixture", "test"]
    assert rows.time_ns.tolist() == [30 * MS, 7 * MS, 5 * MS]
    (text,) = (row.text for row in screen_rows(found(program, tmp_path)) if row.label == "TESTS")
    snapshot(text)


def test_a_program_without_tests_has_none(tmp_path: Path) -> None:
    assert Tests not in found(sampled((30, ("/p/train.py:3 <module>",))), tmp_path)


REAL = """\
import time, unittest
import pytest
def busy(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass
@pytest.fixture
def made():
    busy(0.2)
def test_long(made):
    busy(0.6)
class Case(unittest.TestCase):
    def test_of_a_class(self):
        busy(0.4)
"""


def test_a_run_of_pytest_is_as_its_tests_slept(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(REAL)
    outcome = perfprobe(["-q", "-o", "run.perfprobe", "-m", "pytest", "-q", "test_it.py"], tmp_path)
    assert outcome.status == 0, outcome.out
    rows = Results(str(tmp_path / "run.perfprobe")).document(View())["tables"]["tests"]
    times_s = {row["frame"]["function"].rpartition(".")[2]: row["time_ns"] / 1e9 for row in rows}
    assert times_s == pytest.approx({"test_long": 0.6, "test_of_a_class": 0.4, "made": 0.2}, abs=0.1)
