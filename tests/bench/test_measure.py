"""The parent: fresh processes, their death, interruption. The processes' answers are made up."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from perfprobe.bench.measure import BenchSettings, measure
from perfprobe.support.errors import EnvironmentLack
from perfprobe.tables.measurements import Measurements, Seen, Wanted
from tests.bench.fake_worker import CALL_NS, COMMAND


def run(*operators: str, settings: BenchSettings | None = None, **more: object) -> Measurements:
    calls = [(Wanted(f"fake::{name}", f"f32[{index}]"), None) for index, name in enumerate(operators)]
    return measure(calls, settings or BenchSettings(), words=COMMAND, **more)  # type: ignore[arg-type]


def processes(found: Measurements) -> set[int]:
    return {int(number) for number in re.findall(r"process (\d+)", " ".join(found.notes))}


def test_three_fresh_processes_agree() -> None:
    found = run("plain", "other")
    assert [row.processes for row in found.rows] == [3, 3]
    assert [row.rotating and row.rotating.value for row in found.rows] == [CALL_NS, CALL_NS]
    assert len(processes(found)) == 3
    assert found.stopped is None
    assert found.torch == "0.0"
    assert all(row.verdict is not None for row in found.rows)


def test_processes_that_disagree_are_joined_by_two_more() -> None:
    steady, unsteady = run("plain", "unsteady").rows
    assert (steady.processes, unsteady.processes) == (3, 5)
    assert unsteady.rotating is not None
    assert (unsteady.rotating.value, unsteady.rotating.low, unsteady.rotating.high) == (
        2000.0,
        1000.0,
        3000.0,
    )
    assert unsteady.verdict is not None
    assert unsteady.verdict.kind == "unstable"


def test_the_same_call_is_measured_once_and_each_keeps_what_was_seen_of_it() -> None:
    call, told = Wanted("fake::plain", "f32[2]"), []
    seen = [Seen(calls, 0.5, 1, 4000 * calls, 2000 * calls) for calls in (1, 10)]
    found = measure(
        [(call, one) for one in seen],
        BenchSettings(processes=1, most_processes=1),
        lambda *said: told.append(said),
        words=COMMAND,
    )
    assert [row.seen for row in found.rows] == seen
    assert [row.replay for row in found.rows] == [CALL_NS / 2000, CALL_NS / 2000]
    assert [said[:2] for said in told] == [(0, 1), (1, 1)]
    assert told[0][2] is None
    assert told[1][2] == 0.0


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("segfault", "crashed: signal 11"),
        ("killed", "crashed: signal 9"),
        ("leaves", "crashed: exit code 1, it has had enough"),
        ("refused", "it cannot be"),
    ],
)
def test_a_case_that_fails_is_alone(what: str, reason: str) -> None:
    before, broken, after = run("plain", what, "other").rows
    assert (broken.not_rebuilt, broken.rotating) == (reason, None)
    assert (before.processes, after.processes) == (3, 3)


def test_what_libraries_print_is_no_answer() -> None:
    (row,) = run("rubbish", settings=BenchSettings(processes=1, most_processes=1)).rows
    assert row.rotating is not None
    assert row.rotating.value == CALL_NS


def test_a_case_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perfprobe.bench.process.CASE_LIMIT_S", 0.5)
    slow, plain = run("slow", "plain", settings=BenchSettings(processes=1, most_processes=1)).rows
    assert slow.not_rebuilt == "it took too long"
    assert plain.processes == 1


def test_ctrl_c_keeps_what_is_done_and_leaves_no_process() -> None:
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
from tests.bench.test_measure import run
found = run("slow", progress=lambda *said: print(said, flush=True))
print(found.stopped, found.rows)
"""


@pytest.mark.parametrize(
    ("number", "last_words"), [(signal.SIGINT, "interrupted ()\n"), (signal.SIGKILL, "")]
)
def test_children_die_with_the_parent(number: signal.Signals, last_words: str) -> None:
    words = [sys.executable, "-c", PROGRAM.format(path=sys.path)]
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


def test_no_torch_is_one_clear_line() -> None:
    words = [sys.executable, "-c", "import sys; sys.stdin.readline(); sys.exit('No module named torch')"]
    with pytest.raises(EnvironmentLack, match="No module named torch"):
        measure([(Wanted("aten::mm", ""), None)], BenchSettings(), words=words)


def test_nothing_to_measure_starts_nothing() -> None:
    assert measure([], BenchSettings(), words=["/nowhere"]).rows == ()
