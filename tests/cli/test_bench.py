"""`perfprobe bench` on the command line."""

import cProfile
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from perfprobe import measuring
from perfprobe.bench import measure as measuring_stage
from perfprobe.bench.measure import INTERRUPTED, BenchSettings
from perfprobe.cli import main
from perfprobe.tables.measurements import Measurement, Measurements
from tests.build import Program, op
from tests.collect.runs import Outcome, command, perfprobe
from tests.report.measured import bernoulli, bmm
from tests.snapshots import Snapshot, masked

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
# Its processes report that torch is missing, even if it is installed.
NO_TORCH = (
    "import sys; sys.modules['torch'] = None; sys.argv[0] = 'perfprobe'; from perfprobe.cli import main"
)

SCRIPT = """\
import torch
from torch import nn
torch.set_num_threads(1)
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 8))
for _ in range(3):
    net(torch.randn(256, 64)).square().mean().backward()
"""


def made(**meta: Any) -> Program:
    program = Program(torch={"threads": 2}, **meta)
    program.thread(1)
    line = program.stack("/p/train.py:1 main")
    first = program.signature(bernoulli().wanted.signature)
    second = program.signature(bmm().wanted.signature)
    program.run(
        op("aten::bernoulli_", 0, 600, stack=line, signature=first, overload=program.string("float")),
        op("aten::bmm", 600, 900, stack=line, signature=second),
        op("MulBackward0", 900, 1000, stack=line, signature=second),
    )
    return program


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "run.perfprobe").write_bytes(made().encode())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


Asked = list[tuple[Any, BenchSettings]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """What the bench stage was asked to measure. It answers at once."""
    seen: Asked = []

    def measure(calls: Any, settings: BenchSettings, progress: Any, *, recording: str | None) -> Measurements:
        seen.append((calls, settings))
        progress(1, 1, 0.0, "all")
        return Measurements("AMD EPYC", "2.13.0", recording, (bernoulli(), bmm())[: len(calls)])

    monkeypatch.setattr(measuring_stage, "measure", measure)
    monkeypatch.setattr(measuring, "require_torch", lambda: None)
    return seen


def refused(outcome: Outcome, status: int) -> str:
    assert (outcome.status, outcome.out, outcome.err) == (status, b"", b"")
    (line,) = outcome.said
    return line.removeprefix("perfprobe: ")


def test_the_hottest_calls_are_measured_and_saved(
    folder: Path, asked: Asked, snapshot: Snapshot, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench"]) == 0
    ((calls, settings),) = asked
    assert [wanted.operator for wanted, _ in calls] == ["aten::bernoulli_.float", "aten::bmm"]
    assert settings == BenchSettings(time_s=180.0)
    out, err = capfd.readouterr()
    assert main(["report", "--full"]) == 0
    assert "Efficiency  2 calls" in capfd.readouterr().out
    snapshot(out, standard_error=masked(err, folder=folder))


@pytest.mark.parametrize(
    ("words", "operators", "settings"),
    [
        (["--top", "1"], 1, BenchSettings(time_s=180.0)),
        (["--top", "0"], 2, BenchSettings(time_s=180.0)),
        (["--focus", "bmm"], 1, BenchSettings(time_s=180.0)),
        (["--quick"], 2, BenchSettings(1, 1, counterfactuals=False, time_s=180.0)),
        (["--processes", "4"], 2, BenchSettings(4, 4, time_s=180.0)),
        (["--time", "90"], 2, BenchSettings(time_s=90.0)),
        (["--time", "1.5m"], 2, BenchSettings(time_s=90.0)),
        (["--quick", "--time", "1h"], 2, BenchSettings(1, 1, counterfactuals=False, time_s=3600.0)),
        (["--time", "0"], 2, BenchSettings(time_s=None)),
    ],
)
def test_options_reach_the_bench_stage(
    words: list[str], operators: int, settings: BenchSettings, folder: Path, asked: Asked
) -> None:
    assert main(["bench", "run.perfprobe", *words]) == 0
    assert [(len(calls), used) for calls, used in asked] == [(operators, settings)]


def test_threads_are_those_of_the_program_or_those_asked_for(folder: Path, asked: Asked) -> None:
    for words in ([], ["--threads", "4"]):
        assert main(["bench", *words]) == 0
    assert [{wanted.threads for wanted, _ in calls} for calls, _ in asked] == [{2}, {4}]


@pytest.mark.parametrize("name", ["aten::bmm", "bmm"])
def test_a_call_can_be_typed(
    name: str, folder: Path, asked: Asked, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", name, "f32[2,3,4]", "--threads", "3", "f32[2,4,5]"]) == 0
    ((((wanted, seen),), _),) = asked
    assert (wanted.operator, wanted.signature, wanted.threads, seen) == (
        "aten::bmm",
        "f32[2,3,4] f32[2,4,5]",
        3,
        None,
    )
    assert capfd.readouterr().err == ""
    assert sorted(os.listdir(folder)) == ["run.perfprobe"]


def test_the_first_word_is_a_recording_or_an_operator(folder: Path, asked: Asked) -> None:
    """An existing file is a recording, even with the name of an operator, unless inputs follow."""
    (folder / "bmm").write_bytes(made().encode())
    assert main(["bench", "bmm"]) == 0
    assert main(["bench", "bmm", "f32[2]"]) == 0
    assert main(["bench", "aten::relu"]) == 0
    assert [len(calls) for calls, _ in asked] == [2, 1, 1]
    assert (folder / "bmm.measurements.json").exists()


def test_json_on_standard_output_is_the_file(
    folder: Path, asked: Asked, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "run.perfprobe", "--json", "-o", "kept.json"]) == 0
    out = json.loads(capfd.readouterr().out)
    assert out == json.loads((folder / "kept.json").read_text())
    assert [row["verdict"]["kind"] for row in out["tables"]["measurements"]] == [
        "element-rate-bound",
        "below ceiling",
    ]
    assert not (folder / "run.measurements.json").exists()


def test_an_unwritable_folder_is_reported(
    folder: Path, asked: Asked, snapshot: Snapshot, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "run.measurements.json").mkdir()  # root cannot write this either
    assert main(["bench", "run.perfprobe"]) == 0
    out, err = capfd.readouterr()
    assert "Efficiency" in out
    assert err.count("\n") == 1
    snapshot(masked(err, folder=folder))


@pytest.mark.parametrize("raises", [False, True])
def test_an_interrupt_keeps_results(
    raises: bool,
    folder: Path,
    asked: Asked,
    snapshot: Snapshot,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def measure(*_: object, **__: object) -> Measurements:
        if raises:
            raise KeyboardInterrupt
        return Measurements("m", "2", None, (bmm(),), stopped=INTERRUPTED)

    monkeypatch.setattr(measuring_stage, "measure", measure)
    assert main(["bench"]) == 130
    # Known results are kept, and the rest counts as not measured.
    assert (folder / "run.measurements.json").exists() is not raises
    out = capfd.readouterr().out
    if raises:
        assert out == ""
    else:
        snapshot(out)


def test_an_older_file_is_kept_when_nothing_was_measured(
    folder: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["bench"]) == 0
    before = (folder / "run.measurements.json").read_bytes()

    def nothing(*_: object, **__: object) -> Measurements:
        return Measurements("AMD EPYC", "2.13.0", None, (), stopped=INTERRUPTED)

    monkeypatch.setattr(measuring_stage, "measure", nothing)
    assert main(["bench"]) == 130
    assert (folder / "run.measurements.json").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "status", "fault"),
    [
        (["absent.perfprobe"], 2, "there is no such file: absent.perfprobe"),
        (["./absent"], 2, "there is no such file: ./absent"),
        (["trace.json"], 2, "there is no such file: trace.json"),
        (["a b"], 2, "not a recording and not an operator"),
        (["run.perfprobe", "f32[2]"], 2, "a recording takes no inputs"),
        (["empty.perfprobe"], 3, "there is nothing to measure: no operators"),
        (["run.perfprobe", "--focus", "nowhere"], 3, "no operator matches the focus"),
        (["run.perfprobe", "--focus", "("], 2, "not a regular expression"),
        (["old.pstats"], 3, "has no operators to measure"),
        (["text.perfprobe"], 3, "neither a perfprobe recording"),
        (["bmm", "f32[2"], 2, "not an input"),
        (["bmm", "(f32[2]"], 2, "do not match"),
        (["bmm", "f32[2]", "--top", "3"], 2, "for recordings only: --top"),
        (["--threads", "0"], 2, "from 1 up"),
        (["--time", "soon"], 2, "'soon' is not a time like 90s or 3m"),
        (["--emit", "there", "--time", "0"], 2, "--emit measures nothing: --time"),
        (["--quick", "--processes", "2"], 2, "--quick is one process"),
        (["--emit", "there", "--json"], 2, "--emit measures nothing"),
        (["-o", "no/where"], 4, "folder to write into does not exist"),
        (["--plot", "picture.bmp"], 2, "unknown picture format"),
        (["--plot", "picture.png"], 4, "measure them with `perfprobe machine`"),
    ],
)
def test_errors_are_reported_in_one_line(
    words: list[str], status: int, fault: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "empty.perfprobe").write_bytes(Program().encode())
    (folder / "text.perfprobe").write_text("hello")
    cProfile.run("len('')", str(folder / "old.pstats"))
    os.utime(folder / "empty.perfprobe", (0, 0))
    os.utime(folder / "text.perfprobe", (0, 0))
    assert main(["bench", *words]) == status
    out, err = capfd.readouterr()
    (said,) = [line for line in err.splitlines() if "the newest recording" not in line]
    assert (out, said.startswith("perfprobe: ")) == ("", True)
    assert fault in said


def test_missing_torch_is_reported(folder: Path, snapshot: Snapshot) -> None:
    words = [sys.executable, "-c", f"{NO_TORCH}; sys.exit(main(['bench', 'run.perfprobe']))"]
    ended = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (4, "")
    assert ended.stderr.count("\n") == 1
    snapshot(masked(ended.stderr, python=sys.executable))


@needs_torch
@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["bnm", "f32[2,3,4]", "f32[2,4,5]"], "nearest: aten::bmm"),
        (["bmm", "f32[2,3,4]", "--emit", "scripts"], "expected bmm(Tensor self"),
    ],
)
def test_impossible_calls_are_reported_in_one_line(words: list[str], fault: str, tmp_path: Path) -> None:
    assert fault in refused(perfprobe(["bench", *words], tmp_path), 2)


@pytest.mark.parametrize(
    ("cause", "status", "reported"),
    [
        ("call", 2, "this cannot be called: why not: aten::bmm f32[2]; nearest: aten::abs"),
        ("time", 4, "not measured: why not: aten::bmm f32[2]; give it more time with --time"),
        ("machine", 4, "not measured: why not: aten::bmm f32[2]; see `perfprobe doctor`"),
        ("crash", 4, "not measured: why not: aten::bmm f32[2]; the operator crashes"),
    ],
)
def test_a_hint_is_given_only_if_the_call_is_wrong(
    cause: str,
    status: int,
    reported: str,
    folder: Path,
    asked: Asked,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def measure(calls: Any, *_: object, **__: object) -> Measurements:
        row = Measurement(calls[0][0], "cpu", "cpu", not_rebuilt="why not", cause=cause)
        return Measurements("m", "2", None, (row,))

    monkeypatch.setattr(measuring_stage, "measure", measure)
    monkeypatch.setattr("perfprobe.bench.lookup.hint", lambda _: "nearest: aten::abs")
    assert main(["bench", "bmm", "f32[2]"]) == status
    assert reported in capfd.readouterr().err


@needs_torch
def test_a_real_recording_is_measured(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    assert perfprobe(["-q", "-o", "run.perfprobe", "train.py"], tmp_path).status == 0
    outcome = perfprobe(["bench", "--top", "3", "--quick"], tmp_path)
    assert (outcome.status, outcome.err) == (0, b"")
    text = outcome.out.decode()
    assert "Efficiency" in text
    assert "1 process · 1 thread" in text
    document = json.loads((tmp_path / "run.measurements.json").read_text())
    rows = document["tables"]["measurements"]
    assert len(rows) == 3
    rebuilt = [row for row in rows if row["not_rebuilt"] is None]
    assert all(row["rotating"]["value"] > 0 for row in rebuilt)
    report = json.loads(command(["report", "--json"], tmp_path).out)
    assert report["tables"]["measurements"] == rows
    emitted = perfprobe(["bench", "--top", "3", "--emit", "scripts"], tmp_path)
    assert (emitted.status, emitted.err) == (0, b"")
    assert len(list((tmp_path / "scripts").glob("*.py"))) == len(rebuilt) >= 2
    assert emitted.out.decode().startswith(f"{len(rebuilt)} scripts, ")
