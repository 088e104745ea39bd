"""Scripts run alone, under perf, and with tools of the tests that listen."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from perfprobe.bench.emit.folder import Folder
from perfprobe.bench.rebuild.recipe import TensorRecipe
from perfprobe.tables import storage
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from tests.bench.emit.calls import CALLS, call, floats
from tests.bench.emit.scripts import LIMIT_S, alone, figure, run, start, written
from tests.collect import ranged
from tests.collect.runs import perfprobe
from tests.native.listener import LOG, VARIABLES

torch = pytest.importorskip("torch")
BMM, ADD_, EMPTY = 0, 13, 17
SHORT = ["--seconds", "0.02", "--copies", "3"]

# Runs scripts one after another in one process, because importing torch takes longer than all of them.
EACH = """\
import runpy, sys
scripts, words = sys.argv[1:sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1:]
for path in scripts:
    sys.argv = [path, *words]
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        assert end.code == 0, path
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return written(CALLS, tmp_path_factory.mktemp("scripts"))


def paths(folder: Folder) -> list[str]:
    return [str(one.path) for one in folder.scripts]


def test_every_script_runs_alone(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "each.py").write_text("import sys\nsys.modules['perfprobe'] = None\n" + EACH)
    out, _ = run(["each.py", *paths(folder), "--", *SHORT], tmp_path)
    counts = [int(line.split()[1]) for line in out.splitlines() if line.startswith("calls ")]
    assert len(counts) == len(CALLS)
    assert min(counts) >= 1
    assert out.splitlines()[0].startswith("pid ")


WARM = ["--warm", "--seconds", "0.01"]


@pytest.mark.parametrize(
    ("which", "words", "sets"),
    [(BMM, WARM, 1), (ADD_, WARM, 16), (EMPTY, ["--once", "--threads", "2"], 2)],
)
def test_a_script_runs_in_a_bare_interpreter(
    folder: Folder, which: int, words: list[str], sets: int, tmp_path: Path
) -> None:
    path = Path(shutil.copy(folder.scripts[which].path, tmp_path))
    out, err = run([path, *words], tmp_path)
    assert "ITT: none: " in err
    threads = 2 if "--threads" in words else 1
    assert out.splitlines()[1].startswith(f"{path.stem}: {threads} threads, {sets} sets ")
    if words is WARM and which == ADD_:
        assert figure(out, "calls") % sets == 0  # each set once, then all are restored
    else:
        assert figure(out, "calls") >= 1
    assert figure(out, "cpu us/call") > 0


@pytest.mark.parametrize("words", [SHORT, ["--once"]])
def test_ranges_contain_exactly_the_hot_calls(folder: Folder, words: list[str], tmp_path: Path) -> None:
    """perfprobe's observer counts operators; its NVTX tool and its ITT collector hear the ranges."""
    pytest.importorskip("nvtx")
    (tmp_path / "each.py").write_text(EACH)
    record = ["-q", "--python", "off", "-o", "run.perfprobe", "each.py"]
    outcome = perfprobe([*record, *paths(folder), "--", *words], tmp_path)
    assert outcome.status == 0, outcome.err
    counts = [int(line.split()[1]) for line in outcome.out.splitlines() if line.startswith(b"calls ")]
    assert len(counts) == len(CALLS)
    wanted = {
        one.path.stem: {recipe.operator: calls}
        for one, recipe, calls in zip(folder.scripts, CALLS, counts, strict=True)
    }
    assert counted(tmp_path / "run.perfprobe", "NVTX") == wanted
    assert counted(tmp_path / "run.perfprobe", "ITT") == wanted


def counted(path: Path, source: str) -> dict[str, Counter[str]]:
    """For each range the number of runs of each operator, without nested ones."""
    recording = storage.read(path)
    ranges = [row for row in ranged.rows(path) if row.source == source and row.name[:2].isdigit()]
    first = np.array([row.start_ns for row in ranges])
    last = np.array([row.end_ns for row in ranges])
    assert (first[1:] >= last[:-1]).all()
    found: dict[str, Counter[str]] = {}
    for name, start_ns, end_ns in outermost(recording):
        at = int(np.searchsorted(first, start_ns, "right")) - 1
        if at >= 0 and start_ns < last[at]:
            assert end_ns <= last[at]
            found.setdefault(ranges[at].name, Counter())[name] += 1
        else:
            assert at + 1 == len(ranges) or end_ns <= first[at + 1]
    return found


def outermost(recording: Recording) -> Iterator[tuple[str, int, int]]:
    """Name, start and end of outermost operators, in the order in which they ran."""
    batches = list(recording.operators(["start_ns", "end_ns", "name"]))
    start_ns, end_ns, name = (
        np.concatenate([getattr(batch, column) for batch in batches])
        for column in ("start_ns", "end_ns", "name")
    )
    end = 0
    for at in np.lexsort((-end_ns, start_ns)):
        if start_ns[at] >= end:
            end = end_ns[at]
            yield recording[Strings][name[at]], int(start_ns[at]), int(end)


@pytest.mark.parametrize("which", [BMM, ADD_])
def test_itt_is_resumed_before_and_paused_after_the_calls(
    folder: Folder, which: int, listener: Callable[[str], Path], tmp_path: Path
) -> None:
    path = folder.scripts[which].path
    heard = {VARIABLES["itt"]: str(listener("itt")), LOG: str(tmp_path / "log")}
    _, err = run([path, *SHORT], tmp_path, heard)
    assert any(line.startswith("ITT: tasks, ") for line in err.splitlines())
    events = [line.split(" ", 2)[2].rstrip() for line in (tmp_path / "log").read_text().splitlines()]
    assert (events[0], events[-1]) == ("resume", "pause")
    assert events[1:-1] == [f"push {path.stem}", "pop"] * (len(events) // 2 - 1)
    assert len(events) >= 4


@pytest.mark.parametrize("closed", [False, True])
def test_a_script_waits_for_a_signal(folder: Folder, closed: bool, tmp_path: Path) -> None:
    words: list[str | Path] = [folder.scripts[BMM].path, "--once", "--wait"]
    if closed:
        (tmp_path / "closed.py").write_text(
            "import os, runpy, sys\nos.close(0)\ndel sys.argv[0]\n"
            "runpy.run_path(sys.argv[0], run_name='__main__')\n"
        )
        words.insert(0, "closed.py")
    process = start(words, tmp_path)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == f"pid {process.pid}\n"
    said = next(line for line in process.stderr if line.startswith("waiting"))
    assert said.endswith(f"`kill -USR1 {process.pid}`\n")
    assert process.poll() is None
    process.send_signal(signal.SIGUSR1)
    out, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0
    assert figure(out, "calls") == 1


def test_a_script_waits_for_enter_in_a_terminal(folder: Folder, tmp_path: Path) -> None:
    terminal, stdin = os.openpty()
    process = start([folder.scripts[BMM].path, "--once", "--wait"], tmp_path, stdin=stdin)
    assert process.stderr is not None
    said = next(line for line in process.stderr if line.startswith("waiting"))
    assert "press Enter" in said
    os.write(terminal, b"\n")
    out, _ = process.communicate(timeout=LIMIT_S)
    os.close(terminal)
    os.close(stdin)
    assert (process.returncode, figure(out, "calls")) == (0, 1)


# For scripts that fail: each prints a NUL and its exit code after its output.
ENDS = """\
import json, runpy, sys
for sys.argv in json.loads(sys.argv[1]):
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        print("\\0", end.code, sep="", file=sys.stderr)
"""


def ends(lines: Sequence[Sequence[str | Path]], folder: Path) -> list[tuple[int, list[str]]]:
    """The exit code of each command line, and its lines on standard error."""
    (folder / "ends.py").write_text(ENDS)
    _, err = run(["ends.py", json.dumps(lines, default=str)], folder)
    found = re.findall(r"(.*?)\0(\d+)\n", err, re.DOTALL)
    return [(int(code), said.splitlines()) for said, code in found]


def test_an_error_of_torch_is_reported_in_one_line(tmp_path: Path) -> None:
    wrong = call("mm", floats(2, 3), floats(2, 3))
    gpu = TensorRecipe("float32", (2, 2), None, "cuda:0", "uniform")
    scripts = written([wrong, call("relu", gpu)], tmp_path).scripts
    texts = [r"rejects this call: (mm: )?mat1 and mat2", "finds no GPU"]
    if torch.cuda.is_available():
        scripts, texts = scripts[:1], texts[:1]
    found = ends([[one.path, "--once"] for one in scripts], tmp_path)
    assert [code for code, _ in found] == [1] * len(texts)
    for (_, err), text in zip(found, texts, strict=True):
        assert re.search(text, err[-1])
        assert "Traceback" not in "\n".join(err)


def test_ctrl_c_ends_a_script_cleanly(folder: Folder, tmp_path: Path) -> None:
    process = start([folder.scripts[BMM].path, "--seconds", "1000"], tmp_path)
    assert process.stderr is not None
    next(line for line in process.stderr if line.startswith("NVTX"))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, err) == (130, "interrupted\n")


def test_wrong_options_are_reported_in_one_line(folder: Folder, tmp_path: Path) -> None:
    wrong = (["--once", "--seconds", "1"], ["--seconds", "0"], ["--threads", "x"], ["--seconds", "nan"])
    found = ends([[folder.scripts[BMM].path, *words] for words in wrong], tmp_path)
    assert [(code, err[-1].count("error: argument")) for code, err in found] == [(2, 1)] * len(wrong)


@pytest.mark.parametrize("tool", ["perf stat", "perf record"])
def test_the_printed_perf_command_works(folder: Folder, tool: str, tmp_path: Path) -> None:
    """perf's task clock agrees with the CPU time that the script prints."""
    if shutil.which("perf") is None:
        pytest.skip("perf is not installed")
    tried = subprocess.run(
        ["perf", "stat", "-e", "task-clock", "true"], check=False, capture_output=True, text=True
    )
    if tried.returncode != 0:
        pytest.skip(f"perf may not count here: {tried.stderr.strip()[:200]}")
    one = folder.scripts[ADD_]
    (tmp_path / "python").write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@" --seconds 0.2\n')
    (tmp_path / "python").chmod(0o755)
    line = next(command.line for command in one.commands if command.tool == tool)
    environment = {**alone(), "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "LC_ALL": "C"}
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=one.path.parent,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    cpu_ms = figure(said, "calls") * figure(said, "cpu us/call") / 1e3
    assert not list(one.path.parent.glob("*.ctl"))
    if tool == "perf stat":
        clock = next(text for text in said.splitlines() if "task-clock" in text and "msec" in text)
        assert 0.5 < float(clock.split()[0].replace(",", "")) / cpu_ms < 2
    else:
        assert "libtorch_cpu.so" in said
        next(one.path.parent.glob("*.perf.data")).unlink()
