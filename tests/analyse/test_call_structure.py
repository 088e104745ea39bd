import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfprobe.analyse import sites as module
from perfprobe.analyse.call_structure import CallStructureWatch, leave_out
from perfprobe.merge import link
from perfprobe.tables import storage
from perfprobe.tables.findings import Hotspots
from perfprobe.tables.python import CallStructure, Look
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Phase, Trace
from tests.build import TABLES, Program, op
from tests.found import find, watched

LEN = "<built-in method builtins.len>"

ENGINE = "/env/site-packages/torch/autograd/graph.py:841 _engine_run_backward"
RUNNER = "/env/site-packages/perfprobe/collect/runner.py:49/31 run"
OPERATOR_COLUMNS = [
    f"{name}_{part}_ns"
    for name in ("operator", "forward", "backward", "recompute", "other")
    for part in ("own", "total")
]


def run(recording: Recording) -> tuple[Trace, Hotspots, CallStructure]:
    trace = link(recording)
    found = find(trace, Hotspots, CallStructure)
    return trace, found[Hotspots], found[CallStructure]


def name(trace: Trace, structure: CallStructure, code: int) -> str:
    """The function's name, "" for none."""
    return trace.recording[Strings][structure.python.code.function[code]] if code >= 0 else ""


def functions(trace: Trace, structure: CallStructure, *columns: str) -> dict[str, Any]:
    """The figures in these columns, by function."""
    values = zip(*(getattr(structure.functions, column).tolist() for column in columns), strict=True)
    return {
        name(trace, structure, code): row[0] if len(row) == 1 else row
        for code, row in zip(structure.functions.code.tolist(), values, strict=True)
    }


def calls(trace: Trace, structure: CallStructure) -> dict[tuple[str, str], tuple[int, int, int, int]]:
    """calls, total_ns, counted_total_ns and operator_total_ns by names of caller and callee."""
    found = {}
    for caller, callee, *values in zip(
        *(c.tolist() for c in structure.calls.columns().values()), strict=True
    ):
        found[name(trace, structure, caller), name(trace, structure, callee)] = tuple(values)
    return found


def training(*, counted: bool = True, sampled: bool = True, operators: bool = True) -> Program:
    """One step: main calls forward twice, once recursively, and backward. Counted by hand below."""
    program = Program(
        start={"monotonic_ns": 0},
        stop={"monotonic_ns": 1000},
        program={"pid": 1001},
        cprofile={"started_ns": 10, "ended_ns": 1005},
    )
    program.thread(1)
    main, forward = "a.py:9/8 main", "a.py:5/4 forward"
    stacks = {
        "main": program.stack(RUNNER, main),
        "forward": program.stack(RUNNER, main, forward),
        "again": program.stack(RUNNER, main, forward, "a.py:6/4 forward"),
        "backward": program.stack(RUNNER, main, ENGINE),
        "hook": program.stack(RUNNER, main, ENGINE, "a.py:20/19 hook"),
    }
    if operators:
        program.run(
            op("rand", 100, 110, stack=stacks["main"]),
            op("mm", 200, 300, op("copy", 210, 220, stack=stacks["forward"]), stack=stacks["forward"]),
            op("add", 310, 350, stack=stacks["again"], sequence=0),
            op("AddBackward0", 400, 500, stack=stacks["backward"], scope=1, node_sequence=0, node_thread=1),
            op("mul", 510, 530, stack=stacks["hook"], node_sequence=0, node_thread=1),
            op("epoch", 900, 990, scope=7, stack=stacks["main"]),
        )
    if sampled:
        program.sample(10, 100, RUNNER, main)  # 90 ns, at 100 in rand
        program.sample(100, 150, RUNNER, main)
        program.sample(150, 250, RUNNER, main, forward)  # in mm
        program.sample(250, 320, RUNNER, main, forward, "a.py:6/4 forward")  # in add
        program.sample(320, 400, RUNNER, main, ENGINE)  # in backward
        program.sample(400, 450, look=Look.FAILED, stack=-1)
        program.sample(450, 460, look=Look.NO_PYTHON, stack=-1)
        program.sample(460, 480, RUNNER)
    if counted:
        rows = [
            program.counted("a.py:8 main", 1, 50, 900),
            program.counted("a.py:4 forward", 3, 300, 300, primitive_calls=2),
            program.counted("/env/site-packages/torch/autograd/graph.py:1 _engine_run_backward", 1, 540, 550),
            program.counted(LEN, 5, 10, 10),
            program.counted("/env/site-packages/perfprobe/collect/runner.py:31 run", 1, 80, 980),
        ]
        program.call(rows[4], rows[0], 1, 50, 900)
        program.call(rows[0], rows[1], 2, 200, 300)
        program.call(rows[1], rows[1], 1, 100, 100)
        program.call(rows[0], rows[2], 1, 540, 550)
        program.call(rows[2], rows[3], 5, 10, 10)
    return program


def test_figures_with_all_sources(tmp_path: Path) -> None:
    trace, found, structure = run(training().recording(tmp_path))
    times = ("calls", "counted_own_ns", "counted_total_ns", "own_ns", "total_ns", "neither_ns")
    assert structure.by_samples
    assert structure.counts_end_ns is None
    assert functions(trace, structure, *times) == {
        "main": (1, 50, 900, 140, 390, 50),
        "forward": (3, 300, 300, 170, 170, 0),
        "_engine_run_backward": (1, 540, 550, 80, 80, 0),
        "hook": (-1, -1, -1, 0, 0, 0),
        LEN: (5, 10, 10, -1, -1, -1),
    }
    assert calls(trace, structure) == {
        ("", "main"): (1, 390, 900, 270),
        ("main", "forward"): (2, 170, 300, 240),
        ("forward", "forward"): (1, 70, 100, 140),
        ("main", "_engine_run_backward"): (1, 80, 550, 20),
        ("_engine_run_backward", "hook"): (-1, 0, -1, 20),
        ("_engine_run_backward", LEN): (5, -1, 10, -1),
    }
    assert int(structure.sites.self_ns.sum()) == found.totals.self_ns == 270


def test_operators_by_phase(tmp_path: Path) -> None:
    trace, _, structure = run(training().recording(tmp_path))
    rows = functions(trace, structure, *OPERATOR_COLUMNS)
    assert rows.pop(LEN) == (-1,) * 10
    assert rows == {
        "main": (10, 270, 0, 40, 0, 120, 0, 0, 10, 110),
        "forward": (240, 240, 40, 40, 100, 100, 0, 0, 100, 100),
        "_engine_run_backward": (0, 20, 0, 0, 0, 20, 0, 0, 0, 0),
        "hook": (20, 20, 0, 0, 20, 20, 0, 0, 0, 0),
    }
    assert functions(trace, structure, "operator_calls")["forward"] == 4


def test_functions_of_several_threads(tmp_path: Path) -> None:
    _, _, structure = run(training().recording(tmp_path))
    row = {key: column.tolist() for key, column in structure.threads.columns().items()}
    assert row == {
        "thread": [0],
        "wall_ns": [1000],
        "own_ns": [390],
        "perfprobe_ns": [20],
        "no_python_ns": [10],
        "failed_ns": [50],
        "cpu_ns": [-1],
    }


def test_time_before_and_after_the_program_is_excluded(tmp_path: Path) -> None:
    program = training(counted=False)
    program.meta |= {"start": {"monotonic_ns": 70}, "stop": {"monotonic_ns": 465}}
    trace, _, structure = run(program.recording(tmp_path))
    assert functions(trace, structure, "total_ns")["main"] == 390 - 60
    row = {key: column.tolist() for key, column in structure.threads.columns().items()}
    assert (row["wall_ns"], row["own_ns"], row["perfprobe_ns"]) == ([395], [330], [5])


def test_figures_with_cprofile_only(tmp_path: Path) -> None:
    program = training(sampled=False, operators=False)
    program.meta["cprofile"] = {"started_ns": 10, "ended_ns": 800}
    trace, _, structure = run(program.recording(tmp_path))
    assert not structure.by_samples
    assert structure.counts_end_ns == 800
    assert functions(trace, structure, "own_ns", "total_ns", "neither_ns", "operator_own_ns") == {
        "main": (50, 900, -1, -1),
        "forward": (300, 300, -1, -1),
        "_engine_run_backward": (540, 550, -1, -1),
        LEN: (10, 10, -1, -1),
    }
    assert calls(trace, structure)["main", "forward"] == (2, 300, 300, -1)
    assert calls(trace, structure)["_engine_run_backward", LEN] == (
        5,
        10,
        10,
        -1,
    )
    row = {key: column.tolist() for key, column in structure.threads.columns().items()}
    assert (row["wall_ns"], row["own_ns"], row["perfprobe_ns"]) == ([790], [900], [80])
    assert (row["no_python_ns"], row["failed_ns"], row["cpu_ns"]) == ([-1], [-1], [-1])


def test_figures_with_samples_only(tmp_path: Path) -> None:
    trace, _, structure = run(training(counted=False, operators=False).recording(tmp_path))
    assert structure.by_samples
    assert functions(trace, structure, "own_ns", "neither_ns", "calls", "operator_calls") == {
        "main": (140, 140, -1, -1),
        "forward": (170, 170, -1, -1),
        "_engine_run_backward": (80, 80, -1, -1),
    }
    assert calls(trace, structure)["forward", "forward"] == (-1, 70, -1, -1)


def test_figures_with_operators_only(tmp_path: Path) -> None:
    trace, _, structure = run(training(counted=False, sampled=False).recording(tmp_path))
    assert not structure.by_samples
    assert functions(trace, structure, "own_ns", "total_ns", "neither_ns", "calls", "operator_total_ns") == {
        "main": (-1, -1, -1, -1, 270),
        "forward": (-1, -1, -1, -1, 240),
        "_engine_run_backward": (-1, -1, -1, -1, 20),
        "hook": (-1, -1, -1, -1, 20),
    }
    assert calls(trace, structure)["main", "forward"] == (-1, -1, -1, 240)
    assert len(structure.threads) == 0


def test_nothing_recorded_gives_no_table(tmp_path: Path) -> None:
    trace = link(Program().recording(tmp_path))
    watcher = CallStructureWatch(trace)
    watched(trace, watcher)
    assert watcher.result() is None


def test_folded_functions_are_skipped(tmp_path: Path) -> None:
    trace, _, structure = run(training().recording(tmp_path))
    wrapper = [
        name(trace, structure, code) == "_engine_run_backward" for code in range(len(structure.python.code))
    ]
    without = leave_out(trace, structure, np.array(wrapper))
    assert functions(trace, without, "own_ns", "total_ns", "operator_total_ns") == {
        "main": (220, 390, 270),
        "forward": (170, 170, 240),
        "hook": (0, 0, 20),
        LEN: (-1, -1, -1),
    }
    assert calls(trace, without) == {
        ("", "main"): (1, 390, 900, 270),
        ("main", "forward"): (2, 170, 300, 240),
        ("forward", "forward"): (1, 70, 100, 140),
        ("main", "hook"): (-1, 0, -1, 20),
    }


def test_recomputation_and_unlinked_rows_are_under_their_own_stack(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    forward = program.stack("a.py:9 main", "a.py:5 forward")
    engine = program.stack("a.py:9 main", ENGINE)
    checkpoint = "/env/site-packages/torch/utils/checkpoint.py:300 unpack"
    again = program.stack("a.py:9 main", ENGINE, checkpoint, "a.py:5 forward")
    program.run(
        op("add", 0, 1, stack=forward, sequence=0),
        op("AddBackward0", 10, 20, stack=engine, scope=1, node_sequence=0, node_thread=1),
        op("recomputed", 20, 40, stack=again, node_sequence=0, node_thread=1),
        op("unknown", 40, 43, stack=engine, node_sequence=7, node_thread=1),
        op("nowhere", 43, 47, stack=-1, node_sequence=7, node_thread=1),
    )
    trace, found, structure = run(program.recording(tmp_path))
    sites = {
        trace.recording[Strings][key]: (stack, Phase(phase).name)
        for key, stack, phase in zip(
            structure.sites.name, structure.sites.stack, structure.sites.phase, strict=True
        )
    }
    assert sites == {
        "add": (forward, "FORWARD"),
        "AddBackward0": (forward, "BACKWARD"),
        "recomputed": (again, "RECOMPUTE"),
        "unknown": (engine, "BACKWARD"),
        "nowhere": (-1, "BACKWARD"),
    }
    assert int(structure.sites.self_ns.sum()) == found.totals.self_ns


@pytest.mark.parametrize("seed", range(6))
def test_against_a_slow_twin(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_GROUPS", 5)
    monkeypatch.setattr(storage, "BATCH_ROWS", 16)
    rng = random.Random(seed)
    program, paths = random_stacks(rng)
    looks, operators = [], []
    for at in range(300):
        stack, length = rng.randrange(len(paths)), rng.randrange(1, 50)
        if at % 2:
            program.row("samples", at * 100, at * 100 + length, 0, stack, 0, 1, -1, -1, -1, -1, anew=True)
            looks.append((paths[stack], length))
        else:
            program.run(op(f"x{at % 3}", at * 100, at * 100 + length, stack=stack))
            operators.append((paths[stack], length))
    trace, _, structure = run(program.recording(tmp_path, 8))
    hidden = {f"f{rng.randrange(6)}" for _ in range(2)}
    for fold in (set[str](), hidden):
        mask = np.array([name(trace, structure, code) in fold for code in range(len(structure.python.code))])
        found = leave_out(trace, structure, mask)
        left = [("sampled", shown(looks, fold)), ("operators", shown(operators, fold))]
        (_, sampled), (_, ran) = left
        assert functions(trace, found, "own_ns") == by(sampled, innermost, functions(trace, found, "own_ns"))
        assert functions(trace, found, "total_ns") == by(sampled, set, functions(trace, found, "own_ns"))
        own, total = "operator_own_ns", "operator_total_ns"
        assert functions(trace, found, own) == by(ran, innermost, functions(trace, found, own))
        assert functions(trace, found, total) == by(ran, set, functions(trace, found, own))
        pairs = calls(trace, found)
        assert {pair: row[1] for pair, row in pairs.items()} == by(sampled, edges, pairs)
        assert {pair: row[3] for pair, row in pairs.items()} == by(ran, edges, pairs)
        assert set(pairs) == {edge for path, _ in sampled + ran for edge in edges(path)}


Timed = list[tuple[list[str], int]]


def random_stacks(rng: random.Random) -> tuple[Program, list[list[str]]]:
    """Deep and recursive stacks, and the functions on each, without those of perfprobe."""
    program = Program()
    program.thread(1)
    paths: list[list[str]] = []
    for _ in range(120):
        parent = rng.randrange(-1, len(paths)) if paths else -1
        own = rng.random() < 0.15
        function = f"f{rng.randrange(6)}"
        place = (
            f"/env/site-packages/perfprobe/x.py:1 {function}"
            if own
            else f"a.py:{rng.randrange(3) + 1}/1 {function}"
        )
        program.row("stacks", parent, program.frame(place), -1, anew=True)
        paths.append((paths[parent] if parent >= 0 else []) + ([] if own else [function]))
    return program, paths


def shown(rows: Timed, fold: set[str]) -> Timed:
    return [([function for function in path if function not in fold], length) for path, length in rows]


def innermost(path: list[str]) -> list[str]:
    return path[-1:]


def edges(path: list[str]) -> set[tuple[str, str]]:
    return set(zip(["", *path], path, strict=False))


def by(rows: Timed, keys: Any, wanted: Any) -> dict[Any, int]:
    """The time of each key, counted once per row; 0 for wanted keys without rows."""
    sums = dict.fromkeys(wanted, 0)
    for path, length in rows:
        for key in keys(path):
            sums[key] += length
    return sums


def test_a_stack_of_two_thousand_frames_is_complete(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    frames = [f"a.py:5/4 f{at % 2}" for at in range(2000)]
    program.sample(0, 10, *frames)
    program.run(op("mm", 0, 7, stack=program.stack(*frames)))
    trace, _, structure = run(program.recording(tmp_path))
    columns = ("own_ns", "total_ns", "operator_own_ns", "operator_total_ns")
    assert functions(trace, structure, *columns) == {"f0": (0, 10, 0, 7), "f1": (10, 10, 7, 7)}
    assert calls(trace, structure) == {
        ("", "f0"): (-1, 10, -1, 7),
        ("f0", "f1"): (-1, 10, -1, 7),
        ("f1", "f0"): (-1, 10, -1, 7),
    }


def test_damaged_tables_do_no_harm(tmp_path: Path) -> None:
    rng = random.Random(3)
    values = [-(2**63), -(2**31), -1, 0, 1, 2, 2**31 - 1, 2**63 - 1]
    for number in range(60):
        program = training()
        for table in ("functions", "calls", "samples", "stacks", "frames", "threads"):
            rows = program._tables[table]
            for _ in range(rng.choice([0, 1, 3])):
                at, column = rng.randrange(len(rows)), rng.randrange(len(rows[0]))
                name = TABLES[table][column]
                is_long = name.endswith(("_ns", "calls", "os_thread"))
                least = -(2**7) if name in ("look", "waits_for") else -(2**31)
                value = rng.choice(values if is_long else [least, -1, 0, 1, 2, 100])
                rows[at] = (*rows[at][:column], value, *rows[at][column + 1 :])
        program.meta["cprofile"] = {"started_ns": rng.choice([*values, None]), "ended_ns": rng.choice(values)}
        program.meta["start"] = {"monotonic_ns": rng.choice(values)}
        program.meta["program"] = {"pid": rng.choice([1001, "1001", [], 1e300])}
        folder = tmp_path / str(number)
        folder.mkdir()
        recording = program.recording(folder)
        assert recording.complete
        run(recording)
