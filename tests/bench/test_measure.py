"""The parent of measuring processes: new processes, failures, interruption. Their answers are made up."""

import os
import re
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from perfprobe.bench.measure import BenchSettings, measure
from perfprobe.support.errors import EnvironmentLack
from perfprobe.tables.measurements import Measurements, Seen, Wanted
from tests.bench.fake_worker import CALL_NS, COMMAND
from tests.snapshots import Snapshot


def run(*operators: str, settings: BenchSettings | None = None, **more: object) -> Measurements:
    calls = [(Wanted(f"fake::{name}", f"f32[{index}]"), None) for index, name in enumerate(operators)]
    return measure(calls, settings or BenchSettings(), words=COMMAND, **more)  # type: ignore[arg-type]


def processes(found: Measurements) -> set[int]:
    return {int(number) for number in re.findall(r"process (\d+)", " ".join(found.notes))}


def test_three_processes_that_agree_are_enough() -> None:
    found = run("plain", "other")
    assert [row.processes for row in found.rows] == [3, 3]
    assert [row.rotating and row.rotating.value for row in found.rows] == [CALL_NS, CALL_NS]
    assert len(processes(found)) == 3
    assert found.stopped is None
    assert found.torch == "0.0"
    assert all(row.verdict is not None for row in found.rows)


def test_two_more_processes_run_if_the_first_disagree() -> None:
    steady, unsteady = run("plain", "unsteady").rows
    assert (steady.processes, unsteady.processes) == (3, 5)
    assert unsteady.rotating is not None
    assert (unsteady.rotating.value, unsteady.rotating.low, unsteady.rotating.high) == (
        2000.0,
        1000.0,
        3000.0,
    )
    assert unsteady.verdict is not None
    assert unsteady.verdict.kind == "unjudged"  # no fraction is measured that could vary


def test_equal_calls_are_measured_once_and_keep_their_own_figures() -> None:
    call, reported = Wanted("fake::plain", "f32[2]"), []
    seen = [Seen(calls, 0.5, 1, 4000 * calls, 2000 * calls) for calls in (1, 10)]
    found = measure(
        [(call, one) for one in seen],
        BenchSettings(processes=1, most_processes=1),
        lambda *said: reported.append(said),
        words=COMMAND,
    )
    assert [row.seen for row in found.rows] == seen
    assert [row.replay for row in found.rows] == [CALL_NS / 2000, CALL_NS / 2000]
    assert [said[:2] for said in reported] == [(0, 1), (1, 1)]
    assert reported[0][2] is None
    assert reported[1][2] == 0.0


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("segfault", "crashed: signal 11"),
        ("killed", "crashed: signal 9"),
        ("leaves", "crashed: exit code 1, it has had enough"),
        ("refused", "it cannot be"),
    ],
)
def test_a_failing_case_does_not_affect_others(what: str, reason: str) -> None:
    before, broken, after = run("plain", what, "other").rows
    assert (broken.not_rebuilt, broken.rotating) == (reason, None)
    assert (before.processes, after.processes) == (3, 3)


def test_output_of_libraries_is_ignored() -> None:
    (row,) = run("rubbish", settings=BenchSettings(processes=1, most_processes=1)).rows
    assert row.rotating is not None
    assert row.rotating.value == CALL_NS


def once(**more: Any) -> BenchSettings:
    return BenchSettings(processes=1, most_processes=1, **more)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits the silence: a start of the made-up process takes a fraction of a second."""
    monkeypatch.setattr("perfprobe.bench.process._SILENT_STARTS", 0.1)


def test_a_too_slow_call_leaves_time_for_others(snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perfprobe.bench.schedule._MOST_PART", 40)
    slow, plain = run("slow", "plain", settings=once(seconds=0.01, time_s=40.0)).rows
    assert slow.cause == "time"
    assert plain.processes == 1
    snapshot(str(slow.not_rebuilt))


@pytest.mark.parametrize(
    ("what", "why"), [("hangs", "measured in part: out of time"), ("breaks", "crashed: signal 11")]
)
@pytest.mark.usefixtures("impatient")
def test_results_are_kept_if_a_later_part_fails(what: str, why: str) -> None:
    """Without a time limit: the limit follows from the time of the first call."""
    broken, plain = run(what, "plain", settings=once(seed=2)).rows
    assert broken.not_rebuilt is None
    assert broken.rotating is not None
    assert broken.rotating.value == CALL_NS
    assert plain.processes == 1


@pytest.mark.usefixtures("impatient")
def test_partial_failures_are_reported(snapshot: Snapshot) -> None:
    snapshot(run("hangs", settings=once()).notes[-1])


def test_a_crash_during_changed_calls_is_not_repeated() -> None:
    found = run("breaks")
    assert found.rows[0].processes == 3
    assert re.findall(r"changes (\w+)", " ".join(found.notes)) == ["True", "False", "False"]


def test_without_a_time_limit_the_hottest_come_first(snapshot: Snapshot) -> None:
    found = run("plain", "other", "third", settings=BenchSettings(time_s=1e-6))
    assert found.rows == ()
    (note,) = found.notes
    snapshot(f"{found.stopped}\n{note}")


def test_fewer_processes_are_reported(snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "perfprobe.bench.schedule.Schedule.chosen", lambda _, calls, number: calls[: 2 - number]
    )
    found = run("plain", "other", "third", settings=BenchSettings(time_s=100.0))
    assert [row.processes for row in found.rows] == [2, 1]
    snapshot(f"{found.stopped}\n{found.notes[-1]}")


def test_ctrl_c_during_a_call_keeps_its_results() -> None:
    words = [sys.executable, "-c", PROGRAM.format(path=sys.path, what="hangs")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as parent:
        try:
            assert parent.stdout is not None
            assert parent.stdout.readline() == "(0, 3, None, 'fake::hangs')\n"
            assert parent.stdout.readline() == "heard\n"
            parent.send_signal(signal.SIGINT)
            said = parent.stdout.read()
        finally:
            parent.kill()
    assert said.startswith("interrupted (Measurement(")
    assert "rotating=Estimate(value=1000.0" in said


def test_ctrl_c_keeps_finished_results_and_leaves_no_process() -> None:
    def stop(done: int, every: int, seconds_left: float | None, what: str) -> None:
        if done == 2:
            raise KeyboardInterrupt

    found = run("plain", "other", "third", progress=stop)
    assert found.stopped == "interrupted"
    assert [row.processes for row in found.rows] == [1, 1]
    (process,) = processes(found)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


PROGRAM = """
import sys
sys.path[:0] = {path!r}
from perfprobe.bench.measure import BenchSettings
from perfprobe.bench.process import MeasuringProcess
from tests.bench.test_measure import run
known = MeasuringProcess._end_s
MeasuringProcess._end_s = lambda *of: (print("heard", flush=True), known(*of))[1]
found = run("{what}", progress=lambda *said: print(said, flush=True))
print(found.stopped, found.rows)
"""


@pytest.mark.parametrize(
    ("number", "last_words"), [(signal.SIGINT, "interrupted ()\n"), (signal.SIGKILL, "")]
)
def test_children_die_with_the_parent(number: signal.Signals, last_words: str) -> None:
    words = [sys.executable, "-c", PROGRAM.format(path=sys.path, what="slow")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as parent:
        try:
            assert parent.stdout is not None
            first = parent.stdout.readline()
            (child,) = children(parent.pid)
            parent.send_signal(number)
            assert parent.stdout.read() == last_words
        finally:
            parent.kill()
    assert first == "(0, 3, None, 'fake::slow')\n"
    end_s = time.monotonic() + 30.0
    while is_running(child):
        assert time.monotonic() < end_s
        time.sleep(0.01)


def children(process: int) -> list[int]:
    with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as file:
        return [int(number) for number in file.read().split()]


def is_running(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_missing_torch_is_reported_in_one_line() -> None:
    words = [sys.executable, "-c", "import sys; sys.stdin.readline(); sys.exit('No module named torch')"]
    with pytest.raises(EnvironmentLack, match="No module named torch"):
        measure([(Wanted("aten::mm", ""), None)], BenchSettings(), words=words)


def test_without_calls_no_process_is_started() -> None:
    assert measure([], BenchSettings(), words=["/nowhere"]).rows == ()
