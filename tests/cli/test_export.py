"""`perfprobe export`, and `report` on profiles of cProfile, on the command line."""

import cProfile
import json
import marshal
import os
import pstats
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from perfprobe.cli import main
from perfprobe.report.export.exported import Exported
from perfprobe.results import Results
from perfprobe.support.errors import InputError
from tests.build import Program
from tests.collect.runs import Outcome, command, perfprobe
from tests.report.exports import counted, sampled
from tests.snapshots import Snapshot, masked


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run.perfprobe").write_bytes(counted(sampled()).encode())
    (tmp_path / "empty.perfprobe").write_bytes(Program().encode())
    profile = cProfile.Profile()
    profile.runcall(json.loads, '{"a": [1, 2, 3]}')
    profile.dump_stats(tmp_path / "old.prof")
    os.utime(tmp_path / "empty.perfprobe", (0, 0))
    return tmp_path


def refused(outcome: Outcome, status: int) -> str:
    assert (outcome.status, outcome.out, outcome.err) == (status, b"", b"")
    (line,) = outcome.said
    return line.removeprefix("perfprobe: ")


@pytest.mark.parametrize(
    ("form", "name", "begin"),
    [
        ("pstats", "run.pstats", (b"{", b"\xfb")),
        ("speedscope", "run.speedscope.json", b'{"$schema":"https://www.speedscope.app'),
        ("collapsed", "run.collapsed", b"MainThread;"),
    ],
)
def test_the_file_is_written_beside_the_recording(
    form: str, name: str, begin: bytes | tuple[bytes, ...], folder: Path
) -> None:
    for made in (folder / name, folder / name.replace("run", "run-2", 1)):
        outcome = command(["export", "run.perfprobe", "--format", form], folder)
        assert (outcome.status, outcome.out, outcome.err) == (0, b"", b"")
        assert made.name in outcome.said[-1]
        assert made.read_bytes().startswith(begin)


def test_the_newest_recording_is_exported_to_a_named_file(folder: Path, snapshot: Snapshot) -> None:
    (folder / "out").write_text("what was there before is longer than nothing" * 99)
    outcome = command(["export", "--format", "pstats", "-o", "out", "--times", "samples"], folder)
    assert ("/p/train.py", 1, "<module>") in marshal.loads((folder / "out").read_bytes())
    snapshot(masked("\n".join(outcome.said), folder=folder))


def test_text_can_go_to_standard_output(folder: Path) -> None:
    outcome = command(["export", "run.perfprobe", "--format", "collapsed", "-o", "-"], folder)
    assert (outcome.status, len(outcome.out.splitlines())) == (0, 6)
    outcome = command(["export", "run.perfprobe", "--format", "speedscope", "-o", "-"], folder)
    assert (outcome.status, len(json.loads(outcome.out)["profiles"]), len(outcome.said)) == (0, 2, 1)


@pytest.mark.parametrize(
    ("words", "status", "fault"),
    [
        (["run.perfprobe"], 2, "--format"),
        (["run.perfprobe", "--format", "png"], 2, "invalid choice"),
        (["run.perfprobe", "--format", "pstats", "-o", "-"], 2, "is binary: -o -; name a file"),
        (["run.perfprobe", "--format", "pstats", "-o", "run.perfprobe"], 2, "this is the file that is read"),
        (["run.perfprobe", "--format", "collapsed", "--times", "samples"], 2, "--times is for pstats only"),
        (["run.perfprobe", "--format", "pstats", "-o", "no/where"], 4, "folder to write into does not exist"),
        (["old.prof", "--format", "pstats", "--times", "samples"], 2, "no times by samples"),
        (["old.prof", "--format", "speedscope"], 3, "use --format pstats"),
        (["empty.perfprobe", "--format", "pstats"], 3, "no times of Python functions"),
        (["missing", "--format", "pstats"], 2, "there is no such file: missing"),
        (["missing", "--format", "pstats", "-o", "run.perfprobe"], 2, "there is no such file: missing"),
    ],
)
def test_errors_are_reported_in_one_line(words: list[str], status: int, fault: str, folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert fault in refused(command(["export", *words], folder), status)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("output", [None, "out", "-"])
def test_a_failure_half_way_is_reported_and_leaves_no_file(
    output: str | None,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    snapshot: Snapshot,
) -> None:
    def parts() -> Iterator[bytes]:
        yield b"begin\n" * 100_000
        raise InputError("deep", "run.perfprobe")

    monkeypatch.chdir(folder)
    monkeypatch.setattr(Results, "export", lambda *_: Exported(parts(), ["first"]))
    before = sorted(os.listdir(folder))
    words = ["export", "run.perfprobe", "--format", "collapsed", *([] if output is None else ["-o", output])]
    assert main(words) == 3
    assert sorted(os.listdir(folder)) == before
    said = capfd.readouterr().err.splitlines()
    assert [line.removeprefix("perfprobe: ") for line in said] == ["first", "deep: run.perfprobe"]


def test_a_truncated_recording_is_reported(folder: Path, snapshot: Snapshot) -> None:
    data = (folder / "run.perfprobe").read_bytes()
    (folder / "run.perfprobe").write_bytes(data[:-3])
    outcome = command(["export", "run.perfprobe", "--format", "pstats"], folder)
    assert outcome.status == 0
    snapshot("\n".join(outcome.said))


def test_a_profile_of_cprofile_is_reported_and_exported(folder: Path) -> None:
    outcome = command(["export", "old.prof", "--format", "pstats"], folder)
    assert outcome.status == 0
    assert marshal.loads((folder / "old.pstats").read_bytes()) == marshal.loads(
        (folder / "old.prof").read_bytes()
    )
    outcome = command(["report", "old.prof"], folder)
    assert (outcome.status, outcome.said) == (0, ())
    text = outcome.out.decode()
    assert text.startswith("old.prof · a profile")
    assert "decoder.py:" in text
    assert "Hot operators" not in text
    focused = command(["report", "old.prof", "--focus", "decoder.py", "--sort", "total"], folder)
    assert "loads" not in focused.out.decode()
    assert "raw_decode" in focused.out.decode()
    document = json.loads(command(["report", "old.prof", "--json"], folder).out)
    stats = pstats.Stats(str(folder / "old.prof"))
    assert len(document["tables"]["functions"]) == len(stats.stats)  # type: ignore[attr-defined]


def test_a_file_of_another_kind_is_refused(folder: Path) -> None:
    data = (folder / "old.prof").read_bytes()
    for name, content, fault in (
        ("text", b"import torch\n", "neither a perfprobe recording, a trace nor a .pstats file: text"),
        ("cut", data[:-20], "not a profile of cProfile (truncated at byte "),
    ):
        (folder / name).write_bytes(content)
        assert refused(command(["report", name], folder), 3).startswith(fault)


def test_a_pipe_that_closes_early_is_no_error(folder: Path) -> None:
    line = f"{sys.executable} -m perfprobe export run.perfprobe --format collapsed -o - | true"
    done = subprocess.run(line, shell=True, cwd=folder, capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr


PROGRAM = """
import math
from functools import reduce
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
class Shape:
    def area(self): return math.hypot(3, 4) + sum(sorted([2, 1], key=lambda side: -side))
def main():
    shapes = [Shape().area() for _ in range(7)]
    return fib(9), reduce(max, shapes), "".join(map(str, shapes))
main()
"""


def calls_of_program(path: Path) -> dict[Any, Any]:
    """What the program's functions called, and how often."""
    stats = marshal.loads(path.read_bytes())
    plain = {key: (os.path.basename(key[0]), *key[1:]) for key in stats}
    found = {}
    for key, (primitive, calls, _, _, callers) in stats.items():
        for caller, figures in callers.items():
            if plain[caller][0] == "program.py":
                found[plain[caller], plain[key]] = figures[:2]
        if plain[key][0] == "program.py":
            found[plain[key]] = primitive, calls
    return found


@pytest.mark.skipif(find_spec("perfprobe.collect.cprofile") is None, reason="needs the collector of cProfile")
def test_exported_calls_equal_those_of_cprofile(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    words = [sys.executable, "-m", "cProfile", "-o", "plain.pstats", "program.py"]
    subprocess.run(words, cwd=tmp_path, check=True)
    recorded = ["--python", "cprofile", "-q", "-o", "run.perfprobe", "program.py"]
    assert perfprobe(recorded, tmp_path).status == 0
    outcome = command(["export", "run.perfprobe", "--format", "pstats"], tmp_path)
    assert "cProfile's" in outcome.said[0]
    plain = calls_of_program(tmp_path / "plain.pstats")
    assert plain[("program.py", 4, "fib")] == (1, 109)
    assert calls_of_program(tmp_path / "run.pstats") == plain
