"""Counting ends before the program if it costs too much or if the program uses the profile hook itself."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from perfprobe.tables import storage
from perfprobe.tables.events import Losses
from perfprobe.tables.recording import Recording
from tests.collect.counted import count, ours
from tests.collect.runs import finish, start
from tests.snapshots import Snapshot, timeless

HEAVY = """
    import time

    def leaf(n):
        return n + 1

    end = time.process_time() + 1
    total = 0
    while time.process_time() < end:
        for _ in range(10_000):
            total = leaf(leaf(leaf(total)))
    print("done")
    """

WORK = """
    def work():
        return len([before(i) for i in range(5)])

    def before(i):
        return i

    work()
    """


def losses(recording: Recording) -> list[str]:
    table = recording[Losses]
    return [table.reason[row] for row in range(len(table)) if table.source[row] == "cprofile"]


def calls(recording: Recording, name: str) -> int:
    return sum(row[0] for (_, _, function), row in ours(recording).items() if function == name)


def run_both(folder: Path, source: str, python: str = "both") -> Recording:
    """The recording of a program whose output and exit must be as under plain python."""
    (folder / "main.py").write_text(dedent(source))
    outcome, recording = count(folder, "main.py", python=python)
    expected = finish(start(["main.py"], folder))
    assert (outcome.status, outcome.out, outcome.err) == (expected.status, expected.out, expected.err)
    return recording


def test_expensive_counting_stops(tmp_path: Path, snapshot: Snapshot) -> None:
    (tmp_path / "main.py").write_text(dedent(HEAVY))
    outcome, recording = count(tmp_path, "main.py", python="both")
    assert (outcome.status, outcome.out, outcome.err) == (0, b"done\n", b"")
    ended, started = (recording.number("cprofile", key) for key in ("ended_ns", "started_ns"))
    assert started is not None
    assert ended is not None
    assert recording.fact("cprofile", "reason") == "too costly"
    assert recording.fact("cprofile", "counted_until_ns") == ended
    [loss] = losses(recording)
    counted, cost = calls(recording, "leaf"), recording.number("cprofile", "estimated_ns")
    assert counted > 0
    assert cost is not None
    assert cost > 100e6
    table = recording[Losses]
    snapshot(f"{timeless(loss)}\n{table.remedy[table.reason.tolist().index(loss)]}")


def test_waiting_for_a_processor_buys_no_counting(tmp_path: Path) -> None:
    source = """
        import os, subprocess, time

        def leaf(n):
            return n + 1

        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
        busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2)]
        begin = time.thread_time() + 0.5
        while time.thread_time() < begin:
            for _ in range(2_000):
                leaf(leaf(leaf(0)))
            print(time.monotonic_ns(), time.thread_time_ns())
        for each in busy:
            each.kill()
            each.wait()
        """
    (tmp_path / "main.py").write_text(dedent(source))
    outcome, recording = count(tmp_path, "main.py", python="both")
    assert recording.fact("cprofile", "reason") == "too costly"
    moments_ns, ran_ns = np.array(outcome.out.split(), np.int64).reshape(-1, 2).T
    keys = ("started_ns", "ended_ns", "estimated_ns")
    started_ns, ended_ns, cost_ns = (recording.number("cprofile", key) or 0 for key in keys)
    begin_ns, end_ns = np.interp([started_ns, ended_ns], moments_ns, ran_ns)
    assert end_ns - begin_ns < 0.5 * (ended_ns - started_ns)  # it did wait
    assert 100e6 < cost_ns < 1.15 * (100e6 + 0.05 * end_ns)


def test_expensive_counting_continues_on_request(tmp_path: Path) -> None:
    source = HEAVY.rstrip().replace("+ 1\n", "+ 0.3\n") + "\n    print(leaf.__name__)\n"
    recording = run_both(tmp_path, source, "cprofile")
    assert losses(recording) == []
    assert recording.fact("cprofile", "ended_ns") is None
    assert calls(recording, "leaf") % 10_000 == 0


def test_a_program_with_few_calls_is_counted_to_the_end(tmp_path: Path) -> None:
    recording = run_both(tmp_path, WORK)
    assert losses(recording) == []
    assert calls(recording, "before") == 5
    assert recording.fact("cprofile", "library_imports") == "not counted"


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="there a profile hook halves the speed")
@pytest.mark.parametrize("processors", ["one", "all"])
def test_slower_instructions_count_as_cost(processors: str, tmp_path: Path) -> None:
    source = """
        import os, sys, time
        if sys.argv[1] == "one":  # looking at the main thread takes its processor
            os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
        total = 0
        end = time.process_time() + 1
        while time.process_time() < end:
            for i in range(2_000_000):
                total += i & 7
        """
    (tmp_path / "main.py").write_text(dedent(source))
    outcome, recording = count(tmp_path, "main.py", processors, python="both")
    assert (outcome.status, outcome.out, outcome.err) == (0, b"", b"")
    assert recording.fact("cprofile", "reason") == "too costly"


def test_native_code_is_not_slowed(tmp_path: Path) -> None:
    source = """
        import time
        text = "x" * 10_000_000
        end = time.process_time() + 1
        while time.process_time() < end:
            text + text
            "y" in text
        """
    (tmp_path / "main.py").write_text(dedent(source))
    outcome, recording = count(tmp_path, "main.py", python="both")
    assert (outcome.status, outcome.out, outcome.err) == (0, b"", b"")
    assert recording.number("cprofile", "ended_ns") is None


def test_module_bodies_of_libraries_are_not_counted(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def f():\n    return 1\n\nf()\n")
    source = """
        import decimal, json.tool, mine
        json.dumps([1])
        mine.f()
        """
    governed = ours(run_both(tmp_path, source))
    (tmp_path / "run.perfprobe").unlink()
    whole = ours(run_both(tmp_path, source, "cprofile"))

    def bodies(counted: dict[tuple[str, int, str], tuple[int, int]]) -> set[str]:
        return {Path(file).name for file, _, name in counted if name == "<module>"}

    assert bodies(governed) == {"main.py", "mine.py"}
    assert bodies(whole) >= {"main.py", "mine.py", "tool.py"}
    for counted in (governed, whole):
        names = {name: row[0] for (file, _, name), row in counted.items() if file.startswith("/")}
        assert names["f"] == 2
        assert names["dumps"] == 1


PROFILERS = {
    "own_cprofile": """
        import cProfile, pstats
        profile = cProfile.Profile()
        profile.enable()
        work()
        profile.disable()
        rows = pstats.Stats(profile).stats
        print(sorted((key[2], row[0]) for key, row in rows.items()))
        """,
    "own_cprofile_in_a_function": """
        import cProfile
        def profiled():
            with cProfile.Profile() as profile:
                work()
            print(sorted(entry.callcount for entry in profile.getstats()))
        profiled()
        """,
    "setprofile": """
        import sys
        seen = []
        sys.setprofile(lambda frame, event, arg: seen.append((event, frame.f_code.co_name)))
        work()
        sys.setprofile(None)
        print(seen)
        """,
}
TRACERS = {
    "settrace": """
        import sys
        seen = []
        def trace(frame, event, arg):
            seen.append((event, frame.f_code.co_name, frame.f_lineno))
            return trace
        sys.settrace(trace)
        work()
        sys.settrace(None)
        print(seen)
        """,
    "debugger": """
        import bdb
        class Debugger(bdb.Bdb):
            def user_line(self, frame):
                print(frame.f_code.co_name, frame.f_lineno)
        Debugger().runcall(work)
        """,
    "coverage": """
        import sys, threading
        lines = set()
        def trace(frame, event, arg):
            lines.add(frame.f_lineno)
            return trace
        threading.settrace(trace)
        sys.settrace(trace)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        sys.settrace(None)
        print(len(lines) > 5)
        """,
}


@pytest.mark.parametrize("name", PROFILERS)
def test_counting_stops_for_the_programs_profiler(name: str, tmp_path: Path) -> None:
    recording = run_both(tmp_path, dedent(WORK) + dedent(PROFILERS[name]), "cprofile")
    assert len(losses(recording)) == 1
    assert recording.fact("cprofile", "reason") == "other profiler"
    assert calls(recording, "before") == 5  # the calls before that profiler started


@pytest.mark.parametrize("name", TRACERS)
def test_counting_stops_for_the_programs_tracer(name: str, tmp_path: Path) -> None:
    recording = run_both(tmp_path, dedent(WORK) + dedent(TRACERS[name]), "cprofile")
    assert len(losses(recording)) == 1
    assert recording.fact("cprofile", "reason") == "tracer"
    assert calls(recording, "before") == 5


def test_counting_does_not_start_under_another_profiler(tmp_path: Path, snapshot: Snapshot) -> None:
    source = """
        import cProfile, perfprobe

        def f():
            pass

        with cProfile.Profile() as profile:
            with perfprobe.profile("run.perfprobe", operators="off", python="cprofile"):
                f()
        print([row.callcount for row in profile.getstats() if getattr(row.code, "co_name", "") == "f"])
        """
    (tmp_path / "main.py").write_text(dedent(source))
    outcome = finish(start(["main.py"], tmp_path))
    assert outcome.out == b"[1]\n", outcome.err
    recording = storage.read(tmp_path / "run.perfprobe")
    [loss] = losses(recording)
    assert recording.fact("cprofile") is None
    snapshot(loss)


def test_a_forked_child_is_not_counted(tmp_path: Path) -> None:
    source = """
        import os, sys

        def f():
            pass

        f()
        child = os.fork()
        for _ in range(1000):
            f()
        if child == 0:
            import cProfile
            with cProfile.Profile() as profile:
                f()
            sys.exit(len(profile.getstats()))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    recording = run_both(tmp_path, source, "cprofile")
    assert losses(recording) == []
    assert calls(recording, "f") == 1001


def test_the_program_sees_no_profile_function(tmp_path: Path) -> None:
    run_both(tmp_path, "import sys; print(sys.getprofile(), sys.gettrace())", "cprofile")


def test_threads_with_their_own_hook_are_not_counted(tmp_path: Path) -> None:
    source = """
        import threading
        seen = []
        def work():
            len("abc")
        threading.setprofile(lambda frame, event, arg: seen.append((event, frame.f_code.co_name)))
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        print(len([entry for entry in seen if entry[1] == "work"]))
        """
    recording = run_both(tmp_path, source, "cprofile")
    if sys.version_info < (3, 12):
        [loss] = losses(recording)
        assert loss == "threads were not counted from when the program called threading.setprofile"


def test_a_killed_run_keeps_its_last_snapshot(tmp_path: Path) -> None:
    source = """
        import os, signal, time

        def f():
            pass

        end = time.monotonic() + 2.5
        while time.monotonic() < end:
            f()
            time.sleep(0.001)
        time.sleep(0.6)
        os.kill(os.getpid(), signal.SIGKILL)
        """
    (tmp_path / "main.py").write_text(dedent(source))
    _, recording = count(tmp_path, "main.py")
    assert not recording.complete
    assert calls(recording, "f") > 0
    until, started = (recording.number("cprofile", key) for key in ("counted_until_ns", "started_ns"))
    assert until is not None
    assert started is not None
    assert until - started >= 1e9
