"""The profile for pstats: figures by hand, and how real readers of such files read it."""

import cProfile
import io
import marshal
import pstats
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perfprobe.read import pstats as reader
from perfprobe.report.export import pstats as writer
from perfprobe.support.errors import InputError, UsageError
from perfprobe.tables.findings import Findings
from perfprobe.tables.python import CallStructure
from tests.build import Program, op
from tests.report.exports import content, counted, findings, sampled
from tests.snapshots import Snapshot

MAIN, STEP = ("/p/train.py", 1, "<module>"), ("/p/train.py", 28, "step")
MODEL, FIB = ("/p/model.py", 80, "<lambda>"), ("/p/train.py", 50, "fib")
C = ("~", 0, "<built-in method numpy.array>")
ENGINE = ("/env/site-packages/torch/autograd/graph.py", 800, "_engine_run_backward")
FORWARD = ("~", 0, "aten::mm.out f32[2,2] f32[2,2].T")
BACKWARD = ("~", 0, "aten::mm f32[2,2] f32[2,2].T (backward)")

COUNTED = {
    MAIN: (1, 1, 600e-6, 1000e-6, {}),
    STEP: (3, 3, 10e-6, 400e-6, {MAIN: (3, 3, 10e-6, 400e-6)}),
    C: (7, 7, 5e-6, 5e-6, {STEP: (7, 7, 5e-6, 5e-6)}),
    FIB: (1, 15, 60e-6, 60e-6, {FIB: (14, 14, 40e-6, 50e-6)}),
}
SAMPLED = {
    MAIN: (1, 1, 600e-6, 1000e-6, {}),
    STEP: (3, 3, 0, 400e-6, {MAIN: (3, 3, 0, 400e-6)}),
    MODEL: (0, 0, 100e-6, 300e-6, {STEP: (0, 0, 100e-6, 300e-6)}),
    ENGINE: (0, 0, 0, 100e-6, {STEP: (0, 0, 0, 100e-6)}),
    ("/p/load;data.py", 4, "load"): (0, 0, 400e-6, 400e-6, {}),
    C: (7, 7, 0, 0, {STEP: (7, 7, 0, 0)}),
    FIB: (1, 15, 0, 0, {FIB: (14, 14, 0, 0)}),
    FORWARD: (1, 1, 200e-6, 200e-6, {MODEL: (0, 0, 200e-6, 200e-6)}),
    BACKWARD: (1, 1, 100e-6, 100e-6, {ENGINE: (0, 0, 100e-6, 100e-6)}),
}


def written(program: Program, folder: Path, times: str | None = None) -> tuple[Path, list[str]]:
    return saved(findings(program, folder), folder, times)


def saved(found: Findings, folder: Path, times: str | None = None) -> tuple[Path, list[str]]:
    made = writer.exported(found, times)
    path = folder / "made.pstats"
    path.write_bytes(content(made))
    reader.read(path)  # the strictest reader
    return path, made.notes


def same(path: Path, stats: dict[Any, Any]) -> None:
    got = marshal.loads(path.read_bytes())
    assert set(got) == set(stats)
    for key, (*figures, callers) in got.items():
        *expected, expected_callers = stats[key]
        assert figures == pytest.approx(expected), key
        assert set(callers) == set(expected_callers), key
        for caller, times in callers.items():
            assert times == pytest.approx(expected_callers[caller]), (key, caller)


def test_counts_of_cprofile_are_exported(tmp_path: Path, snapshot: Snapshot) -> None:
    path, notes = written(counted(sampled()), tmp_path)
    same(path, COUNTED)
    path, more = written(counted(sampled(cprofile={"library_imports": "not counted"})), tmp_path)
    snapshot("\n".join(notes), without_imports="\n".join(more))


def test_times_by_samples_are_exported(tmp_path: Path, snapshot: Snapshot) -> None:
    path, notes = written(counted(sampled()), tmp_path, "samples")
    same(path, SAMPLED)
    assert sum(own for _, _, own, *_ in marshal.loads(path.read_bytes()).values()) == pytest.approx(1400e-6)
    snapshot("\n".join(notes))


def test_with_partial_counts_times_come_from_samples(tmp_path: Path, snapshot: Snapshot) -> None:
    found = findings(counted(sampled()), tmp_path)
    stopped = found.plus(replace(found[CallStructure], counts_end_ns=500_000))
    path, notes = saved(stopped, tmp_path)
    same(path, SAMPLED)
    path, of_cprofile = saved(stopped, tmp_path, "cprofile")
    same(path, COUNTED)
    snapshot("\n".join(notes), cprofile="\n".join(of_cprofile))


def test_an_export_with_samples_only(tmp_path: Path, snapshot: Snapshot) -> None:
    path, notes = written(sampled(), tmp_path)
    stats = marshal.loads(path.read_bytes())
    assert stats[STEP] == (0, 0, 0, pytest.approx(400e-6), {MAIN: (0, 0, 0, pytest.approx(400e-6))})
    with pytest.raises(UsageError, match="no times by cprofile"):
        writer.exported(findings(sampled(), tmp_path), "cprofile")
    snapshot("\n".join(notes))


def test_equal_looking_functions_are_summed(tmp_path: Path) -> None:
    program = Program()
    program.counted("a.py:1 f.<locals>.<lambda>", 2, 10, 30)
    program.counted("a.py:1 g.<locals>.<lambda>", 3, 5, 6)
    path, _ = written(program, tmp_path)
    same(path, {("a.py", 1, "<lambda>"): (5, 5, 15e-9, 36e-9, {})})


def test_without_functions_there_is_no_profile(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.run(op("mm", 0, 9, stack=program.stack("a.py:1 f")))
    for empty in (Program(), program):
        with pytest.raises(InputError, match=r"no times of Python functions.*--python both"):
            writer.exported(findings(empty, tmp_path))


def test_a_profile_is_unchanged_by_reading_and_writing(tmp_path: Path) -> None:
    profile = cProfile.Profile()
    profile.runcall(lambda: [re.compile(f"a{at}*(b|c)") for at in range(9)])
    profile.dump_stats(tmp_path / "p")
    stats = marshal.loads((tmp_path / "p").read_bytes())

    from perfprobe.results import Results

    made = Results(str(tmp_path / "p")).export("pstats", None)
    assert marshal.loads(content(made)) == stats
    assert len(made.notes) == 1


@pytest.mark.parametrize("times", ["cprofile", "samples"])
def test_pstats_opens_it(times: str, tmp_path: Path) -> None:
    path, _ = written(counted(sampled()), tmp_path, times)
    text = io.StringIO()
    stats = pstats.Stats(str(path), stream=text).sort_stats("tottime")
    stats.print_stats().print_callers().print_callees()
    assert "train.py:50(fib)" in text.getvalue()
    assert "{built-in method numpy.array}" in text.getvalue()
    browser = [sys.executable, "-m", "pstats", str(path)]
    done = subprocess.run(browser, input="sort calls\nstats 3\n", capture_output=True, text=True, check=True)
    assert "15/1" in done.stdout


@pytest.mark.parametrize("times", ["cprofile", "samples"])
def test_gprof2dot_draws_it(times: str, tmp_path: Path) -> None:
    path, _ = written(counted(sampled()), tmp_path, times)
    words = [sys.executable, "-m", "gprof2dot", "-f", "pstats", "-n", "0", "-e", "0", str(path)]
    graph = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert "train:28:step" in graph
    assert ("aten::mm.out" in graph) == (times == "samples")
